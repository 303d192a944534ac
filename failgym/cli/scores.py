"""Tables of scores: policies on the same slices of one scenario."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from failgym.cli.output import Cell, interactive, print_line, print_table

if TYPE_CHECKING:
    from failgym.envs import Scenario
    from failgym.evaluation import Anchors, Evaluation
    from failgym.policy import Policy

__all__ = ["LEGEND", "draw", "measure", "print_scores"]

CHECKPOINTS = "checkpoint\nwork"
"""A column that is shown where somebody checkpoints."""
COLUMNS = (
    *("policy", "score", "95 %\ninterval", "wasted\nwork", CHECKPOINTS, "completion\nratio"),
    *("forfeited\ntasks", "false\nkills"),
)
SHARES = frozenset({"wasted\nwork", CHECKPOINTS})
LEGEND = """\
score: 0 is replay, 100 the clairvoyant, or a bound that may be out of reach
work: in shares of what replay wastes; wasted is lost (it ended in vain), redundant (another copy
  was done first) and ghost (of attempts beyond the record), checkpoint is saving and restoring
completion ratio: median of completion time over the recorded one
forfeited: finished in the record, not by the policy; false kills: those of them that it killed
what replay spends: the price of its machine-time, as if all was wasted; below 1 % no score"""
"""What the columns mean."""


def draw(scenario: Scenario, **options: Any) -> Anchors:
    """Draw slices as `Anchors.of` does, showing that work is being done."""
    from failgym.evaluation import Anchors
    from failgym.evaluation.progress import working

    with working(f"{scenario.name}: replay and bound", interactive()):
        anchors = Anchors.of(scenario, **options)
    if anchors.unproven:
        print_line(
            f"{scenario.name}: the search for the clairvoyant's plan was cut short for"
            f" {anchors.unproven:,} tasks: the bound may be too high, and scores too"
        )
    return anchors


def measure(
    anchors: Anchors, policies: Sequence[tuple[str, Policy]], **options: Any
) -> list[Evaluation]:
    """Evaluate named policies on the slices of the anchors, with a progress bar.

    The options are those of `failgym.evaluation.run_policy`.
    """
    from failgym.evaluation.progress import progress_bar

    slices = len(anchors.replay.slices)
    label = anchors.scenario.name
    with progress_bar(label, slices * len(policies), interactive()) as advance:
        runs = [
            anchors.run(policy, name=name, progress=advance, **options) for name, policy in policies
        ]
    return [anchors.measure(run) for run in runs]


def print_scores(evaluations: Sequence[Evaluation]) -> None:
    """Print evaluations of one environment, best score first, and what there is to gain there."""
    from failgym.evaluation.result import FEW

    first = evaluations[0]
    title = f"{first.env}, {first.split} split: {first.episodes} slices, {first.tasks:,} tasks"
    ranked = sorted(evaluations, key=lambda e: math.inf if math.isnan(e.score) else -e.score)
    hidden = () if any(e.checkpoint_work > 0 for e in evaluations) else (CHECKPOINTS,)
    shown = [i for i, column in enumerate(COLUMNS) if column not in hidden]
    rows = [[row[i] for i in shown] for row in map(_row, ranked)]
    print_table(title, [COLUMNS[i] for i in shown], rows, SHARES)
    print_line(first.reason or f"room: in these {first.tasks:,} tasks {first.said_of_room}")
    idle = [e.policy for e in evaluations if e.same_as_replay and e.policy != "replay"]
    if idle:
        print_line(f"left every task as replay does: {', '.join(idle)}")
    if first.reason is not None:
        return
    if first.few:
        print_line(f"an interval of fewer than {FEW} slices says little")
    if any(math.isnan(e.low) for e in evaluations):
        print_line("no interval: there is something to gain on too few of the slices")


def _row(e: Evaluation) -> tuple[Cell, ...]:
    interval = "-" if math.isnan(e.low) else f"{e.low:.1f} to {e.high:.1f}"
    if e.few and not math.isnan(e.score):
        interval += f"\n({e.episodes} slice{'s' if e.episodes > 1 else ''})"
    score = "-" if math.isnan(e.score) else f"{e.score:.1f}"
    work = (e.wasted_work, e.checkpoint_work)
    return (e.policy, score, interval, *work, e.completion_ratio, e.forfeited, e.false_kills)

"""Tables of scores: policies on the same slices of one scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from failgym.cli.output import Cell, interactive, print_line, print_table

if TYPE_CHECKING:
    from failgym.envs import Scenario
    from failgym.evaluation import Anchors, Evaluation, Run
    from failgym.policy import Policy
    from failgym.workers import Workers

__all__ = [
    "LEGEND",
    "by_the_proven",
    "draw",
    "draw_traces",
    "measure",
    "measure_all",
    "measure_oracle",
    "note_unproven",
    "on_one_line",
    "play_all",
    "play_apart",
    "print_scores",
    "proven_factor",
]

CHECKPOINTS = "checkpoint\nwork"
"""A column that is shown where somebody checkpoints."""
COLUMNS = (
    *("policy", "score", "95 %\ninterval", "wasted\nwork", CHECKPOINTS, "completion\nratio"),
    *("forfeited\ntasks", "false\nkills"),
)
SHARES = frozenset({"wasted\nwork", CHECKPOINTS})
LEGEND = """\
score: 0 is replay, 100 the clairvoyant, or a bound that may be out of reach
work: shares of what replay wastes. Wasted work is lost (it ended in vain), redundant (another copy
  was done first) or ghost (of attempts beyond the record). Checkpoint is saving and restoring. Both
  are of all tasks that are charged for; the columns behind are of the tasks asked about
completion ratio: median of completion time over the recorded one
forfeited: finished in the record, not by the policy; with task_value, of some value and not
  finished by the policy; false kills: finished in the record, killed by the policy
what replay spends: the price of its machine-time, as if all was wasted. If the bound saves less
  than 1 % of it there is no score; below 5 % the score is marked
saved: replay's hours less the policy's; machine-hours are those that are wasted or go into
  checkpoints and restores, and beside them stand hours of completion
winsorised: the score after the savings of each job, and what could be saved, are cut at 1 and 99 %
log cost: mean over jobs of ln(cost / replay's), below 0 is cheaper; IQM: interquartile mean of
  the scores of traces
largest: share of all that was saved and lost that is due to one job; drawn: the share where an
  attempt beyond the record was met; where tasks share machines both are of slices, not jobs"""
"""What the columns mean."""
BESIDE: dict[str, str] = {
    "saved\nmachine-h": "saved_hours",
    "saved\nhours": "saved_completion_hours",
    "forfeited\nper\n1000": "forfeited_per_thousand",
    "false\nkills per\n1000": "false_kills_per_thousand",
    "winsor-\nised": "winsorised_score",
    "log\ncost": "mean_log_cost_ratio",
    "IQM of\ntraces": "iqm_of_traces",
    "largest": "saving_in_top",
    "drawn": "drawn_share",
}
"""Columns of the table beside that of scores, and fields of `Evaluation`."""
BESIDE_SHARES = frozenset({"largest", "drawn"})


def draw(scenario: Scenario, **options: Any) -> Anchors:
    """Draw slices as `Anchors.of` does, showing that work is being done."""
    [anchors] = draw_traces(scenario, 1, **options)
    note_unproven([anchors])
    return anchors


def draw_traces(scenario: Scenario, traces: int, **options: Any) -> list[Anchors]:
    """Draw slices of several traces as `failgym.evaluation.anchors.anchors_of_traces` does."""
    from failgym.evaluation.anchors import anchors_of_traces
    from failgym.evaluation.progress import working

    with working(f"{scenario.name}: replay and bound", interactive()):
        return anchors_of_traces(scenario, traces, **options)


def note_unproven(places: Sequence[Anchors]) -> None:
    """Say in a line of which tasks the least cost is not proven, if of any, and what they hold.

    And between what scores lie: as they are told, and by the least costs that are proven.
    """
    unproven = sum(place.unproven for place in places)
    if not unproven:
        return
    held = [known for place in places if (known := place.held_unproven) is not None]
    saved = sum(float(place.possible.sum()) for place in places)
    holding = ""
    if len(held) == len(places) and saved > 0.0:
        costs = sum(float(place.replay.costs.sum()) for place in places)
        room, cost = (sum(each) for each in zip(*held, strict=True))
        holding = f", which hold {100 * room / saved:.1f} % of what it saves by the plans found"
        holding += f" and {100 * cost / costs:.1f} % of what replay costs"
    print_line(
        f"{places[0].scenario.name}: the search for the clairvoyant's plan was cut short for"
        f" {unproven:,} tasks{holding}: the bound may be too high, and scores too"
        + by_the_proven(proven_factor(places))
    )


def proven_factor(places: Sequence[Anchors]) -> float | None:
    """How many times as high scores are by the least costs that are proven; None: nobody knows."""
    more = [known for place in places if (known := place.unproven_room) is not None]
    saved = sum(float(place.possible.sum()) for place in places)
    if len(more) < len(places) or saved <= 0.0:
        return None
    return saved / (saved + sum(more))


def by_the_proven(factor: float | None) -> str:
    """That, rounded down, as the end of a line; "" where nobody knows."""
    if factor is None:
        return ""
    factor = math.floor(10_000 * factor) / 10_000
    return f"; with the proven bound instead, scores are {factor:.4f} times as high"


def measure(
    anchors: Anchors, policies: Sequence[tuple[str, Policy]], **options: Any
) -> list[Evaluation]:
    """Evaluate named policies on the slices of the anchors, with a progress bar.

    The options are those of `failgym.evaluation.run_policy`.
    """
    return measure_all([anchors], policies, **options)


def measure_all(
    places: Sequence[Anchors], policies: Sequence[tuple[str, Policy]], **options: Any
) -> list[Evaluation]:
    """Evaluate named policies on the slices of several traces together, with a progress bar."""
    from failgym.evaluation.measuring import measure

    return [measure(places, each) for each in play_all(places, policies, **options)]


def play_all(
    places: Sequence[Anchors], policies: Sequence[tuple[str, Policy]], **options: Any
) -> list[list[Run]]:
    """Play named policies on the slices of several traces, [policies][traces], likewise."""
    from failgym.evaluation.progress import progress_bar

    slices, label = sum(len(p.replay.slices) for p in places), places[0].scenario.name
    with progress_bar(label, slices * len(policies), interactive()) as advance:
        return [
            [place.run(policy, name=name, progress=advance, **options) for place in places]
            for name, policy in policies
        ]


def play_apart(
    places: Sequence[Anchors],
    specs: Sequence[str],
    load: Callable[[str], Policy],
    workers: Workers,
) -> list[list[Run]]:
    """As `play_all`, but each policy on each trace by itself, by workers.

    Args:
        places: the traces.
        specs: of the policies.
        load: makes a policy of its SPEC; a function of a module.
        workers: who plays.

    Raises:
        ValueError: as `failgym.workers.each`.
    """
    from failgym.cli.steps import PolicySteps
    from failgym.evaluation.progress import progress_bar
    from failgym.workers import each

    steps = PolicySteps.of(places, load)
    todo = [(spec, number) for spec in specs for number in range(len(places))]
    slices, label = sum(len(p.replay.slices) for p in places), places[0].scenario.name
    with progress_bar(label, slices * len(specs), interactive()) as advance:
        runs = each(
            steps.play,
            todo,
            workers,
            ended=lambda _, played: advance(len(played.slices)),
            named=lambda step: f"{step[0]}, trace {step[1] + 1}",
            shared=steps.files(specs),
        )
    return [runs[at : at + len(places)] for at in range(0, len(runs), len(places))]


def measure_oracle(places: Sequence[Anchors]) -> Evaluation:
    """The cheapest episodes found by somebody who knows all fates, with a progress bar."""
    from failgym.evaluation.measuring import measure
    from failgym.evaluation.progress import progress_bar

    slices = sum(len(place.replay.slices) for place in places)
    with progress_bar("oracle", slices, interactive()) as advance:
        runs = [place.oracle(progress=advance) for place in places]
    return measure(places, runs)


def print_scores(evaluations: Sequence[Evaluation]) -> None:
    """Print evaluations of one environment, best score first, and what there is to gain there."""
    from failgym.evaluation.result import FEW, plural
    from failgym.evaluation.room import MARK

    first = evaluations[0]
    several = f"{first.traces} traces, " if first.traces > 1 else ""
    counts = f"{first.episodes:,} slices, {first.tasks:,} tasks"
    title = f"{first.env}, {first.split} split: {several}{counts}"
    ranked = sorted(evaluations, key=lambda e: math.inf if math.isnan(e.score) else -e.score)
    hidden = () if any(e.checkpoint_work > 0 for e in evaluations) else (CHECKPOINTS,)
    shown = [i for i, column in enumerate(COLUMNS) if column not in hidden]
    rows = [[row[i] for i in shown] for row in map(_row, ranked)]
    print_table(title, [COLUMNS[i] for i in shown], rows, SHARES)
    _print_beside(ranked)
    print_line(first.reason or f"room: in these {first.tasks:,} tasks {first.said_of_room}")
    if first.warning is not None:
        print_line(f"{MARK} {first.warning}")
    print_line(first.said_of_stakes)
    idle = [e.policy for e in evaluations if e.same_as_replay and e.policy != "replay"]
    if idle:
        print_line(f"left every task as replay does: {', '.join(idle)}")
    if first.reason is not None:
        return
    if any(math.isnan(e.low) for e in evaluations):
        units = plural(first.unit, FEW)
        print_line(f"no interval: there is something to gain on too few of the {units}")
    else:
        print_line(f"intervals are of {first.interval_of}")
    if first.few:
        print_line(f"an interval of fewer than {FEW} {plural(first.unit, FEW)} says little")


def _print_beside(evaluations: Sequence[Evaluation]) -> None:
    """Print what stands beside scores, and why some of it is not defined."""
    columns = [c for c, name in BESIDE.items() if any(_known(e, name) for e in evaluations)]
    rows = [[e.policy, *(getattr(e, BESIDE[column]) for column in columns)] for e in evaluations]
    print_table("beside the scores", ["policy", *columns], rows, BESIDE_SHARES, frozenset(columns))
    labels = {name: on_one_line(column) for column, name in BESIDE.items()}
    reasons = dict[tuple[str, str], list[str]]()
    played = [e for e in evaluations if not _by_definition(e)]
    for e in played:
        for name, reason in e.undefined.items():
            reasons.setdefault((labels[name], reason), []).append(e.policy)
    for (label, reason), policies in reasons.items():
        of = "" if len(policies) == len(played) else f" of {', '.join(policies)}"
        print_line(f"no {label}{of}: {reason}")


def on_one_line(column: str) -> str:
    """The head of a column in a sentence."""
    return column.replace("-\n", "").replace("\n", " ")


def _by_definition(e: Evaluation) -> bool:
    """Is its score 0 or 100 by definition?"""
    return e.policy in ("replay", e.bound)


def _known(e: Evaluation, name: str) -> bool:
    value: float | None = getattr(e, name)
    return value is not None and not math.isnan(value)


def _row(e: Evaluation) -> tuple[Cell, ...]:
    from failgym.evaluation.result import plural
    from failgym.evaluation.room import MARK

    interval = "-" if math.isnan(e.low) else f"{e.low:.1f} to {e.high:.1f}"
    if e.few and not math.isnan(e.score) and not _by_definition(e):
        interval += f"\n({e.units} {plural(e.unit, e.units)})"
    score = "-" if math.isnan(e.score) else f"{e.score:.1f}{MARK if e.warning else ''}"
    work = (e.wasted_work, e.checkpoint_work)
    return (e.policy, score, interval, *work, e.completion_ratio, e.forfeited, e.false_kills)

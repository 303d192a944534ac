"""What does each measure alone gain, for somebody who knows all fates?

    python -m experiments.measures_alone --env failgym/Mitigation-v1 --set beyond_record=continued
        [--episodes 8] [--rounds 4] [--measure clone ...] [--json FILE]

The oracle (`failgym.evaluation.oracle`) plays a few test slices with all that the environment
offers, and then confined to one measure after the other: clones alone, checkpoints, kills (and
giving up), retries. Printed is what each saves over replay, in percent of two things: of what the
bound saves, which may be out of reach, and of what was found with all measures. *Together* is, on
each slice, the cheapest episode that was found at all. Intervals resample slices. FILE holds the
costs by slice and measure; a command that was stopped goes on, episode by episode.

What is found is what is possible at least: a longer search may find more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from experiments.measured_worlds import world_of
from failgym.cli.options import override
from failgym.cli.output import interactive, print_line, print_table
from failgym.envs import Scenario, resolve
from failgym.evaluation import score
from failgym.evaluation.anchors import Anchors
from failgym.evaluation.oracle import MEASURES, Effort
from failgym.evaluation.oracle.rules import allowed_by
from failgym.evaluation.progress import progress_bar
from failgym.evaluation.scoring import Score
from failgym.files import replacing

__all__ = ["TOGETHER", "WORTH", "Gain", "gains_of", "measured", "offered"]

Floats = npt.NDArray[np.float64]

TOGETHER, ALL = "together", "all"
WORTH = 10.0
"""Points of 100 that a measure should gain alone to be worth offering."""


@dataclass(frozen=True)
class Gain:
    """What a measure alone saves over replay."""

    name: str
    of_bound: Score
    """of what the bound saves [%]"""
    of_found: Score
    """of what was found to be saved with all measures [%]"""


def offered(scenario: Scenario) -> list[str]:
    """The measures that a scenario offers."""
    found: list[str] = []
    for name in MEASURES:
        try:
            allowed_by(scenario, (name,))
        except ValueError:
            continue
        found.append(name)
    return found


def measured(anchors: Anchors, names: list[str], effort: Effort) -> dict[str, Any]:
    """What the oracle costs on each slice, with all measures and with each alone."""
    costs: dict[str, list[float]] = {}
    for name in [ALL, *names]:
        count = len(anchors.replay.slices)
        with progress_bar(f"{anchors.scenario.name}: {name}", count, interactive()) as advance:
            chosen = None if name == ALL else [name]
            run = anchors.oracle(chosen, effort=effort, progress=advance)
        costs[name] = run.costs.sum(axis=1).tolist()
    return {
        "slices": anchors.replay.slices.tolist(),
        "replay": anchors.replay.costs.sum(axis=1).tolist(),
        "bound": anchors.bound.sum(axis=1).tolist(),
        "spent": anchors.spent.tolist(),
        "oracle": costs,
    }


def gains_of(content: dict[str, Any]) -> list[Gain]:
    """What each measure saves, the cheapest of all that was found first.

    Args:
        content: what `measured` returns.
    """
    replay, bound, spent = (np.array(content[name]) for name in ("replay", "bound", "spent"))
    costs = {name: np.array(values) for name, values in content["oracle"].items()}
    best: Floats = np.min([*costs.values(), replay], axis=0)
    rows = {TOGETHER: best, **{name: each for name, each in costs.items() if name != ALL}}
    return [
        Gain(
            name,
            score(replay, each, bound, spent=spent),
            score(replay, each, best, spent=spent),
        )
        for name, each in rows.items()
    ]


def _text(found: Score) -> str:
    if np.isnan(found.value):
        return "-"
    return f"{found.value:.1f} [{found.low:.1f}, {found.high:.1f}]"


def main(
    env: Annotated[str, typer.Option(help="id of an environment")] = "failgym/Mitigation-v1",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE")] = None,
    episodes: Annotated[int, typer.Option(min=1, help="slices to draw")] = 8,
    rounds: Annotated[int, typer.Option(min=0, help="of local search on each")] = 4,
    measure: Annotated[list[str] | None, typer.Option(help="only these; repeatable")] = None,
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)] = Path("measures_alone.json"),
) -> None:
    """Print what each measure alone gains with perfect forecasts."""
    try:
        scenario = override(resolve(env), set_)
        anchors = Anchors.of(scenario, episodes=episodes)
        names = measure or offered(scenario)
        allowed_by(scenario, tuple(names))
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    content = measured(anchors, names, Effort(rounds=rounds))
    content |= {"env": env, "fields": set_ or [], "rounds": rounds, "world": world_of(env)}
    with replacing(json_) as partial:
        partial.write_text(json.dumps(content, indent=1))
    gains = gains_of(content)
    cells = [(gain.name, _text(gain.of_bound), _text(gain.of_found)) for gain in gains]
    columns = ("measure", "of what the bound saves", "of what was found")
    print_table(f"{env}, {len(anchors.replay.slices)} slices", columns, cells)
    worth = [gain.name for gain in gains[1:] if gain.of_found.value >= WORTH]
    print_line(f"{WORTH:.0f} of 100 of what was found or more: {', '.join(worth) or 'none'}")


if __name__ == "__main__":
    typer.run(main)

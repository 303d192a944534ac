"""Write the figures of the README from what is stored.

    python -m experiments.readme

| part of the README | from |
|---|---|
| ``demo`` | ``experiments/measured/demo.txt``, what `failgym demo` printed |
| ``environments`` | the board of suite ``v2`` in ``docs/results/README.md``, and the scenarios |
| ``agent`` | ``experiments/measured/readme_agent.json`` (`experiments.readme_agent`) |
| ``papers`` | the counts in ``experiments/README.md`` (`experiments.run_all`) |

Each part stands between two comments, such as ``<!-- demo -->`` and ``<!-- /demo -->``; nothing
else of the README is touched. tests/test_readme.py fails where it is not what this writes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import typer

from experiments.leaderboard_tables import OF_AGENT
from experiments.markdown import generated, interval, replaced, table, tables
from failgym.envs import Scenario
from failgym.files import replacing
from failgym.leaderboard.statistics.bootstrap import Estimate
from failgym.registration import SCENARIO_FILES, environment_of
from failgym.worlds.decisions import DECISIONS

__all__ = ["PARTS", "Figures", "agent", "demo", "environments", "papers", "question", "written"]

TOP = Path(__file__).parents[1]
MEASURED = TOP / "experiments" / "measured"
SHOWN = "failgym/GracePeriod-v1"
"""The environment whose table of the demo is shown."""
OVER_RULES = "agents above all rules"
"""The column of the board that compares in pairs, with tuned and searched rules too."""
COLUMNS = (
    *("environment", "the question", "room", "best published rule", "best agent"),
    *("above all rules", OF_AGENT),
)


def question(name: str) -> str:
    """What an environment asks: the first line of the docstring of its module.

    Args:
        name: the environment, without ``failgym/``.
    """
    stems = (file.stem for file in SCENARIO_FILES.glob("*.py"))
    stem = next(stem for stem in stems if environment_of(stem) == name)
    doc = import_module(f"failgym.envs.scenarios.{stem}").__doc__ or ""
    asked = doc.partition("\n")[0].partition(": ")[2]
    return asked[:1].upper() + asked[1:]


def decisions(scenario: Scenario) -> str:
    """What an environment lets an agent decide."""
    return ", ".join(name for name in DECISIONS if getattr(scenario, name))


def demo() -> str:
    """The table of scores of one environment, as the demo printed it."""
    text = (MEASURED / "demo.txt").read_text("utf-8")
    found = re.search(rf"^{SHOWN}, .*?(?=^\s*$\n^beside|^beside the scores)", text, re.M | re.S)
    if found is None:
        raise ValueError(f"experiments/measured/demo.txt: expected a table of {SHOWN}")
    lines = [line.rstrip() for line in found[0].splitlines()]
    return "```text\n" + "\n".join(line for line in lines if line) + "\n```"


def environments() -> str:
    """The environments that the board has: what they ask, and the best scores there."""
    head, *rows = tables(generated(TOP / "docs/results/README.md", "board"))[0]
    names = ("room", "best rule as published", "agents", OVER_RULES, OF_AGENT)
    at = [head.index(name) for name in names]
    shown = [
        [row[0], question(row[0].strip("`").removeprefix("failgym/")), *(row[i] for i in at)]
        for row in rows
    ]
    lines = table(COLUMNS, shown)
    text = generated(TOP / "docs/results/README.md", "board")
    notes = [line for line in text.splitlines() if line.startswith("\\*")]
    rule = f"| {' | '.join('---' for _ in COLUMNS)} |"
    return "\n".join([lines[0], rule, *lines[2:], "", *notes])


def agent() -> str:
    """What the agents came to that were trained by the lines of the README."""
    found: dict[str, Any] = json.loads((MEASURED / "readme_agent.json").read_text("utf-8"))
    agents, rule = found["agents"], found["rule"]
    scores = [_figure(one) for one in agents]
    seeds = ", ".join(str(one["seed"]) for one in agents)
    slowest = max(one["seconds"] for one in agents)
    return (
        f"Seeds {seeds} came to {', '.join(scores[:-1])} and {scores[-1]} on these four traces.\n"
        f"The rule of the paper, `{rule['policy']}`, has {_figure(rule)}. Once the engine is\n"
        f"compiled and the traces' worlds are kept, all lines took at most {slowest} s a seed,\n"
        "torch on one thread, where nothing else ran. With more threads the agents are others."
    )


def _figure(found: dict[str, float]) -> str:
    return interval(Estimate(found["score"], found["low"], found["high"]))


class Figures(NamedTuple):
    """How many figures of papers are judged by a band, by what ours are and how they came out."""

    exact: int
    """computed without anything to choose, and within"""
    predicted: int
    """from others, and within"""
    unnamed: int
    """of these, such that the paper has no number for: their band is an order, or a direction"""
    missed: int
    """nothing was fitted to, and outside"""
    fitted: int
    """a parameter was fitted to, or that a profile was given"""
    fitted_missed: int
    """of these, outside"""

    @classmethod
    def counted(cls) -> Figures:
        """As the page of experiments has them. Raises ValueError if it has none."""
        found = Counter[tuple[str, str, bool]]()
        for columns, *rows in tables(generated(TOP / "experiments/README.md", "results")):
            if "verdict" in columns:
                at = [columns.index(name) for name in ("verdict", "fitted or predicted", "paper")]
                found.update((row[at[0]], row[at[1]], bool(row[at[2]])) for row in rows)

        def so(verdict: str, origin: str) -> int:
            return found[verdict, origin, True] + found[verdict, origin, False]

        if not found:
            raise ValueError("experiments/README.md: expected tables with a column verdict")
        outside = so("outside", "fitted")
        return cls(
            exact=so("within", "exact"),
            predicted=so("within", "predicted"),
            unnamed=found["within", "predicted", False],
            missed=so("outside", "exact") + so("outside", "predicted"),
            fitted=so("fitted", "fitted") + outside,
            fitted_missed=outside,
        )


def papers() -> str:
    """How many figures of papers that nothing was fitted to lie within their bands."""
    count = Figures.counted()
    unfitted = count.exact + count.predicted + count.missed
    return (
        "The papers' own tables and figures are measured again, one module each."
        f" Nothing was fitted to {unfitted}\nof the figures that are judged."
        f" {count.exact} of these are exact, such as worked examples, and agree."
        f" {count.predicted} were\npredicted and lie within a stated band;"
        f" {count.missed} do not. For {count.unnamed} of the {count.predicted} the paper has no"
        " number: their\nband states an order or a direction."
        " [Results](docs/results/README.md#the-papers-tables-and-figures)"
        " leads\nto each, with the reason that was found."
    )


PARTS = {"demo": demo, "environments": environments, "agent": agent, "papers": papers}
"""Part of the README -> what writes it."""


def written(text: str) -> str:
    """The README with all parts written anew.

    Args:
        text: the README.
    """
    for name, made in PARTS.items():
        text = replaced(text, name, made())
    return text


def main() -> None:
    """Write the figures of the README."""
    file = TOP / "README.md"
    text = written(file.read_text("utf-8"))
    with replacing(file) as partial:
        partial.write_text(text, "utf-8")


if __name__ == "__main__":
    typer.run(main)

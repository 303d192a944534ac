"""Write the tables that list what there is: environments, rules, formats and profiles.

    python -m experiments.lists

| table | page | a row is |
|---|---|---|
| ``environments`` | ``docs/environments.md`` | a scenario, and ``AFTER`` of its module |
| ``rules`` | ``docs/results/baselines.md`` | a baseline: the first sentence of its docstring |
| ``formats`` | ``docs/traces.md`` | a reader: the first line of its docstring, its options |
| ``profiles`` | ``docs/traces.md`` | a profile of synthetic traces, as it is registered |

`make lists` does the same. Each table stands between two comments, such as ``<!-- rules -->`` and
``<!-- /rules -->``; nothing else of a page is touched. tests/test_guides.py fails where a page is
not what this writes.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import typer

from experiments.markdown import replaced
from experiments.readme import MEASURED
from failgym.baselines import REGISTRY, Clairvoyant
from failgym.envs import SCENARIOS
from failgym.files import replacing
from failgym.registration import SCENARIO_FILES, environment_of
from failgym.traces import FORMATS
from failgym.traces.synthetic.profiles import ABOUT
from failgym.worlds.decisions import DECISIONS

__all__ = ["LISTS", "environments", "formats", "profiles", "rules", "written"]

TOP = Path(__file__).parents[1]


def environments() -> str:
    """The environments: their traces, their decisions, and whom they are after."""
    after = {
        environment_of(file.stem): getattr(
            import_module(f"failgym.envs.scenarios.{file.stem}"), "AFTER", ""
        )
        for file in SCENARIO_FILES.glob("[!_]*.py")
    }
    rows = [
        [
            f"`failgym/{name}`",
            f"`{scenario.trace}`" if isinstance(scenario.trace, str) else "",
            ", ".join(one for one in DECISIONS if getattr(scenario, one)),
            after[name],
        ]
        for name, scenario in SCENARIOS.items()
    ]
    return _table(["id", "trace", "may decide", "after"], rows)


def rules() -> str:
    """The baselines: what they do, and whom they are after."""
    rows = [[f"`{name}`", sentence(rule), rule.after] for name, rule in REGISTRY.items()]
    exact = "exact for independent tasks, but where the search is cut short"
    rows.append(["`clairvoyant`", sentence(Clairvoyant), exact])
    lines = _table(["policy", "rule", "after"], rows)
    later = ", ".join(f"`{name}`" for name in REGISTRY if name not in _scored())
    return f"{lines}\n\nNot among the scores yet: {later}." if later else lines


def _scored() -> set[str]:
    """The rules whose scores on fresh traces are stored."""
    stored = json.loads((MEASURED / "scores.json").read_text("utf-8"))
    return {row["policy"] for found in stored.values() for row in found["rows"]}


def sentence(kind: type) -> str:
    """The first sentence of the docstring of a class, as the cell of a table."""
    text = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    first = re.split(r"\.(?: (?=[A-Z])|$)", text)[0]
    return first.replace("``", "`")


def formats() -> str:
    """The formats that can be read, and the options of each."""
    rows = [
        [
            f"`{name}`",
            form.about,
            ", ".join(f"`--{option.replace('_', '-')}`" for option in form.options),
        ]
        for name, form in FORMATS.items()
    ]
    return _table(["format", "what", "options"], rows)


def profiles() -> str:
    """The profiles of synthetic traces."""
    rows = [[f"`{name}`", *about] for name, about in ABOUT.items()]
    return _table(["profile", "what", "after"], rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[cell.replace("|", r"\|") for cell in row] for row in (columns, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    lines.insert(1, f"|{'---|' * len(columns)}")
    return "\n".join(lines)


LISTS: dict[str, tuple[str, Callable[[], str]]] = {
    "environments": ("docs/environments.md", environments),
    "rules": ("docs/results/baselines.md", rules),
    "formats": ("docs/traces.md", formats),
    "profiles": ("docs/traces.md", profiles),
}
"""Table -> the page that it stands in, and what writes it."""


def written(name: str, text: str) -> str:
    """A page with one of the tables written anew.

    Args:
        name: of the table.
        text: of its page.

    Raises:
        ValueError: if the page has not one place for it.
    """
    return replaced(text, name, LISTS[name][1]())


def main() -> None:
    """Write the tables into their pages, and say which have changed."""
    for name, (page, _) in LISTS.items():
        file = TOP / page
        before = file.read_text("utf-8")
        after = written(name, before)
        if after != before:
            with replacing(file) as partial:
                partial.write_text(after, "utf-8")
            print(f"{page}: {name}", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)

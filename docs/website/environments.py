"""A page for each environment, made of its docstring, its scenario and what was measured in it."""

from __future__ import annotations

import posixpath
import re
import textwrap
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from docs.website.measured import TOP
from experiments.markdown import generated, table, tables
from experiments.readme import decisions, question
from failgym.envs import FIELDS, SCENARIOS, MitigationEnv, Scenario, varying_fields
from failgym.registration import environment_of

__all__ = ["docstring", "environment_page", "place", "sections", "with_links"]

LEADERBOARD = TOP / "docs" / "results" / "leaderboard.md"
BASELINES = TOP / "docs" / "results" / "baselines.md"
LEFT = re.compile(r"^## failgym/(\S+)$", re.MULTILINE)
FIELD_COLUMNS = ["field", "group", "unit", "range", "what it tells"]


def module_of(name: str) -> str:
    """The module of failgym.envs.scenarios that an environment is in."""
    folder = TOP / "failgym" / "envs" / "scenarios"
    return next(file.stem for file in folder.glob("*.py") if environment_of(file.stem) == name)


def place(name: str) -> str:
    """Where the page of an environment is on the site."""
    return f"environments/{module_of(name)}.md"


def docstring(name: str) -> str:
    """The docstring of the module of an environment: its specification."""
    return import_module(f"failgym.envs.scenarios.{module_of(name)}").__doc__ or ""


def sections(text: str) -> dict[str, str]:
    """The parts of a docstring by their heads: lines that begin at the margin.

    Args:
        text: a docstring whose parts are indented below a head of their own.
    """
    found: dict[str, list[str]] = {}
    head = ""
    for line in text.splitlines()[1:]:
        if line and not line.startswith(" "):
            head = line.strip()
            found[head] = []
        elif head:
            found[head].append(line)
    return {head: textwrap.dedent("\n".join(lines)).strip() for head, lines in found.items()}


def environment_page(name: str) -> str:
    """The page of an environment, in Markdown.

    Args:
        name: the environment, without ``failgym/``.
    """
    scenario, parts = SCENARIOS[name], sections(docstring(name))
    history = parts.pop("Version History", "")
    blocks = [f"# failgym/{name}", f"*{question(name)}*", _film(name), _facts(name, scenario)]
    for head, text in parts.items():
        blocks += [f"## {head}", text]
    blocks += ["## Actions", _actions(scenario), "## Observations", _observations(name)]
    blocks += ["## Costs", _costs(scenario), "## Scores on suite v2", _scores(name)]
    if gains := _gains(name):
        blocks += ["## What each measure can gain", gains]
    blocks += ["## Settings", _settings(scenario)]
    if history:
        blocks += ["## Version history", _history(history)]
    return "\n\n".join(blocks) + "\n"


def with_links(text: str, at: str) -> str:
    """A page with the ids in the first column of its tables as links to their pages.

    Args:
        text: the page, in Markdown.
        at: where it is on the site.
    """
    base = posixpath.dirname(at) or "."
    for name in SCENARIOS:
        link = posixpath.relpath(place(name), base)
        text = text.replace(f"\n| `failgym/{name}` |", f"\n| [`failgym/{name}`]({link}) |")
    return text


def _film(name: str) -> str:
    """A film with its picture; a picture alone, or nothing, where there is no more."""
    folder = TOP / "docs" / "pictures"
    picture, film = (Path(f"{name}.{kind}") for kind in ("png", "mp4"))
    alt = f"An episode of {name}: attempts of tasks as bars over time, decisions as marks"
    if (folder / film).is_file():
        return (
            f'<video controls muted loop playsinline preload="none" width="1024"'
            f' poster="../pictures/{picture}" aria-label="{alt}">'
            f'<source src="../pictures/{film}" type="video/mp4"></video>\n\n'
            "An episode, played by the rule that scores best of those that are published."
            " Bars are attempts, by what became of them; marks are decisions."
        )
    return f"![{alt}](../pictures/{picture})" if (folder / picture).is_file() else ""


def _facts(name: str, scenario: Scenario) -> str:
    size = f"{scenario.slice_jobs} jobs" if scenario.slice_jobs else f"{scenario.slice_tasks} tasks"
    rows = [
        ["made with", f'`gymnasium.make("failgym/{name}")`'],
        ["world", scenario.world],
        ["trace", f"`{scenario.trace}`"],
        ["an episode", size.removesuffix("s") if size.startswith("1 ") else size],
        ["may decide", decisions(scenario)],
        ["module", f"`failgym.envs.scenarios.{module_of(name)}`"],
    ]
    return "\n".join(_left(["", "here"], rows))


def _legal(scenario: Scenario) -> dict[tuple[str, str], bool]:
    """Which actions other than CONTINUE an environment ever allows, by decision."""
    return {
        ("WINDOW", "CLONE"): scenario.clone,
        ("WINDOW", "CHECKPOINT"): scenario.checkpoint,
        ("WINDOW", "KILL"): scenario.kill,
        ("FAILED", "KILL"): scenario.give_up,
        ("FAILED", "RETRY"): scenario.retry,
        ("OUTPUT", "CHECKPOINT"): scenario.save_outputs,
        ("DISPATCH", "RETRY"): scenario.place,
    }


def _actions(scenario: Scenario) -> str:
    """The table of actions of `MitigationEnv`, with what this environment allows."""
    spec = MitigationEnv.__doc__ or ""
    head, *rows = tables(textwrap.dedent(spec.partition("## Action Space")[2]))[0]
    legal = _legal(scenario)
    asked = [kind for kind in head[1:] if any(k == kind and ok for (k, _), ok in legal.items())]
    shown: list[list[str]] = []
    for action, *meanings in rows:
        word = action.split()[1]
        by_kind = dict(zip(head[1:], meanings, strict=True))
        cells = [
            by_kind[kind] if word == "CONTINUE" or legal.get((kind, word)) else "" for kind in asked
        ]
        if any(cells):
            shown.append([f"`{action}`", *cells])
    text = "\n".join(_left(["action", *asked], shown))
    return (
        "`Discrete(5)`, as in every environment. What is asked here, and what each answer does:\n\n"
        f'{text}\n\nThe legal ones are in `info["action_mask"]`.'
        " An illegal action counts as CONTINUE."
    )


def _observations(name: str) -> str:
    varying = set(varying_fields(name))
    shown = [field for field in FIELDS if field.name in varying]
    rows = [
        [
            f"`{field.name}`",
            field.group,
            field.unit,
            f"{field.low:g} to {field.high:g}",
            field.meaning,
        ]
        for field in shown
    ]
    others = ", ".join(f"`{field.name}`" for field in FIELDS if field.name not in varying)
    return (
        f"`Box(float32)` of {len(FIELDS)} named fields, the same in every environment."
        f" {len(shown)} of them can vary here:\n\n"
        + "\n".join(_left(FIELD_COLUMNS, rows))
        + f"\n\nThe others are the same in every decision: {others}."
    )


def _costs(scenario: Scenario) -> str:
    from failgym.worlds.settings.prices import WEIGHTS

    rows = [[term, f"{getattr(scenario, f'weight_{term}'):g}"] for term in WEIGHTS]
    named = {
        "task value (times the machine-time of its work)": scenario.task_value,
        "an hour of waiting (machine-hours)": scenario.waiting_price,
    }
    rows += [[name, f"{price:g}"] for name, price in named.items() if price is not None]
    if scenario.charge == "episode":
        rows.append(["others", "1"])
    return (
        "A reward is minus what the cost has grown by. The weight of each term, and prices"
        " ([what the terms are](../environments.md#what-is-charged-for)):\n\n"
        + "\n".join(table(["term", "weight or price"], rows))
    )


def _scores(name: str) -> str:
    """The part of the leaderboard that is of an environment."""
    text = generated(LEADERBOARD, "policies")
    parts = LEFT.split(text)
    by_name = dict(zip(parts[1::2], parts[2::2], strict=True))
    if name not in by_name:
        return "No released suite plays this environment yet."
    return (
        "0 is replay, what the cluster did without help; 100 is a bound that no policy can beat."
        " Brackets hold 95 % intervals; columns are kinds of forecasts"
        " ([how to read a score](../results/README.md#how-to-read-a-score),"
        " [all of the leaderboard](../results/leaderboard.md)).\n\n" + by_name[name].strip()
    )


def _gains(name: str) -> str:
    """What each measure alone was found to gain, where that was measured."""
    shown = generated(BASELINES, "measures").strip()
    return (
        f"{shown}\n\n([How that was measured](../results/baselines.md).)" if name in shown else ""
    )


def _settings(scenario: Scenario) -> str:
    """The fields that are not at their defaults."""
    rows = [
        [f"`{field.name}`", f"`{getattr(scenario, field.name)!r}`", f"`{field.default!r}`"]
        for field in fields(scenario)
        if getattr(scenario, field.name) != field.default and field.name != "name"
    ]
    return (
        "Any field of a scenario can be changed: `gymnasium.make(id, field=value)`, or"
        " `--set field=value`. Times are in milliseconds. These are not at their defaults here"
        " ([all fields](../api/envs.md)):\n\n"
        + "\n".join(_left(["field", "here", "default"], rows))
    )


def _history(text: str) -> str:
    lines = re.split(r"\n(?=v\d)", text)
    return "\n".join(
        f"- **{version}**: {' '.join(what.split())}"
        for version, _, what in (line.partition(": ") for line in lines)
    )


def _left(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A table whose columns are all to the left."""
    lines = table(columns, rows)
    return [lines[0], f"| {' | '.join('---' for _ in columns)} |", *lines[2:]]

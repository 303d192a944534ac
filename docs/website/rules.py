"""The rules of both worlds, as the references state them, and worked examples with pictures."""

from __future__ import annotations

import html
import re
import tomllib
from pathlib import Path
from typing import Any

import failgym.sim.reference as pinned
import failgym.sim.reference.scheduled as scheduled
from docs.website.measured import TOP
from docs.website.timeline import OUTAGE, drawn, read_log
from failgym.envs.rendering.palette import FATES

__all__ = ["EXAMPLES", "example_pages", "listed", "rules_page"]

EXAMPLES = TOP / "tests" / "golden" / "rules"
REFERENCES = {"rules/pinned.md": pinned, "rules/scheduled.md": scheduled}
"""Pages of the site, and the package whose docstring is the rules."""
TITLES = {
    "rules/pinned.md": "Rules of the pinned world",
    "rules/scheduled.md": "Rules of the scheduled world",
}
EXAMPLE_PAGES = {
    "rules/pinned.md": "examples.md",
    "rules/scheduled.md": "scheduled_examples.md",
}
"""Where the examples of each are listed, from there."""
_LABELLED = re.compile(r"^([A-Z]\d+)\. ", re.MULTILINE)


def rules_page(place: str) -> str:
    """The rules of a world, in Markdown.

    Args:
        place: a key of `REFERENCES`.
    """
    text = REFERENCES[place].__doc__ or ""
    text = _LABELLED.sub(r"**\1.** ", text)
    text = re.sub(r"\n(?=\*\*[A-Z]\d+\.\*\*)", "\n\n", text)
    first, _, rest = text.partition("\n")
    lead = (
        "This text is the definition. It stands in the code, above a slow implementation in plain"
        " Python, and the compiled engine is tested against that. Every rule has"
        f" [worked examples with pictures]({EXAMPLE_PAGES[place]})."
    )
    return f"# {TITLES[place]}\n\n{lead}\n\n{first}\n{_unlabelled(rest)}"


def _unlabelled(text: str) -> str:
    """Paragraphs of labelled rules without the indent that would make code of them."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("**"):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        lines.append(line.strip() if inside else line)
    return "\n".join(lines) + "\n"


def _place(file: Path) -> str:
    path = file.relative_to(EXAMPLES).with_suffix(".md").as_posix()
    return f"rules/examples/{path}"


def example_pages() -> dict[str, str]:
    """Place on the site -> page, for every file of worked examples."""
    return {_place(file): _examples(file) for file in sorted(EXAMPLES.rglob("*.toml"))}


def listed(origin: Path, top: str) -> str:
    """A list of the pages of examples that lie below a folder.

    Args:
        origin: the folder with the files.
        top: the page that the list is on, from whose folder links lead.
    """
    nested = (origin / "scheduled") if origin == EXAMPLES else None
    files = [
        file
        for file in sorted(origin.rglob("*.toml"))
        if nested is None or not file.is_relative_to(nested)
    ]
    base = top.rpartition("/")[0]
    lines = [f"- [{_subject(file)}]({_place(file).removeprefix(f'{base}/')})" for file in files]
    return "## All of them\n\n" + "\n".join(lines) + "\n"


def _subject(file: Path) -> str:
    first = file.read_text("utf-8").partition("\n")[0]
    return first.removeprefix("#").strip().rstrip(".")


def _examples(file: Path) -> str:
    text = file.read_text("utf-8")
    parts = [f"# {_subject(file)}", f"From `{file.relative_to(TOP).as_posix()}`.", _legend()]
    for example in tomllib.loads(text)["example"]:
        parts += _example(example)
    return "\n\n".join(parts) + "\n"


def _legend() -> str:
    colours = {**FATES, "outage": OUTAGE}
    keys = " ".join(
        f'<span><i style="background:{colour}"></i>{name}</span>'
        for name, colour in colours.items()
    )
    marks = "Marks: C clone, S save (checkpoint), K kill, R retry. A thin line is waiting."
    return f'<p class="timeline-legend">{keys}</p>\n\n{marks}'


def _example(example: dict[str, Any]) -> list[str]:
    name = example["name"]
    told = [f"{key} = {value}" for key, value in example.get("rules", {}).items()]
    blocks = [f"## {_sentence(name)}", html.escape(_sentence(example["why"]), quote=False) + "."]
    picture = drawn(read_log(example["log"]), f"Timeline: {name}")
    blocks.append(f'<div class="timeline-box">{picture}</div>')
    what = ["record:", *_lines(example["rows"])]
    if example.get("actions"):
        what += ["actions:", *_lines(example["actions"])]
    if told:
        what += [f"rules: {', '.join(told)}"]
    accounts = ", ".join(f"{key} {value}" for key, value in example.get("accounts", {}).items())
    what += [f"accounts: {accounts}"] if accounts else []
    return [*blocks, "```text\n" + "\n".join(what) + "\n```"]


def _lines(text: str) -> list[str]:
    return [f"  {line}" for line in text.strip().splitlines()]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

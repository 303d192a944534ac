"""The pages that users read, and what is written in them: code, commands, tables, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
CLIENTS = ("minari", "mo_gymnasium", "ray")
"""Libraries that pages show and that are not installed with failgym."""
LEARNS = "model.learn("
"""In the code that trains an agent, which tests/test_readme.py runs."""
LONGEST_SENTENCE = 35
"""Words of a sentence: nobody who reads one has to go back to its beginning."""


@dataclass(frozen=True)
class Page:
    """A page in Markdown.

    Args:
        name: its path in the repository.
    """

    name: str

    @property
    def path(self) -> Path:
        """The file."""
        return TOP / self.name

    @cached_property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text("utf-8")

    @cached_property
    def prose(self) -> str:
        """The text without its blocks of code."""
        return re.sub(r"^```.*?^```$", "", self.text, flags=re.DOTALL | re.MULTILINE)

    @cached_property
    def inline(self) -> list[str]:
        """What stands between code marks."""
        return re.findall(r"`([^`\n]+)`", self.prose)

    @cached_property
    def links(self) -> list[str]:
        """Where its links lead, in the order in which they stand."""
        return re.findall(r"\]\(([^()\s]+)\)", re.sub(r"`[^`\n]+`", "", self.prose))

    @cached_property
    def anchors(self) -> set[str]:
        """The names by which its headings are linked to."""
        heads: list[str] = re.findall(r"^#+ (.*)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}

    def blocks(self, language: str) -> list[str]:
        """Its blocks of code in a language."""
        found: list[str]
        found = re.findall(rf"^```{language}\n(.*?)^```$", self.text, re.DOTALL | re.MULTILINE)
        return found

    def sentences(self) -> Iterator[str]:
        """The sentences of its text, without tables, heads, pictures and what is generated."""
        yield from sentences(self.prose)

    def section(self, title: str) -> str:
        """What stands under a heading of the second level, until the next."""
        return self.text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]

    def generated(self, name: str) -> str:
        """What stands between a pair of comments."""
        return self.text.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]

    @cached_property
    def files(self) -> dict[str, str]:
        """Name -> content of the files that it shows, as blocks with a title."""
        shown: list[tuple[str, str]]
        shown = re.findall(
            r'^```\w+ title="(.+?)"\n(.*?)^```$', self.text, re.DOTALL | re.MULTILINE
        )
        return dict(shown)

    @cached_property
    def dialogues(self) -> list[tuple[str, str]]:
        """Commands with the output that it shows for them."""
        text = "\n".join(self.blocks("console"))
        parts = re.split(r"^\$ (.*)$", text, flags=re.MULTILINE)
        return list(zip(parts[1::2], parts[2::2], strict=True))

    def command_lines(self) -> Iterator[str]:
        """The lines of its shell blocks; one that goes on, by a quote or a backslash, is one."""
        yield from (command for command, _ in self.dialogues)
        for block in self.blocks("sh"):
            command = ""
            for line in block.replace("\\\n", " ").splitlines():
                command += line
                if command.count("'") % 2 == 0:
                    yield command
                    command = ""

    def commands(self) -> Iterator[list[str]]:
        """Every command line of failgym that is written out, in words, without its name."""
        yield from _failgym_words((*self.command_lines(), *self.inline))

    def block_commands(self) -> Iterator[list[str]]:
        """Those of its shell blocks, which a reader may run one after the other."""
        yield from _failgym_words(self.command_lines())


def _failgym_words(lines: Iterable[str]) -> Iterator[list[str]]:
    """The words of lines that are commands of failgym with arguments, without its name."""
    for line in lines:
        words = shlex.split(line, comments=True) if "failgym" in line else []
        if words[:1] == ["failgym"] and len(words) > 1:
            yield words[1:]


def sentences(prose: str) -> Iterator[str]:
    """The sentences of a text in Markdown, without tables, heads and what is generated."""
    text = re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", "", prose, flags=re.DOTALL)
    text = re.sub(r"^(?:\||#|!\[|>).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`\n]+`|\]\([^()\s]+\)", "x", text).replace("**", "")
    for block in re.split(r"\n\s*\n|\n(?=[-*\d] )", text):
        yield from filter(None, re.split(r"(?<=[.?!:])\s+", " ".join(block.split())))


README = Page("README.md")
PAGES = [
    *(README, Page("CONTRIBUTING.md"), Page("SECURITY.md"), Page("CODE_OF_CONDUCT.md")),
    *(Page(str(path.relative_to(TOP))) for path in sorted((TOP / "docs").rglob("*.md"))),
]


def page(name: str) -> Page:
    """One of the pages."""
    return next(page for page in PAGES if page.name == name)


def run_as_printed(code: str) -> dict[str, Any]:
    """Run code of a page; what it has named."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, "page.md", "exec"), names)  # noqa: S102 - our own pages
    return names


def clients_of(code: str) -> list[str]:
    """Which of `CLIENTS` code of a page imports."""
    return [name for name in CLIENTS if re.search(rf"^(import|from) {name}\b", code, re.MULTILINE)]


def tables(text: str) -> list[list[list[str]]]:
    """The rows of the tables of a text, heads first and without code marks."""
    found: list[str] = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    rows = [[line for i, line in enumerate(t.splitlines()) if i != 1] for t in found]
    return [
        [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
        for lines in rows
    ]


def table(text: str) -> list[list[str]]:
    """The rows of the first table of a text, without its head and without code marks."""
    found = tables(text)
    assert found, "expected a table"
    return found[0][1:]

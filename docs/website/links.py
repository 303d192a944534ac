"""Links of pages that are written for the repository, as they must read on the site.

A page in docs/ may link to the README, or to a file of the code. On the site the README is the
first page, and a file that is linked to is shown on a page of its own.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from docs.website.measured import TOP

__all__ = ["HOMES", "linked", "place_of", "shown_source", "text_parts", "translated"]

HOMES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
    "experiments/README.md": "results/papers.md",
    "tests/golden/rules/README.md": "rules/examples.md",
    "tests/golden/rules/scheduled/README.md": "rules/scheduled_examples.md",
}
"""Pages of the repository outside of docs/, and where they are on the site."""
_LINK = re.compile(r"(\]\()([^()\s]+)(\))")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_LANGUAGES = {
    ".py": "python",
    ".toml": "toml",
    ".yaml": "yaml",
    ".txt": "text",
    ".js": "javascript",
}


def place_of(path: str) -> str | None:
    """Where a file of the repository is on the site; None if it is not there, and cannot be.

    Args:
        path: the file, from the top of the repository.
    """
    if path in HOMES:
        return HOMES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    file = TOP / path
    if file.is_dir() and (file / "__init__.py").is_file():
        path = f"{path}/__init__.py"
    if (TOP / path).is_file():
        return f"source/{path}.md"
    return None


def text_parts(text: str, change: Callable[[str], str]) -> str:
    """The text with what is no code changed."""
    parts = _CODE.split(text)
    return "".join(part if at % 2 else change(part) for at, part in enumerate(parts))


def translated(text: str, origin: str, at: str) -> str:
    """The text of a page with its links as they must read on the site.

    Args:
        text: in Markdown.
        origin: where the text is in the repository.
        at: where it will be on the site.
    """

    def changed(match: re.Match[str]) -> str:
        target, hash_sign, anchor = match[2].partition("#")
        place = _target(target, origin)
        if place is None:
            return match[0]
        relative = posixpath.relpath(place, posixpath.dirname(at) or ".")
        return f"{match[1]}{relative}{hash_sign}{anchor}{match[3]}"

    return text_parts(text, lambda part: _LINK.sub(changed, part))


def linked(text: str, origin: str) -> set[str]:
    """The files of the repository that a text links to, which have to be shown as sources."""
    found: set[str] = set()

    def seen(part: str) -> str:
        for _, link, _ in _LINK.findall(part):
            place = _target(link.partition("#")[0], origin)
            if place is not None and place.startswith("source/"):
                found.add(place.removeprefix("source/").removesuffix(".md"))
        return part

    text_parts(text, seen)
    return found


def _target(link: str, origin: str) -> str | None:
    """Where a link leads on the site; None for one that leads elsewhere, or to its own page."""
    if not link or ":" in link:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))
    return place_of(path)


def shown_source(path: str) -> str:
    """A page that shows a file of the repository."""
    text = (TOP / path).read_text("utf-8")
    fence = "`" * (3 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
    language = _LANGUAGES.get(PurePosixPath(path).suffix, "text")
    head = "---\nsearch:\n  exclude: true\n---\n"
    return f"{head}# {os.path.basename(path)}\n\n`{path}`\n\n{fence}{language}\n{text}{fence}\n"


def sources(texts: Iterable[tuple[str, str]]) -> set[str]:
    """The files that several texts, with where they are in the repository, link to."""
    return {path for text, origin in texts for path in linked(text, origin)}

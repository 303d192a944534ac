"""The folder of a site: each file is written whole or not at all, and what is not ours stays.

`site.json` lists the files that failgym wrote, so that pages of submissions that are gone are
removed, and nothing else is: a host may keep files of its own there (`CNAME`, `.git`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard, cast

from failgym.files import replacing
from failgym.leaderboard.site.submissions import PAGES

__all__ = ["INDEX", "SITE_FILE", "known_files", "write_files"]

INDEX = "index.html"
SITE_FILE = "site.json"
FORMAT, VERSION = "failgym site", 1
_OURS = re.compile(rf"{re.escape(INDEX)}|{PAGES}/[a-z0-9_~-]+\.html")
"""Names that a site's files may have."""


def known_files(folder: Path) -> list[str]:
    """The files of a site that is there; none in a folder without one.

    Raises:
        ValueError: if it is no folder, or holds a `site.json` of somebody else's.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: expected a folder")
    file = folder / SITE_FILE
    if not file.exists():
        return []
    try:
        content: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        content = None
    known = cast(dict[str, Any], content) if isinstance(content, dict) else {}
    names = known.get("files")
    if (known.get("format"), known.get("version")) != (FORMAT, VERSION) or not _are_ours(names):
        raise ValueError(f"{file}: is not of a site that failgym wrote: not replaced")
    return names


def _are_ours(names: Any) -> TypeGuard[list[str]]:
    return isinstance(names, list) and all(
        isinstance(name, str) and _OURS.fullmatch(name) for name in cast(list[Any], names)
    )


def write_files(folder: Path, pages: Mapping[str, str | Path], known: list[str]) -> None:
    """Write the pages, then remove those of an earlier site that are gone.

    Each file is replaced at once, so that a server always has a whole one; the same command goes on
    after a kill.

    Args:
        folder: of the site; made if it is not there.
        pages: name -> text, or a file of it; in this order.
        known: the files of an earlier site.

    Raises:
        ValueError: for a file that failgym did not write.
        OSError: if one cannot be written.
    """
    for name in pages:
        if name not in known and (folder / name).exists():
            raise ValueError(f"{folder / name}: is not of a site that failgym wrote: not replaced")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGES).mkdir(exist_ok=True)
    _list(folder, [*pages, *(name for name in known if name not in pages)])
    for name, page in pages.items():
        text = page if isinstance(page, str) else page.read_text(encoding="utf-8")
        with replacing(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
    for name in known:
        if name not in pages:
            (folder / name).unlink(missing_ok=True)
    _list(folder, list(pages))


def _list(folder: Path, names: list[str]) -> None:
    content = {"format": FORMAT, "version": VERSION, "files": sorted(names)}
    with replacing(folder / SITE_FILE) as partial:
        partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

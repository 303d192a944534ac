"""`failgym cache`: the compiled worlds that are kept on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from failgym.cli.options import Json
from failgym.cli.output import Cell, JsonFile, print_line, print_table

if TYPE_CHECKING:
    from datetime import datetime

    from failgym.world_cache.file import Kept

__all__ = ["cache"]

COLUMNS = ("scenario", "trace", "files", "size", "last used")

cache = typer.Typer()


@cache.callback(invoke_without_command=True)
def show(context: typer.Context, json: Json = None) -> None:
    """Show the compiled worlds that are kept on disk, or clear them.

    A compiled world is a trace that is prepared for the engine. FAILGYM_CACHE_DIR sets the folder,
    and FAILGYM_CACHE_SIZE how large it may become: 4G by default; 0 keeps none.

    The file of --json says of each file what it holds: a world, a part of one, or what was found in
    one, with its split and forecast.
    """
    from failgym.memory import size_text
    from failgym.world_cache.folder import cache_folder, chosen_folder, entries, size_limit

    if context.invoked_subcommand is not None:
        return
    file, most = JsonFile.at(json), size_limit()
    kept, usable = entries(), most > 0 and cache_folder() is not None
    size = sum(each.size for each in kept)
    rows = _rows(kept)
    print_table("Compiled worlds", COLUMNS, rows, texts=frozenset(COLUMNS) - {"files", "size"})
    print_line(f"{chosen_folder()}: {_count(len(kept))}, {size_text(size)} of {size_text(most)}")
    if not usable:
        print_line(
            "not used: " + ("FAILGYM_CACHE_SIZE=0" if not most else "cannot be made private")
        )
    worlds = [_document(each) for each in kept]
    file.write({"folder": str(chosen_folder()), "used": usable, "most": most, "worlds": worlds})


@cache.command()
def clear() -> None:
    """Remove the compiled worlds that are kept. Processes that run keep theirs."""
    from failgym.memory import size_text
    from failgym.world_cache.folder import clear as remove

    count, size = remove()
    print_line(f"removed {_count(count)}, {size_text(size)}")


def _count(files: int) -> str:
    return "1 file" if files == 1 else f"{files:,} files"


def _rows(kept: list[Kept]) -> list[tuple[Cell, ...]]:
    """A row for each trace of a scenario, the last used first."""
    from failgym.memory import size_text

    found: dict[tuple[str, str], list[Kept]] = {}
    for each in kept:
        found.setdefault((each.scenario, each.trace), []).append(each)
    return [
        (
            *of,
            len(files),
            size_text(sum(each.size for each in files)),
            f"{_moment(max(each.used for each in files)):%Y-%m-%d %H:%M}",
        )
        for of, files in found.items()
    ]


def _document(kept: Kept) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(kept), "file": str(kept.file), "used": _moment(kept.used).isoformat()}


def _moment(seconds: float) -> datetime:
    """A moment on the clock of this place."""
    from datetime import datetime

    return datetime.fromtimestamp(seconds).astimezone()

"""`failgym doctor`: what failgym finds on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import typer

from failgym.cli.options import Json
from failgym.cli.output import Cell, JsonFile, print_line, print_table

__all__ = ["Extra", "doctor", "extras_of"]

HIDDEN = ("all", "dev", "docs", "clients")
"""Extras for those who work on failgym: how their names begin."""
THREADS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables that say how many threads libraries start."""
FOLDERS = ("FAILGYM_CACHE_DIR", "FAILGYM_CACHE_SIZE", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")
"""Variables that say where compiled worlds and code are kept."""


class Extra(NamedTuple):
    """The packages of an extra of failgym, by whether they are installed."""

    name: str
    installed: list[str]
    missing: list[str]


def doctor(json: Json = None) -> None:
    """Show versions, caches, threads and what is installed, for a report of a problem.

    The exit status is 1 if a package is missing that every command needs.
    """
    file = JsonFile.at(json)
    core, *extras = extras_of()
    places = dict(_places())
    print_table(
        "failgym", ("", "found"), list(places.items()), texts=frozenset({"found"}), width=80
    )
    rows: list[tuple[Cell, ...]] = [
        (extra.name, "missing" if extra.missing else "installed", ", ".join(_told(extra)))
        for extra in (core, *extras)
    ]
    print_table(
        "Packages", ("extra", "", "packages"), rows, texts=frozenset({"", "packages"}), width=80
    )
    lacking = [extra.name for extra in extras if extra.missing]
    if lacking:
        print_line(f"to install what is missing: pip install 'failgym[{','.join(lacking)}]'")
    file.write(
        {"found": places, "packages": {extra.name: extra._asdict() for extra in (core, *extras)}}
    )
    if core.missing:
        print_line(f"missing, and needed by every command: {', '.join(core.missing)}")
        raise typer.Exit(1)


def _places() -> Iterator[tuple[str, str]]:
    """What is found, by name, beside packages."""
    import os
    import platform
    from pathlib import Path

    import failgym
    from failgym.memory import available, size_text
    from failgym.sources import code_hash

    yield "version", failgym.__version__
    yield "code", f"{code_hash()[:12] or 'not readable'}, in {Path(failgym.__file__).parent}"
    yield "Python", f"{platform.python_version()}, {platform.python_implementation()}"
    yield "system", f"{platform.system()} {platform.release()}, {platform.machine()}"
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    yield "processors", str(os.cpu_count()) + ("" if allowed is None else f", {allowed} to be used")
    free = available()
    yield "memory that is free", "not known" if free is None else size_text(free)
    yield "compiled worlds", _cache()
    for name in (*THREADS, *FOLDERS):
        if name in os.environ:
            yield name, os.environ[name]


def _cache() -> str:
    """Where compiled worlds are kept, and how much room they take."""
    from failgym.memory import size_text
    from failgym.world_cache.folder import cache_folder, chosen_folder, entries, size_limit

    try:
        most = size_limit()
    except ValueError as error:
        return str(error)
    if not most:
        return "not kept: FAILGYM_CACHE_SIZE=0"
    if cache_folder() is None:
        return f"not kept: {chosen_folder()} is not private"
    taken = sum(each.size for each in entries())
    return f"{size_text(taken)} of {size_text(most)}, in {chosen_folder()}"


def extras_of() -> list[Extra]:
    """What failgym requires, "core" first, then by extra; what other systems need is left out."""
    import re
    import sys
    from importlib.metadata import requires

    wanted: dict[str, list[str]] = {"core": []}
    for line in requires("failgym") or ():
        requirement, _, marker = line.partition(";")
        (name,) = re.findall(r"^[\w.-]+", requirement)
        (extra,) = re.findall(r"""extra == ['"]([\w-]+)['"]""", marker) or ["core"]
        elsewhere = re.findall(r"""sys_platform (==|!=) ['"](\w+)['"]""", marker)
        here = all((sys.platform == system) == (sign == "==") for sign, system in elsewhere)
        if here and not extra.startswith(HIDDEN):
            wanted.setdefault(extra, []).append(name)
    return [_looked_up(name, packages) for name, packages in wanted.items()]


def _looked_up(name: str, packages: list[str]) -> Extra:
    there = {package: _version(package) for package in packages}
    installed = [f"{package} {version}" for package, version in there.items() if version]
    return Extra(name, installed, [package for package, version in there.items() if not version])


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _told(extra: Extra) -> list[str]:
    return [*extra.installed, *(f"{package}: not installed" for package in extra.missing)]

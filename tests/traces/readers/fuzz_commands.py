"""Damaged files through the command line: `python -m tests.traces.readers.fuzz_commands`.

An import ends with a trace, or with one line and status 2; nothing that was there before is lost,
nothing half-written stays, and no name or content reaches the terminal as more than text. Sources
are files, links, pipes, devices and folders; they are written to new and to foreign folders, to
links, to file systems that are full or read-only, and by a user who may not write or read.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from failgym.cli import run
from failgym.traces import FORMATS, Trace
from tests.traces.readers.fuzz import Case, cases, damaged, written
from tests.traces.readers.fuzz_places import (
    ALWAYS_REFUSED,
    MOUNTS,
    NAMES,
    NEW,
    PLACES,
    SOURCES,
    mounts_work,
)

Rng = np.random.Generator
Choice = TypeVar("Choice")

UNFIT = "\x1b\x07\x00\r\u202e"
"""Signs that no terminal is to be given."""
NOBODY = 65534
LEFT = ".import-google-2011"
LONGEST = 20.0
"""What takes longer hangs [s]."""
ALONE = 300
"""The same of a process of its own, which begins with imports beside whatever else runs [s]."""


@dataclass
class Tally:
    """What came of the commands."""

    commands: Counter[str] = field(default_factory=Counter[str])
    failures: list[str] = field(default_factory=list[str])
    longest: float = 0.0


@dataclass(frozen=True)
class Said:
    """What a command returned and printed."""

    status: int | None
    out: str
    err: str
    seconds: float
    broke: str = ""  # the traceback


def call(arguments: list[str]) -> Said:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    begun = time.process_time()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run(arguments)
    except BaseException:
        return Said(None, out.getvalue(), err.getvalue(), 0.0, traceback.format_exc())
    return Said(status, out.getvalue(), err.getvalue(), time.process_time() - begun)


def call_alone(arguments: list[str]) -> Said:
    """Run a command in a process of its own."""
    command = [sys.executable, "-c", "from failgym.cli import main; main()", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=ALONE, check=False)
    except subprocess.TimeoutExpired:
        return Said(None, "", "", 0.0, f"longer than {ALONE} s")
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return Said(done.returncode, out, err, 0.0)


def call_as_nobody(arguments: list[str]) -> Said:
    """Run a command in a copy of this process that belongs to another user."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(told)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        with os.fdopen(tell, "w") as pipe:
            json.dump(vars(call(arguments)), pipe)
            pipe.flush()
        os._exit(0)
    os.close(tell)
    with os.fdopen(told) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return Said(**json.loads(text)) if text else Said(None, "", "", 0.0, "the process ended")


@dataclass
class Commands:
    """Commands by their numbers."""

    seed: int
    found: dict[str, list[Case]] = field(default_factory=cases)
    mounted: bool = field(default_factory=mounts_work)
    alone: float = 0.0
    """share of the imports that are processes of their own"""
    as_root: bool = field(default_factory=lambda: os.geteuid() == 0)

    def run(self, numbers: range) -> Tally:
        """What comes of these commands."""
        tally = Tally()
        for number in numbers:
            home = Path(tempfile.mkdtemp())
            home.chmod(0o755)
            try:
                wrong = self._one(number, home, tally)
            finally:
                shutil.rmtree(home, ignore_errors=True)
            tally.failures += [f"[{self.seed}, {number}] {one}" for one in wrong]
        return tally

    def _one(self, number: int, home: Path, tally: Tally) -> Iterator[str] | list[str]:
        rng = np.random.default_rng([self.seed, number])
        form = list(FORMATS)[number % len(FORMATS)]
        case = self.found[form][int(rng.integers(len(self.found[form])))]
        path = self._source(case, rng, home)
        source = _drawn(SOURCES, rng)(path, home)
        place = _drawn(PLACES, rng)
        if place in MOUNTS and not self.mounted:
            place = NEW
        nobody = self.as_root and place is NEW and rng.random() < 0.1
        name = NAMES[int(rng.integers(len(NAMES)))].lstrip("-")
        with place(home, f"to {name}") as out:
            before = contents(home)
            arguments = ["trace", "import", form, str(source), "--out", str(out)]
            alone = not nobody and rng.random() < self.alone
            said = (call_as_nobody if nobody else call_alone if alone else call)(arguments)
            how = " as nobody" if nobody else " in a process" if alone else ""
            tally.commands[place.__name__.strip("_") + how] += 1
            tally.longest = max(tally.longest, said.seconds)
            wrong = [f"{arguments}: {one}" for one in wrongs(said)]
            made = said.status == 0
            if made and (place in ALWAYS_REFUSED or nobody):
                wrong.append(f"{arguments}: written to {out}")
            if not made and contents(home) != before:
                wrong.append(f"{arguments}: changed what was there")
            if made:
                wrong += [f"{arguments}: {one}" for one in self._then(out, home, rng, tally)]
        return wrong

    def _source(self, case: Case, rng: Rng, home: Path) -> Path:
        """The files of a case, damaged or not, in a folder, or a file, of an odd name."""
        name = NAMES[int(rng.integers(len(NAMES)))]
        folder = home / (name if len(name) < 200 else "long")
        folder.mkdir()
        path = damaged(case, rng, folder)[0] if rng.integers(2) else written(case, folder)
        if path.is_file() and rng.integers(2) and len(name) < 200:
            return path.rename(path.with_name(name + path.name))
        return path

    def _then(self, out: Path, home: Path, rng: Rng, tally: Tally) -> Iterator[str]:
        """What is wrong with what other commands make of a trace that was imported."""
        try:
            Trace.load(out)
        except Exception:
            yield f"what was written cannot be read: {traceback.format_exc()}"
        page = home / "page.html"
        further = [["trace", "info", str(out)]]
        if rng.random() < 0.1:
            further.append(["replay", str(out), "--html", str(page)])
        for arguments in further:
            said = call(arguments)
            tally.commands[
                " ".join(arguments[:2] if arguments[0] == "trace" else arguments[:1])
            ] += 1
            yield from (f"{arguments}: {one}" for one in wrongs(said))
        if page.exists() and "<script>alert(1)" in page.read_text("utf-8"):
            yield "the page holds a script that a trace brought"


def _drawn(choices: Sequence[tuple[Choice, float]], rng: Rng) -> Choice:
    shares = np.array([share for _, share in choices])
    return choices[int(rng.choice(len(choices), p=shares / shares.sum()))][0]


def wrongs(said: Said) -> Iterator[str]:
    """What is wrong with what a command said."""
    if said.broke:
        yield said.broke
    elif said.status not in (0, 2):
        yield f"status {said.status}"
    if said.status == 2 and len(said.err.splitlines()) != 1:
        yield f"not one line: {said.err[:500]!r}"
    if said.status == 2 and len(said.err) > 4_000:
        yield f"a line of {len(said.err)} signs"
    for sign in UNFIT:
        if sign in said.err + said.out:
            yield f"prints {sign!r}"
    if said.seconds > LONGEST:
        yield f"took {said.seconds:.1f} s"


def contents(home: Path) -> dict[str, bytes | str | None]:
    """Everything that is in a folder, but for what a large import leaves to go on with."""
    found: dict[str, bytes | str | None] = {}
    for folder, folders, files in os.walk(home):
        folders[:] = [name for name in folders if not name.endswith(LEFT)]
        for name in [*folders, *files]:
            path = Path(folder, name)
            if path.is_symlink():
                found[str(path)] = os.readlink(path)
            else:
                found[str(path)] = path.read_bytes() if path.is_file() else None
    return found


def main() -> None:
    """Run commands and print what came of them as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alone", type=float, default=0.03, help="share in a process of its own")
    asked = parser.parse_args()
    tally = Commands(asked.seed, alone=asked.alone).run(
        range(asked.first, asked.first + asked.commands)
    )
    for one in tally.failures:
        print(one)
    told = {**vars(tally), "failures": len(tally.failures)}
    print(json.dumps(told, indent=1))
    raise SystemExit(bool(tally.failures))


if __name__ == "__main__":
    main()

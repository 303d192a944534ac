"""Damaged files for every reader: what is made of them, and what is wrong with that.

Each input is a fixture with one to four faults (`mutations`), drawn from the campaign's seed and
the input's number alone. A reader may make a trace of it or raise `TraceError`, in one line that
names the file; a trace is compiled into worlds and replayed (`fuzz_worlds`). Each takes at most so
much processor time for so many bytes, and so much memory. `fuzz_campaign` runs very many of them.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import shutil
import signal
import tempfile
import time
import traceback
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from failgym.traces import FORMATS, Trace, TraceError
from failgym.traces.readers import json_objects, sources
from failgym.traces.schema import TABLES
from tests.traces.readers.fuzz_worlds import replay, simulate
from tests.traces.readers.google_2011.nasty import write_nasty
from tests.traces.readers.mutations import mutated

DATA = Path(__file__).resolve().parents[2] / "data"
LONGEST = 20
"""What takes more processor time hangs [s]."""
TIME, TIME_PER_KB = 0.050, 0.001
"""Processor time of a read, or of a replay [s], and what may be added for each 1,000 bytes."""
LONGEST_MESSAGE = 1_000
"""Signs of a message, besides the names of files."""
MOST_MEMORY = 1 << 30
"""Resident memory of a process [bytes]."""
CHUNKS = (64, 300, 1 << 20, 1 << 20)
"""How much is read at once [bytes]: so little that a fixture takes many blocks, or as it is."""

OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "swf": ({}, {"infer_attempts": True, "merge_clusters": True}),
    "lanl": ({}, {"nodes": (0, 9)}),
    "stg": ({}, {"unit_ms": 1}),
    "torque": ({}, {"merge_clusters": True}),
    "table": ({}, {"unit": "ms", "outcomes": {"pending": "lost"}, "columns": {"gpu": "slots"}}),
    "sacct": ({}, {"merge_clusters": True, "columns": ("JobID", "State", "Start", "End")}),
}
"""Options to read with; none by default."""


@dataclass(frozen=True)
class Case:
    """Files that a format can be read from: one, or a folder of them."""

    form: str
    files: dict[str, bytes]
    folder: bool


@dataclass
class Report:
    """What came of some inputs."""

    inputs: Counter[str] = field(default_factory=Counter[str])
    """by format"""
    traces: Counter[str] = field(default_factory=Counter[str])
    """those that a trace was made of"""
    worlds: Counter[str] = field(default_factory=Counter[str])
    """those of which a world was replayed, by kind of world"""
    refused: Counter[str] = field(default_factory=Counter[str])
    """worlds that were refused in one line, by its beginning"""
    failures: list[str] = field(default_factory=list[str])
    longest: dict[str, float] = field(default_factory=dict[str, float])
    """processor time [s], by what was done; and the largest share of what it may take"""
    memory: int = 0
    """most memory of the process [bytes]"""


def cases() -> dict[str, list[Case]]:
    """The fixtures of every format."""
    found: dict[str, list[Case]] = {name: [] for name in FORMATS}
    for form in FORMATS.values():
        for folder in (DATA / form.name, DATA / form.module):
            for path in sorted(folder.iterdir()) if folder.is_dir() else []:
                files = {"": path} if path.is_file() else _inside(path)
                contents = {name: file.read_bytes() for name, file in files.items()}
                contents = {name or path.name: text for name, text in contents.items()}
                found[form.name].append(Case(form.name, contents, path.is_dir()))
    for name in ("fta", "stg"):
        found[name] += [packed(case) for case in found[name] if case.folder or name == "stg"]
    with tempfile.TemporaryDirectory() as scratch:
        write_nasty(Path(scratch))
        files = {name: file.read_bytes() for name, file in _inside(Path(scratch)).items()}
        found["google-2011"].append(Case("google-2011", files, folder=True))
    return found


def packed(case: Case) -> Case:
    """The files of a case as one zip archive, the same bytes every time."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, content in case.files.items():
            zipped.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return Case(case.form, {"packed.zip": archive.getvalue()}, folder=False)


def _inside(folder: Path) -> dict[str, Path]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file for file in files}


def written(case: Case, folder: Path) -> Path:
    """Write the files of a case; what to read."""
    for name, content in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder if case.folder else folder / next(iter(case.files))


def damaged(case: Case, rng: np.random.Generator, scratch: Path) -> tuple[Path, int]:
    """Write the files of a case, one of them damaged; what to read, and its bytes, unpacked."""
    names = list(case.files)
    hit = names[int(rng.integers(len(names)))]
    files = {**case.files, hit: mutated(case.files[hit], rng)}
    size = sum(max(len(content), _unpacked(content)) for content in files.values())
    return written(Case(case.form, files, case.folder), scratch), size


def _unpacked(content: bytes) -> int:
    """How many bytes a gzip file holds, as far as it is sound."""
    unpack = zlib.decompressobj(wbits=31)
    try:
        return len(unpack.decompress(content, 1 << 24))
    except zlib.error:
        return 0


def read(form: str, path: Path, options: dict[str, Any]) -> Trace | str:
    """The trace; or what is wrong with what came of the read, "" if nothing."""
    try:
        trace: Trace = FORMATS[form].reader(path, **options)
    except TraceError as error:
        return _unclear(str(error), path)
    try:
        json.dumps(asdict(trace.meta)).encode("utf-8")
    except (TypeError, ValueError):
        return f"the meta data cannot be stored: {traceback.format_exc()}"
    return trace


def complaint(form: str, path: Path, options: dict[str, Any]) -> str:
    """What is wrong with what comes of a read, "" if nothing."""
    made = read(form, path, options)
    return made if isinstance(made, str) else ""


def _unclear(said: str, path: Path) -> str:
    """What is wrong with a message, "" if nothing."""
    short = len(said) < LONGEST_MESSAGE + 5 * len(str(path))
    if len(said.splitlines()) == 1 and str(path) in said and short:
        return ""
    return f"not a clear line: {said[:500]!r}"


@contextlib.contextmanager
def _deadline() -> Generator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"more than {LONGEST} s of processor time")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass
class Campaign:
    """Inputs by their numbers."""

    seed: int
    forms: list[str]
    keep: Path | None = None
    worlds: bool = True
    """whether traces are replayed"""
    timed: bool = True
    """whether what takes too long, or too much memory, fails"""
    warmed: bool = False
    found: dict[str, list[Case]] = field(default_factory=lambda: cases())

    def run(self, numbers: range) -> Report:
        """What comes of these inputs."""
        before = sources.CHUNK, json_objects.CHUNK
        report = Report()
        if not self.warmed:
            self.warm()
        try:
            for number in numbers:
                self.attempt(number, report)
        finally:
            sources.CHUNK, json_objects.CHUNK = before
        return report

    def warm(self) -> None:
        """Read and replay what is not damaged, so that all code is there when time is measured."""
        for form in self.forms:
            for case in self.found[form]:
                with tempfile.TemporaryDirectory() as scratch:
                    path = written(case, Path(scratch))
                    trace = FORMATS[form].reader(path)
                if self.worlds:
                    assert replay(trace) == "" or trace.rows("tasks") == 0
                    simulate(trace)
        self.warmed = True

    def attempt(self, number: int, report: Report) -> None:
        """Make an input, read it, and replay what was read."""
        rng = np.random.default_rng([self.seed, number])
        form = self.forms[number % len(self.forms)]
        case = self.found[form][int(rng.integers(len(self.found[form])))]
        scratch = Path(tempfile.mkdtemp())
        path, size = damaged(case, rng, scratch)
        sources.CHUNK = json_objects.CHUNK = CHUNKS[int(rng.integers(len(CHUNKS)))]
        choices = OPTIONS.get(form, ({},))
        options = choices[int(rng.integers(len(choices)))]
        forget_peak()
        wrong = self._outcome(form, path, size, options, report)
        report.inputs[form] += 1
        peak = peak_memory()
        report.memory = max(report.memory, peak)
        if peak > MOST_MEMORY and self.timed:
            wrong += f" memory of {peak / 1e6:.0f} MB"
        if wrong:
            report.failures.append(f"{form} [{self.seed}, {number}]: {wrong}")
            if self.keep is not None:
                shutil.copytree(scratch, self.keep / f"{form}-{number}", dirs_exist_ok=True)
        shutil.rmtree(scratch, ignore_errors=True)

    def _outcome(
        self, form: str, path: Path, size: int, options: dict[str, Any], report: Report
    ) -> str:
        """What is wrong with what came of an input, "" if nothing."""
        made, late = self._timed("read", lambda: read(form, path, options), size, report)
        if isinstance(made, str):
            return made + late
        report.traces[form] += 1
        wrong = late
        for name, play in (("pinned", replay), ("scheduled", simulate)) if self.worlds else ():
            size = max(size, _told(made))
            said, late = self._timed(name, lambda play=play: play(made), size, report)
            if said == "":
                report.worlds[name] += 1
            elif said.startswith("refused: ") and len(said.splitlines()) == 1:
                report.refused[f"{name}: {said[9:50]}"] += 1
            else:
                wrong += f" {name}: {said}"
            wrong += late
        return wrong

    def _timed(
        self, what: str, call: Callable[[], Any], size: int, report: Report
    ) -> tuple[Any, str]:
        """What a call returns, or its traceback; and, if it took too long twice, how long."""
        took: list[float] = []
        while True:
            begun = time.process_time()
            try:
                with _deadline():
                    made = call()
            except BaseException:
                return traceback.format_exc(), ""
            took.append(time.process_time() - begun)
            allowed = TIME + TIME_PER_KB * max(size, _told(made)) / 1_000
            if min(took) <= allowed or len(took) == 2:
                break
            gc.collect()
            sources.CHUNK = json_objects.CHUNK = CHUNKS[-1]  # tiny blocks may well take longer
        seconds = min(took)
        for key, value in ((what, seconds), (f"{what}, of its limit", seconds / allowed)):
            report.longest[key] = max(report.longest.get(key, 0.0), value)
        if seconds > allowed and self.timed:
            return made, f" {what} took {seconds:.3f} s, expected {allowed:.3f} s for {size} bytes"
        return made, ""


def _told(made: Any) -> int:
    """Bytes that the rows of a trace count for at least."""
    if not isinstance(made, Trace):
        return 0
    return BYTES_PER_ROW * sum(made.rows(name) for name in TABLES)


BYTES_PER_ROW = 200
"""A row of a trace counts for at least so many bytes: few bytes of a list of hosts, of elements, or
of a number of machines, may stand for very many rows."""


def forget_peak() -> None:
    """The most memory of this process is counted from here on (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """The most resident memory since `forget_peak` [bytes]; 0 where that is not told."""
    try:
        told = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(told.partition("VmHWM:")[2].split()[0]) * 1024

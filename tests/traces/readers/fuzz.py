"""A campaign of damaged files against every reader: `python -m tests.traces.readers.fuzz`.

Each input is a fixture with one to four faults (`mutations`). A reader may make a trace of it or
raise `TraceError`, in one line that names the file. Whatever else happens, a read that takes too
long or memory beyond the limit is reported, and the input is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import resource
import shutil
import signal
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from failgym.traces import FORMATS, Trace, TraceError
from failgym.traces.readers import json_objects, sources
from tests.traces.readers.google_2011.nasty import write_nasty
from tests.traces.readers.mutations import mutated

DATA = Path(__file__).resolve().parents[2] / "data"
LONGEST_READ = 20
"""A read that takes longer hangs [s]."""
MOST_MEMORY = 1 << 30
"""Resident memory of a process that reads [bytes]."""
CHUNKS = (64, 300, 1 << 20)
"""How much is read at once [bytes]: so little that a fixture takes many blocks, or as it is."""

OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "swf": ({}, {"infer_attempts": True}),
    "lanl": ({}, {"nodes": (0, 9)}),
    "stg": ({}, {"unit_ms": 1}),
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
    """What came of the inputs of one process."""

    inputs: Counter[str] = field(default_factory=Counter[str])
    traces: Counter[str] = field(default_factory=Counter[str])
    failures: list[str] = field(default_factory=list[str])
    longest: float = 0.0
    memory: int = 0


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


def attempt(case: Case, rng: np.random.Generator, scratch: Path) -> tuple[str, float]:
    """Damage a file, read, and say what is wrong with what came ("" if nothing, "trace" if one)."""
    names = list(case.files)
    damaged = names[int(rng.integers(len(names)))]
    for name, content in case.files.items():
        file = scratch / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(mutated(content, rng) if name == damaged else content)
    sources.CHUNK = json_objects.CHUNK = CHUNKS[int(rng.integers(len(CHUNKS)))]
    choices = OPTIONS.get(case.form, ({},))
    options = choices[int(rng.integers(len(choices)))]
    begun = time.perf_counter()
    wrong = read(case.form, scratch if case.folder else scratch / names[0], options)
    return wrong, time.perf_counter() - begun


def read(form: str, path: Path, options: dict[str, Any]) -> str:
    """Read, and say what is wrong with what came ("" if nothing, "trace" if it is a trace)."""
    try:
        with _deadline():
            trace: Trace = FORMATS[form].reader(path, **options)
    except TraceError as error:
        said = str(error)
        lines = len(said.splitlines())
        return "" if lines == 1 and str(path) in said else f"not a clear line: {said[:500]!r}"
    except BaseException:
        return traceback.format_exc()
    try:
        json.dumps(asdict(trace.meta)).encode("utf-8")
    except (TypeError, ValueError):
        return f"the meta data cannot be stored: {traceback.format_exc()}"
    return "trace"


@contextlib.contextmanager
def _deadline() -> Generator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"longer than {LONGEST_READ} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST_READ)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def campaign(seed: int, inputs: int, forms: list[str], keep: Path | None) -> Report:
    """Read that many damaged inputs, the formats in turn."""
    before = sources.CHUNK, json_objects.CHUNK
    try:
        return _campaign(seed, inputs, forms, keep)
    finally:
        sources.CHUNK, json_objects.CHUNK = before


def _campaign(seed: int, inputs: int, forms: list[str], keep: Path | None) -> Report:
    report, found = Report(), cases()
    for number in range(inputs):
        rng = np.random.default_rng([seed, number])
        form = forms[number % len(forms)]
        case = found[form][int(rng.integers(len(found[form])))]
        scratch = Path(tempfile.mkdtemp())
        wrong, took = attempt(case, rng, scratch)
        report.inputs[form] += 1
        report.longest = max(report.longest, took)
        if wrong == "trace":
            report.traces[form] += 1
        elif wrong:
            report.failures.append(f"{form} [{seed}, {number}]: {wrong}")
            if keep is not None:
                shutil.copytree(scratch, keep / f"{form}-{seed}-{number}", dirs_exist_ok=True)
        shutil.rmtree(scratch, ignore_errors=True)
    report.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return report


def main() -> None:
    """Run a campaign and print what came of it, as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--formats", nargs="+", default=list(FORMATS), choices=list(FORMATS))
    parser.add_argument("--keep", type=Path, help="where inputs that are not read cleanly are kept")
    asked = parser.parse_args()
    share = -(-asked.inputs // asked.processes)
    arguments = [
        (asked.seed * 1000 + process, share, asked.formats, asked.keep)
        for process in range(asked.processes)
    ]
    begun = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        reports = pool.starmap(campaign, arguments)
    failures = [one for report in reports for one in report.failures]
    summary = {
        "inputs": sum((report.inputs for report in reports), Counter[str]()),
        "traces": sum((report.traces for report in reports), Counter[str]()),
        "failures": len(failures),
        "longest_s": round(max(report.longest for report in reports), 3),
        "memory_mb": round(max(report.memory for report in reports) / 1e6),
        "wall_s": round(time.perf_counter() - begun, 1),
    }
    for one in failures[:40]:
        print(one)
    print(json.dumps(summary))
    if failures or max(report.memory for report in reports) > MOST_MEMORY:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

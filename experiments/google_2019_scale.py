"""How fast a cell in Google's format of 2019 is imported by one and by two processes.

    python -m experiments.google_2019_scale --scratch DIR [--rows 3000000] [--files 12]
        [--rounds 2] [--json FILE]

A cell is made up: jobs of 1 to 1,000 instances, of which some fail or are evicted and run again; as
BigQuery exports it (packed JSON lines, integers as texts, rows in no order, spread over files). It
is imported by one process and by two, in turns, each time by a fresh Python, and once read at once
(`read_google_2019`), whose hash the others must have. Rows are events of instances; rates are of
wall time, beside the processor's. Ends with status 1 if a hash is off.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

from failgym.cli.output import JsonFile, print_line, print_table

IMPORT = """
import json, multiprocessing, resource, sys, time
from pathlib import Path
from failgym.traces import Trace
from failgym.traces.readers.google_2019 import import_google_2019, read_google_2019
from failgym.workers import Workers
def main():
    source, out, warm = (Path(sys.argv[at]) for at in (1, 2, 4))
    processes = int(sys.argv[3])
    import_google_2019(warm, out / "warm")  # nothing is left to compile
    begun, spent = time.perf_counter(), time.process_time()
    if processes == 0:
        read_google_2019(source).save(out / "t")
    else:
        import_google_2019(source, out / "t", workers=Workers(processes))
    seconds = time.perf_counter() - begun
    for child in multiprocessing.active_children():  # what they took is known when they have ended
        child.join()
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    worker = others.ru_maxrss / 1024 if processes > 1 else peak
    cpu = time.process_time() - spent + others.ru_utime + others.ru_stime
    from failgym.traces.store import overview
    print(json.dumps([seconds, cpu, peak, worker, overview(out / "t").content_hash]))
if __name__ == "__main__":
    main()
"""
"""What a fresh Python runs; 0 processes: all at once."""
EVENTS_OF_A_RUN = 4
"""SUBMIT, ENABLE, SCHEDULE and an end."""
DAYS = 31
"""Length of the made-up cell."""


@dataclass(frozen=True)
class Took:
    """What it took to import the cell."""

    processes: int
    """0: read at once"""
    seconds: float
    """wall time, at the median"""
    cpu_seconds: float
    """of all processes, at the median"""
    rows_per_second: float
    packed_mb_per_second: float
    """of the source's files, as they are packed"""
    peak_mb: float
    """of the process that was asked"""
    worker_peak_mb: float
    """of the largest worker"""


def main(
    scratch: Annotated[Path, typer.Option(metavar="DIR", help="A new folder to work in.")],
    rows: Annotated[int, typer.Option(min=1000, help="Events of instances, about.")] = 3_000_000,
    files: Annotated[int, typer.Option(min=1, help="Files of them.")] = 12,
    rounds: Annotated[int, typer.Option(min=1, help="Imports by each number of processes.")] = 2,
    json: Annotated[Path | None, typer.Option("--json", help="Write what was found.")] = None,
) -> None:
    """Make up a cell, import it, and compare hashes."""
    written = JsonFile.at(json)
    scratch.mkdir(parents=True)
    events = make_cell(scratch / "cell", rows, files, seed=0)
    make_cell(scratch / "warm", 1000, 2, seed=1)
    packed = sum(file.stat().st_size for file in (scratch / "cell").iterdir())
    found: dict[int, list[list[Any]]] = {0: [imported(scratch, 0)], 1: [], 2: []}
    for _ in range(rounds):
        for processes in (1, 2):
            found[processes].append(imported(scratch, processes))
    took = [_took(processes, of, events, packed) for processes, of in found.items()]
    columns = ("processes", "s", "s of processors", "rows/s", "packed MB/s", "peak MB", "worker MB")
    rows_shown = [tuple(asdict(each).values()) for each in took]
    print_table(f"{events:,} events in {files} files, {packed / 1e6:.1f} MB", columns, rows_shown)
    hashes = {of[-1] for each in found.values() for of in each}
    print_line(f"speed-up of two: {took[1].seconds / took[2].seconds:.2f}")
    written.write(
        {
            "rows": events,
            "files": files,
            "packed_bytes": packed,
            "cores": os.cpu_count(),
            "took": [asdict(each) for each in took],
            "same_hash": len(hashes) == 1,
        }
    )
    if len(hashes) != 1:
        raise typer.Exit(1)


def _took(processes: int, runs: list[list[Any]], events: int, packed: int) -> Took:
    seconds, cpu, peak, worker = (median(run[at] for run in runs) for at in range(4))
    rates = events / seconds, packed / 1e6 / seconds
    return Took(processes, seconds, cpu, *rates, peak, worker)


def imported(scratch: Path, processes: int) -> list[Any]:
    """Seconds, those of the processors, peaks of this process and of a worker [MB], the hash."""
    with TemporaryDirectory(dir=scratch) as out:
        program = Path(out) / "program.py"  # a file: what is spawned imports it anew
        program.write_text(IMPORT)
        command = [sys.executable, str(program), str(scratch / "cell"), out]
        found = subprocess.run(
            [*command, str(processes), str(scratch / "warm")],
            cwd=Path(__file__).parents[1],
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[1]),
                "OMP_NUM_THREADS": "1",
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    line: list[Any] = json.loads(found.stdout.splitlines()[-1])
    return line


def make_cell(folder: Path, rows: int, files: int, seed: int) -> int:
    """Write a made-up cell; how many events of instances it has."""
    folder.mkdir()
    draw = np.random.default_rng(seed)
    widths = np.minimum(np.ceil(draw.pareto(0.9, rows // 20) + 0.5), 1000).astype(int)
    widths = widths[np.cumsum(widths) * EVENTS_OF_A_RUN * 1.2 <= rows]
    job = np.repeat(np.arange(len(widths)), widths)
    index = np.arange(len(job)) - np.repeat(np.cumsum(widths) - widths, widths)
    begun = draw.integers(0, DAYS * 86_400 * 10**6, len(widths))
    lines = [
        line
        for of, at in zip(job.tolist(), index.tolist(), strict=True)
        for line in _life(draw, of, at, int(begun[of]))
    ]
    order = draw.permutation(len(lines)).tolist()
    _write(folder, "instance_events", [lines[at] for at in order], files)
    told = [_collection(of, int(time), kind) for of, time in enumerate(begun) for kind in (0, 6)]
    _write(folder, "collection_events", told, 1)
    machines = (f'{{"time":"0","machine_id":"{m}","type":"1"}}' for m in range(1, 1001))
    _write(folder, "machine_events", list(machines), 1)
    return len(lines)


def _life(draw: np.random.Generator, job: int, index: int, now: int) -> list[str]:
    """The events of an instance, as BigQuery writes them."""
    found: list[str] = []
    cpus, memory = draw.random(2)
    for _ in range(1 + int(draw.random() < 0.2)):
        machine, kind = int(draw.integers(1, 1001)), int(draw.choice([6, 6, 6, 5, 7, 4]))
        for event, at in ((0, now), (2, now + 10), (3, now + 10**6)):
            found.append(_instance(job, index, at, event, machine * (event == 3), cpus, memory))
        now += 10**6 + int(draw.exponential(3.6e9))
        found.append(_instance(job, index, now, kind, machine, cpus, memory))
        now += 5 if kind != 6 else 10**7
    return found


def _instance(
    job: int, index: int, time: int, kind: int, machine: int, cpus: float, memory: float
) -> str:
    return (
        f'{{"time":"{time}","type":"{kind}","collection_id":"{380_000_000_000 + 37 * job}",'
        f'"scheduling_class":"1","collection_type":"0","priority":"103",'
        f'"alloc_collection_id":"0","instance_index":"{index}","machine_id":"{machine}",'
        f'"alloc_instance_index":"-1","resource_request":{{"cpus":{cpus:.10f},'
        f'"memory":{memory:.10f}}},"constraint":[]}}'
    )


def _collection(job: int, begun: int, kind: int) -> str:
    time = begun if kind == 0 else begun + 10**11
    return (
        f'{{"time":"{time}","type":"{kind}","collection_id":"{380_000_000_000 + 37 * job}",'
        f'"collection_type":"0","priority":"103","user":"u{job % 97}",'
        f'"collection_name":"c{job % 991}","collection_logical_name":"l{job % 499}",'
        f'"parent_collection_id":"0","start_after_collection_ids":[],"scheduler":"0"}}'
    )


def _write(folder: Path, table: str, lines: list[str], files: int) -> None:
    for number in range(files):
        name = folder / f"{table}-{number:012d}.json.gz"
        with gzip.open(name, "wt", 6, encoding="utf-8") as file:
            file.write("\n".join(lines[number::files]) + "\n")


if __name__ == "__main__":
    typer.run(main)

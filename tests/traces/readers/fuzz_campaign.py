"""Very many damaged files for every reader: `python -m tests.traces.readers.fuzz_campaign`.

Inputs are taken in chunks by worker processes that are started anew now and then. What came of
each chunk is kept in a file, so that a campaign that was stopped goes on where it was. A worker
that does not come back from an input is killed, and the chunk counts as failed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.connection
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

from failgym.traces import FORMATS
from tests.traces.readers.fuzz import Campaign, Report

CHUNK = 500
"""Inputs whose results are kept together."""
CHUNKS_PER_WORKER = 40
"""A process takes no more of them: each begins with nothing kept in memory."""
SILENCE = 600
"""A chunk takes no longer, whatever else the machine does [s]."""
DATA_LIMIT = 3 << 30
"""A process has no more memory of its own [bytes]; what asks for more fails, and is reported."""


def work(asked: argparse.Namespace, starts: list[int], results: Any) -> None:
    """Take chunks, one after the other, and send what came of each."""
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_LIMIT, DATA_LIMIT))
    os.nice(asked.nice)
    if asked.scratch is not None:
        tempfile.tempdir = str(asked.scratch)
    campaign = Campaign(asked.seed, asked.formats, asked.keep)
    for start in starts:
        began = time.process_time()
        report = campaign.run(range(start, min(start + CHUNK, asked.inputs)))
        told = {"start": start, "seconds": time.process_time() - began, **vars(report)}
        results.send(told)
    results.send(None)


def chunks(asked: argparse.Namespace, done: set[int]) -> Iterator[dict[str, Any]]:
    """What came of the chunks that are not done, as they come in, until the time is up."""
    end = time.monotonic() + 60.0 * asked.minutes
    context = multiprocessing.get_context("spawn")
    waiting = [start for start in range(0, asked.inputs, CHUNK) if start not in done]
    running: list[tuple[Any, Any, list[int], float]] = []
    while (waiting or running) and time.monotonic() < end:
        while waiting and len(running) < asked.processes:
            mine, waiting = waiting[:CHUNKS_PER_WORKER], waiting[CHUNKS_PER_WORKER:]
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=work, args=(asked, mine, send), daemon=True)
            process.start()
            send.close()
            running.append((process, receive, mine, time.monotonic()))
        multiprocessing.connection.wait([one[1] for one in running], timeout=10)
        for at, (process, receive, mine, since) in reversed(list(enumerate(running))):
            told = _received(receive) if receive.poll() else ...
            if told is ... and time.monotonic() - since < SILENCE:
                continue
            if isinstance(told, dict):
                mine.remove(told["start"])
                running[at] = process, receive, mine, time.monotonic()
                yield told
                continue
            process.kill()
            process.join()
            del running[at]
            if mine:
                lost = Report(failures=[f"chunk {mine[0]}: the process ended, or hangs"])
                yield {"start": mine[0], "seconds": 0.0, **vars(lost)}
                waiting = mine[1:] + waiting


def _received(receive: Any) -> dict[str, Any] | None:
    try:
        return receive.recv()
    except EOFError:
        return None


def summary(told: list[dict[str, Any]]) -> dict[str, Any]:
    """All chunks together."""
    counts = {
        name: dict(sum((Counter(one[name]) for one in told), Counter[str]()).most_common(40))
        for name in ("inputs", "traces", "worlds", "refused")
    }
    longest: dict[str, float] = {}
    for one in told:
        for what, value in one["longest"].items():
            longest[what] = round(max(longest.get(what, 0.0), value), 4)
    return {
        "total": sum(counts["inputs"].values()),
        **counts,
        "failures": sum(len(one["failures"]) for one in told),
        "longest_s": longest,
        "memory_mb": round(max((one["memory"] for one in told), default=0) / 1e6),
        "processor_s": round(sum(one["seconds"] for one in told)),
    }


def main() -> None:
    """Run a campaign, or go on with one, and print what came of it as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=inf, help="end after so many")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--nice", type=int, default=10)
    parser.add_argument("--formats", nargs="+", default=list(FORMATS), choices=list(FORMATS))
    parser.add_argument("--keep", type=Path, help="where inputs with a failure are kept")
    parser.add_argument(
        "--scratch", type=Path, help="where inputs are written, as on a memory disk"
    )
    parser.add_argument(
        "--results", type=Path, help="the file to keep results in, and to go on from"
    )
    asked = parser.parse_args()
    told = [json.loads(line) for line in asked.results.open()] if _there(asked.results) else []
    for one in chunks(asked, {one["start"] for one in told}):
        told.append(one)
        for failure in one["failures"]:
            print(failure, flush=True)
        if asked.results is not None:
            with asked.results.open("a") as file:
                file.write(json.dumps(one) + "\n")
    print(json.dumps(summary(told), indent=1))
    raise SystemExit(any(one["failures"] for one in told))


def _there(file: Path | None) -> bool:
    return file is not None and file.exists()


if __name__ == "__main__":
    main()

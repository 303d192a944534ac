"""Random task events, legal and not, in random parts and blocks: reader and recount agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from failgym.traces import read_google_2011
from failgym.traces.readers.google_2011 import parts
from tests.traces.readers.google_2011.nasty import job_row, task_row, write_part
from tests.traces.readers.google_2011.test_recount import compare, recount

# How far the next event is from the last one [us]: the requeue limit is 1,000.
STEPS = np.array([0, 1, 9, 900, 1000, 1001, 5000, 2_000_000])
# A task's next event, given its last one, is mostly a likely one.
LIKELY = {0: [1, 1, 1, 5, 2, 3], 1: [2, 3, 4, 5, 6], 8: [1, 5]}
ENDED = [0, 0, 0, 0, 1, 4]


def random_rows(rng: np.random.Generator, legal_start: bool) -> list[str]:
    last: dict[tuple[int, int], int] = {}
    rows: list[str] = []
    time = 0
    for _ in range(int(rng.integers(1, 120))):
        time += int(rng.choice(STEPS))
        key = (int(rng.integers(1, 4)), int(rng.integers(0, 3)))
        if key not in last and legal_start:
            kind = 0
        elif rng.random() < 0.2:
            kind = int(rng.integers(0, 9))
        else:
            kind = int(rng.choice(LIKELY.get(last.get(key, 2), ENDED)))
        if kind < 7:
            last[key] = kind
        machine = "-" if kind == 0 or rng.random() < 0.2 else str(rng.integers(1, 5))
        rows.append(task_row(str(time), str(key[0]), str(key[1]), machine, str(kind)))
    return rows


@pytest.mark.parametrize("first_part", [0, 1])
def test_reader_and_recount_agree_on_random_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_part: int
) -> None:
    rng = np.random.default_rng(2011 + first_part)
    for case in range(80):
        rows = random_rows(rng, legal_start=first_part == 0)
        rows.append(task_row("90000000000", "9", "9", "-", "0"))
        cuts = sorted(rng.integers(0, len(rows) + 1, size=2).tolist())
        pieces = [rows[: cuts[0]], rows[cuts[0] : cuts[1]], rows[cuts[1] :]]
        numbers = [first_part, first_part + 1, first_part + 2]
        if first_part and rng.random() < 0.3:
            numbers[2] += 1  # a gap: two segments
        folder = tmp_path / str(case)
        write_part(folder / "job_events", 0, [job_row("0", "1", "0")])
        files = [
            write_part(folder / "task_events", number, piece)
            for number, piece in zip(numbers, pieces, strict=True)
        ]
        gap = numbers[2] - numbers[1] > 1
        expected = recount([files[:2], files[2:]] if gap else [files])
        monkeypatch.setattr(parts, "BLOCK_BYTES", int(rng.choice([1, 200, 1000, 1 << 24])))
        compare(read_google_2011(folder), expected)

"""Google's traces of 2019: every event's fate, all three encodings, random traces, errors."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import random
from collections import Counter, defaultdict
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from failgym.traces import Cause, Outcome, Trace, TraceError
from failgym.traces.readers import sources
from failgym.traces.readers.google_2019 import csv_rows as google_2019_csv
from failgym.traces.readers.google_2019 import read_google_2019
from failgym.traces.readers.google_2019 import rows as google_2019_rows
from failgym.traces.readers.google_2019 import table as google_2019_table
from failgym.traces.readers.google_2019.arrow import arrow_columns
from failgym.traces.readers.google_2019.columns import EVENTS
from tests.traces.readers.replaying import Fate, replayed
from tests.traces.real_data import REPOSITORY, real

FIXTURES = REPOSITORY / "tests" / "data" / "google-2019"
ENCODINGS = ("json", "csv", "parquet")
AFTER = 2**63 - 1

Json = dict[str, Any]
Key = tuple[str, int]


def attempts_of(trace: Trace, task: int) -> list[tuple[Any, ...]]:
    """(queued, start, end, outcome, cause) of each attempt of a task; -1 if missing."""
    rows: list[tuple[Any, ...]] = []
    times = [trace.column("attempts", name).tolist() for name in ("queued", "start", "end")]
    for row in range(*trace.task_first[task : task + 2].tolist()):
        outcome = Outcome(trace.column("attempts", "outcome")[row]).name
        cause = int(trace.column("attempts", "cause")[row])
        name = Cause(cause).name if cause >= 0 else None
        rows.append((*(time[row] for time in times), outcome, name))
    return rows


@pytest.fixture(scope="module", name="cell")
def fixture_cell() -> Trace:
    return read_google_2019(FIXTURES / "json")


FATES: list[tuple[str, int, list[tuple[Any, ...]]]] = [
    ("100", 0, [(0, 0, 700_000, "FINISH", None)]),
    (
        "100",
        1,
        [
            (610_000, 612_000, 650_000, "EVICT", "MACHINE"),
            (650_000, 655_000, 660_000, "EVICT", "PREEMPTION"),
            (661_000, 662_000, 670_000, "FAIL", "INTRINSIC"),
            (670_000, 671_000, 680_000, "KILL", "REQUEUE"),
            (680_000, 681_000, 690_000, "FINISH", None),
        ],
    ),
    ("101", 0, [(615_000, 616_000, 700_200, "KILL", "DEPENDENCY")]),
    ("101", 1, [(615_000, -1, 690_000, "KILL", "USER")]),
    ("101", 2, [(620_000, 621_000, 640_000, "LOST", None)]),
    ("103", 0, [(-1, 630_000, 706_000, "CENSORED", None)]),
    ("105", 0, [(640_000, 641_000, 650_000, "FINISH", None)]),
    ("105", 0, [(660_000, 661_000, 665_000, "FAIL", "INTRINSIC")]),
    ("106", 0, [(705_000, -1, 706_000, "CENSORED", None)]),
]
"""Job, index and attempts of every task."""


def test_fate_of_every_attempt(cell: Trace) -> None:
    ids = cell.column("jobs", "original_id")[cell.column("tasks", "job")].tolist()
    index = cell.column("tasks", "index").tolist()
    found = [(ids[n], index[n], attempts_of(cell, n)) for n in range(cell.rows("tasks"))]
    assert found == FATES
    assert cell.meta.end == 706_000


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_row_is_accounted_for_in_every_encoding(cell: Trace, encoding: str) -> None:
    trace = read_google_2019(FIXTURES / encoding)
    assert trace.content_hash == cell.content_hash
    assert trace.meta.rows_read == {
        "machine events": 14,
        "instance events": 45,
        "collection events": 14,
    }
    assert trace.meta.dropped == {
        "instance event without a time, a type or an id": 1,
        "instance event of an alloc set (a reservation)": 3,
        "instance event after the end of the trace": 1,
        "instance event: UPDATE": 2,
        "SCHEDULE of an instance that is running": 1,
        "FINISH of an instance that is not yet submitted": 1,
        "collection event of an alloc set (a reservation)": 2,
        "collection event after the last instance event": 1,
        "machine event after the last instance event": 1,
        "machine event of unknown type": 1,
        "REMOVE of a machine that is down": 1,
        "job without instances": 1,
    }
    assert trace.meta.noted == {
        "instance event made up: EXISTS_BUT_NO_CREATION": 1,
        "instance event made up: TRANSITION_MISSING_STEP": 1,
        "task first seen at QUEUE, ENABLE or SCHEDULE": 1,
        "attempt that the cluster began without a SUBMIT": 1,
        "task that is run again by its user (a new task)": 1,
        "machine that joins during the trace": 1,
        "ADD of a machine that is up": 1,
        "job without collection events": 1,
        "job that may only start after others (not modelled)": 1,
        "job that is scaled vertically (not modelled)": 1,
    }


def test_jobs(cell: Trace) -> None:
    names = ("original_id", "submit", "width", "outcome", "user", "name", "priority")
    rows = [tuple(row[name] for name in names) for row in cell.table("jobs").to_pylist()]
    assert rows == [
        ("100", 0, 2, Outcome.FINISH, "u1", "L", 200),
        ("101", 614_000, 3, Outcome.KILL, "u2", "n", 25),
        ("103", 630_000, 1, Outcome.CENSORED, None, None, 360),
        ("105", 639_000, 1, Outcome.CENSORED, "u1", 'naïve, "quoted"', 200),
        ("106", 704_000, 1, Outcome.CENSORED, "u1", "n", 200),
    ]
    assert cell.column("jobs", "scheduling_class").tolist() == [2, 0, 3, 2, 2]


def test_tasks(cell: Trace) -> None:
    rows = cell.table("tasks").to_pylist()
    assert [row["cpu"] for row in rows] == [0.25, 0.5, None, None, None, 0.1, 0.1, 0.2, None]
    assert rows[0]["memory"] == 0.0625  # of the SCHEDULE, as is the processor
    assert [row["anti_affinity"] for row in rows[:6]] == [True, True, False, False, False, None]


def test_machines_outages_and_placements(cell: Trace) -> None:
    machines = [
        (row["original_id"], row["cpu"], row["memory"], row["domain"])
        for row in cell.table("machines").to_pylist()
    ]
    assert machines == [
        ("11", 0.5, 0.25, "A+/="),
        ("12", 1.0, 0.5, "B"),
        ("13", None, None, None),
        ("14", 0.25, 1.0, "A+/="),
        ("15", None, None, "A+/="),
        ("16", 0.5, 0.5, None),
    ]
    outages = [(o["machine"], o["down"], o["up"]) for o in cell.table("outages").to_pylist()]
    assert outages == [(1, 650_000, 680_000), (4, 640_000, None), (5, 660_000, 660_000)]
    placed = [(p["attempt"], p["machine"]) for p in cell.table("placements").to_pylist()]
    # not on machine 0 (none) or -1 (dedicated)
    assert placed == [(0, 0), (1, 1), (2, 0), (3, 0), (4, 0), (5, 0), (9, 2), (10, 0), (11, 0)]


def test_machine_events_alone(tmp_path: Path) -> None:
    trace = read_google_2019(FIXTURES / "json" / "machine_events-000000000000.json")
    assert (trace.rows("jobs"), trace.rows("machines"), trace.rows("outages")) == (0, 5, 4)
    assert trace.meta.end == 800_000
    (tmp_path / "machine_events").mkdir()
    text = (FIXTURES / "csv" / "machine_events.csv").read_bytes()
    (tmp_path / "machine_events" / "part-0.gz").write_bytes(gzip.compress(text))
    assert read_google_2019(tmp_path).content_hash == trace.content_hash
    assert read_google_2019(tmp_path / "machine_events").content_hash == trace.content_hash


def test_collection_events_alone() -> None:
    trace = read_google_2019(FIXTURES / "csv" / "collection_events.csv")
    ids = trace.column("jobs", "original_id").tolist()
    fates = {ids[n]: attempts_of(trace, n) for n in range(trace.rows("tasks"))}
    assert fates["100"] == [(0, 0, 700_000, "FINISH", None)]
    assert fates["101"] == [(614_000, -1, 700_300, "KILL", "DEPENDENCY")]
    assert fates["104"] == [(605_000, -1, 606_000, "KILL", "USER")]
    assert fates["106"] == [(704_000, -1, 999_000, "CENSORED", None)]
    assert trace.meta.noted["job without instance events: taken to be of one task"] == 5


def test_instance_events_alone_and_a_single_array(cell: Trace, tmp_path: Path) -> None:
    rows = [row for row in rows_of("instance_events") if row["collection_id"] != "102"]
    file = tmp_path / "my instance_events of cell a.txt"
    file.write_text(json.dumps(rows, indent=1))
    trace = read_google_2019([file])
    times = ("start", "end", "outcome")
    assert all(
        (trace.column("attempts", name) == cell.column("attempts", name)).all() for name in times
    )
    causes = Counter(Cause(c).name for c in trace.column("attempts", "cause") if c >= 0)
    assert causes == {"PREEMPTION": 2, "INTRINSIC": 2, "REQUEUE": 1, "USER": 2}
    assert not trace.present("tasks", "anti_affinity").any()


@pytest.mark.parametrize("block", [1, 3])
def test_blocks_do_not_matter(cell: Trace, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (google_2019_csv, google_2019_rows):
        monkeypatch.setattr(module, "BLOCK_ROWS", block)
    monkeypatch.setattr(sources, "CHUNK", 300 * block)
    for encoding in ENCODINGS:
        assert read_google_2019(FIXTURES / encoding).content_hash == cell.content_hash


def rows_of(table: str) -> list[Json]:
    """The rows of a table of the JSON fixture, straight from its files."""
    rows: list[Json] = []
    for file in sorted((FIXTURES / "json").glob(f"{table}*")):
        data = file.read_bytes()
        text = gzip.decompress(data) if file.suffix == ".gz" else data
        rows += [json.loads(line) for line in text.decode().splitlines()]
    return rows


NAMES = {4: "EVICT", 5: "FAIL", 6: "FINISH", 7: "KILL", 8: "LOST"}


def recount(rows: list[Json]) -> dict[Key, list[Fate]]:
    """End, outcome and machine-time of every task, straight from instance events in JSON."""
    events: dict[Key, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        known = all(row.get(name) is not None for name in ("time", "type", "instance_index"))
        if known and row.get("collection_type", "0") in (0, "0") and row["collection_id"] != "102":
            time, kind = int(row["time"]), int(row["type"])
            if time < AFTER and kind < 9:
                events[str(row["collection_id"]), int(row["instance_index"])].append((time, kind))
    times = [int(row["time"]) for row in rows if row.get("time") is not None]
    last = max(time for time in times if time < AFTER)
    return {key: fates for key in events if (fates := lives(sorted(events[key]), last))}


def lives(events: list[tuple[int, int]], last: int) -> list[Fate]:
    tasks: list[list[list[Any]]] = []  # of attempts [start, end, outcome]
    for time, kind in dict.fromkeys(events):
        attempt = tasks[-1][-1] if tasks else None
        over = attempt is not None and attempt[2] is not None
        if kind < 3 and (attempt is None or over):
            again = over and (kind > 0 or time - (attempt or [0, 0])[1] <= 1000)
            tasks += [] if again else [[]]
            tasks[-1].append([None, None, None])
        elif kind == 3 and (attempt is None or over):
            tasks += [] if over else [[]]
            tasks[-1].append([time, None, None])
        elif kind == 3 and attempt is not None and attempt[0] is None:
            attempt[0] = time
        elif kind > 3 and attempt is not None and not over and (kind, attempt[0]) != (6, None):
            attempt[1:] = [time, NAMES[kind]]
    return [fate(task, last) for task in tasks]


def fate(attempts: list[list[Any]], last: int) -> Fate:
    work = sum(a[1] // 1000 - a[0] // 1000 for a in attempts if a[2] and a[0] is not None)
    finished = [a[1] // 1000 for a in attempts if a[2] == "FINISH"]
    if finished:
        return finished[0], "FINISH", work
    if attempts[-1][2] is None:
        return last // 1000, "CENSORED", work
    return attempts[-1][1] // 1000, attempts[-1][2], work


def check_replay(trace: Trace, expected: dict[Key, list[Fate]]) -> None:
    found = replayed(trace)
    assert found.keys() == expected.keys()
    for key, fates in expected.items():
        for one, other in zip(found[key], fates, strict=True):
            assert one[:2] == other[:2], key
            assert one[1] == "CENSORED" or one[2] == other[2], key


def test_replay_of_the_fixture_is_exact(cell: Trace) -> None:
    check_replay(cell, recount(rows_of("instance_events")))


def row(kind: int | str, time: int, index: int = 0, **more: Any) -> Json:
    return {"time": time, "type": kind, "collection_id": 7, "instance_index": index} | more


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        # several events at one time, in any order, are taken as the instance's state allows
        ([(0, 5), (3, 5), (6, 5)], [(0, 0, 0, "FINISH", None)]),
        (
            [(0, 1), (3, 2), (4, 5000), (0, 5000), (3, 5000), (6, 9000)],
            [(0, 0, 5, "EVICT", "PREEMPTION"), (5, 5, 9, "FINISH", None)],
        ),
        (
            [(0, 1), (4, 5000), (0, 5000), (1, 6000), (2, 7000), (3, 8000), (5, 9000)],
            [(0, -1, 5, "EVICT", "PREEMPTION"), (5, 8, 9, "FAIL", "INTRINSIC")],
        ),
        ([(0, 1), (0, 1), (3, 1), (7, 1), (6, 1)], [(0, 0, 0, "FINISH", None)]),
        ([(2, 3000), (3, 4000), (7, 5000)], [(3, 4, 5, "KILL", "USER")]),
    ],
)
def test_events_at_one_time(
    tmp_path: Path, kinds: list[tuple[int, int]], expected: list[tuple[Any, ...]]
) -> None:
    file = tmp_path / "instance_events.json"
    for order in itertools.islice(itertools.permutations(kinds), 0, 120, 7):
        file.write_text("\n".join(json.dumps(row(kind, time)) for kind, time in order))
        assert attempts_of(read_google_2019(file), 0) == expected


GOOD = json.dumps(row("SUBMIT", 5))


def one_by_one(*_: object) -> None:
    """Arrow leaves every block to the slow way."""


@pytest.mark.parametrize("chunk", [400, 1 << 20])
def test_what_arrow_reads_at_once_is_what_is_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    times = range(600_000_000, 600_000_040)
    rows = [row(0, time, n) for n, time in enumerate(times)]
    cpu = {"resource_request": {"cpus": 0.5}}
    rows += [row(3, time + 50, n, machine_id=n) | deepcopy(cpu) for n, time in enumerate(times)]
    rows += [row(6, 700_000_000 + n, n, priority=n) for n in range(40)]
    rows[47]["resource_request"]["memory"] = 1  # what is told late, or in another way, counts too
    names = [one | {"type": EVENTS[one["type"]]} for one in rows]
    texts = [{k: v if k == "resource_request" else str(v) for k, v in one.items()} for one in rows]
    flat = [dict(one) for one in rows]
    for one in flat:
        for name, value in one.pop("resource_request", {}).items():
            one[f"resource_request.{name}"] = value
    monkeypatch.setattr(sources, "CHUNK", chunk)
    tried = Counter[bool]()

    def counted(*given: Any) -> Any:
        found = arrow_columns(*given)
        tried[found is not None] += 1
        return found

    hashes, keys = set[str](), {key for one in rows for key in one}
    for way in (counted, one_by_one):
        monkeypatch.setattr(google_2019_table, "arrow_columns", way)
        for number, told in enumerate((rows, names, texts, flat)):
            json_lines = tmp_path / f"instance_events-{number}.json"
            json_lines.write_text("".join(json.dumps(one) + "\n" for one in told))
            hashes.add(read_google_2019(json_lines).content_hash)
        table = tmp_path / "instance_events-9.csv"
        with table.open("w", newline="") as file:
            writer = csv.DictWriter(file, sorted({key for one in flat for key in one}))
            writer.writeheader()
            writer.writerows(flat)
        hashes.add(read_google_2019(table).content_hash)
        columnar = tmp_path / "instance_events-9.parquet"
        pq.write_table(pa.table({key: [one.get(key) for one in rows] for key in keys}), columnar)
        hashes.add(read_google_2019(columnar).content_hash)
    assert len(hashes) == 1
    assert tried[True] > 0
    assert tried[False] == 0


@pytest.mark.parametrize("value", ["0x10", " 7", "--1", "+7", "\u0663", "1e3", "", "99" * 10])
def test_integers_are_digits_for_arrow_too(tmp_path: Path, value: str) -> None:
    good = "time,type,collection_id,instance_index\n5,0,7,0\n"
    file = tmp_path / "instance_events.csv"
    file.write_text(f"{good}6,0,{value},1\n", encoding="utf-8")
    if value:
        with pytest.raises(TraceError, match="line 3: field 'collection_id' is"):
            read_google_2019(file)
    else:
        trace = read_google_2019(file)
        assert trace.meta.dropped == {"instance event without a time, a type or an id": 1}


def test_deeply_nested_fields_that_are_not_read_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "instance_events.json"
    deep = GOOD[:-1] + ', "constraint": ' + "[" * 10**6 + "]" * 10**6 + "}"
    file.write_text("\n".join([GOOD] * 20_000) + "\n" + deep)
    assert read_google_2019(file).rows("tasks") == 1


def test_a_kill_with_the_alloc_set_is_a_dependency(tmp_path: Path) -> None:
    alloc = {"collection_id": 5, "collection_type": 1}
    told = [
        row(0, 1) | alloc,
        row(0, 2, alloc_collection_id=5),
        row(7, 4_900_000),
        row(7, 5_000_000) | alloc,
        row(0, 2, collection_id=8, alloc_collection_id=0),
    ]
    events = [row(0, 2), row(3, 3), row(7, 4_800_000)]
    events += [row(0, 2, collection_id=8), row(7, 6_000_000, collection_id=8)]
    for name, rows in (("collection_events", told), ("instance_events", events)):
        (tmp_path / f"{name}.json").write_text("\n".join(json.dumps(one) for one in rows))
    trace = read_google_2019(tmp_path)
    assert attempts_of(trace, 0) == [(0, 0, 4800, "KILL", "DEPENDENCY")]
    assert attempts_of(trace, 1) == [(0, -1, 6000, "KILL", "USER")]
    assert trace.meta.dropped == {"collection event of an alloc set (a reservation)": 2}


def test_what_has_finished_is_never_requeued(tmp_path: Path) -> None:
    file = tmp_path / "instance_events.json"
    events = [row(0, 1000), row(3, 2000), row(6, 3000), row(3, 9000), row(10, 12_000)]
    file.write_text("\n".join(json.dumps(one) for one in events))
    trace = read_google_2019(file)
    assert attempts_of(trace, 0) == [(1, 2, 3, "FINISH", None)]
    assert attempts_of(trace, 1) == [(-1, 9, 12, "CENSORED", None)]  # of the update it was alive


@st.composite
def instances(draw: st.DrawFn) -> list[Json]:
    """The events of random instances, in no order."""
    rows: list[Json] = []
    for collection, index in itertools.product(range(draw(st.integers(1, 2))), range(3)):
        time = draw(st.integers(0, 10**7))
        own = {"collection_id": str(900 + collection), "instance_index": str(index)}
        end = list[int]()
        for _ in range(draw(st.integers(0, 4))):
            kinds = draw(st.sampled_from([[0], [0, 1, 2], [0, 2], [1, 2], [2]]))
            if end == [6]:  # what has finished is run again by its user only
                kinds, time = [0], time + 1001
            ran = draw(st.booleans())
            ends = [[], [5], [7], [8], [4], *([[6]] if ran else [])]
            end = draw(st.sampled_from(ends))
            updates = draw(st.sampled_from([[], [9], [10]]))
            for kind in [*kinds, *([3] if ran else []), *updates, *end]:
                rows.append(own | {"time": str(time), "type": str(kind)})
                rows[-1] |= {"machine_id": str(draw(st.integers(1, 3)))} if kind >= 3 else {}
                time += draw(st.sampled_from([1, 900, 1001, 10**6]))
            if not end:
                break
    return draw(st.permutations(rows))


def write(folder: Path, encoding: str, rows: list[Json]) -> Path:
    file = folder / f"instance_events.{encoding}"
    names = ["time", "type", "collection_id", "instance_index", "machine_id"]
    if encoding == "json":
        file.write_text("\n".join(json.dumps(row) for row in rows))
    elif encoding == "csv":
        with file.open("w", newline="") as text:
            writer = csv.DictWriter(text, names)
            writer.writeheader()
            writer.writerows(rows)
    else:
        columns = {
            name: pa.array([None if row.get(name) is None else int(row[name]) for row in rows])
            for name in names
        }
        pq.write_table(pa.table(columns), file)
    return file


@given(instances(), st.sampled_from(ENCODINGS))
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_random_instances_are_read_back_and_replayed(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Json], encoding: str
) -> None:
    if not any(int(row["type"]) < 9 for row in rows):
        return
    file = write(tmp_path_factory.mktemp("google"), encoding, rows)
    check_replay(read_google_2019(file), recount(rows))


@st.composite
def lives_of_machines(draw: st.DrawFn) -> dict[int, list[tuple[int, int]]]:
    """Machine -> its outages [us], ascending and apart; the last may be open (-1)."""
    found: dict[int, list[tuple[int, int]]] = {}
    for machine in draw(st.lists(st.integers(1, 2**62), unique=True, min_size=1, max_size=4)):
        cuts = sorted(draw(st.lists(st.integers(1000, 10**12), unique=True, max_size=7)))
        pairs = list(itertools.zip_longest(cuts[::2], cuts[1::2], fillvalue=-1))
        found[machine] = pairs
    return found


@given(lives_of_machines(), st.randoms(use_true_random=False))
@example({1: [(1000, 1001), (1002, -1)]}, random.Random(1))
@settings(deadline=None, max_examples=50)
def test_random_machines_are_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    machines: dict[int, list[tuple[int, int]]],
    shuffled: random.Random,
) -> None:
    rows: list[Json] = []
    for machine, outages in machines.items():
        rows.append({"time": "0", "machine_id": str(machine), "type": "1"})
        for down, up in outages:
            rows.append({"time": str(down), "machine_id": str(machine), "type": "2"})
            if up >= 0:
                rows.append({"time": str(up), "machine_id": str(machine), "type": "1"})
    shuffled.shuffle(rows)
    file = tmp_path_factory.mktemp("google") / "machine_events.json"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    trace = read_google_2019(file)
    ids = trace.column("machines", "original_id")
    found: dict[int, list[tuple[int, int]]] = {machine: [] for machine in machines}
    for outage in trace.table("outages").to_pylist():
        up = -1 if outage["up"] is None else outage["up"]
        found[int(ids[outage["machine"]])].append((outage["down"], up))
    assert found == {
        # In the order of the table: of those that begin in one millisecond, the open one first.
        machine: sorted((down // 1000, up // 1000) for down, up in outages)
        for machine, outages in machines.items()
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no event that can be used"),
        (json.dumps(row(0, AFTER)), "no event that can be used"),
        (GOOD + "\n{", "line 2: not JSON"),
        (GOOD + "\n\n[]", "line 3: expected a JSON object"),
        (GOOD + "\n" + json.dumps(row(11, 6)), "line 2: field 'type' is 11, expected one of 0 SUB"),
        (json.dumps(row("START", 6)), "line 1: field 'type' is 'START'"),
        (json.dumps(row(0, -1)), "field 'time' is -1, expected an integer of at least 0"),
        (json.dumps(row(0, 2**62)), "field 'time' is 4611686018427387904"),
        (json.dumps(row(0, 5, 2**31)), "field 'instance_index' is 2147483648"),
        (json.dumps(row(0, 5, priority="high")), "field 'priority' is 'high'"),
        (json.dumps(row(0, 5, machine_id=1.5)), "field 'machine_id' is 1.5"),
        (json.dumps(row(0, 5, machine_id=True)), "field 'machine_id' is True"),
        (json.dumps(row(0, 5, resource_request=3)), "field 'resource_request' is 3"),
        (
            json.dumps(row(0, 5, resource_request={"cpus": "much"})),
            "field 'resource_request.cpus' is 'much', expected a number",
        ),
        (json.dumps(row(0, 5, resource_request={"cpus": -1})), "field 'resource_request.cpus'"),
        ('{"time": NaN}', "not JSON"),
        ('{"time": 1' + "0" * 5000 + "}", "line 1: not JSON"),
        ("a,b\n1,2\n", "line 1: expected a header with time, type"),
        ("time,time\n1,2\n", "line 1: expected every column once"),
        ("time,type\n1\n", "line 2: 1 fields, expected 2"),
        ('time,type\n1,"2\n', "not CSV"),
        ("time,type,collection_id,instance_index\n1,2,3,x\n", "line 2: field 'instance_index'"),
        ("time,resource_request\n1,{\n", "line 2: column 'resource_request' is not JSON"),
        ("PAR1 and no more", "not a sound Parquet file"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "instance_events-0"
    file.write_text(text)
    with pytest.raises(TraceError) as error:
        read_google_2019(file)
    assert str(error.value).startswith(str(file))
    assert said in str(error.value)


def test_files_that_are_not_there_or_not_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="holds no machine_events, instance_events"):
        read_google_2019(tmp_path)
    with pytest.raises(TraceError, match="no such file or folder"):
        read_google_2019(tmp_path / "machine_events.json")
    (tmp_path / "events.json").write_text(GOOD)
    with pytest.raises(TraceError, match=r"events\.json: expected machine_events"):
        read_google_2019(tmp_path / "events.json")


def test_the_real_machine_events() -> None:
    source = real("google-2019")
    trace = read_google_2019(source)
    rows: list[Json] = []
    for file in source.iterdir():
        rows += [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert trace.meta.rows_read == {"machine events": 46_219}
    assert trace.rows("machines") == 10_001
    assert trace.meta.end == 2_678_851_683  # 31 days
    kinds = Counter(row["type"] for row in rows)
    assert trace.rows("outages") == kinds["2"] == 17_941
    assert not trace.meta.dropped
    back = trace.present("outages", "up")
    assert int(back.sum()) == 17_776
    removed = sum(int(row["time"]) // 1000 for row in rows if row["type"] == "2")
    assert int(trace.column("outages", "down").sum()) == removed
    assert trace.present("machines", "domain").all()
    assert float(trace.column("machines", "cpu")[trace.present("machines", "cpu")].max()) == 1.0

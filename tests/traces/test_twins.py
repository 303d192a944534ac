"""Twins: valid traces that behave like a record, under new names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from failgym.arrow import pa
from failgym.comparison import compare
from failgym.comparison.jobs import jobs_of, tasks_of
from failgym.comparison.recurrence import recurrence
from failgym.comparison.resampling import Measured, area, blocks
from failgym.traces import Meta, Outcome, Trace, TraceError, generate, read_google_2011, twin
from failgym.traces.schema import TABLES
from failgym.traces.split import select
from failgym.traces.synthetic import PROFILES
from failgym.vocabulary import HOUR, SECOND
from tests.traces.real_data import google_2011
from tests.traces.recurring import SPAN, recurring
from tests.traces.traces import make

SMALL = {name: min(150, profile.default_jobs // 3) for name, profile in PROFILES.items()}


@pytest.fixture(scope="module")
def record() -> Trace:
    return recurring()


@pytest.fixture(scope="module")
def like(record: Trace) -> Trace:
    return twin(record, seed=5, part="all")


@pytest.mark.parametrize("jobs", [1, 30, 630, 631, 2_000])
def test_a_twin_has_as_many_jobs_as_asked_for(record: Trace, jobs: int) -> None:
    made = twin(record, jobs, 1)
    assert made.rows("jobs") == jobs
    width = np.bincount(made.column("tasks", "job"), minlength=jobs)
    assert width.tolist() == made.column("jobs", "width").tolist()


def test_it_is_as_large_as_what_it_was_learned_from(record: Trace) -> None:
    assert twin(record).rows("jobs") == record.split("train").rows("jobs")
    assert twin(record, part="all").rows("jobs") == record.rows("jobs")


def test_the_same_arguments_make_the_same_twin(record: Trace) -> None:
    assert twin(record, 300, 7).content_hash == twin(record, 300, 7).content_hash
    assert twin(record, 300, 7).content_hash != twin(record, 300, 8).content_hash


def test_it_knows_nothing_of_the_test_part(record: Trace) -> None:
    train = record.split("train")
    assert twin(record, 500, 3).content_hash == twin(train, 500, 3, part="all").content_hash


def _run_times(trace: Trace) -> set[tuple[int, ...]]:
    """The run times of the attempts of each job of several that ran for ten seconds [ms]."""
    run = trace.column("attempts", "end") - trace.column("attempts", "start")
    job = trace.column("tasks", "job")[trace.column("attempts", "task")]
    of: dict[int, list[int]] = {}
    for one, time in zip(job.tolist(), run.tolist(), strict=True):
        of.setdefault(one, []).append(time)
    return {
        tuple(sorted(times)) for times in of.values() if len(times) > 1 and max(times) > 10 * SECOND
    }


def test_no_job_of_the_record_comes_back_whole(record: Trace, like: Trace) -> None:
    assert not _run_times(record) & _run_times(like)


@pytest.mark.parametrize("column", ["user", "name", "original_id"])
def test_names_are_new(record: Trace, like: Trace, column: str) -> None:
    assert not set(record.column("jobs", column)) & set(like.column("jobs", column))
    assert len(set(like.column("jobs", "user"))) == len(set(record.column("jobs", "user")))


def test_jobs_recur_as_in_the_record(record: Trace, like: Trace) -> None:
    found = [recurrence(jobs_of(trace, tasks_of(trace))) for trace in (record, like)]
    for what, measured in found[0].items():
        if not np.isnan(measured.value):
            # A user's applications are drawn anew, so that another user's mix may come of it.
            near = 0.25 if "a user" in what else 0.08
            assert found[1][what].value == pytest.approx(measured.value, abs=near), what


def test_what_jobs_are_like_is_as_in_the_record(record: Trace, like: Trace) -> None:
    jobs = [jobs_of(trace, tasks_of(trace)) for trace in (record, like)]
    for column in ("log_run", "log_tasks", "cpu", "whole"):
        low, high = (frame[column].mean() for frame in jobs)
        assert high == pytest.approx(low, abs=0.25 * jobs[0][column].std()), column


def test_what_fails_together_does_so_in_the_twin(record: Trace, like: Trace) -> None:
    def most(trace: Trace) -> int:
        failed = trace.column("attempts", "outcome") == Outcome.FAIL
        return int(np.bincount(trace.column("attempts", "end")[failed] // SECOND).max())

    assert most(record) >= 10
    assert most(like) >= most(record) // 2


def test_a_long_twin_goes_on_where_the_record_was_cut(record: Trace) -> None:
    made = twin(record, 6_300, 2, part="all")
    censored = made.column("attempts", "outcome") == Outcome.CENSORED
    end = made.meta.end
    assert end is not None
    assert end == pytest.approx(7 * SPAN, rel=0.05)
    assert (made.column("attempts", "end")[censored] == end).all()
    longest = np.bincount(record.column("tasks", "job")[record.column("attempts", "task")]).clip(1)
    run = record.column("attempts", "end") - record.column("attempts", "start")
    running = run.sum() / SPAN / longest.mean()  # jobs at any moment, about
    cut = (made.column("jobs", "outcome") == Outcome.CENSORED).sum()
    assert 0 < cut < 5 * running  # those that run at its one end, not at those of seven days


def test_tails_go_beyond_what_was_seen(record: Trace) -> None:
    longest = [
        (trace.column("attempts", "end") - trace.column("attempts", "start")).max()
        for trace in (record, twin(record, 9_000, 0, part="all"))
    ]
    assert longest[1] > longest[0]


def test_what_few_jobs_ask_for_is_not_asked_for_by_a_private_twin() -> None:
    def requests(trace: Trace) -> dict[tuple[float, float], int]:
        job = trace.column("tasks", "job")
        count: dict[tuple[float, float], set[int]] = {}
        cpu, memory = trace.column("tasks", "cpu"), trace.column("tasks", "memory")
        for key in zip(job, cpu, memory, strict=True):
            count.setdefault(key[1:], set()).add(int(key[0]))
        return {key: len(jobs) for key, jobs in count.items()}

    def memory(trace: Trace) -> Any:
        return np.exp(trace.column("tasks", "job") % 211 / 50.0)  # no mean of some is another's

    rare = _with(recurring(), "tasks", "memory", memory)
    known, private = requests(rare), requests(twin(rare, 900, part="all", private=5))
    assert min(known.values()) < 5
    assert all(known.get(key, 5) >= 5 for key in private)  # some are nobody's


def test_a_rare_application_of_a_private_twin_is_made_after_several() -> None:
    """Each application has a priority of its own here; a job has that of what it is made after."""

    def number(trace: Trace) -> Any:
        return [int(name.removeprefix("program ")) for name in trace.column("jobs", "name")]

    def alone(trace: Trace) -> float:
        """The share of rare applications of several jobs that are made after one."""
        _, of = np.unique(trace.column("jobs", "name"), return_inverse=True)
        after = trace.column("jobs", "priority")
        made = [set(after[of == one].tolist()) for one in range(of.max() + 1)]
        rare = np.flatnonzero((np.bincount(of) >= 4) & (np.bincount(of) < 8))
        assert len(rare) > 10
        return float(np.mean([len(made[one]) == 1 for one in rare]))

    record = _with(recurring(), "jobs", "priority", number)
    assert alone(twin(record, part="all", private=1)) == 1.0
    assert alone(twin(record, part="all", private=8)) < 0.05


def test_a_record_of_few_applications_has_no_private_twin(record: Trace) -> None:
    with pytest.raises(TraceError, match="private is 500, expected at most 96, the number of"):
        twin(record, private=500)


def _with(trace: Trace, table: str, column: str, values: Callable[[Trace], Any]) -> Trace:
    """A trace with other values in a column."""
    tables = {name: trace.table(name) for name in TABLES}
    old = tables[table]
    at = old.schema.get_field_index(column)
    tables[table] = old.set_column(
        at, old.schema.field(at), pa.array(values(trace)).cast(old.schema.field(at).type)
    )
    return Trace(trace.meta, **tables)


def test_who_was_learned_from_cannot_be_told() -> None:
    """Half of the jobs are learned from; those are no nearer to the twin than the others."""
    told, copied = _told(recurring(4_800), 4_800)
    assert told.low <= 0.5
    assert copied.low > 0.7  # that they are in a copy is found out


def test_who_was_learned_from_googles_record_is_hardly_told() -> None:
    told, copied = _told(read_google_2011(google_2011()), 9_000)
    assert told.value <= 0.53
    assert copied.low > 0.6


def _told(record: Trace, jobs: int) -> tuple[Measured, Measured]:
    """Areas under the curve of "was learned from", told by the distance to the nearest job of a
    twin, and of a copy of what was learned from.
    """
    inside = np.random.Generator(np.random.PCG64(3)).random(record.rows("jobs")) < 0.5
    learned = _only(record, inside)
    inside = inside[record.column("jobs", "submit") > 0]
    found: list[Measured] = []
    for made in (twin(learned, jobs, 1, part="all", private=5), learned):
        near: Any = NearestNeighbors(n_neighbors=1, metric="manhattan").fit(_numbers(made))
        distance = near.kneighbors(_numbers(record))[0][:, 0]
        found.append(area(inside, -distance, np.ones(len(inside)), blocks(len(inside))))
    return found[0], found[1]


def _only(trace: Trace, jobs: Any) -> Trace:
    kept = select({name: trace.table(name) for name in TABLES}, {"jobs": jobs})
    return Trace(trace.meta, **kept.tables)


def _numbers(trace: Trace) -> Any:
    jobs = jobs_of(trace, tasks_of(trace))
    return jobs[["log_run", "log_tasks", "cpu", "whole"]].fillna(0.0).to_numpy()


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_can_have_a_twin(profile: str) -> None:
    trace = generate(profile, jobs=SMALL[profile], seed=2)
    for jobs in (SMALL[profile] // 3, 2 * SMALL[profile]):
        made = twin(trace, jobs, 4)  # valid by construction
        assert made.rows("jobs") == jobs
        for table in ("placements", "windows", "stages", "stage_edges", "machines", "outages"):
            assert (made.rows(table) > 0) == (trace.rows(table) > 0), table
        _check_stages(made)
        _check_windows(made)


def _check_stages(trace: Trace) -> None:
    """Tasks are in stages of their own jobs, and edges lead between stages of one job."""
    job = trace.column("stages", "job")
    stage = trace.column("tasks", "stage")
    known = stage >= 0
    assert (job[stage[known]] == trace.column("tasks", "job")[known]).all()
    ends = [job[trace.column("stage_edges", name)] for name in ("parent", "child")]
    assert (ends[0] == ends[1]).all()


def _check_windows(trace: Trace) -> None:
    attempt = trace.column("windows", "attempt")
    run = trace.column("attempts", "end") - trace.column("attempts", "start")
    assert (trace.column("windows", "offset") < run[attempt]).all()


def test_outages_are_as_many_and_as_long() -> None:
    trace = generate("lanl-20", jobs=400, seed=1)
    made = twin(trace, 1_600, 1, part="all")

    def of(one: Trace) -> tuple[float, float]:
        down, up = one.column("outages", "down"), one.column("outages", "up", missing=-1)
        assert one.meta.end is not None
        return len(down) / one.meta.end, float(np.median((up - down)[up >= 0]))

    (rate, repair), (twin_rate, twin_repair) = of(trace), of(made)
    assert twin_rate == pytest.approx(rate, rel=0.35)
    assert twin_repair == pytest.approx(repair, rel=0.35)


def test_jobs_that_were_there_at_the_beginning_are_so_once(record: Trace) -> None:
    submit = record.column("jobs", "submit").copy()
    submit[:50] = 0
    early = Trace.of(
        record.meta,
        **{
            name: {
                column: record.table(name).column(column)
                for column in record.table(name).column_names
            }
            | ({"submit": submit} if name == "jobs" else {})
            for name in ("jobs", "tasks", "attempts")
        },
    )
    made = twin(early, 4_000, 1, part="all")
    assert 25 <= (made.column("jobs", "submit") == 0).sum() <= 100


def test_a_handmade_trace_has_a_twin() -> None:
    assert twin(make(), 9, part="all").rows("jobs") == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"jobs": 0}, "jobs is 0, expected at least 1"),
        ({"seed": -1}, "seed is -1, expected at least 0"),
        ({"private": 0}, "private is 0, expected at least 1"),
        ({"part": "test"}, "part is 'test', expected 'train' or 'all'"),
    ],
)
def test_what_cannot_be_asked_for(record: Trace, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        twin(record, **arguments)


def test_a_record_without_jobs_has_none(record: Trace) -> None:
    nobody = _only(record, np.zeros(record.rows("jobs"), dtype=np.bool_))
    with pytest.raises(TraceError, match="no jobs and no outages, so nothing to learn from"):
        twin(nobody)


def test_hours_stay_where_they_are() -> None:
    """A record of days is repeated by days: nights stay nights."""
    made = twin(recurring(900, days=3, night=12 * HOUR), 4_500, 1, part="all")
    hour = made.column("jobs", "submit") // HOUR % 24
    assert (made.column("jobs", "submit").max() // HOUR) > 10 * 24
    assert (hour >= 13).mean() < 0.05  # moved by an hour at most, and stretched by a twentieth


def test_names_of_jobs_are_no_applications() -> None:
    """Where next to each job has a name of its own, jobs of one user and request recur."""
    rng, jobs = np.random.default_rng(6), 1_200
    user = np.arange(jobs) // 12 % 4  # sessions of twelve
    typical = 60_000 * (1 + 20 * rng.random(jobs // 12)).astype(np.int64)
    length = typical[np.arange(jobs) // 12]
    submit = 300_000 * np.arange(jobs)
    log = Trace.of(
        Meta("a log"),
        jobs={
            "original_id": [str(at) for at in range(jobs)],
            "submit": submit,
            "width": 1,
            "outcome": Outcome.FINISH,
            "user": [f"user {at}" for at in user],
            "name": [f"job {at}" for at in range(jobs)],
        },
        tasks={"job": np.arange(jobs), "index": 0, "width": 1},
        attempts={
            "task": np.arange(jobs),
            "start": submit,
            "end": submit + length,
            "outcome": Outcome.FINISH,
        },
    )
    like = twin(log, seed=2, part="all")
    names = like.jobs.column("name").to_pylist()
    assert len(set(names)) == len(names)
    row = "successive jobs of a user: log run time"
    found = compare(log, like).row(row)
    assert found.reference.value > 0.8
    assert found.others[0].value > found.reference.value - 0.15

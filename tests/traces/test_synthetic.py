"""What every synthetic trace holds to, how it is sampled, and the toy trace."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.traces import Outcome, Trace, TraceError, generate, toy
from failgym.traces.schema import TABLES
from failgym.traces.store import table_hashes
from failgym.traces.synthetic import PROFILES
from failgym.traces.synthetic.quantiles import (
    QuantileTable,
    allot,
    normal_score,
    quotas,
    shuffled_position,
    stratified,
)

SEEDS = range(5)
SHARE = 0.01  # tolerance of a share
MINUTE = 60_000.0
SEED = 7
JOBS = {name: min(300, profile.default_jobs // 3) for name, profile in sorted(PROFILES.items())}
"""Of the trace of a profile that tests share. Jobs that are workflows are few and large: forty of
panda-das have 277,586 attempts, and take seconds wherever they are looked at."""


@cache
def some(name: str) -> Trace:
    """A trace of the profile, for all tests that look at one."""
    return generate(name, jobs=JOBS[name], seed=SEED)


def _optional_cpu_features() -> list[str]:
    """The processor's features beyond numpy's baseline, without which it computes otherwise."""
    config: Any = np.show_config(mode="dicts")
    return list(config["SIMD Extensions"].get("found", []))


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, str]:
    """The hashes of the trace of every profile in a process that computes otherwise."""
    code = (
        "from failgym.traces import generate;"
        "from failgym.traces.store import table_hashes;"
        f"[print(name, table_hashes(generate(name, jobs=jobs, seed={SEED})))"
        f" for name, jobs in {JOBS}.items()]"
    )
    features = {"NPY_DISABLE_CPU_FEATURES": " ".join(_optional_cpu_features())}
    settings = {"PYTHONHASHSEED": "5", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | settings | features,
    )
    return {name: rest for name, _, rest in (x.partition(" ") for x in found.stdout.splitlines())}


@pytest.mark.parametrize("name", sorted(PROFILES))
class TestEveryProfile:
    def test_same_seed_same_trace(self, name: str) -> None:
        assert generate(name, jobs=JOBS[name], seed=SEED).content_hash == some(name).content_hash
        few = [generate(name, jobs=20, seed=seed).content_hash for seed in (SEED, SEED + 1)]
        assert few[0] != few[1]

    def test_same_trace_in_any_process(self, name: str, elsewhere: dict[str, str]) -> None:
        """Whatever strings hash to, with one thread, and with what any processor can do."""
        assert elsewhere[name] == str(table_hashes(some(name)))

    def test_round_trip(self, name: str, tmp_path: Path) -> None:
        trace = some(name)
        trace.save(tmp_path / "trace")
        loaded = Trace.load(tmp_path / "trace")
        assert loaded.content_hash == trace.content_hash
        assert loaded.meta == trace.meta
        assert all(loaded.table(table).equals(trace.table(table)) for table in TABLES)

    def test_usage_changes_nothing_else(self, name: str) -> None:
        trace = some(name)
        without = generate(name, jobs=JOBS[name], seed=SEED, usage=False)
        assert without.rows("windows") == 0
        assert replace(trace, windows=without.windows).content_hash == without.content_hash

    @pytest.mark.parametrize(
        "seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.campaign) for seed in SEEDS[1:])]
    )
    def test_some_fates_are_unknown(self, name: str, seed: int) -> None:
        trace = generate(name, seed=seed, usage=False)
        assert (trace.task_outcome == Outcome.CENSORED).any()

    def test_windows(self, name: str) -> None:
        """In order, within their attempts, and never more than one of an attempt at a time."""
        trace = some(name)
        attempt, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
        start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
        assert (start[attempt] >= 0).all()
        assert (offset < (end - start)[attempt]).all()
        later = attempt[1:] > attempt[:-1]
        assert (later | (attempt[1:] == attempt[:-1]) & (offset[1:] > offset[:-1])).all()

    def test_order(self, name: str) -> None:
        trace = some(name)
        job, queued = trace.column("tasks", "job"), trace.column("attempts", "queued")
        first = queued[trace.task_first[:-1]]
        index = trace.column("tasks", "index")
        assert (np.lexsort((index, job, first)) == np.arange(len(job))).all()
        assert (np.diff(trace.column("jobs", "submit")) >= 0).all()
        assert (trace.column("jobs", "width") == np.bincount(job)).all()
        assert (first >= trace.column("jobs", "submit")[job]).all()

    def test_nothing_lies_beyond_the_end(self, name: str) -> None:
        trace = some(name)
        end, outcome = trace.column("attempts", "end"), trace.column("attempts", "outcome")
        assert trace.meta.end is not None
        assert end.max() == trace.meta.end
        cut = outcome == Outcome.CENSORED
        assert (end[cut] == trace.meta.end).all()
        job = trace.column("tasks", "job")[trace.column("attempts", "task")[cut]]
        assert (trace.column("jobs", "outcome")[job] == Outcome.CENSORED).all()

    def test_split(self, name: str) -> None:
        """Both parts hold what the whole holds: enough of it to learn from, and to score by."""
        trace = generate(name, seed=0)
        common = {Outcome.FINISH, Outcome.FAIL, Outcome.KILL} & set(trace.task_outcome.tolist())
        for part in ("train", "test"):
            outcomes = set(trace.split(part).task_outcome.tolist())
            assert common | {Outcome.CENSORED} <= outcomes

    @pytest.mark.parametrize("jobs", [1, 2, 3, 17])
    def test_few_jobs(self, name: str, jobs: int) -> None:
        for seed in SEEDS[:2]:
            assert generate(name, jobs=jobs, seed=seed).rows("jobs") == jobs

    def test_a_field_can_be_changed(self, name: str) -> None:
        profile = replace(PROFILES[name], default_jobs=20)
        assert generate(profile).rows("jobs") == 20

    def test_bad_arguments(self, name: str) -> None:
        with pytest.raises(TraceError, match="jobs is 0"):
            generate(name, jobs=0)
        with pytest.raises(TraceError, match="seed is -1"):
            generate(name, seed=-1)


def test_unknown_profile() -> None:
    with pytest.raises(
        TraceError, match="'borg': expected one of google-2011, google-2011-applications"
    ):
        generate("borg")


@pytest.mark.parametrize("jobs", [0, 10_000_001, 10**30])
def test_absurd_numbers_of_jobs_are_refused(jobs: int) -> None:
    with pytest.raises(
        TraceError, match=f"^jobs is {jobs}, expected at least 1 and at most 100000"
    ):
        generate("google-2011", jobs=jobs)


class TestSampling:
    def test_normal_scores(self) -> None:
        u = np.array([1e-6, 0.01, 0.02425, 0.3, 0.5, 0.841344746, 0.99, 1 - 1e-6])
        scores = [-4.753424309, -2.326347874, -1.972961, -0.524400513, 0, 1, 2.326347874]
        assert normal_score(u) == pytest.approx([*scores, 4.753424309], abs=1e-6)

    def test_a_table_gives_its_quantiles(self) -> None:
        table = QuantileTable(((0.25, 1.0), (0.5, 3.0), (0.99, 400.0)), 0.1, 1_000.0)
        for q, x in table.points:
            assert table.at(np.array([q]))[0] == pytest.approx(x)
        sample = table.sample(np.random.default_rng(0), 10_000)
        assert np.quantile(sample, 0.5) == pytest.approx(3.0, rel=0.01)
        assert sample.min() >= 0.1
        assert sample.max() <= 1_000.0

    def test_two_points_make_a_lognormal(self) -> None:
        table = QuantileTable(((0.5, 1.0), (0.841344746, np.e)))
        log = np.log(table.sample(np.random.default_rng(0), 10_000))
        assert log.mean() == pytest.approx(0.0, abs=0.01)
        assert log.std() == pytest.approx(1.0, abs=0.01)

    def test_stratified(self) -> None:
        u = np.sort(stratified(np.random.default_rng(0), 100))
        assert (np.floor(u * 100) == np.arange(100)).all()

    def test_quotas(self) -> None:
        assert quotas((0.63, 0.013, 0.355), 10).tolist() == [6, 0, 4]
        assert quotas((1, 1, 1), 10).sum() == 10
        codes = allot(np.random.default_rng(0), (0.2, 0.8), 10)
        assert np.bincount(codes).tolist() == [2, 8]

    def test_shuffled_position(self) -> None:
        sizes = np.array([3, 1, 4])
        group = np.repeat(np.arange(3), sizes)
        position = shuffled_position(np.random.default_rng(1), group, sizes)
        assert [sorted(position[group == g]) for g in range(3)] == [[0, 1, 2], [0], [0, 1, 2, 3]]


class TestToy:
    def test_outcomes(self) -> None:
        trace = toy()
        outcomes = dict(zip(trace.column("jobs", "name"), trace.task_outcome, strict=True))
        assert outcomes == {
            "easy": Outcome.FINISH,
            "rescued": Outcome.FINISH,
            "doomed": Outcome.FAIL,
            "hung": Outcome.KILL,
            "long": Outcome.FINISH,
            "evicted": Outcome.FINISH,
            "struck": Outcome.FINISH,
            "unknown": Outcome.CENSORED,
        }
        assert (trace.column("jobs", "outcome") == trace.task_outcome).all()

    def test_times_of_the_struck_task(self) -> None:
        trace = toy()
        rows = slice(*trace.task_first[6:8])
        start = trace.column("attempts", "start")[rows] / MINUTE - 60
        end = trace.column("attempts", "end")[rows] / MINUTE - 60
        assert list(zip(start, end, strict=True)) == [(0, 40), (45, 115), (120, 220)]

    def test_lengths(self) -> None:
        trace = toy()
        known = trace.column("attempts", "outcome") != Outcome.CENSORED
        assert (trace.present("attempts", "length") == known).all()

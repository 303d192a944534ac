"""The panda-10k and panda-das traces against Ghit and Epema, HPDC 2017."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from heapq import heapreplace

import numpy as np
import numpy.typing as npt
import pytest

from failgym.traces import Outcome, Trace, generate
from failgym.traces.synthetic import Panda10k, PandaDas
from failgym.traces.synthetic.panda_10k import jobs_per_ms
from failgym.traces.synthetic.panda_das import makespan
from failgym.traces.synthetic.spark_cluster import Events, Workload, simulate

SEEDS = range(5)
HOUR = 3_600_000
TABLE_5 = {
    ("BTWORLD", "x1"): (20, 5, 1_587, 0.16),
    ("BTWORLD", "x5"): (20, 5, 7_935, 0.05),
    ("BTWORLD", "x10"): (20, 5, 15_870, 0.05),
    ("PPPQ", "x1"): (20, 5, 1_461, 0.16),
    ("PPPQ", "x5"): (20, 5, 7_305, 0.05),
    ("PPPQ", "x10"): (20, 5, 14_610, 0.05),
    ("PageRank", "x1"): (5, 1, 185, 0.16),
    ("PageRank", "x5"): (5, 1, 925, 0.16),
    ("PageRank", "x10"): (5, 1, 1_850, 0.16),
}
"""Machines, machines lost, seconds, share of the jobs."""
SLOWDOWN = {"BTWORLD": 1.48, "PPPQ": 1.40, "PageRank": 11.0}

PROFILE_10K, PROFILE_DAS = Panda10k(), PandaDas()

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@cache
def made(name: str, seed: int, jobs: int | None = None) -> Trace:
    return generate(name, jobs=jobs, seed=seed)


class Gangs:
    """A panda-10k trace as arrays, one entry per job."""

    def __init__(self, trace: Trace) -> None:
        job = trace.column("tasks", "job")
        self.name = trace.column("jobs", "name")[job]
        self.scale = trace.column("jobs", "queue")[job]
        self.hit = trace.column("jobs", "exit_category")[job] == "hit"
        self.nodes = trace.column("tasks", "width")
        self.submit = trace.column("attempts", "queued")
        self.start = trace.column("attempts", "start")
        self.end = trace.column("attempts", "end")
        self.finished = trace.column("attempts", "outcome") == Outcome.FINISH

    def utilisation(self, machines: int, end: int) -> float:
        run = np.where(self.start >= 0, self.end - self.start, 0)
        return float((run * self.nodes).sum() / machines / end)


@pytest.mark.parametrize("seed", SEEDS)
class TestPanda10k:
    def test_arrivals(self, seed: int) -> None:
        trace = made("panda-10k", seed)
        assert trace.meta.end == pytest.approx(72 * HOUR, rel=1e-4)
        assert trace.rows("jobs") / 72 == pytest.approx(311.19, rel=1e-3)
        gap = np.diff(trace.column("jobs", "submit"))
        assert gap.std() == pytest.approx(gap.mean(), rel=0.05)

    @pytest.mark.parametrize("row", TABLE_5)
    def test_table_5(self, seed: int, row: tuple[str, str]) -> None:
        nodes, _, seconds, share = TABLE_5[row]
        g = Gangs(made("panda-10k", seed))
        here = (g.name == row[0]) & (g.scale == row[1])
        assert here.mean() == pytest.approx(share, abs=0.001)
        assert (g.nodes[here] == nodes).all()
        run = (g.end - g.start)[here & g.finished]
        hit = g.hit[here & g.finished]
        assert (run[~hit] == seconds * 1_000).all()
        assert (run[hit] == round(seconds * 1_000 * SLOWDOWN[row[0]])).all()

    def test_load(self, seed: int) -> None:
        trace = made("panda-10k", seed)
        g = Gangs(trace)
        assert trace.rows("machines") == 10_000
        assert trace.meta.end is not None
        assert g.utilisation(10_000, trace.meta.end) == pytest.approx(0.5, abs=0.03)
        assert (g.start == g.submit)[g.start >= 0].all()  # half a cluster is free

    def test_failure_events(self, seed: int) -> None:
        trace = made("panda-10k", seed)
        group, down = trace.column("outages", "group"), trace.column("outages", "down")
        _, sizes = np.unique(group[group >= 0], return_counts=True)
        assert len(sizes) == pytest.approx(5 * 72, rel=0.01)
        assert (sizes == 5).mean() > 0.98
        for number in range(0, int(group.max()), 17):
            assert len(set(down[group == number].tolist())) <= 1

    def test_a_hit_job_lost_machines(self, seed: int) -> None:
        trace = made("panda-10k", seed)
        g, lost = Gangs(trace), losses(trace)
        assert ((lost > 0) == g.hit).all()
        wanted = np.array([TABLE_5[key][1] for key in zip(g.name, g.scale, strict=True)])
        assert (lost == wanted)[g.hit].mean() > 0.98

    def test_no_machine_has_two_jobs(self, seed: int) -> None:
        trace = made("panda-10k", seed)
        attempt, machine = (trace.column("placements", key) for key in ("attempt", "machine"))
        start, end = (trace.column("attempts", key)[attempt] for key in ("start", "end"))
        order = np.lexsort((start, machine))
        same = np.diff(machine[order]) == 0
        assert (end[order][:-1] <= start[order][1:])[same].all()
        counts = np.bincount(attempt, minlength=trace.rows("attempts"))
        assert (counts == np.where(trace.present("attempts", "start"), Gangs(trace).nodes, 0)).all()

    def test_jobs_that_run_at_the_end_have_no_fate(self, seed: int) -> None:
        trace = made("panda-10k", seed)
        g = Gangs(trace)
        assert 150 < (~g.finished).sum() < 500  # 281 run at a time
        assert (g.end[~g.finished] == trace.meta.end).all()


def losses(trace: Trace) -> npt.NDArray[np.int64]:
    """How many of its machines each attempt loses while it runs."""
    attempt, machine = trace.column("placements", "attempt"), trace.column("placements", "machine")
    start = trace.column("attempts", "start")[attempt]
    far = 2**40
    order = np.lexsort((start, machine))
    keys = (machine * far + start)[order]
    down = trace.column("outages", "down")
    found = np.searchsorted(keys, trace.column("outages", "machine") * far + down, "left") - 1
    holder = attempt[order][found]
    inside = down <= trace.column("attempts", "end")[holder]
    assert inside.all()
    return np.bincount(holder, minlength=trace.rows("attempts"))


@pytest.mark.parametrize(
    ("load", "rate", "failed"),
    [(0.5, 1.0, 0.007), (0.5, 30.0, 0.24), (0.1, 5.0, 0.18), (0.9, 5.0, 0.025)],
)
def test_fraction_of_failed_jobs(load: float, rate: float, failed: float) -> None:
    """Fig. 10; at a load of 90 % this choice of victims gives fewer than the paper's."""
    profile = replace(PROFILE_10K, load=load, events_per_hour=rate)
    jobs = round(jobs_per_ms(profile) * 72 * HOUR)
    found = [Gangs(generate(profile, jobs=jobs, seed=seed)).hit.mean() for seed in range(3)]
    assert np.mean(found) == pytest.approx(failed, rel=0.2)


def test_a_full_cluster_makes_jobs_wait_tasks_in() -> None:
    g = Gangs(generate(replace(PROFILE_10K, machines=60, load=1.5), jobs=500, seed=1))
    begun = g.start >= 0
    order = np.argsort(g.submit, kind="stable")
    assert (g.start > g.submit)[begun].mean() > 0.5
    assert (np.diff(g.start[order][begun[order]]) >= 0).all()


@pytest.fixture(scope="module", params=SEEDS)
def das(request: pytest.FixtureRequest) -> Trace:
    return made("panda-das", request.param, 60)


def of(trace: Trace, *names: str) -> Flags:
    """Tasks of jobs of these names."""
    name = trace.column("jobs", "name")[trace.column("tasks", "job")]
    return np.isin(name.astype(np.str_), names)


def named(trace: Trace, name: str) -> Flags:
    """Jobs of that name."""
    return trace.column("jobs", "name").astype(np.str_) == name


def tasks_of_jobs(trace: Trace, name: str) -> list[Floats]:
    """Run times [s] of the tasks of each job of that name."""
    job, length = trace.column("tasks", "job"), trace.column("attempts", "length") / 1e3
    here = of(trace, name)
    return [length[job == number] for number in np.unique(job[here])]


def test_a_machine_that_is_being_replaced_is_not_lost_again() -> None:
    second = 1_000
    run = np.full(2, 10 * second)
    jobs = Workload(np.array([0, 0]), np.array([1, 1]), run, run, np.array([0, 0]))
    events = Events(np.array([5, 15]) * second, np.zeros((2, 3), dtype=np.int64))
    for detection, losses in ((60 * second, [5 * second]), (second, [5 * second, 15 * second])):
        history = simulate(jobs, events, np.array([1]), 1, detection, 100 * second)
        assert history.hit.tolist() == [True, True]
        assert history.lost_at.tolist() == losses


class TestPandaDas:
    def test_cluster(self, das: Trace) -> None:
        assert das.rows("machines") == 20
        assert set(das.column("machines", "slots").tolist()) == {16}
        assert das.rows("outages") == 0

    def test_a_job_of_one_stage(self) -> None:
        app = replace(PROFILE_DAS.applications[0], stages=PROFILE_DAS.applications[0].stages[:1])
        trace = generate(replace(PROFILE_DAS, applications=(app,)), jobs=3)
        assert trace.rows("stages") == 3
        assert trace.rows("stage_edges") == 0

    def test_shares(self, das: Trace) -> None:
        name = das.column("jobs", "name")
        for app in PROFILE_DAS.applications:
            assert (name == app.name).mean() == pytest.approx(app.share, abs=0.5 / 60 + 0.002)

    @pytest.mark.parametrize(
        ("name", "nodes", "gigabytes", "seconds"),
        [
            ("BTWORLD", 20, 5 * 600, 1_587),
            ("PPPQ", 20, 600, 1_461),
            ("NMSQ", 20, 600, 656),
            ("PageRank", 5, None, 185),
            ("KMeans", 5, 4 * 10, 103),
        ],
    )
    def test_table_3(
        self, das: Trace, name: str, nodes: int, gigabytes: int | None, seconds: int
    ) -> None:
        """Five stages of BTWORLD and four of KMeans read all of the input, in blocks."""
        job = int(np.flatnonzero(das.column("jobs", "name") == name)[0])
        graph = Graph(das, job)
        assert graph.simulated(nodes * 16) / 1e3 == pytest.approx(seconds, rel=0.01)
        blocks = sum(
            len(times)
            for times, parents in zip(graph.times, graph.parents, strict=True)
            if not parents
        )
        if gigabytes is not None:
            assert blocks * 0.128 == pytest.approx(gigabytes, rel=0.05)

    @pytest.mark.parametrize("name", ["BTWORLD", "PPPQ"])
    def test_run_times(self, das: Trace, name: str) -> None:
        """Sections 3.2 and 6.1, Fig. 6."""
        jobs = tasks_of_jobs(das, name)
        ratio = [np.quantile(times, 0.9) / np.median(times) for times in jobs]
        assert np.mean(ratio) == pytest.approx(1.5, rel=0.1)
        longest = [np.sort(times)[-len(times) // 10 :].sum() / times.sum() for times in jobs]
        assert np.mean(longest) == pytest.approx(0.5, rel=0.1)

    def test_variation(self, das: Trace) -> None:
        """Section 4, of BTWORLD."""
        found = [times.std() / times.mean() for times in tasks_of_jobs(das, "BTWORLD")]
        assert np.mean(found) == pytest.approx(3.4, rel=0.1)

    def test_outliers(self, das: Trace) -> None:
        """Section 3.2, of BTWORLD: in its scans."""
        graphs = [Graph(das, int(job)) for job in np.flatnonzero(named(das, "BTWORLD"))]
        scans = [np.array(times) for graph in graphs for times in graph.times[:5]]
        relative = np.concatenate([times / np.median(times) for times in scans])
        outliers = relative[relative >= 1.49]
        assert len(outliers) / len(relative) == pytest.approx(0.015, abs=0.002)
        assert (outliers < 3.02).mean() == pytest.approx(0.70, abs=0.02)
        assert (outliers > 9.9).mean() == pytest.approx(0.05, abs=0.015)
        assert relative.max() < 20.5

    @pytest.mark.parametrize(
        ("name", "share", "times"),
        [("BTWORLD", 0.022, 41.0), ("PPPQ", 0.089, 10.5), ("NMSQ", 0.090, 10.5)],
    )
    def test_slow_stages(self, das: Trace, name: str, share: float, times: float) -> None:
        """They come in three waves on 20 machines of 16 slots."""
        graph = Graph(das, int(np.flatnonzero(named(das, name))[0]))
        medians = [float(np.median(run)) for run in graph.times]
        slow = int(np.argmax(medians))
        tasks = sum(len(run) for run in graph.times)
        assert len(graph.times[slow]) / tasks == pytest.approx(share, abs=0.002)
        assert medians[slow] / np.median(medians) == pytest.approx(times, rel=0.1)
        assert 2 * 320 < len(graph.times[slow]) <= 3 * 320

    def test_selectivity(self, das: Trace) -> None:
        """Median below .1, over decades (Fig. 6)."""
        found = selectivities(das, "BTWORLD", "PPPQ", "NMSQ")
        assert np.median(found) == pytest.approx(0.1, rel=0.1)
        assert np.quantile(found, 0.05) < 0.01
        assert np.quantile(found, 0.95) > 1.0

    def test_dependencies(self, das: Trace) -> None:
        job_of = das.column("stages", "job")
        parent, child = das.column("stage_edges", "parent"), das.column("stage_edges", "child")
        assert (job_of[parent] == job_of[child]).all()
        assert (das.column("stages", "stage")[parent] < das.column("stages", "stage")[child]).all()
        narrow = ~das.column("stage_edges", "wide")
        tasks_in = np.bincount(das.column("tasks", "stage"))
        assert (tasks_in[parent] == tasks_in[child])[narrow].all()
        assert set(job_of[child[narrow]].tolist()) == set(
            np.flatnonzero(named(das, "PageRank")).tolist()
        )
        made_by = np.bincount(das.column("tasks", "stage"), das.column("tasks", "output_bytes"))
        assert (das.column("stage_edges", "bytes") == made_by[parent]).all()

    def test_iterations_lengthen_the_lineage_of_pagerank_only(self, das: Trace) -> None:
        depth = {
            name: Graph(das, int(np.flatnonzero(das.column("jobs", "name") == name)[0])).depth()
            for name in ("PageRank", "KMeans", "BTWORLD")
        }
        assert depth["PageRank"] == 2 + 14 * 2  # two shuffles an iteration
        assert depth["KMeans"] == 2
        assert depth["BTWORLD"] >= 8

    def test_nothing_was_run(self, das: Trace) -> None:
        assert not das.present("attempts", "start").any()
        assert (das.column("attempts", "outcome") == Outcome.CENSORED).all()
        assert (das.column("attempts", "length") > 0).all()


class Graph:
    """The stages of one job: run times [ms] and parents."""

    def __init__(self, trace: Trace, job: int) -> None:
        rows = np.flatnonzero(trace.column("stages", "job") == job)
        number = {row: place for place, row in enumerate(rows.tolist())}
        stage, length = trace.column("tasks", "stage"), trace.column("attempts", "length")
        self.times: list[list[int]] = [length[stage == row].tolist() for row in rows]
        self.parents: list[list[int]] = [[] for _ in number]
        edges = (trace.column("stage_edges", key).tolist() for key in ("parent", "child"))
        for parent, child in zip(*edges, strict=True):
            if child in number:
                self.parents[number[child]].append(number[parent])

    def depth(self) -> int:
        level: list[int] = []
        for parents in self.parents:
            level.append(1 + max((level[parent] for parent in parents), default=0))
        return max(level)

    def simulated(self, slots: int) -> int:
        """When the job is through: each task, in order, on the slot that is free first."""
        ends: list[int] = []
        free = [0] * slots
        for times, parents in zip(self.times, self.parents, strict=True):
            ready = max((ends[parent] for parent in parents), default=0)
            through = ready
            for time in times:
                begin = max(free[0], ready)
                heapreplace(free, begin + time)
                through = max(through, begin + time)
            ends.append(through)
        return max(ends)


def selectivities(trace: Trace, *names: str) -> Floats:
    """Output over input of the tasks; without parents they read a block of the input."""
    stage = trace.column("tasks", "stage")
    read = np.bincount(
        trace.column("stage_edges", "child"),
        trace.column("stage_edges", "bytes"),
        trace.rows("stages"),
    )
    per_task = np.where(read > 0, read / np.bincount(stage), PROFILE_DAS.block)[stage]
    here = of(trace, *names)
    return trace.column("tasks", "output_bytes")[here] / per_task[here]


def test_makespan_by_hand() -> None:
    """Two slots: 3 and 1 + 1 in parallel; the next stage waits for both, or does not."""
    assert makespan([[3, 1, 1], [2, 2, 1]], [(), (0,)], 2) == 6
    assert makespan([[3, 1, 1], [2, 2, 1]], [(), ()], 2) == 5
    assert makespan([[5], [1]], [(), ()], 2) == 5

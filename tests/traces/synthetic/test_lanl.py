"""The lanl-2 and lanl-20 traces against what their profiles publish."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from failgym.traces import Cause, Outcome, Trace, generate
from failgym.traces.synthetic import Lanl2, Lanl20
from failgym.traces.synthetic.gangs import Calendar, place
from failgym.traces.synthetic.outages import Outages
from tests.traces.synthetic import weibull

SEEDS = range(5)
HOUR, DAY = 3_600_000, 86_400_000
UNIT = 300_000
SHARE = 0.01  # tolerance of a share

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PROFILE_2, PROFILE_20 = Lanl2(), Lanl20()


@cache
def made(name: str, seed: int, jobs: int | None = None) -> Trace:
    return generate(name, jobs=jobs, seed=seed)


def downtimes(trace: Trace) -> Floats:
    """Of the outages that are over [min]."""
    over = trace.present("outages", "up")
    return (trace.column("outages", "up") - trace.column("outages", "down"))[over] / 60_000.0


def causes(trace: Trace) -> dict[str, float]:
    found = trace.column("outages", "cause")
    return {name: float((found == name).mean()) for name in set(found.tolist())}


def node_gaps(trace: Trace) -> Floats:
    return weibull.gaps(trace.column("outages", "machine"), trace.column("outages", "down"))


def system_gaps(trace: Trace) -> Floats:
    return np.diff(np.sort(trace.column("outages", "down"))) / HOUR


@pytest.mark.parametrize("seed", SEEDS)
class TestOutagesOfLanl2:
    """LA-UR-05-7318, system 2, 2001 and 2002."""

    def test_failures(self, seed: int) -> None:
        trace = made("lanl-2", seed)
        assert trace.rows("machines") == 49
        assert trace.meta.end == pytest.approx(730 * DAY, rel=1e-6)
        assert trace.rows("outages") == pytest.approx(1_332, rel=0.01)
        counts = np.bincount(trace.column("outages", "machine"))
        failing = counts[counts > 0]
        assert 730 * len(failing) / failing.sum() == pytest.approx(26.2, rel=0.05)
        assert failing.mean() == pytest.approx(27.8, rel=0.05)
        assert failing.std() == pytest.approx(21.7, rel=0.15)
        assert failing.max() == pytest.approx(137, rel=0.25)

    def test_gaps(self, seed: int) -> None:
        node = weibull.fit(node_gaps(made("lanl-2", seed)))
        system = weibull.fit(system_gaps(made("lanl-2", seed)))
        assert node.shape == pytest.approx(0.741, abs=0.05)
        assert node.scale == pytest.approx(493, rel=0.1)
        assert system.shape == pytest.approx(0.883, abs=0.05)
        assert system.scale == pytest.approx(12.5, rel=0.1)

    def test_downtimes(self, seed: int) -> None:
        down = downtimes(made("lanl-2", seed))
        assert np.median(down) == pytest.approx(46, rel=0.1)
        assert down.mean() == pytest.approx(128, rel=0.2)
        assert np.quantile(down, 0.9) == pytest.approx(174, rel=0.1)
        assert np.log(down).mean() == pytest.approx(3.94, abs=0.05)
        assert np.log(down).std() == pytest.approx(1.01, abs=0.05)

    def test_causes(self, seed: int) -> None:
        found = causes(made("lanl-2", seed))
        assert found["hardware"] == pytest.approx(0.72, abs=SHARE)
        assert found["software"] == pytest.approx(0.15, abs=SHARE)

    def test_two_months_of_32_nodes(self, seed: int) -> None:
        trace, rng = made("lanl-2", seed), np.random.default_rng(seed)
        machine, down = trace.column("outages", "machine"), trace.column("outages", "down")
        failures = [
            np.isin(machine[down // (61 * DAY) == window], rng.permutation(49)[:32]).sum()
            for window in range(11)
        ]
        assert np.mean(failures) == pytest.approx(72.6, rel=0.15)
        assert min(failures) >= 35
        assert max(failures) <= 125


class Workflows:
    """The tables of a lanl-2 trace as arrays."""

    def __init__(self, trace: Trace) -> None:
        self.job = trace.column("tasks", "job")
        self.size = trace.column("jobs", "width")
        self.parent = trace.column("stage_edges", "parent")
        self.child = trace.column("stage_edges", "child")
        self.transfer = trace.column("stage_edges", "bytes") / PROFILE_2.bandwidth
        self.length = trace.column("attempts", "length")
        self.cost = trace.column("costs", "time").reshape(len(self.job), -1)

    def mean(self, values: Floats) -> Floats:
        """The mean of what edges have, per job."""
        job = self.job[self.child]
        return np.bincount(job, values) / np.bincount(job)


@pytest.mark.parametrize("seed", SEEDS)
class TestWorkflows:
    """FLAW, section V-A."""

    def test_sizes(self, seed: int) -> None:
        size = made("lanl-2", seed).column("jobs", "width")
        assert size.min() >= 175
        assert size.max() <= 249
        assert size.mean() == pytest.approx(212, rel=0.05)
        assert len(set(size.tolist())) > 40

    def test_a_workflow_is_an_acyclic_graph(self, seed: int) -> None:
        w = Workflows(made("lanl-2", seed))
        assert (w.job[w.parent] == w.job[w.child]).all()
        assert (w.parent < w.child).all()
        assert len(set(zip(w.parent.tolist(), w.child.tolist(), strict=True))) == len(w.parent)
        orphans = np.setdiff1d(np.arange(len(w.job)), w.child)
        assert (orphans == np.flatnonzero(np.diff(w.job, prepend=-1))).all()

    def test_meshing_degree(self, seed: int) -> None:
        w = Workflows(made("lanl-2", seed))
        degree = np.bincount(w.job[w.child]) / (w.size - 1)
        low, high = PROFILE_2.meshing
        assert degree.min() >= low
        assert degree.max() <= high
        assert degree.std() > 0.15 * (high - low)

    def test_edge_length(self, seed: int) -> None:
        w = Workflows(made("lanl-2", seed))
        length = w.mean((w.child - w.parent).astype(np.float64)) / w.size
        low, high = PROFILE_2.edge_length
        assert length.min() >= 0.8 * low
        assert length.max() <= high
        assert length.std() > 0.15 * (high - low)

    def test_weights(self, seed: int) -> None:
        w = Workflows(made("lanl-2", seed))
        low, high = PROFILE_2.weight
        assert (w.length / UNIT).mean() == pytest.approx((low + high) / 2, rel=0.05)
        assert (w.length == np.floor(w.cost.mean(axis=1) + 0.5)).all()

    def test_unrelated_compute_times(self, seed: int) -> None:
        w = Workflows(made("lanl-2", seed))
        assert w.cost.shape[1] == 32
        ratio = w.cost / w.length[:, None]
        half = PROFILE_2.heterogeneity / 2
        assert ratio.std() == pytest.approx(2 * half / 12**0.5, rel=0.05)
        assert np.abs(ratio.mean(axis=0) - 1).max() < 0.02
        order = np.argsort(w.cost[:2], axis=1)
        assert (order[0] != order[1]).any()

    def test_communication_to_computation_ratio(self, seed: int) -> None:
        w = Workflows(made("lanl-2", seed))
        ratio = w.mean(w.transfer) / ((1 + 399) / 2 * UNIT)
        low, high = PROFILE_2.communication
        assert ratio.mean() == pytest.approx((low + high) / 2, rel=0.1)
        assert ratio.min() >= 0.8 * low
        assert ratio.max() <= 1.2 * high

    def test_nothing_was_run(self, seed: int) -> None:
        trace = made("lanl-2", seed)
        assert not trace.present("attempts", "start").any()
        assert (trace.column("attempts", "outcome") == Outcome.CENSORED).all()
        assert (trace.column("jobs", "outcome") == Outcome.CENSORED).all()
        assert (trace.column("tasks", "stage") == np.arange(trace.rows("tasks"))).all()

    def test_ten_arrive_every_two_months(self, seed: int) -> None:
        submit, count = np.unique(made("lanl-2", seed).column("jobs", "submit"), return_counts=True)
        assert (count == 10).all()
        assert np.diff(submit) == pytest.approx(61 * DAY, rel=0.01)


def test_costs_name_the_elements_only() -> None:
    trace = made("lanl-2", 0)
    machine = trace.column("costs", "machine").reshape(-1, 32)
    assert (machine == machine[0]).all()
    assert len(set(machine[0].tolist())) == 32
    everywhere = generate(replace(PROFILE_2, elements=49), jobs=10)
    assert everywhere.rows("costs") == 49 * everywhere.rows("tasks")


@pytest.mark.parametrize("seed", SEEDS)
class TestOutagesOfLanl20:
    """LA-UR-05-7318, nodes 0 to 255 of system 20, 1,022 days from 2002-11-21."""

    def test_failures(self, seed: int) -> None:
        trace = made("lanl-20", seed)
        assert trace.rows("machines") == 256
        assert trace.meta.end == pytest.approx(1_022 * DAY, rel=1e-6)
        assert trace.rows("outages") == pytest.approx(1_212, rel=0.01)
        assert system_gaps(trace).mean() == pytest.approx(20.3, rel=0.05)
        nodes = len(set(trace.column("outages", "machine").tolist()))
        assert nodes == pytest.approx(242, rel=0.1)
        per_year = trace.rows("outages") / 256 / (1_022 / 365.25)
        assert per_year == pytest.approx(1.69, rel=0.05)

    def test_gaps(self, seed: int) -> None:
        node = weibull.fit(node_gaps(made("lanl-20", seed)))
        system = weibull.fit(system_gaps(made("lanl-20", seed)))
        assert node.shape == pytest.approx(0.618, abs=0.05)
        assert node.scale == pytest.approx(1_967, rel=0.15)
        assert system.shape == pytest.approx(0.765, abs=0.05)
        assert system.scale == pytest.approx(17.57, rel=0.1)

    def test_downtimes(self, seed: int) -> None:
        down = downtimes(made("lanl-20", seed))
        assert np.median(down) == pytest.approx(62, rel=0.1)
        assert down.mean() == pytest.approx(146, rel=0.15)
        assert np.quantile(down, 0.95) == pytest.approx(401, rel=0.1)

    def test_causes(self, seed: int) -> None:
        found = causes(made("lanl-20", seed))
        assert found["hardware"] == pytest.approx(785 / 1_211, abs=SHARE)
        assert found["software"] == pytest.approx(368 / 1_211, abs=SHARE)


class Jobs:
    """A lanl-20 trace as arrays, one entry per job."""

    def __init__(self, trace: Trace) -> None:
        job = trace.column("tasks", "job")
        self.submit = trace.column("jobs", "submit")[job]
        self.nodes = trace.column("tasks", "width")
        self.start, self.end = trace.column("attempts", "start"), trace.column("attempts", "end")
        self.outcome = trace.column("attempts", "outcome")
        self.cause = trace.column("attempts", "cause")
        self.exit = np.array(trace.column("jobs", "exit_category"), dtype=np.str_)[job]
        self.known = self.outcome != Outcome.CENSORED
        self.node_minutes = np.where(self.start >= 0, self.end - self.start, 0) / 6e4 * self.nodes

    def share(self, outcome: Outcome, among: npt.NDArray[np.bool_]) -> float:
        return float((self.outcome[among & self.known] == outcome).mean())


@pytest.mark.parametrize("seed", SEEDS)
class TestJobsOfLanl20:
    """El-Sayed et al., ICDCS 2017."""

    def test_table_i(self, seed: int) -> None:
        j = Jobs(made("lanl-20", seed))
        everyone = np.ones(len(j.nodes), dtype=np.bool_)
        assert j.share(Outcome.FINISH, everyone) == pytest.approx(0.675, abs=SHARE)
        assert j.share(Outcome.KILL, everyone) == pytest.approx(0.307, abs=SHARE)
        assert j.share(Outcome.FAIL, everyone) == pytest.approx(0.0062, rel=0.2)
        assert j.share(Outcome.LOST, everyone) == pytest.approx(0.01, rel=0.2)

    def test_users(self, seed: int) -> None:
        users = set(made("lanl-20", seed).column("jobs", "user").tolist())
        assert 0.9 * 446 <= len(users) <= 446

    @pytest.mark.parametrize(
        ("outcome", "minutes"),
        [
            (Outcome.FINISH, (76, 300, 5_165, 3_156_100)),
            (Outcome.FAIL, (2_737.5, 15_934, 107_578, 7_901_700)),
            (Outcome.KILL, (1_339, 16_034, 236_352, 7_396_864)),
        ],
    )
    def test_table_ii(self, seed: int, outcome: Outcome, minutes: tuple[float, ...]) -> None:
        # Of jobs submitted late, the end of the data hides the long ones.
        j = Jobs(made("lanl-20", seed, jobs=100_000))
        here = (j.submit < np.quantile(j.submit, 0.9)) & (j.outcome == outcome)
        found = np.quantile(j.node_minutes[here], (0.25, 0.5, 0.75, 0.99))
        assert found[:3] == pytest.approx(minutes[:3], rel=0.1)
        assert found[3] == pytest.approx(minutes[3], rel=0.3)

    def test_widths(self, seed: int) -> None:
        j = Jobs(made("lanl-20", seed))
        single = j.nodes == 1
        assert single.mean() == pytest.approx(0.79, abs=SHARE)
        assert j.nodes.max() <= 256
        assert j.share(Outcome.FINISH, single) == pytest.approx(0.70, abs=0.03)
        assert j.share(Outcome.FINISH, ~single) == pytest.approx(0.50, abs=0.03)
        killed = (j.exit == "killed") | (j.exit == "syskilled")
        assert killed[single & j.known].mean() == pytest.approx(0.22, abs=0.03)
        assert killed[~single & j.known].mean() == pytest.approx(0.45, abs=0.03)

    def test_unsuccessful_jobs_take_more_than_half(self, seed: int) -> None:
        j = Jobs(made("lanl-20", seed))
        taken = j.node_minutes[j.known & (j.outcome != Outcome.FINISH)].sum()
        assert 0.5 <= taken / j.node_minutes[j.known].sum() <= 0.8

    @pytest.mark.parametrize(
        ("exit_", "share", "within"),
        [
            ("syskilled", 0.48, 0.03),
            ("killed", 0.29, 0.048),
            ("aborted", 0.14, 0.03),
            ("failed", 0.02, 0.054),
            ("unknown", 0.07, 0.07),
        ],
    )
    def test_table_iii(self, seed: int, exit_: str, share: float, within: float) -> None:
        trace = made("lanl-20", seed)
        j, struck = Jobs(trace), ended_by_outage(trace)
        assert (j.exit[struck] == exit_).mean() == pytest.approx(share, abs=0.03)
        assert struck[j.exit == exit_].mean() == pytest.approx(within, abs=0.03)

    def test_no_retries(self, seed: int) -> None:
        trace = made("lanl-20", seed)
        assert trace.rows("attempts") == trace.rows("tasks") == trace.rows("jobs")

    def test_some_fates_are_unknown(self, seed: int) -> None:
        j = Jobs(made("lanl-20", seed))
        assert 0.005 < 1 - j.known.mean() < 0.05


def ended_by_outage(trace: Trace) -> npt.NDArray[np.bool_]:
    """Attempts one of whose machines goes down just when they end."""
    attempt, machine = trace.column("placements", "attempt"), trace.column("placements", "machine")
    end = trace.column("attempts", "end")[attempt]
    far = trace.meta.end
    assert far is not None
    down = trace.column("outages", "machine") * (far + 1) + trace.column("outages", "down")
    struck = np.zeros(trace.rows("attempts"), dtype=np.bool_)
    struck[attempt[np.isin(machine * (far + 1) + end, down)]] = True
    return struck


@pytest.mark.parametrize("seed", SEEDS)
class TestPlacements:
    def test_an_attempt_with_the_cause_machine_lost_one(self, seed: int) -> None:
        trace = made("lanl-20", seed)
        by_machine = trace.column("attempts", "cause") == Cause.MACHINE
        placed = np.zeros(trace.rows("attempts"), dtype=np.bool_)
        placed[trace.column("placements", "attempt")] = True
        assert (ended_by_outage(trace) == (by_machine & placed)).all()
        assert placed[by_machine].mean() > 0.97
        assert placed[trace.present("attempts", "start")].mean() > 0.99

    def test_a_gang_has_its_width_in_different_machines(self, seed: int) -> None:
        trace = made("lanl-20", seed)
        attempt = trace.column("placements", "attempt")
        machine = trace.column("placements", "machine")
        assert len(set(zip(attempt.tolist(), machine.tolist(), strict=True))) == len(attempt)
        counts = np.bincount(attempt, minlength=trace.rows("attempts"))
        width = trace.column("tasks", "width")[trace.column("attempts", "task")]
        assert ((counts == 0) | (counts == width)).all()
        assert (counts[~trace.present("attempts", "start")] == 0).all()

    def test_no_machine_is_down_while_something_runs_on_it(self, seed: int) -> None:
        trace = made("lanl-20", seed)
        attempt = trace.column("placements", "attempt")
        machine = trace.column("placements", "machine")
        start = trace.column("attempts", "start")[attempt]
        end = trace.column("attempts", "end")[attempt]
        for number in range(256):
            here, of = machine == number, trace.column("outages", "machine") == number
            down = trace.column("outages", "down")[of]
            up = trace.column("outages", "up", missing=2**60)[of]
            clash = (start[here][:, None] < up) & (end[here][:, None] > down)
            assert not clash.any()


def test_table_ii_in_seconds_fits_the_machines() -> None:
    trace = generate(replace(PROFILE_20, node_minute=1_000, sampling=1.0), jobs=50_000)
    j = Jobs(trace)
    assert trace.meta.end is not None
    assert 0.3 < j.node_minutes.sum() / (256 * trace.meta.end / 6e4) < 3.0


def test_place_by_hand() -> None:
    """Machine 1 is down from 10 to 20, machine 2 from 30 on."""
    outages = Outages(
        np.array([1, 2]),
        np.array([10, 30]),
        np.array([20, -1]),
        np.array([0, 0]),
        np.array([-1, -1]),
        replace(PROFILE_20.outages, machines=4),
    )
    calendar = Calendar.of(outages)
    assert calendar.uptime().tolist() == [10, 30]
    start, end = np.array([0, 20, 5, 25, 40]), np.array([9, 29, 10, 30, 50])
    width, origin = np.array([2, 4, 3, 2, 4]), np.array([1, 1, 1, 1, 0])
    fixed = np.array([-1, -1, 1, 2, -1])
    run, machine = place(calendar, start, end, width, origin, fixed)
    gangs = [machine[run == number].tolist() for number in range(5)]
    assert gangs == [[1, 2], [0, 1, 2, 3], [1, 2, 3], [1, 2], []]

"""FLAW on LANL's system 2 (Cluster Computing 2010, section V): loss, reschedulings, makespan.

Two-month stretches of the failures of 49 nodes in 2001 and 2002, 32 of the nodes drawn for ten
workflows that arrive at once. The workflows are those of the lanl-2 profile: the paper's test bench
is not public.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.baselines import Flaw, RankHybd
from failgym.envs import resolve
from failgym.envs.worlds import build_world
from failgym.evaluation import run_policy
from failgym.traces import Trace, TraceError, generate
from failgym.traces.combine import on_nodes_of
from failgym.traces.readers.lanl import read_lanl
from tests.traces.real_data import real

UNIT = 5 * 60_000
"""A unit of time of the test bench [ms]."""
WORKFLOWS = 10
DAYS = 60
FIRST_DAY = datetime.date(2001, 1, 1)
LAST_BEGIN = 730 - DAYS
"""Last day on which a stretch begins, counted from the first."""
STRETCHES = 4
LEVELS = (0.0, 0.5, 0.7, 0.9, 1.0)
SHARES = (0.0, 0.5, 1.0)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """What the paper measures, an entry per stretch; times in units."""

    makespan: Floats
    """Mean over the workflows."""
    loss: Floats
    """From dispatch to death, over all attempts that failures end."""
    reschedulings: Floats


def stretch_of_the_record(number: int) -> Trace:
    """Ten workflows on system 2 from a random day on."""
    rng = np.random.default_rng([2, number])
    since = FIRST_DAY + datetime.timedelta(days=int(rng.integers(0, LAST_BEGIN + 1)))
    until = since + datetime.timedelta(days=DAYS - 1)
    log = read_lanl(real("lanl"), system=2, since=since, until=until)
    return on_nodes_of(generate("lanl-2", jobs=WORKFLOWS, seed=number), log)


@cache
def traces(source: str, stretches: int = STRETCHES) -> tuple[Trace, ...]:
    """The stretches of the record, or as many of the profile, in one trace."""
    if source == "profile":
        return (generate("lanl-2", jobs=WORKFLOWS * stretches, seed=3),)
    return tuple(stretch_of_the_record(number) for number in range(stretches))


def measured(source: str, accuracy: float, share: float = 0.5, seed: int = 0) -> Measured:
    """RANK_HYBD without predictions (AOA 0), or FLAW with predictions of an accuracy."""
    parts = [_measured(trace, accuracy, share, seed) for trace in traces(source)]
    return Measured(*np.concatenate(parts, axis=1))


def _measured(trace: Trace, accuracy: float, share: float, seed: int) -> Floats:
    """Makespan, loss and reschedulings of each slice of a trace, (3, slices)."""
    forecast = {0.0: "none", 1.0: "exact"}.get(accuracy, "calibrated")
    fields: dict[str, Any] = {"trace": trace, "split": "all", "node_forecast": forecast}
    if forecast == "calibrated":
        fields |= {"node_accuracy": accuracy, "node_false_positives": share, "seed": seed}
    scenario = resolve("Workflow-v0", fields)
    policy = Flaw() if accuracy else RankHybd()
    table = run_policy(build_world(scenario), scenario, policy, order="time").outcomes
    job = trace.column("tasks", "job")[table["task"]]
    taken = np.zeros(trace.rows("jobs"), dtype=np.int64)
    np.maximum.at(taken, job, table["end"] - table["submit"])
    batch = job // WORKFLOWS
    makespan = taken.reshape(-1, WORKFLOWS).mean(axis=1) / UNIT
    loss, kills = (np.bincount(batch, table[name]) for name in ("loss", "outages"))
    return np.array([makespan, loss / UNIT, kills], dtype=np.float64)


@cache
def by_level(source: str) -> dict[float, Measured]:
    return {level: measured(source, level) for level in LEVELS}


@pytest.mark.parametrize("source", ["record", "profile"])
class TestFlaw:
    def test_loss_falls_with_accuracy(self, source: str) -> None:
        """Fig. 11: considerably, down to that of a predictor that knows."""
        loss = [found.loss.mean() for found in by_level(source).values()]
        assert loss[1] <= 0.7 * loss[0]
        assert all(np.diff(loss) < 0.0)

    def test_fewer_reschedulings(self, source: str) -> None:
        """Fig. 12."""
        blind, half = by_level(source)[0.0], by_level(source)[0.5]
        assert half.reschedulings.mean() <= 0.9 * blind.reschedulings.mean()

    def test_makespan_hardly_changes(self, source: str) -> None:
        """Fig. 10 has it fall, on a test bench that is not public; here it stays within 3 %."""
        found = by_level(source)
        for level in LEVELS[1:]:
            ratio = found[level].makespan.mean() / found[0.0].makespan.mean()
            assert ratio == pytest.approx(1.0, abs=0.03)

    def test_makespan_does_not_depend_on_the_kind_of_errors(self, source: str) -> None:
        """Fig. 14: false positives or missed failures."""
        blind = by_level(source)[0.0].makespan
        relative = [measured(source, 0.5, share).makespan / blind for share in SHARES]
        shares = np.repeat(SHARES, STRETCHES)
        assert abs(np.corrcoef(shares, np.concatenate(relative))[0, 1]) < 0.3


def test_nodes_of_the_log_take_the_place_of_the_machines() -> None:
    workload = generate("lanl-2", jobs=WORKFLOWS, seed=1)
    log = generate("lanl-2", jobs=WORKFLOWS, seed=2)
    made = on_nodes_of(workload, log)
    for name in ("machine", "down", "up"):
        assert (made.column("outages", name) == log.column("outages", name)).all()
    assert made.column("costs", "machine").tolist() == workload.column("costs", "machine").tolist()
    assert made.column("machines", "slots").tolist() == [1] * 49


def test_the_log_has_to_have_as_many_nodes() -> None:
    workload, log = generate("lanl-2", jobs=1), generate("panda-das", jobs=1)
    with pytest.raises(TraceError, match="panda-das has 20 machines"):
        on_nodes_of(workload, log)

"""Step 3: the cluster of a scheduled scenario: machines, and when they fail."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from failgym.traces import Outcome, Trace
from failgym.traces.machine_slots import machine_slots
from failgym.traces.synthetic.outages import domains, draw_outages
from failgym.traces.synthetic.profiles import OutageLaw
from failgym.traces.synthetic.profiles.lanl import LANL_2_OUTAGES, LANL_20_OUTAGES
from failgym.traces.synthetic.quantiles import QuantileTable
from failgym.worlds.scenario import Scenario
from failgym.worlds.settings.cluster import MOST_MACHINES
from failgym.worlds.split import Part, tasks_run
from failgym.worlds.tables import with_columns, with_tables

__all__ = ["with_cluster"]

LAWS = {"lanl-2": LANL_2_OUTAGES, "lanl-20": LANL_20_OUTAGES}
MOST_OUTAGES = 10_000_000
"""More are not drawn: bounds the memory that a short time between failures can take."""
_KEY = 0x0CA5
"""Sets the draws of outages apart from those of the trace of the same seed."""


def with_cluster(scenario: Scenario, part: Part, train: Trace) -> Part:
    """A split with the machines and outages of a scenario in place of its own, where it states any.

    Those that are stated are the same, and fail at the same times, in every split. Machines that
    are down when the data end are back then: when they were, and what failed later, nobody knows,
    and down for good they would keep what is on them from every job that outlasts the data. A
    machine of which the record does not say how many slots it has is as large as `machine_slots`
    says.

    Args:
        scenario: says which machines there are.
        part: the split.
        train: the record of the train split, whose work a load is of.

    Raises:
        ValueError: if there are no machines, the trace's outages are of other machines, or there
            were more than `MOST_OUTAGES`.
    """
    trace = _sized(part)
    count = scenario.machines or _machines_for(scenario, train)
    if not count and not trace.rows("machines"):
        raise ValueError(
            "machines: expected some, or a load, for a trace without machines; set machines to"
            " their number, or load to the share of them that is busy, as load=0.8"
        )
    _check_widths(scenario, trace, count)
    if count and trace.rows("costs"):
        raise ValueError("machines: expected 0 for a trace with compute times for each machine")
    if count and scenario.outages == "trace" and trace.rows("outages"):
        raise ValueError("outages: expected 'none' or a law where machines are not the trace's")
    if not count and scenario.outages == "trace":
        return replace(part, trace=_back_at_the_end(trace, _end_of_data(trace)))
    return replace(part, trace=_equipped(scenario, trace, count, _end_of_data(part.whole)))


def _sized(part: Part) -> Trace:
    """A split as recorded, with slots for all machines: what was in use, the whole tells."""
    if part.recorded.present("machines", "slots").all():
        return part.recorded
    slots = machine_slots(part.whole)
    return with_columns(part.recorded, part.recorded.meta.end, {("machines", "slots"): slots})


def _equipped(scenario: Scenario, trace: Trace, count: int, horizon: int) -> Trace:
    """A split with so many machines, or its own for 0, and the outages that a scenario states.

    Args:
        scenario: states them.
        trace: the split.
        count: number of machines.
        horizon: when the data end [ms]: no outage begins later.
    """
    tables: dict[str, Any] = {"outages": {}}
    law = _law(scenario, count or trace.rows("machines"))
    if count:
        names = [f"machine-{number:05d}" for number in range(count)]
        tables["machines"] = {"original_id": names, "speed": 1.0, "slots": scenario.slots}
        tables["placements"] = {}
    if law is None:
        return with_tables(trace, **tables)
    if count:
        tables["machines"]["domain"] = domains(law)
    if horizon / law.mtbf * law.machines > MOST_OUTAGES:
        raise ValueError(
            f"machine_mtbf: {law.mtbf:g} ms makes more than {MOST_OUTAGES} outages"
            f" of {law.machines} machines"
        )
    rng = np.random.Generator(np.random.PCG64([scenario.trace_seed, _KEY]))
    tables["outages"] = draw_outages(law, horizon, rng).columns()
    return _back_at_the_end(with_tables(trace, **tables), horizon)


def _check_widths(scenario: Scenario, trace: Trace, count: int) -> None:
    """Raise ValueError if a task that ran is wider than so many machines, where these are made."""
    widest = int(trace.column("tasks", "width")[tasks_run(trace)].max(initial=1))
    if not count or widest <= count * scenario.slots:
        return
    enough = math.ceil(widest / scenario.slots)
    field = "machines" if scenario.machines else "load"
    raise ValueError(
        f"{field}: {count} machines of {scenario.slots} slots are too few for a task of width"
        f" {widest}; set machines={enough} or more{', and load=0' if scenario.load else ''}"
    )


def _back_at_the_end(trace: Trace, end: int) -> Trace:
    """The trace with an end of every outage that has none: when the data end [ms]."""
    open_ = ~trace.present("outages", "up")
    if not open_.any():
        return trace
    down, up = (trace.column("outages", name, missing=-1) for name in ("down", "up"))
    back = np.where(open_, np.maximum(end, down + 1), up)
    return with_columns(trace, trace.meta.end, {("outages", "up"): back})


def _machines_for(scenario: Scenario, train: Trace) -> int:
    """As many machines as the load asks for: by the work that the record of the train split holds.

    Raises:
        ValueError: if nothing ran in it, or for more than `MOST_MACHINES`.
    """
    if not scenario.load:
        return 0
    start = train.column("attempts", "start", missing=-1)
    end = train.column("attempts", "end")
    ran = start >= 0
    width = train.column("tasks", "width")[train.column("attempts", "task")]
    work = float(((end - start) * width)[ran].sum())
    if not work:
        raise ValueError("load: expected a trace in which something ran")
    time = float(end[ran].max() - start[ran].min())
    count = max(math.ceil(work / time / scenario.load / scenario.slots), 1)
    if count > MOST_MACHINES:
        raise ValueError(
            f"load: {scenario.load} asks for {count} machines, expected at most {MOST_MACHINES}"
        )
    return count


def _law(scenario: Scenario, machines: int) -> OutageLaw | None:
    """The law of outages that a scenario names."""
    if scenario.outages in ("trace", "none"):
        return None
    if scenario.outages == "weibull":
        minutes = scenario.repair / 60_000
        return OutageLaw(
            machines=machines,
            mtbf=scenario.machine_mtbf,
            shape=scenario.outage_shape,
            repair=QuantileTable(((0.25, minutes / 2), (0.5, minutes), (0.75, minutes * 2))),
            causes=(("failure", 1.0),),
        )
    law = LAWS[scenario.outages]
    return replace(law, machines=machines, mtbf=scenario.machine_mtbf or law.mtbf)


def _end_of_data(trace: Trace) -> int:
    """When the data end, by what is stated and by the last that is told [ms]."""
    known = trace.column("attempts", "outcome") != Outcome.CENSORED
    last = int(trace.column("attempts", "end")[known].max(initial=0))
    told = (("jobs", "submit"), ("outages", "down"), ("outages", "up"))
    columns = (trace.column(table, name, missing=0) for table, name in told)
    return max(trace.meta.end or 0, last, *(int(column.max(initial=0)) for column in columns), 1)

"""`Scenario`: everything that makes an environment, in one frozen record."""

from __future__ import annotations

import difflib
import math
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_type_hints

from failgym.predictors import Forecast, NodeForecast, Predictor
from failgym.sim.rules import LONGEST, MINUTE, Rules
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.state import Order
from failgym.traces import Trace
from failgym.traces.synthetic import PROFILES

__all__ = ["CLUSTER", "MOST_MACHINES", "Scenario", "Select", "Split", "World", "generates"]

World = Literal["pinned", "scheduled"]
Split = Literal["train", "test", "all", "fit", "validation"]
Select = Literal["all", "failing"]
MOST_MACHINES = 1_000_000
MOST_TASKS = 100_000_000
"""Largest numbers that a scenario may state."""


@dataclass(frozen=True, kw_only=True)
class Scenario(ScheduledRules):
    """A scenario: the trace, what may be decided in it, and what is charged for.

    The fields of `Rules` belong to it too, and in the scheduled world those of `ScheduledRules`.
    `gymnasium.make(id, field=value)` overrides any of them.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    name: str = ""
    """Id of the environment without its namespace."""
    world: World = "pinned"
    """Tasks as recorded and independent of each other ("pinned"), or on machines with a queue, a
    scheduler and outages ("scheduled")."""
    trace: str | Path | Trace = "google-2011"
    """A synthetic profile, the folder of a stored trace, or a trace."""
    jobs: int = 4_000
    """Jobs to generate, for a profile."""
    trace_seed: int = 0
    """Seed of the generated trace, and of generated outages."""
    sampling: float = 0.0
    """Share of the system's jobs in a generated trace, for a profile that has one; 0: its own."""
    longest: int = 0
    """Longest machine-time of a task of a generated trace [ms], for a profile that has one; 0: its
    own."""
    split: Split = "train"
    """Which part of the trace: "train", "test" (jobs submitted after the boundary) or "all"; or, to
    choose between models, "fit" and "validation": the train split cut once more in the same way."""
    boundary: float = 0.7
    """Share of the jobs that are submitted before the boundary."""
    inner_boundary: float = 0.7
    """Share of the train split's jobs that are submitted before the boundary between "fit" and
    "validation"."""
    select: Select = "all"
    """Tasks in slices: "all", or "failing": of jobs with a FAILed attempt in the split and without
    a user's kill. A selection that uses the record."""
    max_attempts: int = 100
    """Tasks of more recorded attempts are in no slice: a few of them would make up most of its cost
    (El-Sayed et al. 2017, Fig. 6: at most 70 to 100 retries)."""
    slice_tasks: int = 256
    """Tasks of an episode."""
    order: Order = "task"
    """Serve the decisions of a slice task by task, or merged by time, as always in the scheduled
    world."""
    forecast: str | Forecast | Predictor = "none"
    """What is predicted: the name of a predictor (`failgym.worlds.build.PREDICTORS`), the file of a
    stored forecast or predictor, a predictor, or a forecast of the split or of the whole trace. A
    predictor that is not fitted yet learns from the train split ("fit" for "fit" and
    "validation"). One that is fitted speaks of what it is asked: give one that knows only "fit"
    when you choose models on "validation"."""
    seed: int = 0
    """Key of the lengths of attempts that were cut, and of drawn forecasts."""
    weight_wasted: float = 1.0
    """Price of lost, redundant and ghost work, in mean machine-times of a task."""
    weight_overhead: float = 1.0
    """Price of checkpoint and restore time, in mean machine-times of a task."""
    weight_completion: float = 1.0
    """Price of completion time, in mean completion times of a task."""
    weight_forfeited: float = 1.0
    """Price of the finished work of a forfeited task and of its recorded completion time again."""

    machines: int = 0
    """Machines of the cluster; 0: those of the trace, or as many as the load asks for."""
    slots: int = 1
    """Slots of a machine, where the machines are not those of the trace."""
    load: float = 0.0
    """Recorded work of the train split over what the machines could do in its time: sets their
    number. 0: as stated, or as in the trace."""
    outages: Literal["trace", "none", "lanl-2", "lanl-20", "weibull"] = "trace"
    """When machines fail: as in the trace, never, after the law of one of LANL's systems, or with
    Weibull gaps, machine by machine. Those that are down to the end of the data are back then."""
    machine_mtbf: int = 0
    """Mean time between failures of a machine [ms]; 0: the law's."""
    outage_shape: float = 0.8
    """``outages="weibull"``: shape of the gaps (Schroeder and Gibson 2006: .7 to .8)."""
    repair: int = 60 * MINUTE
    """``outages="weibull"``: median time of a repair [ms]; half of them are between half and twice
    as long."""
    slice_jobs: int = 0
    """Whole jobs of an episode, with nothing else in the cluster; 0: slices are of tasks."""
    warmup: int = 0
    """Tasks before those of a slice that are in the cluster with them, not asked about."""
    followers: int = 0
    """Tasks after those of a slice, likewise."""
    begin: int = 0
    """No slice of the train split begins before [ms]: the record begins with an empty cluster."""
    job_machines: tuple[tuple[str, int], ...] = ()
    """Names of jobs that run on so many machines only; others have them all."""
    failed_share: float = 0.0
    """Share of a job's machines that fail in one moment of its run, and are replaced after
    ``detection_delay``."""
    failed_at: float = -1.0
    """That moment, as a share of the job's undisturbed run time; -1: uniform, keyed by the job."""
    node_forecast: Literal["none", "exact", "calibrated"] | NodeForecast = "none"
    """DISPATCH: what is predicted of machines: nothing, every failure, with an accuracy, or what a
    forecast of the split (`failgym.worlds.build.split_of`) says."""
    node_accuracy: float = 0.7
    """``node_forecast="calibrated"``: application-oblivious accuracy AOA (FLAW, section V-B)."""
    node_false_positives: float = 0.5
    """``node_forecast="calibrated"``: share of false positives among the errors."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("jobs", "slice_tasks", "max_attempts"):
            self._check(name, getattr(self, name) >= 1, "at least 1")
        for name in ("boundary", "inner_boundary"):
            self._check(name, 0.0 < getattr(self, name) < 1.0, "in (0, 1)")
        for name in ("wasted", "overhead", "completion", "forfeited"):
            weight = f"weight_{name}"
            self._check(weight, 0.0 <= getattr(self, weight) < math.inf, "at least 0, finite")
        self._check("trace_seed", self.trace_seed >= 0, "at least 0")
        self._check("sampling", 0.0 <= self.sampling <= 1.0, "in [0, 1]")
        self._check("longest", 0 <= self.longest <= LONGEST, f"0 to {LONGEST} ms")
        choices = {
            "world": ("pinned", "scheduled"),
            "split": get_args(Split),
            "select": ("all", "failing"),
            "order": ("task", "time"),
            "outages": ("trace", "none", "lanl-2", "lanl-20", "weibull"),
        }
        if not isinstance(self.node_forecast, NodeForecast):
            choices["node_forecast"] = ("none", "exact", "calibrated")
        for name, allowed in choices.items():
            self._check(name, getattr(self, name) in allowed, f"one of {', '.join(allowed)}")
        if self.world == "pinned":
            self._check_pinned()
        else:
            self._check_cluster()
            self._check_slices()

    def _check_pinned(self) -> None:
        """Nothing of the scheduled world is set in the pinned one."""
        for name, default in _SCHEDULED.items():
            same = getattr(self, name) == default
            self._check(name, same, f'{default!r} (other values need world="scheduled")')

    def _check_cluster(self) -> None:
        """Machines, outages and what is predicted of them fit together."""
        self._check("order", self.order == "time", '"time" in the scheduled world')
        self._check(
            "beyond_record", self.beyond_record == "ghost", '"ghost" in the scheduled world'
        )
        self._check("machines", 0 <= self.machines <= MOST_MACHINES, f"0 to {MOST_MACHINES}")
        self._check("slots", 1 <= self.slots <= MOST_MACHINES, f"1 to {MOST_MACHINES}")
        self._check("load", 0.0 <= self.load < math.inf, "at least 0, finite")
        self._check("load", not (self.load and self.machines), "0 where machines are stated")
        made = bool(self.machines or self.load)
        self._check("slots", made or self.slots == 1, "1 unless machines or load are stated")
        self._check("machine_mtbf", 0 <= self.machine_mtbf <= LONGEST, f"0 to {LONGEST} ms")
        law = self.outages not in ("trace", "none")
        self._check("machine_mtbf", law or not self.machine_mtbf, "0 without a law of outages")
        stated = self.outages != "weibull" or self.machine_mtbf > 0
        self._check("machine_mtbf", stated, 'at least 1 ms with outages="weibull"')
        self._check("outage_shape", 0.1 <= self.outage_shape <= 10.0, "0.1 to 10")
        self._check("repair", 1 <= self.repair <= LONGEST, f"1 to {LONGEST} ms")
        for name in ("node_accuracy", "node_false_positives"):
            self._check(name, 0.0 <= getattr(self, name) <= 1.0, "in [0, 1]")
        ranked = self.scheduler == "rank_hybd" or self.node_forecast == "none"
        self._check("node_forecast", ranked, '"none" unless scheduler="rank_hybd"')

    def _check_slices(self) -> None:
        """Slices, what is around them and what strikes them fit together."""
        for name in ("slice_jobs", "warmup", "followers"):
            self._check(name, 0 <= getattr(self, name) <= MOST_TASKS, f"0 to {MOST_TASKS}")
        self._check("begin", 0 <= self.begin <= LONGEST, f"0 to {LONGEST} ms")
        for name in ("warmup", "followers", "begin"):
            alone = not (self.slice_jobs and getattr(self, name))
            self._check(name, alone, "0 with slice_jobs")
        self._check("failed_share", 0.0 <= self.failed_share <= 1.0, "in [0, 1]")
        moment = self.failed_at == -1.0 or 0.0 <= self.failed_at <= 1.0
        self._check("failed_at", moment, "in [0, 1], or -1")
        self._check("job_machines", _named_counts(self.job_machines), "((name, machines), ...)")
        for name, count in self.job_machines:
            good = 1 <= count <= MOST_MACHINES
            self._check("job_machines", good, f"1 to {MOST_MACHINES} machines for {name}")
        for name, empty in (("failed_share", 0.0), ("job_machines", ())):
            given = getattr(self, name) != empty
            self._check(name, not given or self.slice_jobs == 1, f"{empty!r} unless slice_jobs=1")
            own = not given or self.outages == "none"
            self._check(name, own, f'{empty!r} unless outages="none"')

    def override(self, **values: Any) -> Scenario:
        """The scenario with some fields changed.

        Raises:
            ValueError: for an unknown field, naming the nearest, or a value of the wrong type.
        """
        known = {field.name for field in fields(self)}
        for name in values:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f", did you mean {near[0]}?" if near else ""
                raise ValueError(f"{name}: unknown field of a scenario{hint}")
        typed = {name: _typed(name, value) for name, value in values.items()}
        for name in ("sampling", "longest"):  # do not follow the scenario to a trace without them
            if "trace" in typed and not generates(typed["trace"], name):
                typed.setdefault(name, _typed(name, 0))
        return replace(self, **typed)


def generates(source: str | Path | Trace, name: str) -> bool:
    """Is the source of a trace a profile that has a number of this name?"""
    if isinstance(source, Trace) or str(source) not in PROFILES:
        return False
    return name in {field.name for field in fields(PROFILES[str(source)])}


def _named_counts(value: Any) -> bool:
    """Is it a tuple of pairs of a name and a whole number, as `Scenario.job_machines` is?"""
    if not isinstance(value, tuple):
        return False
    pairs = cast("tuple[Any, ...]", value)
    return all(isinstance(p, tuple) and tuple(map(type, cast(Any, p))) == (str, int) for p in pairs)


def _defaults() -> dict[str, Any]:
    """Fields that mean something in the scheduled world only, and their defaults."""
    shared = {field.name for field in fields(Rules)}
    of_rules = [field for field in fields(ScheduledRules) if field.name not in shared]
    names = [field.name for field in fields(Scenario)]
    own = fields(Scenario)[names.index("machines") :]
    return {f.name: f.default for f in (*of_rules, *own) if f.default is not MISSING}


_SCHEDULED = _defaults()
CLUSTER = frozenset(
    {"machines", "slots", "load", "outages", "machine_mtbf", "outage_shape", "repair"}
    | {"node_forecast", "node_accuracy", "node_false_positives"}
)
"""Fields that say what machines there are, when they fail and what is predicted of them."""


def _typed(name: str, value: Any) -> Any:
    """A value of the field's type; whole numbers pass for real ones. Raises ValueError."""
    expected = get_type_hints(Scenario)[name]
    if expected in (int, float, bool):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if expected is float and whole:
            return float(value)
        if not isinstance(value, expected) or (expected is int and not whole):
            raise ValueError(f"{name}: expected {expected.__name__}, got {value!r}")
    elif isinstance(value, bool | int | float):
        raise ValueError(f"{name}: expected a text, got {value!r}")
    return value

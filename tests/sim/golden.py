"""Loads the worked micro-examples in `tests/golden/rules` and runs a simulator on them.

The form of an example is described beside them, in `README.md`.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.alarms import AlarmLaw
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import COUNTS, Continuation, Law
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules, Weights
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import (
    TERMS,
    Accounts,
    Action,
    Decision,
    Event,
    LogEntry,
    OpenDecision,
    SimOutcome,
)

FOLDER = Path(__file__).parents[1] / "golden" / "rules"


class Simulator(Protocol):
    """What the reference and the compiled engine have in common, as far as the examples need it."""

    illegal: int

    def start(self, tasks: Sequence[int]) -> None: ...
    def step(self, action: int) -> float: ...
    def accounts(self) -> Accounts: ...
    def busy(self) -> int: ...
    def observation(self) -> npt.NDArray[np.float32]: ...

    @property
    def decision(self) -> OpenDecision | None: ...
    @property
    def terms(self) -> Sequence[float]: ...
    @property
    def log(self) -> list[LogEntry]: ...


@dataclass(frozen=True)
class Example:
    """One worked micro-example."""

    name: str
    why: str
    rows: str
    log: str
    accounts: dict[str, int]
    rules: dict[str, Any] = field(default_factory=dict[str, Any])
    width: int = 1
    risk: str = ""
    confidence: list[float] = field(default_factory=list[float])
    actions: str = ""
    asked: str | None = None
    cost: dict[str, float] = field(default_factory=dict[str, float])
    illegal: int = 0
    continued: str = ""
    task_value: float | None = None
    weight_wasted: float = 1.0
    weight_forfeited: float = 1.0
    alarms: dict[str, Any] = field(default_factory=dict[str, Any])
    foretold: str | None = None

    def trace(self) -> Trace:
        """The record: one job of as many tasks as the rows name."""
        rows = [line.split() for line in lines(self.rows)]
        tasks = sorted({row[0] for row in rows})
        fields = [attempt(row[1:]) for row in rows]
        columns = {name: [each[name] for each in fields] for name in fields[0]}
        return Trace.of(
            Meta(self.name),
            jobs={"original_id": ["job"], "submit": [0], "width": [len(tasks)], "outcome": [0]},
            tasks={
                "job": [0] * len(tasks),
                "index": list(range(len(tasks))),
                "width": [self.width] * len(tasks),
            },
            attempts={"task": [tasks.index(row[0].rstrip(":") + ":") for row in rows]} | columns,
        )

    def context(self, trace: Trace) -> Context:
        """No expectations, no system, and no forecast but risks and class confidences."""
        forecast = forecast_of(trace, self.risk, self._rules().window)
        if self.confidence:
            forecast.confidence[:] = self.confidence
        if self.alarms:
            forecast = replace(forecast, alarms=alarms_of(self.alarms, trace.rows("tasks")))
        return Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), forecast)

    def _rules(self) -> Rules:
        beyond: dict[str, Any] = {"beyond_record": "continued", "restarts": "record"}
        return Rules(**(beyond if self.continued else {}) | self.rules)

    def simulator(self, kind: type[Any]) -> Any:
        """A simulator of the example, not yet started."""
        trace = self.trace()
        weights = Weights(
            wasted=self.weight_wasted, forfeited=self.weight_forfeited, task_value=self.task_value
        )
        given = (trace, self._rules(), self.context(trace), weights)
        if not self.continued:
            return kind(*given)
        return kind(*given, continuation=continuation_of(self.continued, trace.rows("tasks")))

    def answers(self) -> dict[tuple[int, str, str], list[Action]]:
        """(time, kind, attempt) -> the answers, in order."""
        parts = [line.split() for line in lines(self.actions)]
        return {(int(p[0]), p[1], p[2]): [Action[name] for name in p[3:]] for p in parts}


class Played(NamedTuple):
    """What a simulator made of an example, in the example's own words."""

    log: list[str]
    asked: list[str]
    risks: list[np.float32]
    """What is shown of the risk at each of these decisions."""
    accounts: dict[str, int]
    cost: dict[str, float]
    illegal: int
    busy: int
    unused: list[str]
    """Answers that no decision asked for."""


def examples() -> Iterator[Example]:
    """All worked micro-examples."""
    for path in sorted([*FOLDER.glob("*.toml"), *FOLDER.glob("continued/*.toml")]):
        for values in tomllib.loads(path.read_text())["example"]:
            yield Example(**values)


def lines(text: str) -> list[str]:
    """The lines of a field without comments and white space."""
    bare = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in bare if line]


def play(example: Example, simulator: Simulator) -> Played:
    """Answer every decision as the example says."""
    simulator.start(range(len({line.split()[0] for line in lines(example.rows)})))
    answers, cost = example.answers(), np.zeros(len(TERMS))
    asked, risks = list[str](), list[np.float32]()
    times: Counter[tuple[int, str, str]] = Counter()
    while (decision := simulator.decision) is not None:
        key = (
            decision.time,
            Decision(decision.kind).name,
            f"t{decision.task}/{decision.attempt}",
        )
        asked.append(" ".join(map(str, key)))
        risks.append(simulator.observation()[INDEX["risk"]])
        given = answers.get(key, [])
        action = given[times[key]] if times[key] < len(given) else Action.CONTINUE
        times[key] += 1
        simulator.step(action)
        cost -= simulator.terms
    return Played(
        log=[text for entry in simulator.log if (text := _text(entry))],
        asked=asked,
        risks=risks,
        accounts={k: int(v) for k, v in simulator.accounts()._asdict().items() if v},
        cost={k: float(v) for k, v in zip(TERMS, cost, strict=True) if v},
        illegal=simulator.illegal,
        busy=simulator.busy(),
        unused=[str(key) for key, given in answers.items() if times[key] < len(given)],
    )


def attempt(words: Sequence[str]) -> dict[str, int | None]:
    """A row of the record: queued, start, end, outcome, then cause and length if there are any."""
    queued, start, end, outcome, *rest = words
    length = next((word for word in rest if word.startswith("L=")), None)
    cause = next((word for word in rest if word not in (length, "-")), None)
    return {
        "queued": None if queued == "-" else int(queued),
        "start": None if start == "-" else int(start),
        "end": None if end == "-" else int(end),
        "outcome": Outcome[outcome],
        "cause": None if cause is None else Cause[cause],
        "length": None if length is None else int(length.removeprefix("L=")),
    }


def forecast_of(trace: Trace, risk: str, window: int) -> Forecast:
    """The risks of every attempt, a line each; none if nothing is said."""
    jobs, tasks, attempts = (trace.rows(name) for name in ("jobs", "tasks", "attempts"))
    none = Forecast.none(trace.content_hash, jobs, tasks, attempts, window)
    if not risk:
        return none
    said = [[float(word) for word in line.split()[1:]] for line in lines(risk)]
    assert len(said) == attempts, "a line of risks for every row"
    offset = np.cumsum([0, *map(len, said)]).astype(np.int64)
    return replace(none, offset=offset, risk=np.concatenate(said).astype(np.float32))


TIMES = {
    "fail": "failure",
    "external": "external",
    "work": "work",
    "gap": "gap_after_failure",
    "gap_external": "gap_after_external",
}
"""Word of an example -> law."""


def continuation_of(text: str, tasks: int) -> Continuation:
    """Laws that leave nothing to chance: one certain value, or never, per task and k."""
    said: list[dict[int, dict[str, str]]] = [{} for _ in range(tasks)]
    for line in lines(text):
        task, k, *words = line.replace(":", " ").split()
        said[int(task.removeprefix("t"))][int(k)] = dict(word.split("=") for word in words)
    cells: list[dict[str, str]] = []
    for each in said:
        known = {"work": "1000"}
        for k in range(COUNTS):
            known = known | each.get(k, {})
            cells.append(known)
    whole = cells[::COUNTS]
    laws = {law: _certain([cell.get(word) for cell in cells]) for word, law in TIMES.items()}
    return Continuation(
        cell=np.arange(tasks * COUNTS).reshape(tasks, COUNTS),
        chance=_certain([task.get("chance") for task in whole]),
        gives_up=np.array([float(cell.get("gives_up", 0)) for cell in cells]),
        ends_external=np.array([float(cell.get("ends_external", 0)) for cell in cells]),
        slow=np.array([float(task.get("slow", 1)) for task in whole]),
        chance_cell=np.array([i if "chance" in task else -1 for i, task in enumerate(whole)]),
        key=np.arange(tasks),
        **laws,
    )


def alarms_of(said: dict[str, Any], tasks: int) -> AlarmLaw:
    """The law of alarms of an example; what is not said never comes."""
    nobody = [0.0] * tasks
    laws = ("true_score", "false_score", "lead")
    return AlarmLaw(
        seed=0,
        prior=said["prior"],
        false_factor=said.get("false_factor", 0.0),
        job_share=said.get("job_share", 0.0),
        job_true=np.array(said.get("job_true", nobody)),
        job_false=np.array(said.get("job_false", nobody)),
        outside=said.get("outside", False),
        **{name: _one_cell(said.get(name, [])) for name in laws},
    )


def _one_cell(said: float | Sequence[tuple[float, float]]) -> Law:
    """One value for sure, or values with the shares up to them."""
    steps = [(said, 1.0)] if isinstance(said, int | float) else said
    value, share = np.array(steps, dtype=np.float64).reshape(-1, 2).T
    return Law(np.array([0, len(value)]), value, share)


def _certain(values: Sequence[str | None]) -> Law:
    """A cell per value: that one for sure, or steps with shares; never for "-" or None."""
    cells = [[] if value in (None, "-") else value.split(",") for value in values]
    steps = [step.partition("@") for cell in cells for step in cell]
    at = np.cumsum([0, *map(len, cells)]).astype(np.int64)
    shares = [float(share or 1.0) for *_, share in steps]
    return Law(at, np.array([float(value) for value, *_ in steps]), np.array(shares))


def _text(entry: LogEntry) -> str:
    """A log entry as the examples write it; nothing for a decision answered by CONTINUE."""
    kind, detail = Event(entry.kind), ""
    if kind in (Event.END, Event.SETTLED):
        detail = " " + SimOutcome(entry.detail).name
    elif kind is Event.START:
        detail = " ghost" if entry.detail else ""
    elif kind is Event.DECISION:
        if entry.detail == Action.CONTINUE:
            return ""
        detail = " " + Action(entry.detail).name
    number = "" if entry.number < 0 else f"/{entry.number}"
    return f"{entry.time} {kind.name} t{entry.task}{number}{detail}"

"""Loads the worked micro-examples of the scheduled world and runs a simulator on them.

The form of an example is described in `tests/golden/rules/scheduled/README.md`.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from failgym.sim.scheduled.rules import NodePredictions, ScheduledRules
from failgym.sim.shared.context import Context
from failgym.sim.shared.rules import Weights
from failgym.traces import Meta, Trace
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
from tests.sim.golden import FOLDER, attempt, continuation_of, forecast_of, lines

Options = dict[str, str]

NUMBERS = {"priority": "priority", "walltime": "walltime", "class": "scheduling_class"}
TEXTS = {"user": "user", "name": "name", "queue": "queue"}
"""Option of a job in an example -> column of the trace."""


class Simulator(Protocol):
    """What the reference and the compiled engine have in common, as far as the examples need it."""

    illegal: int

    def start(
        self,
        tasks: Sequence[int],
        own: Sequence[int] | None = None,
        standing: Sequence[tuple[int, int]] = (),
    ) -> None: ...
    def step(self, action: int) -> float: ...
    def accounts(self) -> Accounts: ...
    def busy(self) -> int: ...
    def outcomes(self) -> list[Any]: ...

    @property
    def decision(self) -> OpenDecision | None: ...
    @property
    def offered(self) -> int: ...
    @property
    def terms(self) -> tuple[float, float, float, float]: ...
    @property
    def log(self) -> list[LogEntry]: ...
    @property
    def queries(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Example:
    """One worked micro-example."""

    name: str
    why: str
    machines: list[int]
    rows: str
    log: str
    accounts: dict[str, int]
    rules: dict[str, Any] = field(default_factory=dict[str, Any])
    speeds: list[float] = field(default_factory=list[float])
    outages: str = ""
    tasks: str = ""
    jobs: str = ""
    edges: str = ""
    costs: str = ""
    predictions: str = ""
    risk: str = ""
    own: str = ""
    standing: str = ""
    actions: str = ""
    asked: str | None = None
    cost: dict[str, float] = field(default_factory=dict[str, float])
    outcomes: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    queries: str = ""
    illegal: int = 0
    continued: str = ""
    task_value: float | None = None

    def trace(self) -> Trace:
        """The record, and the cluster."""
        rows = [line.split() for line in lines(self.rows)]
        count = 1 + max(_row(row[0]) for row in rows)
        options = _options(self.tasks)
        tasks = [options.get(f"t{t}", {}) for t in range(count)]
        job_of = [task.get("job", f"t{t}") for t, task in enumerate(tasks)]
        jobs = list(dict.fromkeys(job_of))
        stages = list(dict.fromkeys((job_of[t], x["stage"]) for t, x in _staged(tasks)))
        number = {name: row for row, (_, name) in enumerate(stages)}
        attempts = [attempt(row[1:]) for row in rows]
        return Trace.of(
            Meta(self.name),
            jobs=self._jobs(jobs, job_of, rows),
            tasks={
                "job": [jobs.index(name) for name in job_of],
                "index": [job_of[:t].count(name) for t, name in enumerate(job_of)],
                "width": [int(task.get("width", 1)) for task in tasks],
                "stage": [number[x["stage"]] if "stage" in x else None for x in tasks],
                "output_bytes": [int(task["bytes"]) if "bytes" in task else None for task in tasks],
            },
            attempts={
                "task": [_row(row[0]) for row in rows],
                **{name: [each[name] for each in attempts] for name in attempts[0]},
            },
            machines={
                "original_id": [f"m{m}" for m in range(len(self.machines))],
                "slots": self.machines,
                "speed": self.speeds or [1.0] * len(self.machines),
            },
            outages=self._outages(),
            stages={
                "job": [jobs.index(job) for job, _ in stages],
                "stage": [[s for j, s in stages if j == job].index(s) for job, s in stages],
                "name": [name for _, name in stages],
            },
            stage_edges=self._edges(number),
            costs=self._costs(),
        )

    def _jobs(self, jobs: list[str], job_of: list[str], rows: list[list[str]]) -> dict[str, Any]:
        options = _options(self.jobs)
        each = [options.get(name, {}) for name in jobs]
        submits = {name: [0] for name in jobs}
        for row in rows:
            if row[1] != "-":
                submits[job_of[_row(row[0])]].append(int(row[1]))
        return {
            "original_id": jobs,
            "submit": [min(submits[name][1:] or [0]) for name in jobs],
            "width": [job_of.count(name) for name in jobs],
            "outcome": [0] * len(jobs),
            **{c: [int(x[o]) if o in x else None for x in each] for o, c in NUMBERS.items()},
            **{column: [x.get(option) for x in each] for option, column in TEXTS.items()},
        }

    def _outages(self) -> dict[str, Any]:
        words = [line.replace(":", "").split() for line in lines(self.outages)]
        return {
            "machine": [_row(machine) for machine, _, _ in words],
            "down": [int(down) for _, down, _ in words],
            "up": [None if up == "-" else int(up) for _, _, up in words],
        }

    def _edges(self, number: dict[str, int]) -> dict[str, Any]:
        words = [line.split() for line in lines(self.edges)]
        return {
            "parent": [number[parent] for parent, _, _, _ in words],
            "child": [number[child] for _, child, _, _ in words],
            "bytes": [int(size) for _, _, _, size in words],
            "wide": [kind == "wide" for _, _, kind, _ in words],
        }

    def _costs(self) -> dict[str, Any]:
        words = [line.replace(":", "").split() for line in lines(self.costs)]
        cells = [
            (_row(task), m, int(time)) for task, *times in words for m, time in enumerate(times)
        ]
        return {
            name: [cell[i] for cell in cells] for i, name in enumerate(("task", "machine", "time"))
        }

    def nodes(self) -> NodePredictions | None:
        """The predictions of failures of machines, None if there are none."""
        if not self.predictions:
            return None
        words = [line.replace(":", "").split() for line in lines(self.predictions)]
        times = {_row(machine): [int(t) for t in rest] for machine, *rest in words}
        each = [times.get(m, []) for m in range(len(self.machines))]
        offset = np.cumsum([0, *map(len, each)]).astype(np.int64)
        return NodePredictions(offset, np.array([t for ts in each for t in ts], dtype=np.int64))

    def simulator(self, kind: type[Any]) -> Any:
        """A simulator of the example, not yet started."""
        beyond: dict[str, Any] = {"beyond_record": "continued", "restarts": "record"}
        rules = ScheduledRules(**(beyond if self.continued else {}) | self.rules)
        trace = self.trace()
        forecast = forecast_of(trace, self.risk, rules.window)
        context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), dtype=np.float32), forecast)
        given = (trace, rules, context, Weights(task_value=self.task_value))
        if not self.continued:
            return kind(*given, nodes=self.nodes())
        laws = continuation_of(self.continued, trace.rows("tasks"))
        return kind(*given, nodes=self.nodes(), continuation=laws)

    def answers(self) -> dict[tuple[int, str, str], list[Action]]:
        """(time, kind, attempt) -> the answers, in order."""
        parts = [line.split() for line in lines(self.actions)]
        return {(int(p[0]), p[1], p[2]): [Action[name] for name in p[3:]] for p in parts}


class Played(NamedTuple):
    """What a simulator made of an example, in the example's own words."""

    log: list[str]
    asked: list[str]
    accounts: dict[str, int]
    cost: dict[str, float]
    outcomes: dict[str, dict[str, int]]
    """the fields that the example names"""
    queries: list[str]
    illegal: int
    busy: int
    unused: list[str]
    """Answers that no decision asked for."""


def examples() -> Iterator[Example]:
    """All worked micro-examples of the scheduled world."""
    for path in sorted((FOLDER / "scheduled").glob("**/*.toml")):
        for values in tomllib.loads(path.read_text())["example"]:
            yield Example(**values)


def play(example: Example, simulator: Simulator) -> Played:
    """Answer every decision as the example says."""
    standing = [(_row(task), int(left)) for task, left in map(str.split, lines(example.standing))]
    count = 1 + max(_row(line.split()[0]) for line in lines(example.rows))
    tasks = [t for t in range(count) if t not in dict(standing)]
    own = [_row(name) for name in example.own.split()] or None
    simulator.start(tasks, own, standing)
    answers, asked, cost = example.answers(), list[str](), np.zeros(len(TERMS))
    times: Counter[tuple[int, str, str]] = Counter()
    while (decision := simulator.decision) is not None:
        name = f"t{decision.task}/{decision.attempt}"
        key = (decision.time, Decision(decision.kind).name, name)
        offer = f" m{simulator.offered}" if simulator.offered >= 0 else ""
        asked.append(" ".join(map(str, key)) + offer)
        given = answers.get(key, [])
        action = given[times[key]] if times[key] < len(given) else Action.CONTINUE
        times[key] += 1
        simulator.step(action)
        cost -= simulator.terms
    outcomes = {f"t{x.task}": asdict(x) for x in simulator.outcomes()}
    return Played(
        log=log_text(simulator.log),
        asked=asked,
        accounts={k: int(v) for k, v in simulator.accounts()._asdict().items() if v},
        cost={k: float(v) for k, v in zip(TERMS, cost, strict=True) if v},
        outcomes={
            task: {name: int(outcomes[task][name]) for name in fields}
            for task, fields in example.outcomes.items()
        },
        queries=query_text(simulator.queries),
        illegal=simulator.illegal,
        busy=simulator.busy(),
        unused=[str(key) for key, given in answers.items() if times[key] < len(given)],
    )


def log_text(log: Sequence[LogEntry]) -> list[str]:
    """The log as the examples write it: without CONTINUE, machines behind the start."""
    text: list[str] = []
    for time, kind, task, number, detail in log:
        event, name = Event(kind), f"t{task}" if number < 0 else f"t{task}/{number}"
        if event is Event.PLACED:
            assert text[-1].startswith(f"{time} START {name} "), "PLACED belongs to its START"
            place, _, what = text[-1].partition("!")
            text[-1] = f"{place}m{detail} !{what}"
        elif event is Event.START:
            text.append(f"{time} START {name} !{('', 'ghost', 'recomputation')[detail]}")
        elif event in (Event.MACHINE_DOWN, Event.MACHINE_UP):
            assert task == -1, "no task fails with a machine but by its attempts"
            text.append(f"{time} {event.name} m{number}")
        elif event in (Event.END, Event.SETTLED):
            text.append(f"{time} {event.name} {name} {SimOutcome(detail).name}")
        elif event is Event.DECISION:
            if detail != Action.CONTINUE:
                text.append(f"{time} DECISION {name} {Action(detail).name}")
        else:
            text.append(f"{time} {event.name} {name}")
    return [entry.replace("!", "").rstrip() for entry in text]


def query_text(queries: Sequence[Any]) -> list[str]:
    """Rows of the table of queries as the examples write them."""
    passes = sorted({int(row[0]) for row in queries})
    words = [
        (
            str(passes.index(int(event))),
            f"t{job}",
            f"m{machine}",
            "asked" if asked else "silent",
            "yes" if answered else "no",
            "fails" if fails else "lasts",
        )
        for event, job, machine, asked, answered, fails in queries
    ]
    return [" ".join(row) for row in words]


def _row(name: str) -> int:
    """``t3:`` -> 3, ``m3`` -> 3"""
    return int(name.rstrip(":")[1:])


def _options(text: str) -> dict[str, Options]:
    """``name: key=value ...`` a line."""
    words = [line.split() for line in lines(text)]
    return {name.rstrip(":"): dict(w.split("=") for w in rest) for name, *rest in words}


def _staged(tasks: Sequence[Options]) -> Iterator[tuple[int, Options]]:
    return ((t, task) for t, task in enumerate(tasks) if "stage" in task)

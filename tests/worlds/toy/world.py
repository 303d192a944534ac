"""The toy world, and its engine in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.records import Output
from failgym.sim.shared.rules import Order, Rules
from failgym.traces import Outcome
from failgym.vocabulary import ACTIONS, LOG, NEVER, TERMS, Action, Decision, Event, TaskOutcome
from failgym.worlds.world import Ahead, Bound, Down, LeastCosts, OpenAttempt, Scene

__all__ = ["ROW", "TASK", "Tables", "ToyWorld"]

Ints = npt.NDArray[np.int64]

TASK = np.dtype(
    [(name, "i8") for name in ("submit", "width", "rows", "rows_at", "record_end")]
    + [("record_outcome", "i1")]
)
ROW = np.dtype([("duration", "i8"), ("outcome", "i1")])
EPISODE = np.dtype(
    [("key", "u8"), ("done", "?"), ("decision", "i1"), ("cost", "f8", 5), ("paid", "f8", 5)]
    + [
        (name, "i8")
        for name in (
            *("count", "slice", "tasks", "serving", "now", "logged"),
            *("useful", "lost", "forfeited", "decisions", "illegal"),
        )
    ]
)
STATE = np.dtype(
    [(name, "i8") for name in ("task", "attempts", "useful", "lost", "end", "decisions")]
    + [("outcome", "i1"), ("killed", "?")]
)


class Tables(NamedTuple):
    """What a trace is compiled to."""

    tasks: Any
    rows: Any
    order: Ints
    at: Ints
    lost: float
    forfeited: float


class State(NamedTuple):
    """The state of N episodes."""

    episodes: Any
    tasks: Any
    log: Any


class ToyBatch(EpisodeBatch):
    """N episodes of a toy world."""

    def __init__(self, world: ToyWorld, episodes: int, log: bool) -> None:
        self.tables = world.tables
        most = int(world.own_sizes.max())
        attempts = world.tables.tasks["rows"][world.own_tasks].sum()
        entries = np.zeros((episodes, int(4 * attempts + most) * log), dtype=LOG)
        tasks = np.zeros((episodes, most), dtype=STATE)
        state = State(np.zeros(episodes, dtype=EPISODE), tasks, entries)
        super().__init__(world, state, world.slices, threads=1)

    def outcomes(self, episode: int) -> dict[str, npt.NDArray[Any]]:
        return ToyWorld(self.tables).outcomes(self.own_states(episode))

    def _begin(self, chosen: Ints, out: Output) -> None:
        for e, wanted in enumerate(chosen.tolist()):
            if wanted != -2:
                self._start(e, wanted)
            self._show(e, out)

    def _answer(self, actions: Ints, again: bool, out: Output) -> None:
        for e, action in enumerate(actions.tolist()):
            ep = self.state.episodes[e]
            now = int(ep["now"])
            if action == -1:
                self._start(e, -1)
                now = int(ep["now"])
            elif not ep["done"]:
                self._decide(e, action)
            out.terms[e] = np.where(action == -1, 0.0, ep["paid"] - ep["cost"])
            out.reward[e] = out.terms[e].sum()
            out.elapsed[e] = ep["now"] - now
            out.terminated[e] = ep["done"] and action != -1
            if action != -1:
                ep["paid"] = ep["cost"]
            if ep["done"]:
                out.final[e] = ep
                if again:
                    out.final_terms[e], out.final_elapsed[e] = out.terms[e], out.elapsed[e]
                    self._start(e, -1)
            self._show(e, out)

    def _start(self, e: int, chosen: int) -> None:
        """Begin an episode on a slice, or on one drawn by its key (-1), and go to a decision."""
        ep = self.state.episodes[e]
        key, count = int(ep["key"]), int(ep["count"])
        if chosen < 0:
            chosen = int(np.random.default_rng([key, count]).integers(self.slices))
            count += 1
        self.state.episodes[e] = np.zeros((), dtype=EPISODE)
        rows = self.tables.order[self.tables.at[chosen] : self.tables.at[chosen + 1]]
        ep["key"], ep["count"], ep["slice"], ep["tasks"] = key, count, chosen, len(rows)
        ep["now"] = self.tables.tasks["submit"][rows[0]]
        states = self.state.tasks[e]
        states[...] = np.zeros((), dtype=STATE)
        states["task"][: len(rows)], states["end"] = rows, -1
        self._run_on(e)

    def _run_on(self, e: int) -> None:
        """Run attempts until one has failed behind which there is another."""
        ep = self.state.episodes[e]
        while ep["serving"] < ep["tasks"]:
            task = self.state.tasks[e, ep["serving"]]
            record = self.tables.tasks[task["task"]]
            row = self.tables.rows[record["rows_at"] + task["attempts"]]
            ep["now"] = max(ep["now"], record["submit"])
            self._note(e, Event.START, 0)
            self._note(e, Event.PLACED, 0)
            ep["now"] += row["duration"]
            account = "useful" if row["outcome"] == Outcome.FINISH else "lost"
            work = row["duration"] * record["width"]
            for one in (ep, task):
                one[account] += work
            ep["cost"][0] += self.tables.lost * work * (account == "lost")
            self._note(e, Event.END, int(row["outcome"]))
            task["attempts"] += 1
            if account == "lost" and task["attempts"] < record["rows"]:
                ep["decision"] = Decision.FAILED
                return
            self._settle(e, int(row["outcome"]))
        ep["done"] = True

    def _settle(self, e: int, outcome: int) -> None:
        ep = self.state.episodes[e]
        task = self.state.tasks[e, ep["serving"]]
        task["outcome"], task["end"] = outcome, ep["now"]
        self._note(e, Event.SETTLED, outcome)
        ep["serving"] += 1

    def _decide(self, e: int, action: int) -> None:
        """Answer the open decision; whatever is illegal counts as CONTINUE."""
        ep = self.state.episodes[e]
        task = self.state.tasks[e, ep["serving"]]
        ep["decisions"] += 1
        task["decisions"] += 1
        ep["illegal"] += action not in LEGAL
        answer = action if action in LEGAL else int(Action.CONTINUE)
        self._note(e, Event.DECISION, answer, -1)
        if answer == Action.KILL:
            task["killed"] = True
            if self.tables.tasks["record_outcome"][task["task"]] == Outcome.FINISH:
                ep["forfeited"] += 1
                ep["cost"][3] += self.tables.forfeited * finished_work(self.tables, task["task"])
            self._settle(e, int(Outcome.KILL))
        self._run_on(e)

    def _note(self, e: int, kind: Event, detail: int, before: int = 0) -> None:
        """Write an entry of the log, about the attempt now or one before."""
        ep = self.state.episodes[e]
        if self.state.log.shape[1]:
            task = self.state.tasks[e, ep["serving"]]
            number = task["attempts"] + before
            entry = ep["now"], kind, task["task"], number, detail
            self.state.log[e, ep["logged"]] = entry
            ep["logged"] += 1

    def _show(self, e: int, out: Output) -> None:
        ep = self.state.episodes[e]
        out.slice[e], out.illegal[e] = ep["slice"], ep["illegal"]
        out.obs[e], out.mask[e] = 0.0, 0
        out.mask[e, Action.CONTINUE] = 1
        out.task[e] = -1
        if not ep["done"]:
            task = self.state.tasks[e, ep["serving"]]
            out.mask[e, Action.KILL] = 1
            out.task[e] = task["task"]
            out.obs[e, INDEX["failed"]] = 1.0
            out.obs[e, INDEX["failures"]] = np.log2(1.0 + task["attempts"])
        out.obs[e, -ACTIONS:] = out.mask[e]


LEGAL = (Action.CONTINUE, Action.KILL)


def finished_work(tables: Tables, task: int) -> int:
    """Machine-time of the attempt that finishes a task in the record, 0 if none does [ms]."""
    record = tables.tasks[task]
    last = tables.rows[record["rows_at"] + record["rows"] - 1]
    return int(last["duration"] * record["width"] * (last["outcome"] == Outcome.FINISH))


@dataclass(frozen=True, eq=False)
class ToyWorld:
    """A toy world (`failgym.worlds.world.World`)."""

    tables: Tables

    @property
    def tasks(self) -> Any:
        return self.tables.tasks

    @property
    def slices(self) -> int:
        return len(self.tables.at) - 1

    @property
    def own_sizes(self) -> Ints:
        return np.diff(self.tables.at)

    @property
    def own_tasks(self) -> Ints:
        return self.tables.order

    @property
    def work_price(self) -> float:
        return self.tables.lost

    @property
    def inputs(self) -> frozenset[str]:
        return frozenset({"failures"})

    def batch(
        self,
        rules: Rules,
        episodes: int,
        order: Order = "task",
        threads: int = 1,
        *,
        log: bool = False,
    ) -> ToyBatch:
        return ToyBatch(self, episodes, log)

    def outcomes(self, states: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        record = self.tables.tasks[states["task"]]
        nothing = np.zeros(len(states), dtype=np.int64)
        table = dict.fromkeys([field.name for field in fields(TaskOutcome)], nothing)
        table |= {name: states[name] for name in STATE.names or ()}
        table["submit"], table["recorded_end"] = record["submit"], record["record_end"]
        table["recorded_outcome"] = record["record_outcome"]
        works = [finished_work(self.tables, task) for task in states["task"].tolist()]
        table["recorded_work"] = np.array(works, dtype=np.int64)
        return {
            name: np.array(table[name]) for name in [field.name for field in fields(TaskOutcome)]
        }

    def task_costs(self, outcomes: dict[str, npt.NDArray[Any]]) -> None:
        return None

    def least_costs(self, rules: Rules, slices: Ints, bound: Bound | None = None) -> LeastCosts:
        costs = np.zeros((len(slices), len(TERMS)))
        for i, chosen in enumerate(slices.tolist()):
            for task in self.tables.order[self.tables.at[chosen] : self.tables.at[chosen + 1]]:
                costs[i] += min(self._plans(int(task)), key=sum)
        return LeastCosts(costs, 0)

    def _plans(self, task: int) -> list[tuple[float, float, float, float, float]]:
        """What it costs to give a task up after one, two, ... failures, or never, by term."""
        record = self.tables.tasks[task]
        rows = self.tables.rows[record["rows_at"] : record["rows_at"] + record["rows"]]
        work = rows["duration"] * record["width"] * (rows["outcome"] != Outcome.FINISH)
        lost = (self.tables.lost * np.cumsum(work)).tolist()
        finishes = record["record_outcome"] == Outcome.FINISH
        forfeit = self.tables.forfeited * finished_work(self.tables, task) * finishes
        failed = (rows["outcome"] != Outcome.FINISH)[:-1]
        early = [(cost, 0.0, 0.0, forfeit, 0.0) for cost, f in zip(lost, failed, strict=False) if f]
        return [*early, (lost[-1], 0.0, 0.0, 0.0, 0.0)]

    def scene(self, order: Order) -> Scene:
        return Scene(one_by_one=False, machines=1, restore_cost=0, transfers=False)

    def down(self, states: npt.NDArray[Any]) -> Sequence[Down]:
        return ()

    def open_attempt(self, batch: EpisodeBatch, episode: int) -> OpenAttempt:
        task = batch.states(episode)[batch.state.episodes["serving"][episode]]
        row = self.tables.rows[self.tables.tasks["rows_at"][task["task"]] + task["attempts"] - 1]
        return OpenAttempt(int(task["attempts"]) - 1, int(row["duration"]), -1)

    def ahead(self, batch: EpisodeBatch, episode: int) -> Ahead:
        ep = batch.state.episodes[episode]
        task = batch.states(episode)[ep["serving"]]
        row = self.tables.rows[self.tables.tasks["rows_at"][task["task"]] + task["attempts"] - 1]
        return Ahead(int(ep["now"]), bool(row["outcome"] == Outcome.FINISH), NEVER, 0)

"""`ReferenceScheduledSimulator`: the reference behind the interface of the compiled engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from failgym.sim.reference.player import Costs, Player
from failgym.sim.reference.record import TaskRecord
from failgym.sim.reference.scheduled.attempts import ClusterTask
from failgym.sim.reference.scheduled.cluster import Cluster
from failgym.sim.reference.scheduled.continued import ContinuedTask, ContinuedWorld
from failgym.sim.reference.scheduled.dags import Dags
from failgym.sim.reference.scheduled.fates import (
    PlayedRecord,
    continue_played,
    standing_played,
)
from failgym.sim.reference.scheduled.observe import ScheduledObserver
from failgym.sim.reference.scheduled.records import (
    read_jobs,
    read_played_rows,
    read_scheduled_records,
    standing_record,
)
from failgym.sim.reference.scheduled.schedulers import Offer, Query
from failgym.sim.reference.scheduled.state import Setting
from failgym.sim.reference.scheduled.world import World
from failgym.sim.reference.simulator import checked_continuation
from failgym.sim.scheduled.rules import NodePredictions, ScheduledRules, check_nodes
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.fields import FIELDS
from failgym.sim.shared.rules import Weights
from failgym.traces import Trace
from failgym.vocabulary import Accounts, LogEntry, OpenDecision, ScheduledOutcome

__all__ = ["ReferenceScheduledSimulator", "ScheduledOutcome"]


class ReferenceScheduledSimulator(Player):
    """Plays tasks of a trace in the scheduled world, decision by decision, slowly and obviously.

    >>> from failgym.sim.shared.forecast import Forecast
    >>> from failgym.traces import Meta
    >>> trace = Trace.of(
    ...     Meta("example"),
    ...     jobs={"original_id": ["a"], "submit": [0], "width": [2], "outcome": [0]},
    ...     tasks={"job": [0, 0], "index": [0, 1], "width": [1, 1]},
    ...     attempts={"task": [0, 1], "start": [0, 0], "end": [100, 70], "outcome": [0, 0]},
    ...     machines={"original_id": ["m"], "speed": [1.0], "slots": [1]},
    ...     outages={"machine": [0], "down": [30], "up": [40]},
    ... )
    >>> silent = Forecast.none(trace.content_hash, jobs=1, tasks=2, attempts=2, window=300_000)
    >>> context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), np.float32), silent)
    >>> sim = ReferenceScheduledSimulator(trace, ScheduledRules(), context)
    >>> sim.start([0, 1])  # task 0 dies at 30 and queues behind task 1, which runs from 40 to 110
    >>> [(outcome.start, outcome.waited, outcome.end) for outcome in sim.outcomes()]
    [(0, 80, 210), (40, 40, 110)]
    >>> sim.accounts().lost
    30

    Args:
        trace: what happened, with the machines that the tasks run on.
        rules: scheduler, what may be decided, and at which cost.
        context: what the observation knows besides the record; its system table is not read.
        weights: what is charged for.
        seed: key of the lengths that the trace does not give, and of what is drawn behind it.
        nodes: predictions of failures of machines; None predicts none.
        continuation: how its records go on; read with ``beyond_record="continued"``, which needs
            it.

    Raises:
        ValueError: if the trace has no machines, or machines, outages, stages or tasks that cannot
            be simulated; the continuation is missing or of another number of tasks; or a task has a
            value and no record is continued.
    """

    def __init__(
        self,
        trace: Trace,
        rules: ScheduledRules,
        context: Context,
        weights: Weights | None = None,
        seed: int = 0,
        *,
        nodes: NodePredictions | None = None,
        continuation: Continuation | None = None,
    ) -> None:
        super().__init__(weights)
        if self.weights.task_value is not None and rules.beyond_record != "continued":
            raise ValueError("task_value: expected None unless beyond_record is 'continued'")
        self.rules = rules
        self.on_event: Callable[[], None] = lambda: None
        """Called after every event and every action; for tests."""
        self._continued: list[PlayedRecord] | None = None
        if rules.beyond_record == "continued":
            read = read_played_rows(trace, rules, context.forecast, seed)
            laws = checked_continuation(continuation, len(read))
            self._continued = [continue_played(*each, rules, laws, seed) for each in read]
            self._records = [each.played for each in self._continued]
        else:
            self._records = read_scheduled_records(trace, rules, context.forecast, seed)
        runnable = [record for record in self._records if record.rows]
        jobs = read_jobs(trace)
        dags, cluster = Dags(trace, rules), Cluster(trace, rules, runnable)
        self._setting = Setting(
            rules=rules,
            forecast=context.forecast,
            nodes=nodes if nodes is None else check_nodes(nodes, len(cluster.machines)),
            jobs=jobs,
            records=self._records,
            cluster=cluster,
            dags=dags,
            ranks=_ranks(rules, cluster, dags, self._records),
            widest=max((record.width for record in self._records), default=1),
        )
        self._observer = ScheduledObserver(trace, self._records, rules, context, jobs, nodes)
        self.start([])

    def start(
        self,
        tasks: Sequence[int],
        own: Sequence[int] | None = None,
        standing: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Begin an episode and run to its first decision.

        Args:
            tasks: trace rows of the tasks to play; those without an attempt to run are left out.
            own: those of them that are asked about and charged, if they are not censored; by
                default all.
            standing: (trace row, remaining run time [ms]) of tasks that stand in the cluster when
                the first of the others is submitted.

        Raises:
            ValueError: if one is unknown or there twice, or stands for less than no time.
        """
        self._check(tasks, standing)
        records = [self._records[row] for row in tasks if self._records[row].rows]
        records.sort(key=lambda record: (record.submit, record.task))
        asked = set(tasks if own is None else own)
        origin = records[0].submit if records else 0
        stood = [
            self._standing_task(row, left, origin)
            for row, left in standing
            if self._records[row].rows
        ]
        arriving = [
            self._task(record, own=record.task in asked and not record.censored)
            for record in records
        ]
        world = World if self._continued is None else ContinuedWorld
        self._world = world(self._setting, [*stood, *arriving])
        self._world.after_event = lambda: self.on_event()
        self.begin(self._world.play())

    def _task(self, record: TaskRecord, *, own: bool) -> ClusterTask:
        if self._continued is None:
            return ClusterTask.of(record, own=own)
        return ContinuedTask.of_record(self._continued[record.task], own=own)

    def _standing_task(self, row: int, left: int, origin: int) -> ClusterTask:
        if self._continued is None:
            record = standing_record(self._records[row], left, origin)
            return ClusterTask.of(record, own=False, standing=True)
        stands = standing_played(self._continued[row], left, origin)
        return ContinuedTask.of_record(stands, own=False, standing=True)

    def _check(self, tasks: Sequence[int], standing: Sequence[tuple[int, int]]) -> None:
        """Tasks exist, none is there twice, and what stands has some time to run, or none."""
        present = [*tasks, *(row for row, _ in standing)]
        for row in present:
            if not 0 <= row < len(self._records):
                last = len(self._records) - 1
                raise ValueError(f"task {row}: expected a task of the trace (0 to {last})")
        if len(set(present)) < len(present):
            raise ValueError("tasks of an episode: expected each once")
        for row, left in standing:
            if left < 0:
                raise ValueError(f"task {row}: expected at least 0 ms to run, got {left}")

    @property
    def decision(self) -> OpenDecision | None:
        """What is asked; None after the end."""
        asked = self._question
        if asked is None:
            return None
        return OpenDecision(asked.kind, asked.task.record.task, asked.run.number, self._world.now)

    @property
    def offered(self) -> int:
        """Index of the machine that a DISPATCH decision offers; else -1."""
        return self._question.machine.index if isinstance(self._question, Offer) else -1

    def observe(self) -> npt.NDArray[np.float32]:
        """The fields of `FIELDS` for the decision, float32; zeros after the end."""
        if self._question is None:
            return np.zeros(len(FIELDS), dtype=np.float32)
        self._observer.world = self._world
        return self._observer.observe(self._question, self._world.now, self.mask)

    observation = observe

    @property
    def log(self) -> list[LogEntry]:
        """What happened so far."""
        return self._world.log

    @property
    def queries(self) -> list[Query]:
        """Questions to the predictor of machine failures so far (``place``)."""
        return self._world.scheduler.queries

    @property
    def world(self) -> World:
        """The world as it stands; for tests."""
        return self._world

    def accounts(self) -> Accounts:
        """Machine-time of all tasks of the episode by what became of it [machine-ms]."""
        return self._accounts(self._world.tasks)

    def busy(self) -> int:
        """Machine-time of all attempts, counted from their starts and ends [machine-ms]."""
        return sum(task.busy(self._world.now) for task in self._world.tasks)

    def outcomes(self) -> list[ScheduledOutcome]:
        """What became of each task: standing ones, then the others in order of submission."""
        return [self._outcome(task) for task in self._world.tasks]

    def costs(self) -> Costs:
        """Costs of the own tasks up to now."""
        return self._costs([task for task in self._world.tasks if task.own])

    def costs_of_others(self) -> Costs:
        """Rule 21: costs of the tasks that are not its own, if the episode is charged for them."""
        if self.rules.charge == "own":
            return Costs()
        return self._costs([task for task in self._world.tasks if not task.own])

    def unit_costs(self) -> dict[int, float]:
        """Weighted cost up to now of each unit that is charged, by its trace row.

        The unit is a task or, where completion is that of jobs, the own tasks of a job together.
        """
        units: dict[int, list[ClusterTask]] = {}
        for task in self._world.tasks:
            if task.own:
                by_task = self.rules.completion == "tasks"
                row = task.record.task if by_task else task.record.job
                units.setdefault(row, []).append(task)
        return {row: sum(self.priced(self._costs(tasks))) for row, tasks in units.items()}

    def _costs(self, tasks: Sequence[ClusterTask]) -> Costs:
        accounts = self._accounts(tasks)
        gone = [task for task in tasks if task.is_forfeited and not task.standing]
        lost = [task.record for task in gone if task.record.success is not None]
        return Costs(
            wasted=accounts.lost + accounts.redundant + accounts.ghost,
            overhead=accounts.checkpoint + accounts.restore,
            completion=self._completion(tasks),
            forfeited_work=sum(x.width * x.success.duration for x in lost if x.success is not None),
            forfeited_time=sum(x.end - x.submit for x in lost),
            forfeited_value=sum(task.value for task in gone),
        )

    def _accounts(self, tasks: Sequence[ClusterTask]) -> Accounts:
        now = self._world.now
        return Accounts(
            useful=sum(task.useful for task in tasks),
            in_flight=sum(task.in_flight_now(now) for task in tasks),
            lost=sum(task.lost for task in tasks),
            redundant=sum(task.redundant for task in tasks),
            ghost=sum(task.ghost for task in tasks),
            checkpoint=sum(task.checkpoint for task in tasks),
            restore=sum(task.restore for task in tasks),
            transfer=sum(task.transfer for task in tasks),
        )

    def _completion(self, own: Sequence[ClusterTask]) -> int:
        """Time of unsettled tasks, or jobs, since their submission [ms]."""
        now = self._world.now
        if self.rules.completion == "tasks":
            return sum(task.completion(now) for task in own)
        jobs: dict[int, list[ClusterTask]] = {}
        for task in own:
            jobs.setdefault(task.record.job, []).append(task)
        return sum(_job_completion(tasks, now) for tasks in jobs.values())

    def _outcome(self, task: ClusterTask) -> ScheduledOutcome:
        record, output = task.record, self._world.lineage.output(task)
        success = record.success
        return ScheduledOutcome(
            task=record.task,
            submit=record.submit,
            recorded_end=record.end,
            recorded_outcome=int(record.outcome),
            end=-1 if task.settled is None else task.settled,
            outcome=-1 if task.outcome is None else int(task.outcome),
            useful=task.useful,
            lost=task.lost,
            redundant=task.redundant,
            ghost=task.ghost,
            checkpoint=task.checkpoint,
            restore=task.restore,
            transfer=task.transfer,
            attempts=len(task.runs),
            extra=task.extra,
            clones=task.clones,
            retries=task.retries,
            checkpoints=task.checkpoints,
            armed=task.kill_at is not None,
            killed=task.killed,
            departed=task.departed,
            failures=task.failures,
            decisions=task.decisions,
            recorded_work=0 if success is None else record.width * success.duration,
            start=task.first,
            waited=task.waited,
            evictions=task.evictions,
            outages=task.outages,
            loss=task.loss,
            recomputations=task.recomputations,
            saved=int(output is not None and output.saved),
        )


def _ranks(
    rules: ScheduledRules, cluster: Cluster, dags: Dags, records: Sequence[TaskRecord]
) -> list[float]:
    """Upward ranks, where the scheduler needs them."""
    if rules.scheduler != "rank_hybd":
        return []

    def compute(task: int) -> list[int]:
        return [cluster.compute(records[task], machine) for machine in cluster.machines]

    return dags.upward_ranks(compute)


def _job_completion(tasks: Sequence[ClusterTask], now: int) -> int:
    """From the first submission until the last task has settled, or until now [ms]."""
    ends = [now if task.settled is None else task.settled for task in tasks]
    return max(0, max(ends) - min(task.record.submit for task in tasks))

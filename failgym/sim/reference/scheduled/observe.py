"""What the agent sees in the scheduled world, where that differs from the pinned one (rule 22)."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log2

from failgym.sim.reference.decisions import Question
from failgym.sim.reference.observe import (
    HOUR_BINS,
    SYSTEM_BIN,
    Observer,
    Values,
    interruptions,
    log_minutes,
    ratio,
)
from failgym.sim.reference.record import TaskRecord
from failgym.sim.reference.scheduled.attempts import Attempt, ClusterTask
from failgym.sim.reference.scheduled.records import Job
from failgym.sim.reference.scheduled.schedulers import Offer, is_predicted
from failgym.sim.reference.scheduled.world import World
from failgym.sim.reference.tasks import Run, Task
from failgym.sim.scheduled.rules import NodePredictions, ScheduledRules
from failgym.sim.shared.context import Context
from failgym.traces import Trace
from failgym.vocabulary import Decision, Ending, Event, SimOutcome

__all__ = ["ScheduledObserver"]

BY_CLUSTER = (SimOutcome.EVICT, SimOutcome.LOST)
ENDED = (0, 1, 2, 3, 4)
"""FINISH to LOST: outcomes that count as ends in the failure rate."""


class ScheduledObserver(Observer):
    """Writes observations; what it knows of other tasks is what happened in the episode."""

    world: World

    def __init__(
        self,
        trace: Trace,
        records: Sequence[TaskRecord],
        rules: ScheduledRules,
        context: Context,
        jobs: Sequence[Job],
        nodes: NodePredictions | None,
    ) -> None:
        super().__init__(trace, records, rules, context)
        self._jobs = jobs
        self._nodes = nodes

    def values(self, asked: Question, now: int) -> Values:
        """Every field that is not zero, but for the mask."""
        values = super().values(asked, now)
        task, attempt = asked.task, asked.run
        assert isinstance(task, ClusterTask)
        assert isinstance(attempt, Attempt)
        values |= self._lineage(asked.kind, task, attempt, now)
        if isinstance(asked, Offer):
            values |= self._machine(asked, now)
        if asked.kind is Decision.OUTPUT:
            values["unsaved_over_young"] = self._intervals_ended(task, attempt, now)
        return values

    def _history(self, task: Task, run: Run, now: int) -> Values:
        assert isinstance(task, ClusterTask)
        started = task.runs.index(run) if run in task.runs else len(task.runs)
        others = [t for t in self._of_job(task) if t is not task]
        finished = sum(other.succeeded for other in others)
        return {
            "attempt": log2(1 + started),
            "failures": log2(1 + task.failures),
            "last_failed": float(_failed(task.last_ended)),
            "last_external": float(_ended_from_outside(task.last_ended)),
            "clones": task.clones,
            "extra_left": self._rules.max_extra - task.extra,
            "flagged_before": task.flagged,
            "sibling_failed": float(any(other.failed for other in others)),
            "siblings_finished": finished / max(1, self._jobs[task.record.job].width - 1),
        }

    def _of_job(self, task: ClusterTask) -> list[ClusterTask]:
        """The tasks of its job in the episode, itself included."""
        return [other for other in self.world.tasks if other.record.job == task.record.job]

    def _sibling_median(self, task: Task, now: int) -> int:
        """Lower median run time of the tasks of the job that have finished, 0 if none."""
        assert isinstance(task, ClusterTask)
        known = [other.run_time() for other in self._of_job(task)]
        times = sorted(time for time in known if time is not None)
        return times[(len(times) - 1) // 2] if times else 0

    def _durable(self, task: Task) -> int:
        """The most work that it has held: it may shrink where a larger fraction is of less."""
        assert isinstance(task, ClusterTask)
        return task.most_durable

    def _cost(self, task: Task, run: Run, now: int) -> Values:
        values = super()._cost(task, run, now)
        return values if task.first_start >= 0 else values | {"age_over_grace": 0.0}

    def _intervals_ended(self, task: ClusterTask, attempt: Attempt, now: int) -> float:
        """Ends of Young intervals since the job's submission that fell into the attempt."""
        young, submit = self._rules.young_interval, self._jobs[task.record.job].submit
        if young == 0:
            return 0.0
        return floor((now - submit) / young) - floor((attempt.start - submit) / young)

    # --- lineage and machine --------------------------------------------------------------------

    def _lineage(self, kind: Decision, task: ClusterTask, attempt: Attempt, now: int) -> Values:
        lineage, row = self.world.lineage, task.record.task
        stage = lineage.dags.stage_of[row]
        if stage < 0:
            return {}
        values = {
            "level": log2(1 + lineage.dags.level(row)),
            "waiting_children": log2(1 + lineage.unsettled_children(task)),
            "output_size": log2(1 + lineage.dags.output_bytes[row]),
            "stage_budget": self._budget(task),
            "runtime_over_median": ratio(attempt.elapsed(now), self._sibling_median(task, now)),
            "checkpoint_p95": log_minutes(_percentile_95(lineage.written.get(stage, []))),
        }
        output = lineage.output(task)
        if kind is Decision.OUTPUT and output is not None:
            values["recomputation_cost"] = log_minutes(output.recomputation)
        return values

    def _budget(self, task: ClusterTask) -> float:
        """Bytes that the stage has saved, over the bytes that it has read."""
        lineage = self.world.lineage
        read = lineage.dags.bytes_into(task.record.task)
        return min(1.0, lineage.bytes_saved(task) / read) if read > 0 else 1.0

    def _machine(self, offer: Offer, now: int) -> Values:
        failures = sum(outage.down <= now for outage in offer.machine.outages)
        came_up = [outage.up for outage in offer.machine.outages if outage.up <= now]
        return {
            "predicted_to_fail": float(is_predicted(self._nodes, offer.machine, now, offer.time)),
            "machine_failures": log2(1 + failures),
            "offer_rank": offer.actions_taken,
            "offered_time": log_minutes(offer.time),
            "next_time": log_minutes(offer.next_time or 0),
            "upward_rank": log_minutes(self.world.ranks[offer.task.record.task]),
            "machine_uptime": log_minutes(now - max(came_up, default=0)),
        }

    # --- the system -----------------------------------------------------------------------------

    def _system(self, now: int) -> Values:
        joined, joined_before = (self._in_hour(now, ago, Event.QUEUED) for ago in (0, 1))
        finished, finished_before = (
            self._in_hour(now, ago, Event.END, SimOutcome.FINISH) for ago in (0, 1)
        )
        failed = self._in_hour(now, 0, Event.END, SimOutcome.FAIL)
        ended = self._in_hour(now, 0, Event.END, *ENDED)
        return {
            "running": log2(1 + len(self.world.running())),
            "waiting": log2(1 + len(self.world.queue)),
            "free": log2(1 + self.world.cluster.free),
            "arrival_rate": log2(1 + joined),
            "throughput": log2(1 + finished),
            "arrival_change": log2(1 + joined) - log2(1 + joined_before),
            "throughput_change": log2(1 + finished) - log2(1 + finished_before),
            "failure_rate": failed / max(1, ended),
            **interruptions(
                self.world.interruptions,
                self.world.began,
                len(self.world.running()),
                now,
            ),
        }

    def _in_hour(self, now: int, ago: int, kind: Event, *details: int) -> int:
        """Entries of the log in the last 12 whole bins, or, an hour ago, the 12 before those."""
        beyond = now // SYSTEM_BIN - HOUR_BINS * ago
        bins = range(beyond - HOUR_BINS, beyond)
        return sum(
            entry.kind == kind
            and entry.time // SYSTEM_BIN in bins
            and (not details or entry.detail in details)
            for entry in self.world.log
        )


def _failed(last: Run | None) -> bool:
    """Did the last attempt fail by itself?"""
    return last is not None and last.ended_by() is Ending.INTRINSIC


def _ended_from_outside(last: Run | None) -> bool:
    """Did the cluster, its walltime, or what the record tells end the last attempt?"""
    if not isinstance(last, Attempt):
        return False
    if last.outcome in BY_CLUSTER or last.hit_walltime:
        return True
    return last.was_struck()


def _percentile_95(times: Sequence[int]) -> int:
    """The 95th percentile, one of the times; 0 if there are none."""
    return sorted(times)[(19 * len(times) + 19) // 20 - 1] if times else 0

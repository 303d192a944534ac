"""`TwoLevelNetwork`: Rosà et al.'s classes of jobs and tasks, foretold as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import CLASSES, window_offsets
from failgym.predictors.features.static import arrivals
from failgym.predictors.features.system import NEVER, SAMPLES, Load
from failgym.predictors.learned import Arrays, Learned
from failgym.predictors.network.arrived import JOB_FEATURES, TASK_FEATURES, Arrived
from failgym.predictors.network.network import Network, Recipe, train
from failgym.predictors.parameters import check_whole
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace
from failgym.vocabulary import DAY, MINUTE

__all__ = ["TwoLevelNetwork", "considered"]

Bools = npt.NDArray[np.bool_]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class Networks(NamedTuple):
    """The two levels."""

    job: Network
    task: Network


@dataclass(eq=False)
class TwoLevelNetwork(Recipe, Learned):
    """A network for jobs, and one for the tasks of jobs that it sees fail (Rosà, Chen and Binder,
    "Catching failures of failures at big-data clusters", IWQoS 2015, section III).

    **Two levels.** The job network says when a job arrives whether it will finish. Tasks of a job
    that is predicted not to are *considered*: the task network says when they arrive in which class
    they will end. It learns from the tasks of jobs that the job network, trained at the same time,
    predicts to fail, since it is asked about no others; the paper does not say. A task that is not
    considered has its job's confidence to finish, the rest spread evenly over the other classes.

    **Inputs.** 10 static features of a job or 5 of a task (`features.static`), and the 36 system
    features (`features.system`).

    **Days.** At each multiple of ``refit`` both networks are trained anew on the jobs and tasks
    that ended in the last ``memory``, in the trace that was fitted and in the one that is
    predicted. A trace that begins before the end of the fitted one does not continue it: then only
    its own jobs and tasks count. With fewer than ``least`` jobs to learn from, the networks before
    stay.

    **Risk.** The networks know what is known at arrival, and speak of tasks. The risk of an attempt
    is the confidence of its task in the class fail, the same at every window.
    """

    name: ClassVar[str] = "two_level_network"

    window: int = 5 * MINUTE
    """Monitoring window of the forecast [ms]."""
    sampling: int = 5 * MINUTE
    """Sampling window of the system features [ms], a multiple of `SAMPLES` (section III-2)."""
    refit: int = DAY
    """The networks are trained anew at each multiple of this [ms]; 0: never. The paper: every
    midnight."""
    memory: int = 3 * DAY
    """D, the learning window [ms]. The paper tries 1 to 5 days and chooses 3 (section IV-1)."""
    least: int = 50
    """Jobs, or considered tasks, that a network is trained anew on at least; of fewer considered
    tasks, all tasks are learned from. Chosen."""
    seed: int = 0
    """Of the first weights and of the choice of validation rows."""
    networks_: Networks = field(init=False, repr=False)
    until_: int = field(init=False, repr=False)
    recent_: Arrived = field(init=False, repr=False)
    load_: Load = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, 1, "window", "sampling", "memory", "least")
        if self.sampling % SAMPLES:
            raise ValueError(f"sampling: expected a multiple of {SAMPLES}, got {self.sampling}")
        check_whole(self, 0, "refit", "seed")

    def fit(self, trace: Trace) -> Self:
        """Learn from what ended in the last ``memory`` before the last end of a job.

        Raises:
            ValueError: if no job of the trace ended.
        """
        load = Load.of(trace)
        arrived = Arrived.of(trace, load, self.sampling)
        ended = arrived.job_end[arrived.job_end < NEVER]
        if not len(ended):
            raise ValueError("TwoLevelNetwork: nothing to learn from: no job of the trace ended")
        self.networks_ = self._learn(arrived, int(ended.max()))
        told = (trace.column("jobs", "submit"), trace.column("attempts", "end"))
        self.until_ = max(int(times.max()) for times in told)
        self.recent_ = arrived.since(self.until_ - self.memory if self.refit else NEVER)
        self.load_ = load.since(self.until_ - 2 * self.sampling)
        return self

    def predict(self, trace: Trace) -> Forecast:
        """Say of each job, and of each task, in which class it will end."""
        networks, load = self._fitted(), Load.of(trace)
        continues = bool(np.all(trace.column("jobs", "submit") >= self.until_))
        here = Arrived.of(trace, self.load_ + load if continues else load, self.sampling)
        known = self.recent_ + here if continues else here
        jobs = np.zeros(len(here.job_end), dtype=np.float32)
        tasks = np.zeros((trace.rows("tasks"), len(CLASSES)), dtype=np.float32)
        for moment, new_jobs, new_tasks in self._periods(trace):
            if self.refit and (moment > self.until_ or not continues):
                networks = self._learned_anew(known, moment) or networks
            jobs[new_jobs] = networks.job.confidences(here.job_features[new_jobs])[:, 1]
            rows = here.last()[new_tasks]
            of_job = jobs[here.task_job[rows]]
            tasks[new_tasks] = _classes(networks.task, here.task_features[rows], of_job)
        return self._forecast(trace, jobs, tasks)

    def arrays(self) -> Arrays:
        """Return the networks, what they are trained anew on, and the load that goes on."""
        networks = self._fitted()
        return {
            **networks.job.arrays("job_network_"),
            **networks.task.arrays("task_network_"),
            **self.recent_.arrays(),
            **self.load_.arrays("load_"),
            "until": np.array(self.until_, dtype=np.int64),
        }

    def restore(self, arrays: Arrays) -> Self:
        """Restore what `arrays` returned. Raises ValueError, in one line, if it does not fit."""
        if "until" not in arrays or arrays["until"].shape != ():
            raise ValueError("expected an array until, of one number")
        if arrays["until"].dtype != np.int64:
            raise ValueError(f"until: expected int64, got {arrays['until'].dtype}")
        networks = Networks(
            Network.of_arrays(arrays, "job_network_", len(JOB_FEATURES), 2),
            Network.of_arrays(arrays, "task_network_", len(TASK_FEATURES), len(CLASSES)),
        )
        self.recent_, self.load_ = Arrived.of_arrays(arrays), Load.of_arrays(arrays, "load_")
        self.networks_, self.until_ = networks, int(arrays["until"])
        return self

    def _fitted(self) -> Networks:
        if not hasattr(self, "networks_"):
            raise ValueError("TwoLevelNetwork: fit it first")
        return self.networks_

    def _periods(self, trace: Trace) -> Iterator[tuple[int, Ints, Ints]]:
        """When networks are trained [ms], and the jobs and tasks that arrive before the next
        time.
        """
        of_jobs, of_tasks = (at // (self.refit or NEVER) for at in arrivals(trace))
        for number in np.union1d(of_jobs, of_tasks).tolist():
            jobs, tasks = np.flatnonzero(of_jobs == number), np.flatnonzero(of_tasks == number)
            yield number * self.refit, jobs, tasks

    def _learned_anew(self, known: Arrived, moment: int) -> Networks | None:
        """The networks as trained at a moment; None if too few jobs ended before it."""
        enough = len(self._ended(known.job_end, moment)) >= self.least
        return self._learn(known, moment) if enough else None

    def _learn(self, known: Arrived, moment: int) -> Networks:
        jobs = self._ended(known.job_end, moment)
        tasks = self._ended(np.where(known.task_until > moment, known.task_end, NEVER), moment)
        job_network = self._train(known.job_features[jobs], known.job_class[jobs], 2, moment, jobs)
        fails = considered(job_network.confidences(known.job_features)[:, 1].astype(np.float32))
        flagged = tasks[fails[known.task_job[tasks]]]
        rows = flagged if len(flagged) >= self.least else tasks
        classes, of_job = known.task_class[rows], known.task_job[rows]
        task_network = self._train(known.task_features[rows], classes, len(CLASSES), moment, of_job)
        return Networks(job_network, task_network)

    def _ended(self, end: Ints, moment: int) -> Ints:
        """Rows of what ended in the learning window before a moment; of all before it, if nothing
        did.
        """
        ended = end <= moment
        lately = ended & (end > moment - self.memory)
        return np.flatnonzero(lately if lately.any() else ended)

    def _train(
        self, features: Floats32, labels: Ints, classes: int, moment: int, job: Ints
    ) -> Network:
        return train(features, labels, classes, self, (self.seed, classes, moment), job).network

    def _forecast(self, trace: Trace, jobs: Floats32, tasks: Floats32) -> Forecast:
        offset = window_offsets(trace, self.window)
        fail = tasks[trace.column("attempts", "task"), CLASSES.index("fail")]
        return Forecast(
            trace_hash=trace.content_hash,
            window=self.window,
            offset=offset,
            risk=np.repeat(fail, np.diff(offset)),
            confidence=tasks,
            job_confidence=jobs,
        )


def considered(job_confidence: Floats32) -> Bools:
    """Which jobs are predicted not to finish, so that their tasks are considered."""
    return job_confidence >= np.float32(0.5)


def _classes(network: Network, features: Floats32, job_confidence: Floats32) -> Floats32:
    """Class confidences of tasks, given those of their jobs not to finish."""
    classes = np.repeat(job_confidence[:, None] / (len(CLASSES) - 1), len(CLASSES), axis=1)
    classes[:, 0] = 1.0 - job_confidence
    rows = considered(job_confidence)
    classes[rows] = network.confidences(features[rows])
    return classes.astype(np.float32)

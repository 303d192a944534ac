"""LATE: copy the slow tasks that are furthest from their end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from failgym.baselines.base import (
    Bools,
    Choices,
    Heuristic,
    ObservationView,
    check_probability,
    choose,
)
from failgym.baselines.search import tuned
from failgym.baselines.spark_speculation import alone, finished_siblings
from failgym.vocabulary import Action

__all__ = ["Late"]


@dataclass(frozen=True)
class Late(Heuristic):
    """Clone a slow task whose estimated time to the end is longer than a copy takes.

    Longest Approximate Time to End: Zaharia, Konwinski, Joseph, Katz and Stoica, "Improving
    MapReduce performance in heterogeneous environments", OSDI 2008, section 4. Among the tasks
    whose progress rate is below the 25th percentile (SlowTaskThreshold), the one with the longest
    time left, (1 - progress) / progress rate, is copied, at most once, after it has run for a
    minute, and while copies take less than a tenth of the slots (SpeculativeCap).

    Fidelity: traces give neither progress scores nor a view of all tasks at once. So

    - the progress is the age over the duration expected of the class at that age;
    - tasks of a job are taken to start together: then a rate is below the p-th percentile if a
      share 1 - p of the job has finished before;
    - "the longest time left" is one that is longer than the median of the finished siblings, which
      is what a copy is expected to take: only then does it overtake;
    - the cap holds for each job, whatever runs of it counted as copied, and slots are those that
      run or are free; in a pinned world, where there are none, what ran in the trace;
    - nothing is known of slow machines (SlowNodeThreshold).
    """

    name: ClassVar[str] = "late"
    after: ClassVar[str] = "Zaharia et al. 2008"
    needs: ClassVar[frozenset[str]] = frozenset({"clone"})
    reads: ClassVar[frozenset[str]] = frozenset({"siblings"})

    speculative_cap: float = tuned(0.1, 0.01, 1.0, log=True)
    """Copies as a share of the slots (section 4: 10 %)."""
    slow_task: float = tuned(0.25, 0.01, 1.0)
    """Percentile of progress rates below which a task is slow (section 4: 25th)."""
    minimum_age: float = tuned(1.0, 0.0, 60.0)
    """Age from which a task may be copied [min] (section 4: 1)."""

    def __post_init__(self) -> None:
        check_probability("speculative_cap", self.speculative_cap)
        check_probability("slow_task", self.slow_task)
        if not self.minimum_age >= 0.0:
            raise ValueError(f"minimum_age: expected at least 0 min, got {self.minimum_age}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CLONE for a slow task that a copy would overtake, CONTINUE elsewhere."""
        tasks, finished = view.count("job_tasks"), finished_siblings(view)
        needed = np.round((1.0 - self.slow_task) * tasks, 6)
        slow = (finished >= 1) & (finished >= needed)
        old = view["age"] >= np.float32(np.log2(1.0 + self.minimum_age))
        slots = (view.count("running") + view.count("free")) * self.speculative_cap
        capped = (tasks - finished) * np.maximum(view.count("width"), 1) <= slots
        wanted = slow & old & capped & (_time_left(view) > 1.0) & alone(view)
        return choose(view.is_on("window") & wanted, Action.CLONE)


def _time_left(view: ObservationView) -> npt.NDArray[np.float64]:
    """Estimated time to the end, in medians of finished siblings [batch]; 0 where unknown."""
    age = view["age_over_siblings"].astype(np.float64)
    progress = view["age_over_expected"].astype(np.float64)
    known = progress > 0.0
    return age * np.divide(1.0 - progress, progress, out=np.zeros(len(view)), where=known)

"""How the jobs of a batch cluster are killed, where their tasks hang together."""

from __future__ import annotations

from dataclasses import dataclass

from failgym.traces.synthetic.quantiles import Numbers
from failgym.traces.synthetic.ranges import Level, Share


@dataclass(frozen=True)
class Kills:
    """Killed jobs that run long hang as a whole; in others killed tasks run like their siblings.

    So a task that has outlived its siblings need not hang, as in Google's record.
    """

    unfinished: Level
    """Share of the tasks of killed jobs of several tasks that do not finish."""
    lost_time: Share
    """Share of the machine-time in tasks that do not finish. So many of the killed jobs that run
    longest, per task, are killed as a whole that it comes out, where that can be."""
    ratio: Numbers
    """Machine-time of the killed tasks of a job over the median of its finished ones, by job."""

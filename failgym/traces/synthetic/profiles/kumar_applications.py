"""Applications that recur on the systems of Kumar et al.: users run them sitting by sitting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from failgym.traces.synthetic.quantiles import Numbers, QuantileTable
from failgym.traces.synthetic.ranges import Between, Chance, Shape, Share, Skew

Regularity = Annotated[float, Between(0.01, 100.0)]


@dataclass(frozen=True)
class Parts:
    """What a trait of jobs is made of, as shares of its variance; the rest is each job's own.

    Traits are normal scores. Which job has which run time, nodes or end follows their order: the
    published margins stay as they are.
    """

    application: Share
    """The same for all runs of an application."""
    sitting: Share
    """The same for the runs of one sitting: what changes between them."""

    @property
    def rest(self) -> float:
        """Each job's own."""
        return max(1.0 - self.application - self.sitting, 0.0)

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in the shares."""
        if self.application + self.sitting > 1.0 + 1e-9:
            yield "sitting", f"at most {1.0 - self.application:g}, what application leaves"


@dataclass(frozen=True)
class RecurringApplications:
    """The applications of a system's users, and how their runs come.

    An application has one user and one environment. Its runs come in sittings, those of a user one
    after the other. `alone` makes of sittings what `Sessions` are.
    """

    runs: Numbers
    """Jobs of a sitting."""
    sittings: Numbers
    """Sittings of an application in a trace."""
    hours: QuantileTable
    """How long a sitting of several jobs lasts, but no longer than the trace."""
    regularity: Regularity
    """Shape of the gamma law of the gaps between the jobs of a sitting."""
    office: Shape
    """Sittings begun in office hours, 9 to 17 o'clock on five days of seven, over those of other
    hours of the same length."""
    skew: Skew
    """An application's user is a uniform number to this power."""
    run: Parts
    """Run time, among jobs of an environment that end alike."""
    odd: Share
    """Jobs whose run time and end are their own alone."""
    nodes: Parts
    """Nodes, of jobs of several."""
    end: Parts
    """How a job ends by itself: what fails fails again, until it is mended."""
    failure: Parts
    """How soon the system fails a job."""
    request: Parts
    """Requested walltime over run time."""
    usual: Chance
    """Sittings in which all jobs request the nodes and the walltime that are usual for the
    application; in the others, what is usual for the sitting."""
    own_request: Share
    """Jobs that request nodes and walltime of their own: the odd ones first."""
    usage: Share
    """Part of the variance of a sitting's log usage that its application has in common."""

    def alone(self) -> RecurringApplications:
        """What sessions are: jobs of a sitting have only run times and usage in common, sittings
        nothing.
        """
        nothing = Parts(0.0, 0.0)
        return replace(
            self,
            sittings=QuantileTable(((0.1, 1.0), (0.9, 1.0)), 1.0, 1.0),
            office=1.0,
            run=Parts(0.0, self.run.application + self.run.sitting),
            nodes=nothing,
            end=nothing,
            failure=nothing,
            request=nothing,
            own_request=1.0,
            usage=0.0,
        )

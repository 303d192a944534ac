"""The law of the outages of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from failgym.traces.schema import LATEST
from failgym.traces.synthetic.quantiles import QuantileTable
from failgym.traces.synthetic.ranges import Between, Count, Shape, Share, SomeShare, Span, Time
from failgym.vocabulary import HOUR, MINUTE

STEADY = QuantileTable(((0.25, 1.0), (0.75, 1.0)))
"""A rate that does not vary."""


@dataclass(frozen=True)
class OutageLaw:
    """When the machines of a cluster go down, for how long, why, and which go down together.

    The failures of a machine are a renewal process with Weibull gaps. Machines fail at unequal
    rates, and all of them more often in some spells than in others: a gap is a Weibull variable of
    `shape` on a clock that runs at the machine's rate times the spell's. Some failures take other
    machines of the failure domain along; these outages form a group.
    """

    machines: Count
    """Machines of the cluster."""
    mtbf: Time
    """Mean time between failures of one machine [ms], over all machines and outages of groups."""
    shape: Shape
    """Weibull shape of the gaps of one machine, on its own clock."""
    repair: QuantileTable
    """How long an outage lasts [min]."""
    causes: Annotated[tuple[tuple[str, Share], ...], SomeShare()]
    """Causes and their shares."""
    rates: QuantileTable = STEADY
    """Failure rate of a machine relative to the others."""
    spells: QuantileTable = STEADY
    """Failure rate in a spell relative to other spells."""
    spell: Annotated[int, Between(HOUR, LATEST)] = 168 * HOUR
    """How long a spell lasts [ms]."""
    grouped: Share = 0.0
    """Share of the outages that come in groups."""
    group_sizes: Annotated[tuple[tuple[Count, Share], ...], SomeShare()] = ((2, 1.0),)
    """Machines in a group, and the shares of groups of that size."""
    domain: Count = 16
    """Machines in a failure domain."""
    tick: Span = MINUTE
    """Times are multiples of this [ms]."""

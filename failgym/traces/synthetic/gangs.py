"""Which machines a gang ran on, given when they were down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from failgym.compiled import njit
from failgym.traces.synthetic.outages import OPEN, Outages
from failgym.traces.synthetic.quantiles import Ints

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Calendar:
    """The outages of every machine, in the order of `Outages`."""

    first: Ints  # the first outage of each machine, and their number at the end
    down: Ints  # [ms]
    up: Ints  # [ms]; NEVER if open at the end of the data

    @classmethod
    def of(cls, outages: Outages) -> Calendar:
        """The calendar of these outages."""
        first = np.searchsorted(outages.machine, np.arange(outages.law.machines + 1))
        up = np.where(outages.up == OPEN, NEVER, outages.up)
        return cls(first.astype(np.int64), outages.down, up)

    def uptime(self) -> Ints:
        """How long the machine of each outage had been up [ms].

        Counted from the start of the data or from its outage before.
        """
        since = np.concatenate(([0], self.up[:-1]))[: len(self.up)]
        begins = self.first[:-1][self.first[:-1] < self.first[1:]]
        since[begins] = 0
        return self.down - since


def place(
    calendar: Calendar, start: Ints, end: Ints, width: Ints, origin: Ints, fixed: Ints
) -> tuple[Ints, Ints]:
    """Machines for gangs: the next ones from `origin` on, in a circle, that stay up all along.

    Args:
        calendar: when machines are down.
        start: of each run [ms].
        end: of each run [ms].
        width: machines that each needs.
        origin: the machine at which the search begins.
        fixed: a machine that is taken anyway, because its outage ended the run; -1 for none.

    Returns:
        Run and machine of each placement, in order of (run, machine). A run for which there are
        not enough machines has none.
    """
    taken = np.empty(int(width.sum()), dtype=np.int64)
    outages = calendar.first, calendar.down, calendar.up
    last = _place(outages, (start, end, width, origin, fixed), taken)
    run = np.repeat(np.arange(len(last)), np.diff(last, prepend=0))
    machines = len(calendar.first) - 1
    return run, np.sort(run * machines + taken[: len(run)]) % machines


@njit(cache=True)
def _place(outages: Any, runs: Any, taken: Ints) -> Ints:
    """Write the machines of all runs, one after the other; where those of each end."""
    first, down, up = outages
    start, end, width, origin, fixed = runs
    machines = len(first) - 1
    last = np.empty(len(start), np.int64)
    count = 0
    for run in range(len(start)):
        begin = count
        if fixed[run] >= 0:
            taken[count] = fixed[run]
            count += 1
        for step in range(machines):
            if count == begin + width[run]:
                break
            machine = (origin[run] + step) % machines
            if machine == fixed[run]:
                continue
            # Outages do not overlap: if any is under way, the last that began by the end is.
            begun = down[first[machine] : first[machine + 1]] <= end[run]
            latest = first[machine] + np.sum(begun) - 1
            if latest < first[machine] or up[latest] <= start[run]:
                taken[count] = machine
                count += 1
        if count < begin + width[run]:
            count = begin
        last[run] = count
    return last

"""`Cluster`: what machines there are, and when they fail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from failgym.sim.shared.rules import LONGEST
from failgym.vocabulary import MINUTE
from failgym.worlds.settings.checked import Checked

__all__ = ["MOST_MACHINES", "Cluster"]

MOST_MACHINES = 1_000_000
Outages = Literal["trace", "none", "lanl-2", "lanl-20", "weibull"]


@dataclass(frozen=True, kw_only=True)
class Cluster(Checked):
    """The cluster of a scheduled world.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    machines: int = 0
    """Machines of the cluster; 0: those of the trace, or as many as the load asks for."""
    slots: int = 1
    """Slots of a machine, where the machines are not those of the trace."""
    load: float = 0.0
    """Recorded work of the train split over what the machines could do in its time: sets their
    number. 0: as stated, or as in the trace."""
    outages: Outages = "trace"
    """When machines fail: as in the trace, never, after the law of one of LANL's systems, or with
    Weibull gaps, machine by machine. Those that are down to the end of the data are back then."""
    machine_mtbf: int = 0
    """Mean time between failures of a machine [ms]; 0: the law's."""
    outage_shape: float = 0.8
    """``outages="weibull"``: shape of the gaps (Schroeder and Gibson 2006: .7 to .8)."""
    repair: int = 60 * MINUTE
    """``outages="weibull"``: median time of a repair [ms]; half of them are between half and twice
    as long."""

    def __post_init__(self) -> None:
        self._check("machines", 0 <= self.machines <= MOST_MACHINES, f"0 to {MOST_MACHINES}")
        self._check("slots", 1 <= self.slots <= MOST_MACHINES, f"1 to {MOST_MACHINES}")
        self._check("load", 0.0 <= self.load < math.inf, "at least 0, finite")
        self._check("load", not (self.load and self.machines), "0 where machines are stated")
        made = bool(self.machines or self.load)
        self._check("slots", made or self.slots == 1, "1 unless machines or load are stated")
        self._check_choice("outages", get_args(Outages))
        self._check("machine_mtbf", 0 <= self.machine_mtbf <= LONGEST, f"0 to {LONGEST} ms")
        stated = self.outages != "weibull" or self.machine_mtbf > 0
        self._check("machine_mtbf", stated, 'at least 1 ms with outages="weibull"')
        self._check("outage_shape", 0.1 <= self.outage_shape <= 10.0, "0.1 to 10")
        self._check("repair", 1 <= self.repair <= LONGEST, f"1 to {LONGEST} ms")

"""From a scenario to a compiled world, one step a file, in the order in which they happen:

1. `source`: the trace: generated, read, or given.
2. `split`: a part of it, and which of its rows that kept.
3. `scheduled.cluster` and `scheduled.strikes`: machines, when they fail, what strikes jobs.
4. `forecast`: what is predicted of it.
5. `context`: what is expected, and how loaded the system is.
6. `failgym.sim` compiles it; `selection` says which tasks are asked about.
7. `prices`: what a cost is measured in.
8. slices: which tasks make an episode (`scheduled.slices`).

`pinned.build` and `scheduled.build` walk through them. `settings` holds the fields of a scenario, a
record for most of these steps; `decisions` names those that allow one. `world` says what a world
offers to those who play in it, `kinds` which kinds there are. Another kind is a folder beside
`pinned` and `scheduled`, or in another package. `register_world` is called before a scenario names
it: here, or in the module that the entry point of the scenario names.
"""

from __future__ import annotations

from failgym.worlds.kinds import register_world
from failgym.worlds.pinned import PINNED
from failgym.worlds.scheduled import SCHEDULED

__all__ = ["PINNED", "SCHEDULED", "register_world"]

register_world("pinned", PINNED)
register_world("scheduled", SCHEDULED)

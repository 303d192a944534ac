"""The oracle: how far the bound can be reached, shown by an episode that was played.

The bound of the scheduled world is what no policy can pay less than; nobody knows whether anybody
can pay so little. The oracle is the other side: on each slice the cheapest episode that was found
by rules which know all fates beforehand, and by a local search over their answers. So the best that
can be done lies between the two. In the pinned world the plan of the clairvoyant is among what is
tried, so that its bound is shown to be reached.
"""

from __future__ import annotations

from failgym.evaluation.oracle.oracle import oracle_run, run_of_plans
from failgym.evaluation.oracle.rules import MEASURES
from failgym.evaluation.oracle.search import Effort

__all__ = ["MEASURES", "Effort", "oracle_run", "run_of_plans"]

"""The least that a task of a pinned world can cost, for somebody who knows the record.

Tasks of a pinned world are independent of each other, so the bound of any set of tasks is the sum
of the bounds of its tasks. The bound of a task is found by a depth-first search over its decisions,
on the engine's own kernels: at a decision the state is copied, every action but CONTINUE is tried,
and then CONTINUE in place, so that only the other actions of the present plan need a copy. The
cost terms never decrease as time goes on, so a plan that is sure to cost as much as the best one so
far is dropped half-way.

Without further argument that search is exact for all rules. Some arguments make it short; each
holds as its docstring says, and is tested against brute force over all action sequences. Where the
record is continued, what is behind it meets fates of its own, and more saved work may be worse
(rule C6): there only those hold that do not speak of what comes next, as `stages.next_stage` says.

- `stages`: a record that is one successful attempt is best left alone, or killed; and so is one
  of a single attempt, where it goes on, if only what is saved could serve what nobody starts;
- `unfinished`: before the search it is known what a task must cost of which no attempt can finish;
- `least`: what is sure to be charged is counted now; in a task of which no attempt can finish
  that is nearly all, where its attempts follow each other (`failing`);
- `sequences.finishes_alone`: where time has no price, the one attempt that is alive and will finish
  is left alone;
- `sequences.worth_saving`: attempts that follow each other are saved once each at most, as late as
  it helps;
- `stages.next_stage`: a task worth killing is worth killing at its first decision, at once; and
  where it is not certain which checkpoint is best, how often an attempt is saved matters, but not
  when.

A search that is cut short leaves decisions open. No plan can cost less than the cheapest one found
and what is sure to be charged at the first open decision, whichever is less: `Bound.lowest`.
"""

from __future__ import annotations

from failgym.sim.pinned.clairvoyant.plans import SEARCH_LIMIT, clairvoyant, clairvoyant_costs
from failgym.sim.pinned.clairvoyant.records import Bound

__all__ = ["SEARCH_LIMIT", "Bound", "clairvoyant", "clairvoyant_costs"]

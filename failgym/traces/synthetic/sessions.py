"""Who submits what: users who run an application again and again, for about as long as before.

Jobs and their run times are there already; here they are dealt to users. The jobs of a block, all
submitted while a session lasts, are put in order of run time and cut into sessions: so the jobs of
a session take about as long, whatever the law of run times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from failgym.traces.synthetic.profiles.kumar import Sessions
from failgym.traces.synthetic.quantiles import Floats, Ints, first_of_group, ranks

LANES = 24
"""Orders of run time: below a second, octaves from there on, and the rest."""


@dataclass(frozen=True)
class Dealt:
    """The session of each job, (jobs,); the user and application of each session, (sessions,)."""

    session: Ints
    user: Ints
    application: Ints
    level: Floats | None = None  # normal scores of its usage, (4, sessions); None: any


def deal(law: Sessions, run: Floats, kind: Ints, rng: np.random.Generator) -> Dealt:
    """Deal jobs in order of submission to sessions.

    `run` is how long each job runs [s]; the jobs of a session are of one `kind`.
    """
    n = len(run)
    like = run.copy()
    odd = np.flatnonzero(rng.random(n) < law.odd)
    like[odd] = like[rng.permutation(odd)]
    # Sessions of other kinds, and of other orders of run time, begin at other times.
    lane = kind * LANES + np.clip(np.frexp(like)[1], 0, LANES - 1)
    shift = (lane * (np.sqrt(5.0) - 1.0) / 2.0 % 1.0 * law.block).astype(np.int64)
    block = lane * (n // law.block + 2) + (np.arange(n) + shift) // law.block
    order = np.lexsort((like, block))
    fresh = rng.random(n) < 1.0 / law.jobs
    fresh[1:] |= np.diff(block[order]) != 0
    fresh[0] = True
    session = np.empty(n, dtype=np.int64)
    session[order] = np.cumsum(fresh) - 1
    begin = np.minimum.reduceat(order, np.flatnonzero(fresh))
    user = _users(law, begin, rng)
    return Dealt(session, user, rng.integers(0, law.applications, len(user)))


def _users(law: Sessions, begin: Ints, rng: np.random.Generator) -> Ints:
    """The users of sessions that begin with these jobs.

    Of those that begin in one block no user has two, while there are enough users: they are drawn
    by their law in ascending order, and who is drawn again makes room for the next.
    """
    block = begin // law.block
    sizes = np.bincount(block)
    first = first_of_group(sizes)
    rank = ranks(block + rng.random(len(block))) - first[block]
    share = (rank + rng.random(len(block))) / sizes[block]
    drawn = (share**law.skew * law.users).astype(np.int64)
    by_rank = np.empty(len(block), dtype=np.int64)
    by_rank[first[block] + rank] = drawn - rank + block * (law.users + law.block)
    distinct = np.maximum.accumulate(by_rank)[first[block] + rank]
    return (distinct - block * (law.users + law.block) + rank) % law.users

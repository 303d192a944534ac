"""How often each task of a batch profile fails, so that retries succeed as published."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from failgym.traces.synthetic.profiles.batch import BatchProfile
from failgym.traces.synthetic.quantiles import Flags, Ints, allot, quotas
from failgym.vocabulary import Outcome

FINISHED, FAILED, KILLED = Outcome.FINISH, Outcome.FAIL, Outcome.KILL


class Quota(NamedTuple):
    """How many tasks that finish, and that are killed, fail exactly once, twice, three times."""

    finished: tuple[int, int, int]
    killed: tuple[int, int, int]


def quota(
    finished: int, failed: Ints, success: tuple[float, float, float], again: tuple[float, float]
) -> Quota:
    """The counts that make attempts succeed with the chances `success` after 0, 1, 2 failures.

    Args:
        finished: tasks that finish.
        failed: failures of each task that finally fails.
        success: chances after 0, 1 and 2 failures.
        again: killed tasks with two failures among those with one, three among those with two.

    With S_k successes and X_k failures after k failures, S_k = c_k X_k where c_k = p_k / (1 - p_k);
    X_k counts the tasks with more than k failures, whatever becomes of them. All are linear in the
    number of killed tasks that fail, which is what remains to be solved for.
    """
    odds = [p / (1 - p) for p in success]
    at_least = [int((failed > k).sum()) for k in range(3)]

    def successes(killed: float) -> tuple[float, float, float]:
        """Successes after 1 and 2 failures, and the failures at a first attempt."""
        third = at_least[2] + killed * again[0] * again[1]
        twice = odds[2] * third
        once = odds[1] * (twice + at_least[1] + killed * again[0])
        return once, twice, once + twice + at_least[0] + killed

    def excess(killed: float) -> float:
        once, twice, failures = successes(killed)
        return odds[0] * failures - (finished - once - twice)

    slope = excess(1.0) - excess(0.0)
    killed = max(-excess(0.0) / slope, 0.0)
    once, twice, _ = successes(killed)
    killed_twice, killed_thrice = killed * again[0], killed * again[0] * again[1]
    return Quota(
        (round(once), round(twice), 0),
        (
            round(killed) - round(killed_twice),
            round(killed_twice) - round(killed_thrice),
            round(killed_thrice),
        ),
    )


def failure_counts(
    profile: BatchProfile,
    job_fate: Ints,
    multi: Flags,
    width: Ints,
    job: Ints,
    fate: Ints,
    rng: np.random.Generator,
) -> Ints:
    """The number of FAILs of each task, (tasks,).

    Failures come together: outside of failed jobs they fall on few jobs (`_prone`), all others
    have none. `job_fate`, `multi` and `width` are per job, `job` and `fate` per task.
    """
    failures = np.zeros(len(job), dtype=np.int64)
    failed = np.flatnonzero(fate == FAILED)
    groups = 1 + allot(rng, profile.failed_attempts, len(failed))
    many = np.flatnonzero(groups == len(profile.failed_attempts))
    groups[many] = np.rint(profile.more_attempts.sample(rng, len(many))).astype(np.int64)
    failures[failed] = groups
    silent = np.bincount(job, fate == FAILED, len(width)) == 0
    wide, prone = multi[job], _prone(profile, job_fate, multi, width, silent, rng)[job]
    for part, success in ((~wide, profile.success_single), (wide, profile.success_multi)):
        of_part = failures[part & (fate == FAILED)]
        want = quota(int((part & (fate == FINISHED)).sum()), of_part, success, profile.killed_again)
        for outcome, counts in ((FINISHED, want.finished), (KILLED, want.killed)):
            places = _pick(rng, job, part & prone & (fate == outcome), sum(counts))
            failures[places] = _first(rng, counts, len(places))
    return failures


def _first(rng: np.random.Generator, counts: tuple[int, ...], n: int) -> Ints:
    """Numbers of failures for `n` tasks in the proportion of the counts."""
    if not sum(counts):
        return np.zeros(n, dtype=np.int64)
    return rng.permutation(np.repeat(np.arange(1, len(counts) + 1), quotas(counts, n)))


def _prone(
    profile: BatchProfile,
    fate: Ints,
    multi: Flags,
    width: Ints,
    silent: Flags,
    rng: np.random.Generator,
) -> Flags:
    """The jobs that may hold failures: failed ones, all of one task, and few of the others.

    Among killed jobs every n-th in order of width, so that a sample holds narrow and wide ones.
    Failed jobs none of whose tasks failed are `silent`.
    """
    prone = ((fate == FAILED) & ~silent) | ~multi
    for outcome, share in (
        (FINISHED, profile.finished_with_failure),
        (KILLED, profile.killed_with_failure),
    ):
        there = np.flatnonzero(multi & (fate == outcome))
        by_width = there[np.lexsort((rng.random(len(there)), width[there]))]
        count = round(share * len(there))
        steps = (np.arange(count) + rng.random()) * (len(there) / max(count, 1))
        prone[by_width[np.minimum(steps.astype(np.int64), len(there) - 1)]] = True
    return prone


def _pick(rng: np.random.Generator, job: Ints, eligible: Flags, count: int) -> Ints:
    """`count` of the eligible tasks: one of each job first, then any."""
    places = rng.permutation(np.flatnonzero(eligible))
    _, leaders = np.unique(job[places], return_index=True)
    rest = np.delete(places, leaders)
    return np.concatenate((rng.permutation(places[leaders]), rest))[: max(count, 0)]

"""Cloning-v0: is it worth running a task twice?

Description
    The jobs in which something fails. A task may be cloned while it runs, so that its next attempt
    need not wait for the failure of this one, and retried at once, or given up, when an attempt has
    failed. After El-Sayed, Zhu and Schroeder (ICDCS 2017, section VI: Algorithm 1 and the retry
    cap).

Decisions
    WINDOW {CLONE}: at the start of an attempt and each time its age has grown by a quarter.
    FAILED {KILL = give up, RETRY}. One extra attempt of a task (R = 1), which may be a clone
    (C = 1): of what a second one would add, next to nothing succeeds (El-Sayed et al., Fig. 6).

Rewards
    Completion time weighs most, wasted work a fifth of it. A task that the record finishes and the
    agent does not costs four times its work and time, so that giving everything up is far worse
    than doing nothing.

Forecast
    `Calibrated.elsayed()`: false-positive rates as Table V implies them, recall .6 at threshold .9.

Fidelity
    Slices hold the tasks of jobs with at least one FAILed attempt in the split and without a user's
    kill: a selection that uses the record. At the natural mix one job in seventy qualifies, so the
    default trace is the profile `google-2011-failing`: what a retry is worth after one and after
    two failures is published, how many jobs fail is not. On a real trace (`trace=DIR`) the same
    selection applies. Once the agent has departed from a task, the cluster does not restart its
    failures (restart_limit 0). Attempts beyond the record are ghosts that fare as the last recorded
    one: a failed task stays failed, and the paper's R = 4 would spend most of its time on them.

Version History
    v0: first version.
"""

from __future__ import annotations

from failgym.worlds.scenario import Scenario

__all__ = ["CLONING"]

CLONING = Scenario(
    name="Cloning-v0",
    trace="google-2011-failing",
    jobs=6_000,
    select="failing",
    slice_tasks=64,
    clone=True,
    give_up=True,
    retry=True,
    max_extra=1,
    max_clones=1,
    restart_limit=0,
    decide="geometric",
    forecast="elsayed",
    weight_wasted=0.2,
    weight_overhead=0.0,
    weight_completion=1.0,
    weight_forfeited=4.0,
)

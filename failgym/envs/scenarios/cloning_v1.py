"""Cloning-v1: is it worth running a task once more?

Description
    The jobs in which something fails. A task may be cloned while it runs, so that its next attempt
    need not wait for the failure of this one. When an attempt has failed, the task may be retried
    at once, or given up. After El-Sayed, Zhu and Schroeder (ICDCS 2017, section VI: Algorithm 1 and
    the retry cap).

Decisions
    WINDOW {CLONE}: at the start of an attempt and each time its age has grown by a quarter.
    FAILED {KILL = give up, RETRY}. Four extra attempts of a task (R = 4), of which one may be a
    clone (C = 1).

Rewards
    Wasted machine-time, one machine-hour for an hour until a task has settled, and four times its
    machine-time for every task that does not finish (`task_value`), whatever the record did. So a
    rescue is worth something, and giving up costs as much as failing.

Forecast
    `Alarms.elsayed()`: alarms of attempts alone, with false-positive rates as Table V implies them
    and recall .6 at threshold .9 (chosen: the paper states none). Alarms end. Neither their age nor
    that of an attempt tells whether they are true (`experiments.alarm_ages`). On a record
    (`trace=DIR`) forecasts are learned from the train split.

Fidelity
    Slices hold the tasks of jobs with at least one FAILed attempt in the split and without a user's
    kill: a selection that uses the record. At the natural mix one job held 6 to 60 % of what can be
    gained. So the default trace (`google-2011-applications-failing`) has a failure in one of ten
    jobs that finish (published: one in 400), no job of more than 100 tasks, and no task of more
    than a day. What attempts beyond the record meet is drawn once, from what befell attempts like
    them, and so is the number of restarts by the cluster (`failgym.continued`). Clones add little
    to retries: with retries alone the clairvoyant gained 97 and 93 % of what it gains with all
    measures (test splits of two traces of 40,000 jobs, seeds 101 and 103). No rule is known that is
    surely above retrying every failure as often as one may (`experiments.random_rules`).

Version History
    v1: records go on, tasks have a value, forecasts are alarms of attempts.
    v0: what the record does not hold repeated its last attempt.
"""

from __future__ import annotations

from failgym.worlds.scenario import Scenario

__all__ = ["AFTER", "CLONING"]

AFTER = "El-Sayed et al. 2017: Algorithm 1, retry cap"
"""Whom it is after, in the table of environments."""
CLONING = Scenario(
    name="Cloning-v1",
    trace="google-2011-applications-failing",
    jobs=50_000,
    select="failing",
    slice_tasks=64,
    beyond_record="continued",
    restarts="record",
    clone=True,
    give_up=True,
    retry=True,
    max_extra=4,
    max_clones=1,
    decide="geometric",
    forecast="auto",
    task_value=4.0,
    waiting_price=1.0,
)

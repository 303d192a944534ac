"""GracePeriod-v1: when is a task not worth finishing?

Description
    Batch jobs as they come. A task that will not finish only uses machine-time. The agent may arm
    such a task: it is then killed when its grace period is over. A second KILL of an armed task
    kills it at once. After Rosà, Chen and Binder (IWQoS 2015, section IV): grace periods are the
    84th percentiles of execution time of the classes, weighted by the confidences of the forecast.

Decisions
    WINDOW {KILL}: at the start of an attempt and each time its age has grown by a quarter.

Rewards
    Wasted machine-time, and four times its machine-time for every task that does not finish
    (`task_value`), whatever the record did. A task that its user kills in the end has no value.
    Waiting has no price: a kill makes nobody wait longer.

Forecast
    `Calibrated.rosa()`: class confidences that are known at arrival, and no risk of single
    attempts. It errs by whole jobs and applications, as learned forecasts do. On a record
    (`trace=DIR`) forecasts are learned from the train split.

Fidelity
    As in the record, most machine-time that is lost belongs to jobs which their users kill as a
    whole after a long time. Other killed tasks ran about as long as the tasks of their job that
    finish (`failgym.traces.synthetic.RECURRING`). The agent's kill ends a task for good: later
    attempts of the record are not run, and users do not submit it again. No task takes more than a
    day and no job has more than 100 tasks, so that no job holds more than a twentieth of what can
    be gained. Tasks of more than 100 attempts are in no slice.

Version History
    v1: recurring applications, tasks have a value, forecasts err by jobs.
    v0: only what the record finishes was forfeited.
"""

from __future__ import annotations

from failgym.worlds.scenario import Scenario

__all__ = ["AFTER", "GRACE_PERIOD"]

AFTER = "Rosà et al. 2015: grace periods"
"""Whom it is after, in the table of environments."""
GRACE_PERIOD = Scenario(
    name="GracePeriod-v1",
    trace="google-2011-applications-narrow",
    jobs=50_000,
    beyond_record="continued",
    restarts="record",
    kill=True,
    decide="geometric",
    forecast="auto",
    task_value=4.0,
    weight_completion=0.0,
)

"""GracePeriod-v0: when is a task not worth finishing?

Description
    Batch jobs as they come. A task that will not finish only burns machine-time: it may be armed to
    be killed after its grace period, or, once armed, killed at once. After Rosà, Chen and Binder
    (IWQoS 2015, section IV): grace periods are the 84th percentiles of execution time of the
    classes, weighted by the confidences of the forecast.

Decisions
    WINDOW {KILL}: at the start of an attempt and each time its age has grown by a quarter.

Rewards
    Wasted work, and four times the work and the recorded completion time of every task that the
    record finishes and the agent killed. So killing everything after its grace period, blind, is
    far worse than doing nothing, and patience pays: the grace period beats killing at first sight.

Forecast
    `Calibrated.rosa()`: class confidences known at arrival; no risk of single attempts.

Fidelity
    Run times of killed and of finished tasks overlap, as recorded. The agent's kill ends a task for
    good: later attempts of the record are not run, and users do not submit it again. Tasks of more
    than 100 attempts are in no slice.

Version History
    v0: first version.
"""

from __future__ import annotations

from failgym.worlds.scenario import Scenario

__all__ = ["GRACE_PERIOD"]

GRACE_PERIOD = Scenario(
    name="GracePeriod-v0",
    trace="google-2011",
    jobs=4_000,
    kill=True,
    decide="geometric",
    forecast="rosa",
    weight_wasted=1.0,
    weight_overhead=0.0,
    weight_completion=0.0,
    weight_forfeited=4.0,
)

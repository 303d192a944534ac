"""GracePeriod-v0: when is a task not worth finishing? (Rosà et al., IWQoS 2015)"""

from __future__ import annotations

from failgym.envs.scenario import Scenario

__all__ = ["GRACE_PERIOD"]

GRACE_PERIOD = Scenario(
    name="GracePeriod-v0",
    trace="google-2011",
    kill=True,
    decide="geometric",
    forecast="rosa",
    weight_wasted=1.0,
    weight_completion=0.0,
    weight_forfeited=2.0,
)

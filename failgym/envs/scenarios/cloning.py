"""Cloning-v0: is it worth running a task twice? (El-Sayed et al., ICDCS 2017)"""

from __future__ import annotations

from failgym.envs.scenario import Scenario

__all__ = ["CLONING"]

CLONING = Scenario(
    name="Cloning-v0",
    trace="google-2011",
    select="failing",
    clone=True,
    give_up=True,
    retry=True,
    max_extra=4,
    max_clones=1,
    decide="geometric",
    forecast="elsayed",
    weight_wasted=0.2,
    weight_completion=1.0,
    weight_forfeited=2.0,
)

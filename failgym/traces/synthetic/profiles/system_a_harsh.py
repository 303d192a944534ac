"""System A where failures strike long jobs: a harsher cluster than Kumar et al. describe."""

from __future__ import annotations

from dataclasses import replace

from failgym.traces.synthetic.profiles.kumar import Environment
from failgym.traces.synthetic.profiles.system_a import APPLICATIONS, RUNS, SINGLE, SystemA

LONGER = replace(RUNS, walltime_shares=(0.08, 0.16, 0.30, 0.16, 0.10, 0.14, 0.06))
"""Run times of System A but for longer walltimes that are met; chosen."""


def _environments(*runtime: float) -> tuple[Environment, ...]:
    """System A's, with these factors of run times, whatever node-seconds the exits then have."""
    return tuple(
        replace(
            environment,
            runs=LONGER,
            runtime=factor,
            exit_node_seconds=None,
            usage=replace(SINGLE, local_io=-0.48)
            if environment.usage == SINGLE
            else environment.usage,
        )
        for environment, factor in zip(SystemA().environments, runtime, strict=True)
    )


HARSH = SystemA(
    name="system-a-harsh",
    environments=_environments(1.05, 0.6, 1.0, 0.8),
    startup=0.012,
    startup_scale=45.0,
)
"""System A with failures that strike jobs as long as they run, so that checkpoints matter.

`startup`, the weight of failing at the start, is a fiftieth of `SystemA`'s, and such failures come
sooner (`startup_scale`). As many first runs of each environment fail, so the others fail later: an
attempt between one hour and a day old is struck 9 times as often (8.6e-6 and 9.3e-7 a second), 31 %
of the node-seconds of all runs end in failures of the system and not 4 % (20,000 jobs, five seeds),
and failures come in spells and bursts. Run times, and the slope of local I/O before failures, were
chosen for it.

Departures from Kumar et al.: first runs that the system fails take a fifth of the node-seconds
(Table IV: 4 %), which leaves a twentieth to failures of users (13 %) and a third each to successes
(48 %) and to runs that meet their walltime (33 %). The share of jobs that the system fails falls
with node-seconds only up to some thousand and rises beyond (published: it falls, r = -.25 to -.36),
though the hazard of a run falls with its age. The shares of environments in node-seconds come
within 4 %. All else is as in `SystemA`.
"""

HARSH_RECURRING = replace(
    HARSH,
    name="system-a-harsh-applications",
    environments=_environments(1.26, 0.66, 1.45, 0.8),
    applications=APPLICATIONS,
)
"""The same with applications that recur, `runtime` chosen anew.

How closely it resembles LANL-CM5's log, the later 30 %, by `failgym trace compare`: 30,000 jobs,
seeds 0 and 1 (in brackets: that part of the log; its first 70 %; system-a-harsh). Correlation of
successive jobs of a user, of whether they finish .34 and .40 (.37; .40; .24), of log run time .70
and .73 (.61; .63; .77); of one name .34 and .40 (.36; .35; .25), .70 and .73 (.69; .62; .80). How a
job ends is told at its arrival with AUC .76 and .69 (.65; .67; .72), by the user's past .79 and .66
(.69; .69; .59). Jobs of another size on another machine are told apart by 13 features with AUC 1.00
(the log's past: .81), by nodes and run time with .68 (.62). Beside CTC-SP2's later part: of
finishing .33 and .39 (.54), of run time .72 and .71 (.78).
"""

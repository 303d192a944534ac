"""What the synthetic traces are calibrated to: frozen dataclasses, one for each system.

Each field says where its value comes from: a publication, or *chosen*, which means that no
publication gives it and that it was set so that the rest comes out.
"""

from __future__ import annotations

from failgym.traces.synthetic.profiles.batch import BatchProfile
from failgym.traces.synthetic.profiles.google_2011 import (
    FAILING,
    RECURRING,
    RECURRING_FAILING,
    RECURRING_NARROW,
    Google2011,
)
from failgym.traces.synthetic.profiles.kumar import Environment, Kumar
from failgym.traces.synthetic.profiles.lanl import Lanl2, Lanl20
from failgym.traces.synthetic.profiles.opencloud import OpenCloud
from failgym.traces.synthetic.profiles.outages import OutageLaw
from failgym.traces.synthetic.profiles.panda import Panda10k, PandaDas
from failgym.traces.synthetic.profiles.system_a import A_RECURRING, SystemA
from failgym.traces.synthetic.profiles.system_a_harsh import HARSH, HARSH_RECURRING
from failgym.traces.synthetic.profiles.system_b import B_RECURRING, SystemB

__all__ = [
    "ABOUT",
    "A_RECURRING",
    "B_RECURRING",
    "FAILING",
    "HARSH",
    "HARSH_RECURRING",
    "PROFILES",
    "RECURRING",
    "RECURRING_FAILING",
    "RECURRING_NARROW",
    "Environment",
    "Google2011",
    "Kumar",
    "Lanl2",
    "Lanl20",
    "OpenCloud",
    "OutageLaw",
    "Panda10k",
    "PandaDas",
    "Profile",
    "SystemA",
    "SystemB",
    "independent_jobs",
]

Profile = Google2011 | OpenCloud | SystemA | SystemB | Lanl2 | Lanl20 | Panda10k | PandaDas
"""What `generate` takes."""

_LISTED: tuple[tuple[Profile, str, str], ...] = (
    (Google2011(), "batch jobs of Google's cluster, with usage", "El-Sayed et al., Rosà et al."),
    (FAILING, "its failure-prone jobs, none killed by its user", "El-Sayed et al."),
    (
        RECURRING,
        "batch and other jobs of applications that recur, with usage",
        "El-Sayed et al., Rosà et al., the record",
    ),
    (RECURRING_NARROW, "the same, but a job has 100 tasks of a day at most", "chosen"),
    (
        RECURRING_FAILING,
        "that again, but one in ten jobs that finish had a failed attempt",
        "chosen",
    ),
    (OpenCloud(), "map and reduce tasks of a Hadoop cluster, with usage", "El-Sayed et al."),
    (
        SystemA(),
        "jobs of a university's cluster, requeued, in sessions of users, with usage and outages",
        "Kumar et al.",
    ),
    (
        SystemB(),
        "jobs of a large supercomputer, in sessions of users, with usage and outages",
        "Kumar et al.",
    ),
    (
        A_RECURRING,
        "`system-a`, of applications that recur sitting by sitting",
        "Kumar et al., a log of LANL's",
    ),
    (B_RECURRING, "`system-b`, likewise", "Kumar et al., a log of LANL's"),
    (HARSH, "`system-a`, where the system's failures strike long jobs", "chosen"),
    (
        HARSH_RECURRING,
        "`system-a-harsh`, of applications that recur sitting by sitting",
        "chosen, a log of LANL's",
    ),
    (Lanl2(), "random workflows on 32 nodes, and the outages of 49", "FLAW"),
    (Lanl20(), "gangs on 256 nodes that their outages interrupt", "El-Sayed et al."),
    (Panda10k(), "gangs of machines on a cluster of 10,000", "Ghit and Epema"),
    (PandaDas(), "data-analytics jobs as graphs of stages", "Ghit and Epema"),
)
"""Each profile, what its traces hold, and whom it is after."""
PROFILES: dict[str, Profile] = {profile.name: profile for profile, _, _ in _LISTED}
"""The profiles by name."""
ABOUT: dict[str, tuple[str, str]] = {
    profile.name: (what, after) for profile, what, after in _LISTED
}
"""What the traces of each profile hold, and whom it is after, in words."""


def independent_jobs(profile: Profile) -> bool:
    """Does nothing join the jobs of a trace after a profile: no user, application or machine?

    Those of System A and System B share sessions and bursts of failures, those on machines the
    outages.
    """
    recurring = isinstance(profile, Google2011) and profile.applications is not None
    return isinstance(profile, BatchProfile) and not recurring

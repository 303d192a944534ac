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

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Google2011(),
        FAILING,
        RECURRING,
        RECURRING_NARROW,
        RECURRING_FAILING,
        OpenCloud(),
        SystemA(),
        SystemB(),
        A_RECURRING,
        B_RECURRING,
        HARSH,
        HARSH_RECURRING,
        Lanl2(),
        Lanl20(),
        Panda10k(),
        PandaDas(),
    )
}
"""The profiles by name."""


def independent_jobs(profile: Profile) -> bool:
    """Does nothing join the jobs of a trace after a profile: no user, application or machine?

    Those of System A and System B share sessions and bursts of failures, those on machines the
    outages.
    """
    recurring = isinstance(profile, Google2011) and profile.applications is not None
    return isinstance(profile, BatchProfile) and not recurring

"""The tables that characterise a trace, as far as its columns allow.

`describe` makes them: what every trace has (`basics`), the tables and figures of El-Sayed et al.
(ICDCS 2017; `elsayed`, `configuration`) and of Kumar et al. (DSN 2020; `kumar`, `usage`), machines
and their `outages`, and `workflows`. The last table, `not_made`, names those that the trace does
not allow and what it would need. `plots.plot` draws what there is.
"""

from __future__ import annotations

from failgym.traces.describe.basics import basics
from failgym.traces.describe.configuration import configuration
from failgym.traces.describe.elsayed import elsayed
from failgym.traces.describe.facts import Facts
from failgym.traces.describe.kumar import kumar
from failgym.traces.describe.outages import outages
from failgym.traces.describe.tables import (
    QUANTILES,
    Description,
    DescriptionTable,
    Missing,
    not_made,
)
from failgym.traces.describe.usage import usage
from failgym.traces.describe.workflows import workflows
from failgym.traces.trace import Trace

__all__ = ["QUANTILES", "Description", "DescriptionTable", "describe"]

SOURCES = (elsayed, configuration, kumar, usage, outages, workflows)
"""What makes tables, beside the basic ones."""


def describe(trace: Trace) -> Description:
    """The tables that characterise `trace`; the trace itself is not changed.

    Run times, gaps and machine-time are of attempts that ran and whose end is known; those of
    CENSORED attempts are what was seen of them.
    """
    facts = Facts(trace)
    found = [made for source in SOURCES for made in source(facts)]
    tables = [
        *basics(facts),
        *(made for made in found if isinstance(made, DescriptionTable)),
        not_made(made for made in found if isinstance(made, Missing)),
    ]
    return Description(trace.meta.source, trace.content_hash, tuple(tables))

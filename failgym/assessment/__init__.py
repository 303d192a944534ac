"""Assessment of a record: what happened, what could have been saved, and what to do about it.

`failgym assess` answers an operator's question on the accounting log of a cluster: would rules that
kill, retry, clone or checkpoint have saved anything, and dare I use one?
"""

from __future__ import annotations

from failgym.assessment.assess import Assessment, Candidate, assess, judged_on, save_adopted
from failgym.assessment.happened import Happened, happened
from failgym.assessment.measures import MEASURES, Measure

__all__ = [
    "MEASURES",
    "Assessment",
    "Candidate",
    "Happened",
    "Measure",
    "assess",
    "happened",
    "judged_on",
    "save_adopted",
]

"""Two traces side by side: does one behave like the other?

`compare` measures each trace (`recurrence`: how alike successive jobs are; `prediction`: how well
ends are foretold; `outage_rows`: when machines fail together, and for how long) and how well a
classifier tells them apart (`apart`); `policies` asks whether rules rank alike on both. Every
number has an interval: jobs in blocks of time are resampled.
"""

from __future__ import annotations

from failgym.comparison.compare import compare
from failgym.comparison.resampling import Measured
from failgym.comparison.result import Comparison, Row

__all__ = ["Comparison", "Measured", "Row", "compare"]

"""What outages of machines are like: gaps, bursts, repairs, who fails, and how regularly.

Times are compared by their ratio: `RATIO` names the rows whose values have a unit, or are a number
of machines.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from failgym.comparison.outages import Observed
from failgym.comparison.recurrence import correlation
from failgym.comparison.resampling import BLOCKS, NOTHING, Floats, Ints, Measured, measured
from failgym.traces.describe.fits import fit_weibull
from failgym.vocabulary import DAY, MINUTE

__all__ = ["RATIO", "ROWS", "outage_rows"]

YEAR = 365.25 * DAY
LEAST_PERIODS = 20
"""Days, or weeks, whose numbers of failures are correlated with those of the next, at least."""
TOP = 0.1
"""Share of the machines, those that fail most, whose share of the failures is told."""

FAILURES = "outages: of a machine in a year"
GAP = "outages: median gap between two of a machine [days]"
SIZE = "outages: machines hit by a burst, mean"
REPAIR, LONG_REPAIR = (f"outages: {what} repair [min]" for what in ("median", "90th percentile of"))
RATIO = (FAILURES, GAP, SIZE, REPAIR, LONG_REPAIR)
"""Rows whose values have a unit, or count: how far two are apart is the log of their ratio."""
SHAPE = "outages: gaps between two of a machine, Weibull shape"
VARIATION = "outages: gaps between two of a machine, coefficient of variation"
CLUSTER_SHAPE = "outages: gaps between two of the cluster, Weibull shape"
BURSTS = "outages: share in bursts of several machines"
DAYS, WEEKS = (
    f"outages: log number in successive {what}, correlation" for what in ("days", "weeks")
)
SPREAD = "outages: standard deviation of log repair"
HELD = "outages: share of the tenth of the machines that fail most"
ROWS = (
    *(FAILURES, HELD, GAP, VARIATION, SHAPE, CLUSTER_SHAPE, BURSTS, SIZE),
    *(DAYS, WEEKS, REPAIR, LONG_REPAIR, SPREAD),
)
"""In the order in which they are shown."""


def outage_rows(seen: Observed | None) -> dict[str, Measured]:
    """The rows of one trace, by what they measure; intervals are over blocks of equally long times.

    Gaps of 0 count in all but the Weibull shapes, which have no likelihood there (see
    `failgym.traces.describe.outages`).
    """
    if seen is None:
        return dict.fromkeys(ROWS, NOTHING)
    repair, block = seen.repair.astype(np.float64)[seen.ended] / MINUTE, seen.block
    found = {
        FAILURES: _failures(seen),
        HELD: _held(seen),
        CLUSTER_SHAPE: _of_gaps(seen, seen.since_last(False), _shape),
        **_bursts(seen),
        DAYS: _successive(seen, DAY),
        WEEKS: _successive(seen, 7 * DAY),
        SPREAD: measured(block[seen.ended], lambda weight: _deviation(np.log(repair), weight)),
    }
    gaps = seen.since_last(True)
    for name, statistic in ((GAP, _median), (VARIATION, _variation), (SHAPE, _shape)):
        found[name] = _of_gaps(seen, gaps, statistic)
    for name, share in ((REPAIR, 0.5), (LONG_REPAIR, 0.9)):
        found[name] = measured(
            block[seen.ended], lambda weight, share=share: _quantile(repair, weight, share)
        )
    return {name: found[name] for name in ROWS}


def _failures(seen: Observed) -> Measured:
    """Failures in a machine's year; blocks of time are resampled whether anything failed or not."""
    counts = np.bincount(seen.block, minlength=BLOCKS)
    each = seen.machines * seen.length / BLOCKS / YEAR
    return measured(np.arange(BLOCKS), lambda weight: float(weight @ counts / weight.sum() / each))


def _held(seen: Observed) -> Measured:
    """No interval: those who fail most hold more of what fell on fewer moments."""
    counts = np.sort(np.bincount(seen.machine, minlength=seen.machines))[::-1]
    top = max(round(TOP * seen.machines), 1)
    return Measured(float(counts[:top].sum() / counts.sum()), np.nan, np.nan)


def _of_gaps(seen: Observed, gap: Ints, statistic: Callable[[Floats, Floats], float]) -> Measured:
    """A statistic of gaps [days] that were seen to end."""
    known = gap >= 0
    if not known.any():
        return NOTHING
    values = gap[known] / DAY
    return measured(seen.block[known], lambda weight: statistic(values, weight))


def _bursts(seen: Observed) -> dict[str, Measured]:
    chain, several = seen.bursts()
    first = np.zeros(len(chain), dtype=np.bool_)
    first[np.unique(chain, return_index=True)[1]] = True
    led = first & several
    hit = np.unique(np.stack([chain, seen.machine]), axis=1)[0]
    size = np.bincount(hit)[chain].astype(np.float64)
    return {
        BURSTS: measured(
            seen.block,
            lambda weight: _mean(several.astype(np.float64), weight),
            possible=(0.0, 1.0),
        ),
        SIZE: measured(seen.block[led], lambda weight: _mean(size[led], weight))
        if led.any()
        else NOTHING,
    }


def _successive(seen: Observed, period: int) -> Measured:
    """The correlation of log (1 + failures) in a period with that in the one before."""
    number = seen.length // period
    if number <= LEAST_PERIODS:
        return NOTHING
    of = (seen.down - seen.begin) // period
    counts = np.log1p(np.bincount(of, minlength=number)[:number])
    block = np.arange(number - 1) * BLOCKS // (number - 1)
    return measured(
        block, lambda weight: correlation(counts[1:], counts[:-1], weight), possible=(-1.0, 1.0)
    )


# --- Statistics of weighted values ----------------------------------------------------------------


def _quantile(values: Floats, weight: Floats, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weight[order])
    if not len(values) or not reached[-1]:
        return np.nan
    return float(values[order][np.searchsorted(reached, share * reached[-1])])


def _median(values: Floats, weight: Floats) -> float:
    return _quantile(values, weight, 0.5)


def _mean(values: Floats, weight: Floats) -> float:
    """NaN of a resample without any."""
    total = weight.sum()
    return float(weight @ values / total) if total > 0.0 else np.nan


def _deviation(values: Floats, weight: Floats) -> float:
    return float(np.sqrt(_mean((values - _mean(values, weight)) ** 2, weight)))


def _variation(values: Floats, weight: Floats) -> float:
    mean = _mean(values, weight)
    return _deviation(values, weight) / mean if mean > 0.0 else np.nan


def _shape(values: Floats, weight: Floats) -> float:
    """The Weibull shape; weights are whole: how often each value was drawn."""
    fit = fit_weibull(np.repeat(values, weight.astype(np.int64)))
    return np.nan if fit is None else fit.shape

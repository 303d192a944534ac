"""Outages of machines, counted again in plain Python, and worked by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from failgym.traces import Meta, Trace
from failgym.traces.describe import describe
from failgym.traces.describe.outages import PERCENTS
from tests.traces.describe.by_hand import ByHand, expect, mean, share
from tests.traces.describe.random_traces import random_trace

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def spread(values: list[float]) -> list[float | None]:
    if not values:
        return [None] * len(PERCENTS)
    return np.percentile(values, PERCENTS).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_the_tables_of_random_outages(seed: int) -> None:
    trace = random_trace(seed)
    hand, description = ByHand(trace), describe(trace)
    found = {str(row[0]): row[1] for row in description.table("outages").rows}
    failures = len(hand.outages)
    downs = sorted(outage["down"] for outage in hand.outages)
    seen = downs[-1] - downs[0]
    failed = {outage["machine"] for outage in hand.outages}
    assert found["machines"] == 12
    assert found["machines that failed"] == len(failed)
    assert found["outages"] == failures
    assert found["outages not ended"] == sum(o["up"] is None for o in hand.outages)
    expected = len(failed) * seen / failures / DAY
    assert found["MTBF of a machine that failed [days]"] == pytest.approx(expected)
    assert found["MTBF of a machine, of all [days]"] == pytest.approx(12 * seen / failures / DAY)
    assert found["MTBF of the system [hours]"] == pytest.approx(seen / (failures - 1) / HOUR)

    machine_gaps: list[float] = []
    uptimes: list[float] = []
    for machine in failed:
        own = [o for o in hand.outages if o["machine"] == machine]
        own.sort(key=lambda o: o["down"])
        for before, after in pairwise(own):
            machine_gaps.append((after["down"] - before["down"]) / HOUR)
            if before["up"] is not None:
                uptimes.append(max(after["down"] - before["up"], 0) / HOUR)
    system_gaps = [(b - a) / HOUR for a, b in pairwise(downs)]
    table = description.table("outage_gaps")
    for label, gaps in {"of a machine": machine_gaps, "of the system": system_gaps}.items():
        assert table.cell(label, "count") == len(gaps)
        assert table.cell(label, "of 0") == gaps.count(0)
        assert table.cell(label, "mean") == pytest.approx(mean(gaps))
        assert table.cell(label, "p75") == pytest.approx(spread(gaps)[2])
    if len({o["down"] for o in hand.outages}) == failures:  # ties may pair otherwise
        assert table.cell("uptime of a machine", "mean") == pytest.approx(mean(uptimes))

    for cause in ("all", "hardware", "software"):
        ended = [o for o in hand.outages if o["up"] is not None]
        ended = [o for o in ended if cause == "all" or (o["cause"] or "").startswith(cause)]
        minutes = [(o["up"] - o["down"]) / MINUTE for o in ended]
        logs = [math.log(m) for m in minutes if m > 0]
        fit = [float(np.mean(logs)), float(np.std(logs))]
        cells = [len(minutes), mean(minutes), *fit, *spread(minutes)]
        expect(description.table("downtimes"), cause, cells)

    total = sum((o["up"] or o["down"]) - o["down"] for o in hand.outages)
    for name, cut in {"outages_by_cause": 8, "outages_by_detail": None}.items():
        causes = [o["cause"] and o["cause"][:cut] for o in hand.outages]  # 8: of hardware, software
        assert len(description.table(name).rows) == len(set(causes))
        for cause in set(causes):
            own = [o for o, c in zip(hand.outages, causes, strict=True) if c == cause]
            spent = sum((o["up"] or o["down"]) - o["down"] for o in own)
            cells = [len(own), len(own) / failures, share(spent, total)]
            expect(description.table(name), cause or "(not known)", cells)

    groups = [o["group"] for o in hand.outages if o["group"] is not None]
    sizes = [n for g in set(groups) if (n := groups.count(g)) > 1]
    row = description.table("correlated_outages").rows[0]
    several = (sum(sizes), sum(sizes) / failures, len(sizes), mean(sizes), max(sizes))
    assert row == pytest.approx((failures, *several))


def test_outages_alone_and_a_single_one() -> None:
    machines = {"original_id": ["a", "b"], "speed": 1.0}
    one = Trace.of(Meta("one"), machines=machines, outages={"machine": [1], "down": [5]})
    description = describe(one)
    assert description.table("outages").cell("outages not ended", "value") == 1
    assert description.table("outages").cell("MTBF of the system [hours]", "value") is None
    assert description.table("outage_gaps").cell("of a machine", "Weibull shape") is None
    assert description.table("downtimes").cell("all", "outages") == 0
    missing = {str(row[0]): row[2] for row in description.table("not_made").rows}
    assert missing["outages_by_cause"] == "cause of outages"
    assert missing["correlated_outages"] == "group of outages"
    assert missing["overview"] == "jobs"


def test_gaps_of_a_known_weibull() -> None:
    """Half the machines at .7, with some failures logged twice."""
    rng = np.random.default_rng(0)
    gaps = rng.weibull(0.7, (40, 200)) * 100 * HOUR
    down = np.maximum(np.cumsum(gaps, axis=1), 1).astype(np.int64)
    down[:, 50] = down[:, 49]
    trace = Trace.of(
        Meta("weibull"),
        machines={"original_id": [str(k) for k in range(40)], "speed": 1.0},
        outages={
            "machine": np.repeat(np.arange(40), 200),
            "down": down.ravel(),
            "up": down.ravel() + MINUTE,
        },
    )
    table = describe(trace).table("outage_gaps")
    assert table.cell("of a machine", "of 0") == 40
    assert table.cell("of a machine", "Weibull shape") == pytest.approx(0.7, abs=0.02)
    assert table.cell("of a machine", "Weibull scale") == pytest.approx(100, rel=0.05)

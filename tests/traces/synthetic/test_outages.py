"""Outages against the law that they are drawn from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.traces.synthetic.outages import OPEN, Outages, domains, draw_outages
from failgym.traces.synthetic.profiles.outages import OutageLaw
from failgym.traces.synthetic.quantiles import QuantileTable
from failgym.vocabulary import DAY, HOUR, MINUTE
from tests.traces.synthetic import weibull

SEEDS = range(5)
REPAIR = QuantileTable(((0.5, 46.0), (0.9, 174.0)), low=1.0)
LAW = OutageLaw(
    machines=40,
    mtbf=20 * DAY,
    shape=0.7,
    repair=REPAIR,
    causes=(("hardware", 0.7), ("software", 0.3)),
    domain=8,
)
GROUPED = replace(LAW, grouped=0.3, group_sizes=((2, 0.5), (4, 0.5)))
SPAN = 1_000 * DAY


def draw(law: OutageLaw, span: int = SPAN, seed: int = 0) -> Outages:
    return draw_outages(law, span, np.random.Generator(np.random.PCG64(seed)))


@pytest.mark.parametrize("seed", SEEDS)
class TestLaw:
    def test_number(self, seed: int) -> None:
        assert len(draw(LAW, seed=seed).down) == pytest.approx(2_000, rel=0.005)

    @pytest.mark.parametrize("shape", [0.6, 0.8, 1.0, 1.5])
    def test_gaps_of_a_machine(self, seed: int, shape: float) -> None:
        found = draw(replace(LAW, shape=shape), 4 * SPAN, seed)
        assert weibull.fit(weibull.gaps(found.machine, found.down)).shape == pytest.approx(
            shape, abs=0.05
        )

    def test_repairs(self, seed: int) -> None:
        found = draw(LAW, seed=seed)
        minutes = ((found.up - found.down) / MINUTE)[found.up != OPEN]
        assert np.median(minutes) == pytest.approx(46, rel=0.1)
        assert np.quantile(minutes, 0.9) == pytest.approx(174, rel=0.1)

    def test_causes(self, seed: int) -> None:
        cause = draw(LAW, seed=seed).cause
        assert (cause == 0).mean() == pytest.approx(0.7, abs=0.01)

    def test_unequal_machines(self, seed: int) -> None:
        rates = QuantileTable(((0.1, 0.4), (0.9, 2.5)))
        even, uneven = draw(LAW, seed=seed), draw(replace(LAW, rates=rates), seed=seed)
        assert len(uneven.down) == pytest.approx(len(even.down), rel=0.005)
        spread = np.bincount(even.machine).std(), np.bincount(uneven.machine).std()
        assert spread[1] > 2 * spread[0]

    def test_spells(self, seed: int) -> None:
        spells = QuantileTable(((0.16, 0.4), (0.84, 2.5)))
        even, rough = draw(LAW, seed=seed), draw(replace(LAW, spells=spells), seed=seed)
        weekly = [np.bincount(found.down // (168 * HOUR)) for found in (even, rough)]
        assert weekly[0].var() < 2 * weekly[0].mean()
        assert weekly[1].var() > 3 * weekly[1].mean()

    def test_groups_go_down_together_in_one_domain(self, seed: int) -> None:
        found = draw(GROUPED, seed=seed)
        number = domains(GROUPED)
        sizes = np.bincount(found.group[found.group >= 0])
        assert sizes.sum() / len(found.down) == pytest.approx(0.3, abs=0.02)
        assert set(sizes.tolist()) <= {2, 3, 4}
        assert (sizes == 2).mean() == pytest.approx(0.5, abs=0.05)
        for group in range(len(sizes)):
            members = np.flatnonzero(found.group == group)
            assert len(set(found.machine[members].tolist())) == len(members)
            assert len(set(found.down[members].tolist())) == 1
            assert len({number[machine] for machine in found.machine[members]}) == 1
            assert len(set(found.cause[members].tolist())) == 1

    def test_the_same_again(self, seed: int) -> None:
        one, two = draw(GROUPED, seed=seed), draw(GROUPED, seed=seed)
        for name in ("machine", "down", "up", "cause", "group"):
            assert (getattr(one, name) == getattr(two, name)).all()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    machines=st.integers(1, 30),
    shape=st.sampled_from([0.4, 0.7, 1.0, 3.0]),
    days=st.sampled_from([0.01, 0.1, 1.0, 30.0]),
    grouped=st.sampled_from([0.0, 0.5, 1.0]),
    domain=st.integers(1, 8),
    hours=st.sampled_from([0, 1, 100, 5_000]),
)
def test_outages_of_a_machine_neither_overlap_nor_touch(
    seed: int, machines: int, shape: float, days: float, grouped: float, domain: int, hours: int
) -> None:
    law = replace(
        GROUPED, machines=machines, shape=shape, mtbf=days * DAY, grouped=grouped, domain=domain
    )
    span = hours * HOUR
    found = draw(law, span, seed)
    assert (np.lexsort((found.down, found.machine)) == np.arange(len(found.down))).all()
    assert ((found.down >= 0) & (found.down < max(span, 1))).all()
    assert ((found.up == OPEN) | ((found.up > found.down) & (found.up <= span))).all()
    assert (found.down % MINUTE == 0).all()
    same = np.diff(found.machine) == 0
    up = np.where(found.up == OPEN, span, found.up)
    assert (up[:-1] < found.down[1:])[same].all()
    sizes = np.bincount(found.group[found.group >= 0])
    assert (sizes >= 2).all()


def test_columns() -> None:
    found = draw(GROUPED, 100 * DAY)
    columns = found.columns()
    assert set(columns["cause"]) == {"hardware", "software"}
    assert (np.ma.getmaskarray(columns["up"]) == (found.up == OPEN)).all()
    assert (np.ma.getmaskarray(columns["group"]) == (found.group < 0)).all()


def test_an_outage_is_open_at_the_end() -> None:
    forever = QuantileTable(((0.25, 1e6), (0.75, 1e6)))
    found = draw(replace(LAW, repair=forever), 100 * DAY)
    last = np.flatnonzero(np.diff(found.machine, append=-1))
    assert (found.up == OPEN).sum() == len(last)


def test_domains() -> None:
    assert domains(replace(LAW, machines=9)) == ["rack-000"] * 8 + ["rack-001"]

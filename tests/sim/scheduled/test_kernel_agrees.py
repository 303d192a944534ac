"""The kernels and the reference agree on random clusters: `tests.sim.scheduled.agree`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.scheduled.agree import RefusedError, compare, compare_seed
from tests.sim.scheduled.random_clusters import random_cluster

CLUSTERS, CONTINUED, CHUNK = 200, 100, 50
"""`make check-long` plays all of them, and goes on from there."""
MOST_DECISIONS = 500
"""After so many in one cluster whose records go on the others are not compared."""
RARE = (1034824, 1039525, 3015870)
"""Seeds of what one cluster in tens of thousands showed: saved work of an attempt that the end of
the data cut; similarity to a task that stands at the beginning; and where to place such a task,
whose inputs are with it."""


def chunks(quick: int, worlds: int) -> list[Any]:
    """The first chunks of so many worlds are quick, the others a campaign."""
    more = (pytest.param(n, marks=pytest.mark.campaign) for n in range(quick, worlds // CHUNK))
    return [*range(quick), *more]


@pytest.mark.parametrize("seed", RARE)
def test_they_agree_on_what_is_rare(seed: int) -> None:
    assert compare(random_cluster(seed)) > 0


@pytest.mark.parametrize("chunk", chunks(2, CLUSTERS))
def test_kernel_and_reference_agree(chunk: int) -> None:
    decisions = 0
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        try:
            decisions += compare(random_cluster(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert decisions > CHUNK


@pytest.mark.parametrize("kind", ["continued", "nasty"])
@pytest.mark.parametrize("chunk", chunks(1, CONTINUED))
def test_they_agree_where_records_go_on(kind: str, chunk: int) -> None:
    decisions, refused = 0, 0
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        try:
            decisions += compare_seed(kind, seed, MOST_DECISIONS)
        except RefusedError:
            refused += 1
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert decisions > CHUNK
    assert refused < CHUNK // 4

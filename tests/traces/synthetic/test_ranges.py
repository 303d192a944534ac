"""What profiles are refused, and in which words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failgym.traces import TraceError, generate
from failgym.traces.synthetic import PROFILES, Profile, ranges
from failgym.traces.synthetic.quantiles import LARGEST, QuantileTable

GOOGLE, CLOUD = PROFILES["google-2011"], PROFILES["opencloud"]
LANL_2, LANL_20 = PROFILES["lanl-2"], PROFILES["lanl-20"]
SYSTEM_A, DAS = PROFILES["system-a"], PROFILES["panda-das"]

Path = tuple[str | int, ...]


def numbers_without_range(hint: Any, path: str) -> Iterator[str]:
    """Fields that are numbers without a range, in a type and its parts."""
    if get_origin(hint) is Annotated:
        within = get_args(hint)[0]
        if within not in (int, float):
            yield from numbers_without_range(within, path)
    elif is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        for field in fields(hint):
            yield from numbers_without_range(hints[field.name], f"{path}.{field.name}")
    elif hint in (int, float):
        yield path
    else:
        for part in get_args(hint):
            yield from numbers_without_range(part, path)


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_every_number_of_a_profile_has_a_range(name: str) -> None:
    assert not list(numbers_without_range(type(PROFILES[name]), name))


def changed(value: Any, path: Path, new: Any) -> Any:
    """The value with the part at `path` replaced."""
    if not path:
        return new
    here = path[0]
    if isinstance(here, int):
        return (*value[:here], changed(value[here], path[1:], new), *value[here + 1 :])
    return replace(value, **{here: changed(getattr(value, here), path[1:], new)})


@pytest.mark.parametrize(
    ("profile", "path", "value", "message"),
    [
        (GOOGLE, ("users",), 0, "users is 0, expected a whole number from 1 to 1000000"),
        (GOOGLE, ("users",), 2.5, "users is 2.5, expected a whole number"),
        (GOOGLE, ("users",), True, "users is True, expected a whole number"),
        (GOOGLE, ("job_shares", 1), -0.1, r"job_shares\[1\] is -0.1, expected a number from 0 to"),
        (GOOGLE, ("job_shares",), (0.0, 0.0, 0.0), "expected shares that are not all 0"),
        (GOOGLE, ("job_shares",), (1.0, 0.0), r"is \(1.0, 0.0\), expected a tuple of 3"),
        (GOOGLE, ("task_spread",), float("nan"), "task_spread is nan, expected a number from 0"),
        (GOOGLE, ("success_multi", 0), 1.0, r"success_multi\[0\] is 1.0, expected a number from"),
        (GOOGLE, ("multi_killed",), 1.0, "outcomes of both widths that come to job_shares"),
        (GOOGLE, ("multi_share",), 1.0, "multi_share is 1.0, expected less than 1"),
        (GOOGLE, ("priorities",), (0, 1), "priority_single is .*, expected as many as priorities"),
        (GOOGLE, ("evictions_per_hour",), (1.0,), "expected as many as priorities, 5"),
        (GOOGLE, ("usage", "memory", "growing"), (0.3, 0.1), "the first not above the second"),
        (GOOGLE, ("queue_delay",), 1.0, "queue_delay is 1.0, expected of type QuantileTable"),
        (GOOGLE, ("queue_delay", "points"), ((0.5, 1.0),), "expected at least two, with rising"),
        (GOOGLE, ("queue_delay", "points", 0, 0), 0.99, "two, with rising probabilities"),
        (GOOGLE, ("queue_delay", "points", 0, 1), 1e3, "expected values that do not fall"),
        (GOOGLE, ("queue_delay", "high"), 0.5, "queue_delay.high is 0.5, expected at least low"),
        (GOOGLE, ("more_attempts", "high"), 1e9, "more_attempts is .*, expected a table with low"),
        (CLOUD, ("memories",), (), r"memories is \(\), expected at least one"),
        (CLOUD, ("few_reducers",), 0.1, "few_reducers is 0.1, expected at least 0.2"),
        (CLOUD, ("attempt_limits",), ((8, (1.0, 1.0, 1.0)),), "in order, up to 100 at least"),
        (CLOUD, ("attempt_limits", 0, 1, 0), 2.0, r"attempt_limits\[0\]\[1\]\[0\] is 2.0"),
        (CLOUD, ("attempt_limits",), ((100, (1.0, 1.0, 0.0)),), "expected shares of every outcome"),
        (LANL_2, ("elements",), 50, "elements is 50, expected at most outages.machines, 49"),
        (LANL_2, ("unit",), 10**12, "unit is 1000000000000, expected with weight, communication"),
        (LANL_2, ("outages", "shape"), 0.0, r"outages.shape is 0.0, expected a number from 0.1"),
        (LANL_2, ("outages", "causes"), (("hardware", 0.0),), "shares that are not all 0"),
        (LANL_20, ("single", "killed"), 0.5, "single.other is 0.01, expected at most what"),
        (LANL_20, ("struck", 0, 0), "crashed", "struck is .*, expected one each of syskilled"),
        (LANL_20, ("struck", 0, 2), 0.0, "struck is .*, expected shares above 0"),
        (SYSTEM_A, ("environments",), (), r"environments is \(\), expected at least one"),
        (SYSTEM_A, ("environments", 0, "out_of_memory"), 0.5, "at most the share of system exits"),
        (SYSTEM_A, ("environments", 0, "runs", "walltimes"), (1.0,), "as many as walltimes, 1"),
        (SYSTEM_A, ("environments", 0, "runs", "walltimes", 0), 9.0, "expected rising hours"),
        (SYSTEM_A, ("environments", 0, "runs", "walltime_shares", 0), 0.0, "of all each"),
        (
            SYSTEM_A,
            ("environments", 0, "exit_node_seconds"),
            (1.0, 1.0, 1.0, 0.0),
            "some of jobs that meet their walltime",
        ),
        (SYSTEM_A, ("sessions", "applications"), 10**6, "users times applications at most"),
        (DAS, ("applications", 0, "stages", 1, "parents"), (1,), "parents of stage 1 that come"),
        (DAS, ("applications", 4, "stages", 4, "cached"), (0,), "in stage 'centroids' of number 4"),
        (DAS, ("applications", 0, "stages", 0, "scans"), 0.0, "tasks in stage 0, or a part of"),
    ],
)
def test_unfit_fields_are_named(profile: Profile, path: Path, value: Any, message: str) -> None:
    with pytest.raises(TraceError, match=rf"^profile {profile.name}: .*{message}") as refusal:
        generate(changed(profile, path, value), jobs=5)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 250


@pytest.mark.parametrize(
    ("profile", "jobs", "message"),
    [
        (replace(GOOGLE, jobs_per_hour=1e-6, sampling=1e-6), 5, "^the jobs would come over 1.8e"),
        (replace(CLOUD, days=1e9, all_jobs=1, sampling=1e-6), 5, "^the jobs would come over"),
        (replace(SYSTEM_A, jobs_per_day=1e-6), 5, "^the jobs would come over"),
        (replace(LANL_20, jobs_per_day=1e-6), 5, "^the jobs would come over"),
        (LANL_2, 10_000_000, "^the jobs would come over .* fewer jobs, or more of them a day$"),
        (LANL_2, 130_000, "^costs would have .* rows, expected at most 100000000: fewer jobs"),
        (DAS, 10_000_000, "^tasks would have 7.24e[+]10 rows"),
        (changed(SYSTEM_A, ("outages", "mtbf"), 1.0), 5, "^outages would have"),
    ],
)
def test_traces_too_large_to_make_are_refused(profile: Profile, jobs: int, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        generate(profile, jobs=jobs)


def test_numbers_of_numpy_are_numbers() -> None:
    fewer: Any = np.int64(20)
    share: Any = np.float64(0.5)
    assert generate(replace(GOOGLE, users=fewer, late_share=share), jobs=10).rows("jobs") == 10


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The fields of a profile, and their parts."""
    if is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name), (*path, field.name))
    elif isinstance(value, tuple):
        yield path, value
        parts: tuple[Any, ...] = value
        for number, part in enumerate(parts):
            yield from leaves(part, (*path, number))
    else:
        yield path, value


PLACES = [(profile, path) for profile in PROFILES.values() for path, _ in leaves(profile)]
NUMBERS = (-1, 0, 1, 2, 10**12, 10**30, 0.0, 0.5, -1.0, 1e-9, 1e300, float("nan"), float("inf"))
SILLY = (*NUMBERS, True, None, "x", (), (1,), (0.0, 0.0), b"\x00", [1])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from(PLACES), st.sampled_from(SILLY))
def test_any_profile_makes_a_trace_or_is_refused(place: tuple[Profile, Path], new: Any) -> None:
    assert_made_or_refused(*place, new)


@pytest.mark.campaign
@settings(max_examples=1_000, deadline=None)
@given(st.sampled_from(PLACES), st.sampled_from(SILLY))
def test_so_it_is_with_many(place: tuple[Profile, Path], new: Any) -> None:
    assert_made_or_refused(*place, new)


def assert_made_or_refused(profile: Profile, path: Path, new: Any) -> None:
    """A profile of which one number is another makes a trace, or a line says why not."""
    try:
        trace = generate(changed(profile, path, new), jobs=12, seed=1)
    except TraceError:
        return
    assert trace.rows("jobs") == 12


def test_tables_stay_below_their_largest_value() -> None:
    steep = QuantileTable(((0.5, 1.0), (0.5001, 1e9)))
    assert steep.at(np.array([1e-6, 0.5, 1 - 1e-6])).tolist() == [0.0, 1.0, LARGEST]


def test_check_passes_what_is_published() -> None:
    for profile in PROFILES.values():
        ranges.check(profile)

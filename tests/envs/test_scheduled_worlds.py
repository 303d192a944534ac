"""From a scenario to a scheduled world: cluster, slices, what is around them, what strikes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.load import measure_load
from failgym.predictors import NodeForecast, NoForecast
from failgym.sim.reference.scheduled import ReferenceScheduledSimulator
from failgym.sim.scheduled.records import World
from failgym.sim.shared.context import SYSTEM_FIELDS, Context, expectations, interruption_rates
from failgym.traces import Trace, generate
from failgym.traces.schema import TABLES
from failgym.worlds.build import build_world, split_of
from failgym.worlds.scenario import Split
from failgym.worlds.scheduled.strikes import SPACING
from failgym.worlds.tables import with_tables
from tests.envs.worlds import HOUR, small, small_workflows

MITIGATION, WORKFLOW, LINEAGE = "Mitigation-v1", "Workflow-v1", "Lineage-v1"
IDS = (MITIGATION, WORKFLOW, LINEAGE)


def scenario(name: str, **fields: Any) -> Scenario:
    return resolve(name, {**small(f"failgym/{name}"), **fields})


def world_of(name: str, **fields: Any) -> World:
    """What the world of a scenario is compiled to."""
    return build_world(scenario(name, **fields)).tables


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("Cloning-v1", {"machines": 3}, r"machines: expected 0 \(other values need world="),
    ("Cloning-v1", {"scheduler": "priority"}, r"scheduler: expected 'fifo' \(other values"),
    ("Cloning-v1", {"world": "open"}, "world: expected one of pinned, scheduled"),
    (MITIGATION, {"order": "task"}, 'order: expected "time" in the scheduled world'),
    (
        MITIGATION,
        {"beyond_record": "ghost"},
        "restarts, task_value: expected restarts='limit', task",
    ),
    (
        MITIGATION,
        {"beyond_record": "paper", "restarts": "limit", "task_value": None},
        'beyond_record: expected "ghost" or "continued"',
    ),
    (MITIGATION, {"scheduler": "lifo"}, "scheduler: expected one of fifo, priority"),
    (MITIGATION, {"machines": 5}, "load: expected 0 where machines are stated"),
    (MITIGATION, {"machines": -1}, "machines: expected 0 to"),
    (MITIGATION, {"slots": 0}, "slots: expected 1 to"),
    (MITIGATION, {"load": -0.1}, "load: expected at least 0"),
    (MITIGATION, {"load": 0.0}, "slots: expected 1 unless machines or load are stated"),
    (MITIGATION, {"outages": "weibull", "machine_mtbf": 0}, "machine_mtbf: expected at least 1 ms"),
    (
        MITIGATION,
        {"outages": "none", "machine_mtbf": 9},
        "machine_mtbf: expected machine_mtbf=0 unless outages have a law",
    ),
    (MITIGATION, {"outages": "often"}, "outages: expected one of trace, none"),
    (MITIGATION, {"sampling": 1.5}, r"sampling: expected in \[0, 1\]"),
    (MITIGATION, {"trace_seed": -1}, "trace_seed: expected at least 0"),
    (MITIGATION, {"slice_jobs": 1}, "warmup: expected 0 with slice_jobs"),
    (MITIGATION, {"followers": -1}, "followers: expected 0 to"),
    (MITIGATION, {"failed_share": 0.5}, r"failed_share: expected 0.0 unless slice_jobs=1"),
    (MITIGATION, {"node_forecast": "exact"}, 'node_forecast: expected "none" unless scheduler='),
    (MITIGATION, {"place": True}, "place: expected"),
    (LINEAGE, {"failed_share": 1.5}, r"failed_share: expected in \[0, 1\]"),
    (LINEAGE, {"failed_at": 2.0}, r"failed_at: expected in \[0, 1\], or -1"),
    (LINEAGE, {"outages": "lanl-2"}, "expected 0.0 unless outages"),
    (LINEAGE, {"job_machines": (("Small", 0),)}, "job_machines: expected 1 to"),
    (LINEAGE, {"job_machines": [["Small", 3]]}, r"job_machines: expected \(\(name, machines\)"),
    (LINEAGE, {"job_machines": {"Small": 3}}, r"job_machines: expected \(\(name, machines\)"),
    (LINEAGE, {"job_machines": (("Small", 2.5),)}, r"job_machines: expected \(\(name, machines\)"),
    (WORKFLOW, {"node_accuracy": 1.2}, r"node_accuracy: expected in \[0, 1\]"),
]


@pytest.mark.parametrize(("name", "fields", "message"), BAD)
def test_bad_values_and_combinations_name_the_field(
    name: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        resolve(name, fields)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        (MITIGATION, {"load": 0.0, "slots": 1}, "machines: expected some, or a load"),
        (WORKFLOW, {"machines": 4}, "machines: expected 0 for a trace with compute times"),
        (LINEAGE, {"longest": HOUR}, "longest: expected 0 for a trace without this setting"),
        (LINEAGE, {"detection_delay": SPACING}, "detection_delay: .* expected less than"),
        (MITIGATION, {"load": 1e-9}, "load: 1e-09 asks for .* machines, expected at most"),
        (
            MITIGATION,
            {"outages": "weibull", "machine_mtbf": 1},
            "machine_mtbf: 1 ms makes more than .* outages",
        ),
        (
            LINEAGE,
            {"trace": "google-2011", "jobs": 50, "machines": 4},
            "failed_share: expected a trace in which nothing ran",
        ),
    ],
)
def test_what_does_not_fit_the_trace_is_refused(
    name: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        build_world(scenario(name, **fields))


@pytest.mark.parametrize("name", IDS)
def test_prices_are_those_of_the_train_split(name: str) -> None:
    train, test = (world_of(name, split=split) for split in ("train", "test"))
    for price in ("wasted", "overhead", "completion", "forfeited_work", "forfeited_time"):
        assert train.parameters[price] == test.parameters[price]
        assert np.isfinite(train.parameters[price])


@pytest.mark.parametrize("name", IDS)
def test_splits_share_machines_and_outages(name: str) -> None:
    train, test = (world_of(name, split=split) for split in ("train", "test"))
    assert train.machines.tobytes() == test.machines.tobytes()
    assert train.outages.tobytes() == test.outages.tobytes()


@pytest.mark.parametrize("name", IDS)
def test_own_tasks_are_of_known_fate_and_in_one_slice(name: str) -> None:
    world = world_of(name)
    own = world.members[world.member_own]
    assert len(np.unique(own)) == len(own)
    assert not world.tasks["censored"][own].any()
    assert (np.diff(world.tasks["submit"][own]) >= 0).all()


def test_slices_have_company_of_their_time() -> None:
    whole = build_world(scenario(MITIGATION))
    world = whole.tables
    assert (whole.own_sizes[:-1] == 4).all()
    for i in range(40, 50):
        at = slice(world.member_at[i], world.member_at[i + 1])
        tasks, own = world.members[at], world.member_own[at]
        left = world.member_remaining[at]
        record = world.tasks[tasks]
        arrives = left < 0
        begin = record["submit"][arrives].min()
        assert (record["submit"][~arrives] < begin).all()
        assert (left[~arrives] > 0).all()
        assert (left[~arrives] <= record["record_end"][~arrives] - begin).all()
        asked = np.flatnonzero(own[arrives])
        assert asked[0] >= 4
        assert arrives.sum() - 1 - asked[-1] >= 8


def test_the_record_begins_with_an_empty_cluster_and_slices_later() -> None:
    world = world_of(MITIGATION, begin=2 * HOUR)
    assert world.tasks["submit"][world.members[world.member_own]].min() >= 2 * HOUR


def test_machines_follow_from_the_load() -> None:
    half, whole = (world_of(MITIGATION, load=load).machines for load in (0.5, 1.0))
    assert len(half) == pytest.approx(2 * len(whole), abs=1)
    assert len(world_of(MITIGATION, load=0.0, machines=7, slots=3).machines) == 7


@pytest.mark.parametrize("law", ["lanl-2", "lanl-20", "weibull"])
def test_machines_fail_as_often_as_stated(law: str) -> None:
    fields = {"outages": law, "machine_mtbf": 5 * HOUR}
    trace = split_of(scenario(MITIGATION, **fields), "test")
    span = trace.meta.end or 0
    expected = span * trace.rows("machines") / (5 * HOUR)
    assert trace.rows("outages") == pytest.approx(expected, rel=0.1, abs=2)


def test_no_outages_where_none_are_wanted() -> None:
    assert not len(world_of(MITIGATION, outages="none").outages)
    assert not len(world_of(WORKFLOW, outages="none").outages)


def left_down(**meta: Any) -> Trace:
    """Machines fail one after the other when the last workflows have come, and stay down."""
    trace = small_workflows()
    machine, last = np.arange(6), int(trace.column("jobs", "submit").max())
    outages = {"machine": machine, "down": last + 1_000 * (1 + machine), "up": [None] * 6}
    left = with_tables(trace, outages=outages)
    return Trace(replace(left.meta, **meta), **{name: left.table(name) for name in TABLES})


def test_machines_that_are_down_to_the_end_of_the_data_are_back_then() -> None:
    """Else what they hold would be lost to workflows that outlast the data: no policy's doing."""
    anchors = Anchors.of(scenario(WORKFLOW, trace=left_down()), split="test")
    *_, completion, forfeited, _ = anchors.replay.costs[-1]
    assert forfeited == 0
    assert completion > anchors.replay.costs[:-1, 2].max()
    assert (anchors.bound.sum(axis=1) <= anchors.replay.costs.sum(axis=1)).all()


@pytest.mark.parametrize("meta", [{}, {"end": None}], ids=["stated", "not stated"])
def test_when_machines_that_are_left_down_are_back(meta: dict[str, Any]) -> None:
    """At the stated end of the data, else when the last is told of them."""
    given = left_down(**meta)
    up = world_of(WORKFLOW, trace=given, node_forecast="none").outages["up"]
    known = given.meta.end or int(given.column("outages", "down").max())
    assert sorted(up) == [max(known, down + 1) for down in sorted(used(given, "down"))]


def test_machines_that_are_down_at_a_boundary_are_back_then_in_what_is_before_it() -> None:
    """A split is cut there: it knows no more."""
    fields = {"sampling": 0.0, "longest": 0, "load": 0.0, "slots": 1, "outages": "trace"}
    trace = generate("lanl-20", jobs=60, seed=1)
    at = trace.boundary(resolve(MITIGATION).boundary)
    outages = {"machine": [0, 1], "down": [at - 9, at - 9], "up": [at - 1, at + 9]}
    trace = with_tables(trace, outages=outages)
    rules = resolve(MITIGATION, {"trace": trace, **fields})
    part = trace.split("train", rules.boundary)
    cut = ~part.present("outages", "up")
    assert cut.any()
    up = split_of(rules, "train").column("outages", "up")
    assert (up[cut] >= int(part.meta.end or 0)).all()
    assert (up[~cut] == part.column("outages", "up")[~cut]).all()


def used(trace: Trace, name: str) -> list[int]:
    """A column of the outages of the machines that workflows may run on."""
    usable = np.isin(trace.column("outages", "machine"), trace.column("costs", "machine"))
    return trace.column("outages", name)[usable].tolist()


@pytest.mark.parametrize("split", ["fit", "train", "test", "all"])
def test_stated_outages_are_the_same_in_every_split(split: Split) -> None:
    """Those without an end, too: repairs take longer than the whole record."""
    fields = {"outages": "weibull", "machine_mtbf": 40 * HOUR, "repair": 400 * HOUR}
    trace = split_of(scenario(MITIGATION, **fields), split)
    whole = split_of(scenario(MITIGATION, **fields), "all")
    assert (whole.column("outages", "up") == whole.meta.end).any()
    assert trace.present("outages", "up").all()
    for name in ("machine", "down", "up"):
        assert trace.column("outages", name).tolist() == whole.column("outages", name).tolist()


def test_the_reference_plays_the_world_of_an_environment() -> None:
    """The simulated trace says it all: what the reference makes of it is what came out."""
    given = {"trace": left_down(), "forecast": "none", "node_forecast": "none"}
    rules = scenario(WORKFLOW, split="test", **given)
    trace, anchors = split_of(rules, "test"), Anchors.of(rules, split="test")
    context = Context(
        expectations=expectations(trace, rules.window),
        system=np.zeros((1, SYSTEM_FIELDS), dtype=np.float32),
        forecast=NoForecast(window=rules.window).predict(trace),
        interruptions=interruption_rates(trace),
    )
    slow = ReferenceScheduledSimulator(trace, rules, context, seed=rules.seed)
    world = world_of(WORKFLOW, split="test", **given)
    slow.start(world.members[world.member_at[-2] :].tolist())
    while slow.decision is not None:
        slow.step(0)
    outcomes = anchors.replay.outcomes
    told = zip(
        *(outcomes[name].tolist() for name in ("task", "end", "useful", "lost")), strict=True
    )
    expected = {(x.task, x.end, x.useful, x.lost) for x in slow.outcomes()}
    assert expected <= set(told)
    assert max(end for _, end, *_ in expected) > int(trace.meta.end or 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"outages": "none"},
        {"outages": "weibull", "machine_mtbf": 40 * HOUR},
    ],
)
def test_a_forecast_of_the_record_is_refused_where_other_outages_are_stated(
    fields: dict[str, Any],
) -> None:
    record = left_down()
    with pytest.raises(ValueError, match="forecast of another trace"):
        world_of(WORKFLOW, trace=record, node_forecast=NodeForecast.exact(record), **fields)


def test_a_forecast_of_nodes_may_speak_of_the_record_as_it_is() -> None:
    """Though the simulated trace has other outages, and so another hash."""
    record = left_down()
    forecast = NodeForecast.exact(record)
    assert forecast.trace_hash != split_of(scenario(WORKFLOW, trace=record), "test").content_hash
    world = world_of(WORKFLOW, trace=record, split="test", node_forecast=forecast)
    assert world.node_time.tolist() == sorted(used(record, "down"))


def test_slices_of_whole_jobs() -> None:
    world = world_of(WORKFLOW)
    for i in range(len(world.member_at) - 1):
        tasks = world.members[world.member_at[i] : world.member_at[i + 1]]
        jobs = np.unique(world.tasks["job"][tasks])
        assert len(jobs) == 2
        assert np.isin(world.tasks["job"], jobs).sum() == len(tasks)


def test_forecasts_of_nodes_speak_of_the_cluster() -> None:
    exact = world_of(WORKFLOW, node_forecast="exact")
    assert (exact.node_time == exact.outages["down"]).all()
    assert (np.diff(exact.node_offset) == exact.machines["outages"]).all()
    assert not len(world_of(WORKFLOW, node_forecast="none").node_time)
    drawn = world_of(WORKFLOW, node_accuracy=0.6)
    assert len(drawn.node_offset) == len(drawn.machines) + 1
    assert (drawn.node_offset[-1:] == len(drawn.node_time)).all()


@pytest.mark.parametrize("split", ["all", "test"])
def test_a_forecast_of_nodes_of_ones_own(split: Split) -> None:
    """What a scenario is given is what its policy is told; of another trace it is refused."""
    trace = split_of(scenario(WORKFLOW, split=split), split)
    usable = np.unique(trace.column("costs", "machine"))
    world = world_of(WORKFLOW, split=split, node_forecast=NodeForecast.of(trace, usable, usable))
    assert world.node_time.tolist() == usable.tolist()
    other = NodeForecast.none(generate("lanl-2", jobs=1, seed=9))
    with pytest.raises(ValueError, match="forecast of another trace"):
        world_of(WORKFLOW, split=split, node_forecast=other)


def test_a_share_of_the_machines_fails_once_in_each_job() -> None:
    world = world_of(LINEAGE, failed_share=0.5)
    submit = np.sort(np.unique(world.tasks["submit"]))
    assert (np.diff(submit) == SPACING).all()
    down, up = world.outages_in_time["down"], world.outages_in_time["up"]
    job = np.searchsorted(submit, down, side="right") - 1
    assert (np.bincount(job) == 2).all()
    assert (up - down == 60_000).all()
    first, second = down[0::2], down[1::2]
    assert (first == second).all()
    assert len(np.unique(first - submit)) > len(submit) / 2


def test_failures_strike_at_the_stated_moment() -> None:
    early, late = (world_of(LINEAGE, failed_at=at).outages_in_time["down"] for at in (0.25, 0.75))
    submit = np.sort(np.unique(world_of(LINEAGE).tasks["submit"]))
    assert np.allclose((late - submit) / (early - submit), 3.0, atol=0.01)


def test_some_jobs_run_on_fewer_machines() -> None:
    world = world_of(LINEAGE, job_machines=(("Small", 3),), failed_share=0.0)
    assert (world.outages["machine"] == 3).all()
    assert len(world.outages) == len(np.unique(world.tasks["job"]))


def test_load_of_the_flagship() -> None:
    """Slots busy for .70 to .90 of the time; waits of 5 to 50 % of the run time."""
    for split in ("train", "test"):
        load = measure_load(resolve(MITIGATION, {"split": split}))
        assert 0.70 <= load.utilisation <= 0.90
        assert 0.05 <= load.wait_share <= 0.50
        assert load.evictions > 0
        assert load.outages > 0

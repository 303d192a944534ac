"""Run times that become a record, what is told of copies, and how pages show it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from experiments import speculation
from experiments.continued_records import SHOWN, Row, outside
from experiments.result_tables.continued import continued
from experiments.result_tables.continued import speculation as page
from experiments.speculation import (
    COLUMNS,
    GOOGLE,
    PLAYED,
    RULES,
    SHARES,
    as_run,
    by_end,
    main,
    ratio,
    rows_of,
)
from failgym.envs import resolve
from failgym.traces import Meta, Outcome, Trace
from failgym.vocabulary import MINUTE, SECOND


def planned() -> Trace:
    """A job of two stages, submitted at 100, and one of a single task, at 110."""
    lengths = [10, 20, 30, 5, 7]
    return Trace.of(
        Meta("by hand", end=1_000),
        jobs={
            "original_id": ["a", "b"],
            "submit": [100, 110],
            "width": [4, 1],
            "outcome": Outcome.CENSORED,
        },
        tasks={
            "job": [0, 0, 0, 0, 1],
            "index": [0, 1, 2, 3, 0],
            "stage": [0, 0, 0, 1, 2],
            "width": 1,
        },
        attempts={
            "task": np.arange(5),
            "queued": [100] * 4 + [110],
            "end": 1_000,
            "outcome": Outcome.CENSORED,
            "length": lengths,
        },
        stages={"job": [0, 0, 1], "stage": [0, 1, 0], "name": ["map", "reduce", "map"]},
        stage_edges={"parent": [0], "child": [1], "bytes": [1], "wide": [True]},
    )


def test_stages_run_in_order_on_the_slots_that_are_free_first() -> None:
    trace = as_run(planned(), slots=2)
    assert trace.column("jobs", "submit").tolist() == [100, 140, 145]
    assert trace.column("jobs", "name").tolist() == ["map", "reduce", "map"]
    assert trace.column("jobs", "width").tolist() == [3, 1, 1]
    # The third starts when the first has ended; what reads them all, and the next job, after all.
    assert trace.column("attempts", "start").tolist() == [100, 100, 110, 140, 145]
    assert trace.column("attempts", "end").tolist() == [110, 120, 140, 145, 152]
    assert (trace.column("attempts", "outcome") == Outcome.FINISH).all()
    assert not trace.present("attempts", "length").any()


def unit(**known: float) -> list[float]:
    return [known.get(name, 0.0) for name in COLUMNS]


def content(source: str, *saved: list[list[float]]) -> dict[str, Any]:
    """The same of all rules and kappas, on several traces or draws."""
    by_trace = {
        str(number): {share: dict.fromkeys(RULES, units) for share in SHARES}
        for number, units in enumerate(saved)
    }
    return {"records": {source: by_trace}, "ends": []}


HALF = unit(completion=3.0, wasted=-1.0, tasks=500, copied=10, overtaken=4, earlier=1, took=8)
OTHER = unit(completion=1.0, wasted=-2.0, tasks=500, copied=10, overtaken=0, earlier=1, took=2)


def test_what_is_saved_is_told_for_a_thousand_tasks() -> None:
    row = rows_of(content("Pareto", [HALF, OTHER], [HALF, OTHER]))[0]
    assert (row.copied, row.overtaken, row.units) == (20.0, 0.2, 4)
    assert row.earlier[0] == pytest.approx(20.0)
    assert row.terms["completion"] == pytest.approx(4.0)
    assert row.cost[0] == pytest.approx(1.0)
    assert row.cost[1] < row.cost[0] < row.cost[2]
    assert row.pays_from == pytest.approx(3.0 / 4.0), "at three quarters nothing is won or lost"


def test_draws_of_a_record_are_one_and_not_several() -> None:
    drawn = rows_of(content(GOOGLE, [HALF, OTHER], [OTHER, HALF]))[0]
    assert drawn.units == 2
    assert drawn.cost == pytest.approx((1.0, 1.0, 1.0)), "each unit is as in the mean of the draws"


def test_a_ratio_lies_within_its_interval() -> None:
    rng = np.random.default_rng(1)
    under = rng.uniform(1.0, 2.0, 300)
    over = 3.0 * under + rng.normal(0.0, 1.0, 300)
    value, low, high = ratio(over, under, np.repeat(np.arange(3), 100))
    assert low < 3.0 < high
    assert low < value < high
    assert high - low < 1.0


def test_what_has_been_measured_is_kept(tmp_path: Path) -> None:
    """Nothing is played when all is there."""
    app, file = typer.Typer(), tmp_path / "known.json"
    app.command()(main)
    known = content("Pareto", [HALF, OTHER], [HALF])
    known["records"] |= content("BTWORLD", [HALF], [OTHER])["records"]
    file.write_text(json.dumps(known))
    found = CliRunner().invoke(app, ["--json", str(file), "--first", "0", "--traces", "2"])
    assert found.exit_code == 0, found.output
    assert json.loads(file.read_text()) == known


def test_the_page_names_a_rule_once_where_another_waiting_time_changes_nothing() -> None:
    lines = page(content("Pareto", [HALF, OTHER])).splitlines()
    assert lines[0] == "Pareto 1 traces."
    rules = [line.split(" | ")[1] for line in lines[4:]]
    assert rules == ["`late`"] * len(SHARES) + ["`spark_speculation`"] * len(SHARES)
    assert lines[4].startswith("| Pareto | `late` | 0 | 20.00 | 0.20 | 20 [")


def test_copies_gain_on_published_straggling_where_slowness_was_chance_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On run times as heavy-tailed as Google's; two thirds of the jobs of the experiment."""
    monkeypatch.setattr(speculation, "PARETO_JOBS", 40)
    fields = {"window": MINUTE, "decide": "every", "boundary": 0.5, "split": "test"}
    env = resolve("failgym/Cloning-v1", {**PLAYED, "trace": speculation.pareto(1), **fields})
    saved = speculation.saved_by(env, apart=True)
    found = rows_of({"records": {"Pareto": {"1": saved}}, "ends": []})
    rows = {(row.rule, row.share): row for row in found}
    for rule in ("late", "spark_speculation"):
        chance, more = rows[rule, "0"], rows[rule, "1"]
        assert chance.units == 20
        assert chance.cost[0] > 0.0
        assert chance.earlier[1] > 50.0, "jobs end in less than half the time"
        assert chance.overtaken > 0.4
        assert more.copied == pytest.approx(chance.copied)
        assert more.overtaken == more.terms["completion"] == more.earlier[0] == 0.0
        assert more.cost[2] < 0.0


def test_what_is_copied_is_told_by_how_the_record_ends() -> None:
    """Two jobs of twenty tasks; their slow ones are copied, and lose where they are as slow."""
    submit, run = np.repeat([1_000, 900_000], 20), np.where(np.arange(40) % 20 < 19, 60, 600)
    trace = Trace.of(
        Meta("by hand"),
        jobs={
            "original_id": ["a", "b"],
            "submit": [1_000, 900_000],
            "width": 20,
            "outcome": Outcome.FINISH,
        },
        tasks={"job": np.repeat([0, 1], 20), "index": np.tile(np.arange(20), 2), "width": 1},
        attempts={
            "task": np.arange(40),
            "start": submit,
            "end": submit + run * SECOND,
            "outcome": Outcome.FINISH,
        },
    )
    played = {"split": "all", "window": SECOND, "decide": "every", "task_share": 1.0}
    env = resolve("failgym/Cloning-v1", {**PLAYED, "trace": trace, **played})
    spark = next(end for end in by_end(env) if end.rule == "spark_speculation")
    assert (spark.end, spark.copied, spark.overtaken) == ("FINISH", 2, 0)
    # Copied in the first window above 1.5 medians, at 91 s; until 600 s the copies run in vain.
    assert spark.wasted == pytest.approx(-2 * (600 - 91) / 3_600)
    assert spark.completion == pytest.approx(0.0)
    assert spark.largest_job == pytest.approx(0.5)
    said = {
        "records": content("Pareto", [HALF])["records"],
        "ends": [{**asdict(spark), "copied": 500}],
    }
    assert page(said).splitlines()[-1] == (
        "- `spark_speculation` copies 500 tasks that end with FINISH in Google's record: 0 settle"
        " earlier, 0 h of waiting saved, 0 machine-h wasted; 50% of the loss are one job's."
    )


def compared(measure: str, comparison: str, low: float) -> dict[str, Any]:
    return {
        **{"comparison": comparison, "level": "every", "past": 1, "measure": measure},
        **{"jobs": 7, "attempts": 1_234, "drawn_attempts": 1.0, "observed": 0.5},
        **{"observed_low": 0.4, "observed_high": 0.6, "drawn": 1_500.0, "low": low, "high": 1.0},
    }


def test_the_page_marks_what_is_outside() -> None:
    rows = [compared(name, "one", -1.0) for name in SHOWN]
    rows += [compared(name, "whole", 0.5) for name in SHOWN]
    assert outside([Row(**row) for row in rows]) == (len(SHOWN), 2 * len(SHOWN))
    lines = continued({"records": {"made": rows}}).splitlines()
    assert lines[0] == "**made**: 4 of 8 rows are outside."
    assert lines[2:7] == [
        "|  | 1 |",
        "| --- | ---: |",
        "| jobs, attempts | 7, 1,234 |",
        "| success: record | 0.5 |",
        "| one attempt drawn | 1,500 |",
    ]
    assert lines[7] == "| whole records drawn | 1,500 * |"

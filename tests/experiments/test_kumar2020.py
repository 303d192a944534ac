"""The experiments on Kumar et al.: closed forms, what simulates them, and that all run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import (
    checkpoint_cost,
    kumar2020,
    kumar2020_figure1,
    kumar2020_figure2,
    kumar2020_figure3,
    kumar2020_figure4,
    kumar2020_figure6,
    kumar2020_figure10,
    kumar2020_table1,
    kumar2020_table4,
    kumar2020_table5,
    kumar2020_table6,
    kumar2020_table8,
    kumar2020_table8_simulated,
)
from experiments.failing_runs import Runs
from experiments.kumar2020 import A_MULTI, A_SHARED, A_SINGLE, B_MULTI, JobKind
from experiments.reproduction import Experiment, Kind, Measured, Options, Row
from experiments.reproduction.report_entries import cells_of
from failgym import metrics
from failgym.baselines import MLCheckpoint, Replay, Young
from failgym.vocabulary import MINUTE, SECOND

QUICK = Options(seeds=1, quick=True)
CHEAP: tuple[Experiment, ...] = (
    kumar2020_table1.EXPERIMENT,
    kumar2020_table4.EXPERIMENT,
    kumar2020_table5.EXPERIMENT,
    kumar2020_table6.EXPERIMENT,
    kumar2020_figure1.EXPERIMENT,
    kumar2020_figure2.EXPERIMENT,
    kumar2020_figure3.EXPERIMENT,
    kumar2020_figure4.EXPERIMENT,
    kumar2020_figure6.EXPERIMENT,
    kumar2020_figure10.EXPERIMENT,
)


@pytest.fixture(scope="module")
def table8() -> Measured:
    return kumar2020_table8.EXPERIMENT.run(Options(seeds=0))[0]


def test_table_8_is_reproduced(table8: Measured) -> None:
    cells = [row for row in table8.rows if row.verdict and "gain" not in row.name]
    assert len(cells) == 28
    assert [row.verdict for row in cells].count("fitted") == 12
    assert [row.verdict for row in cells].count("within") == 16
    predicted = [row for row in cells if not row.fitted and row.name.startswith("ML+Periodic")]
    assert all(abs(row.ours - float(row.paper or 0)) < 0.01 for row in predicted)


def test_table_8_needs_youngs_root_of_2_and_reading_b(table8: Measured) -> None:
    def error(said: str) -> float:
        rows = [row for row in table8.rows if row.name.endswith(said)]
        return max(abs(row.ours - float(row.paper or 0)) for row in rows)

    assert error("T_w as printed") == pytest.approx(0.121, abs=0.001)
    assert 0.03 < error("reading A") < 0.05
    printed = [row.ours for row in table8.rows if row.name.endswith("as printed")]
    assert max(printed) > 1.0


PRINTED = (0.8226, 0.7167, 0.4208, 0.6838)
"""Areas with the square root of T_s T_f, as printed, over runtimes up to 5 h."""
BINORMAL = {
    A_SHARED: (2.1, 0.8),
    A_SINGLE: (2.5, 1.0),
    A_MULTI: (3.2, 1.5),
    B_MULTI: (2.8, 0.5),
}
"""Distance and spread of predictors."""
CLOSEST = 0.0063
"""By how much the cells with these predictors are off, over runtimes from a minute to 5 h."""


def test_as_printed_it_gives_other_areas(table8: Measured) -> None:
    printed = [row.ours for row in table8.rows if row.name.endswith("T_w as printed")]
    assert printed == pytest.approx(PRINTED, abs=5e-5)


@pytest.mark.parametrize("kind", BINORMAL, ids=lambda kind: kind.name)
def test_one_predictor_gives_all_cells_of_a_row(kind: JobKind) -> None:
    rate = kumar2020.failure_rate(kind)
    points = kumar2020_table8.Predictor(*BINORMAL[kind], rate).points()
    precision, recall = (values[:, None] for values in points)
    runtime = np.arange(75.0, kumar2020_table8.LONGEST, 30.0)
    found: list[float] = []
    for cost, paper in kumar2020_table8.ML[kind].items():
        saved = metrics.saving_ml(precision, recall, runtime, cost)
        found.append(saved.mean(axis=1).max() - paper)
    combined = zip(kumar2020_table8.PERIODIC, kumar2020_table8.COMBINED[kind], strict=True)
    for cell, paper in combined:
        work = kumar2020_table8.young(cell)
        saved = metrics.saving_combined(precision, recall, runtime, work, cell.cost)
        found.append(saved.mean(axis=1).max() - paper)
    assert max(map(abs, found)) <= CLOSEST


def test_what_the_predictors_were_fitted_to_is_no_evidence(table8: Measured) -> None:
    """Nor where they are used again: in the curves, and in the simulation."""
    chosen = {row.name for row in table8.rows if row.fitted}
    assert len(chosen) == 12
    simulated = kumar2020_table8_simulated.EXPERIMENT.run(QUICK)[0].rows
    assert {row.name for row in simulated if row.fitted} == chosen
    curves = kumar2020_figure10.EXPERIMENT.run(QUICK)[0].rows
    of_curves = {row.name.removesuffix(", area") for row in curves if row.fitted}
    first = "ML+Periodic, MTBF=1e4, T_s=60 s"
    assert {name for name in of_curves if name.startswith("ML+")} == {first}
    assert {name for name in of_curves if name.startswith("ML,")} == of_curves - {first}
    assert not any(row.fitted for row in curves if row.name.startswith("Periodic"))


def test_gains_are_those_of_the_text(table8: Measured) -> None:
    gains = [row for row in table8.rows if row.name.endswith("of the printed cells")]
    assert [row.verdict for row in gains] == ["within", "within"]
    assert gains[0].ours == pytest.approx(0.91 / 0.81 - 1.0)


def test_a_run_without_checkpoints_loses_all_of_itself() -> None:
    runs = Runs.of(np.array([10, 200]) * MINUTE, fail=True)
    assert runs.wasted(60.0, 1e4, Replay()).tolist() == [1.0, 1.0]
    finished = Runs.of(np.array([10, 200]) * MINUTE, fail=False)
    assert finished.wasted(60.0, 1e4, Replay()).tolist() == [0.0, 0.0]


def test_periodic_checkpoints_save_what_the_formula_says() -> None:
    """S_OCP, at the interval that decisions every minute make of Young's."""
    length = np.array([15, 105, 290]) * MINUTE
    saved = 1.0 - Runs.of(length, fail=True).wasted(60.0, 1e4, Young())
    interval = 19 * 60.0  # the first whole minutes beyond 1095 s
    expected = metrics.saving_periodic(length / SECOND, interval, 60.0)
    np.testing.assert_allclose(saved, expected)


def test_an_alarm_in_time_saves_all_but_the_checkpoint() -> None:
    minute = np.array([5, 60, 299])
    length = minute * MINUTE + 60 * SECOND + 1
    runs = Runs.of(length, fail=True)
    wasted = runs.wasted(60.0, 1e4, MLCheckpoint(), minute * MINUTE)
    np.testing.assert_allclose(wasted * length, 60 * SECOND + 1)
    late = runs.wasted(60.0, 1e4, MLCheckpoint(), (minute + 1) * MINUTE)
    assert late.tolist() == [1.0, 1.0, 1.0]
    none = runs.wasted(60.0, 1e4, MLCheckpoint(), np.array([-1, -1, -1]))
    assert none.tolist() == [1.0, 1.0, 1.0]


def test_the_working_point_follows_the_price_of_a_checkpoint() -> None:
    for kind in (A_SHARED, B_MULTI):
        predictor = kumar2020_table8.fitted(kind)
        dear, cheap = (kumar2020_table8.ml_area(predictor, cost) for cost in (60.0, 10.0))
        assert cheap[0] > dear[0]
        assert cheap[1] < dear[1]  # precision
        assert cheap[2] > dear[2]  # recall


def test_what_table_4_says_follows_from_itself() -> None:
    rows = kumar2020_table4.arithmetic()
    assert all(cells_of(row, Kind.APPROXIMATE)[5] == "exact" for row in rows if row.band)
    assert [row.verdict for row in rows].count("within") == 13
    assert [row.name for row in rows if not row.verdict] == [
        "B overall, user/system, mean of the columns"
    ]


def test_table_1_and_table_4_add_up() -> None:
    rows = {row.name: row for row in kumar2020_table1.EXPERIMENT.run(QUICK)[0].rows}
    for system in "AB":
        for column in ("jobs", "node-seconds"):
            of_kinds = [
                row.ours
                for name, row in rows.items()
                if name.startswith(system) and name.endswith(f"share of {column}")
            ]
            assert sum(of_kinds) == pytest.approx(2.0 if system == "A" else 1.0)


def test_first_order_formulas_are_those_of_the_policies() -> None:
    point = checkpoint_cost.Point(0.26, 0.76)
    assert point.aware(point.break_even) == pytest.approx(1.0)
    assert point.aware(1e-9) == pytest.approx(np.sqrt(1 - 0.76), abs=1e-3)
    assert checkpoint_cost.expected(1e-6) == pytest.approx(np.sqrt(2e-6), rel=2e-3)


def test_good_predictions_save_where_checkpoints_are_dear() -> None:
    found = checkpoint_cost.wastes(0.1, 0, 40)
    assert found["Young"] == pytest.approx(checkpoint_cost.expected(0.1), rel=0.15)
    assert found["prediction-aware, P 0.9, R 0.9"] < 0.75 * found["Young"]


@pytest.mark.parametrize("experiment", CHEAP, ids=lambda experiment: experiment.module)
def test_it_runs_the_same_again(experiment: Experiment, tmp_path: Path) -> None:
    measured, _ = experiment.run(QUICK)
    again, _ = experiment.run(QUICK)
    assert as_json(experiment, measured) == as_json(experiment, again)
    assert all(isinstance(row, Row) and row.name for row in measured.rows)
    assert len({row.name for row in measured.rows}) == len(measured.rows) > 0
    if experiment.draw is not None:
        restored = Measured((), json.loads(as_json(experiment, measured))["series"])
        experiment.picture(restored, tmp_path / "picture.png")
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def as_json(experiment: Experiment, measured: Measured) -> str:
    result: dict[str, Any] = experiment.result(measured, QUICK, 0.0)
    return json.dumps(result)

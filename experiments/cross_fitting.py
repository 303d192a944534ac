"""How much better is a forecast of what was learned from, and does cross-fitting mend that?

    python -m experiments.cross_fitting TRACE ... [--env failgym/GracePeriod-v1] [--blocks 2 ...]

For each record: how well the predictor of ``forecast=trained`` tells tasks that finish from others
(area under the receiver operating characteristic) and how far its confidences are off (Brier
score), on the train split that it has learned from, on the test split, and on the train split where
each of so many blocks hears from what has learned from the others (`failgym.worlds.cross_fitting`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from failgym.cli.output import print_line, print_table
from failgym.envs import Scenario, resolve
from failgym.predictors import Forecast
from failgym.traces import Trace
from failgym.vocabulary import Outcome
from failgym.worlds.build import part_of
from failgym.worlds.cross_fitting import cross_fitted, learned_jobs
from failgym.worlds.forecast import PREDICTORS


class Quality(NamedTuple):
    """Of confidences that tasks finish."""

    area: float
    brier: float


def quality(forecast: Forecast, trace: Trace) -> Quality:
    """Of a forecast, on the tasks of a trace whose end is known."""
    from sklearn import metrics

    measures: Any = metrics
    known = trace.task_outcome != Outcome.CENSORED
    finished = trace.task_outcome[known] == Outcome.FINISH
    said = np.clip(forecast.confidence[known, 0], 0.0, 1.0)
    area, brier = measures.roc_auc_score(finished, said), measures.brier_score_loss(finished, said)
    return Quality(float(area), float(brier))


def qualities(scenario: Scenario, blocks: list[int]) -> Iterator[tuple[str, Quality]]:
    """What is said of each split, and by how it was learned."""
    train, test = part_of(scenario, "train"), part_of(scenario, "test")

    def said_by(learned: Trace, of: Trace) -> Forecast:
        return PREDICTORS["trained"](scenario).fit(learned).predict(of)

    yield "train", quality(said_by(train.trace, train.trace), train.trace)
    yield "test", quality(said_by(train.trace, test.trace), test.trace)
    for count in blocks:
        said = cross_fitted(
            lambda learned, _: said_by(learned, train.trace),
            train,
            train,
            learned_jobs(train, train),
            blocks=count,
        )
        yield f"train, {count} blocks", quality(said, train.trace)


def main(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE", help="Stored records.")],
    env: Annotated[str, typer.Option(metavar="ID")] = "failgym/GracePeriod-v1",
    blocks: Annotated[list[int] | None, typer.Option(min=2, help="Repeatable.")] = None,
) -> None:
    """Print how well what was learned from is foretold, and what is new."""
    rows: list[list[str]] = []
    for trace in traces:
        scenario = resolve(env).override(trace=str(trace), forecast="trained")
        for split, found in qualities(scenario, blocks or [2, 3, 5, 10]):
            rows.append([trace.name, split, f"{found.area:.3f}", f"{found.brier:.4f}"])
            print_line(" ".join(rows[-1]))
    print_table("forecasts", ["record", "split", "area", "Brier"], rows)


if __name__ == "__main__":
    typer.run(main)

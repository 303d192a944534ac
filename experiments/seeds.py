"""Several training runs of each learner beside the best rule on the same traces.

    failgym leaderboard run --suite v2-lite --out DIR \\
        --policy 'ppo-0=agents/zoo/{env}/maskable_ppo-0.safetensors' ... \\
        --policy 'counterfactual-4=agents/zoo/{env}/counterfactual-4.safetensors'
    python -m experiments.seeds DIR [--published experiments/measured/v2] [--json FILE]

Policies of one name but for the number at its end are training runs of one learner, of these seeds.
Training runs of one name (a file with ``{seed}``) are, too. Where an environment has no file of a
seed, the learner has one run less there.

The score of a learner is the mean of its runs. Its interval holds the luck of training and of
traces (`failgym.leaderboard.statistics.bootstrap`): a sample draws traces and, apart from them,
training runs, of n of each n - 1. Samples of five runs are too narrow. So the interval is stretched
by Student's t, with as many degrees of freedom as the variances of traces and of runs leave
(Satterthwaite 1946). Of two runs it is up to a third too short, since Student's t is a series here
(`failgym.evaluation.statistics.interval_width.student`); of a single one it holds the luck of
traces only.

Beside it stands the rule of the published run that is the best in hindsight on these very traces,
as for `experiments.same_traces`. What the learner is above it is paired: a sample has the same
traces of both. That this rule was chosen on them is not in the interval, and errs against the
learner. Nor are other settings of training in it, or the traces that runs learned from: these are
the same for all seeds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from experiments.markdown import interval
from experiments.measured_worlds import world_of
from experiments.reproduction.command import refusing
from experiments.result_tables.cells import score_of
from experiments.same_traces import PUBLISHED, best_of, costs_of, on_traces, read
from failgym.cli.output import JsonFile, print_table
from failgym.evaluation.statistics.sampling_units import TracesUnits
from failgym.leaderboard.statistics.bootstrap import Bootstrap, Estimate
from failgym.leaderboard.statistics.estimators import Runs, run_scores

__all__ = ["COLUMNS", "cells", "of_seeds", "runs_of"]

NUMBERED = re.compile(r"(.+)-(\d+)")
"""The name of a learner and the seed of a training run."""
COLUMNS = (
    *("", "forecast", "learner", "traces", "seeds", "mean of seeds", "lowest to highest"),
    *("best rule", "mean above it"),
)
NOTHING = "-"
"""Stands where there is nothing to gain."""


def runs_of(played: pd.DataFrame) -> pd.DataFrame:
    """The rows of agents, with the learner and the seed of each.

    Args:
        played: as `experiments.same_traces.read` gives it.

    Raises:
        ValueError: if there are none, if a name has the number of another seed, or if two policies
            are the same run of a learner.
    """
    agents = played[played["agent"]]
    if agents.empty:
        raise ValueError("expected trained agents, got none")
    learners: dict[tuple[str, int], str] = {}
    for policy, seed in agents[["policy", "training_seed"]].drop_duplicates().itertuples(False):
        found, run = NUMBERED.fullmatch(policy), int(seed)
        if found is not None and int(found[2]) != run:
            raise ValueError(f"{policy}: expected training seed {found[2]}, got {run}")
        learner = policy if found is None else found[1]
        if (other := learners.setdefault((learner, run), policy)) != policy:
            raise ValueError(f"{other}, {policy}: expected one training run of seed {run}")
    named = {policy: learner for (learner, _), policy in learners.items()}
    return agents.assign(
        learner=agents["policy"].map(named), run=agents["training_seed"].astype(np.int64)
    )


def of_seeds(lite: pd.DataFrame, published: pd.DataFrame) -> list[dict[str, Any]]:
    """Each learner beside the best rule on its traces, by environment and forecast.

    Args:
        lite: of the training runs, as `experiments.same_traces.read` gives them.
        published: of the rules.

    Raises:
        ValueError: as `runs_of` and `experiments.same_traces.on_traces` do, or if a run failed or
            has not played all traces.
    """
    agents, rows = runs_of(lite), list[dict[str, Any]]()
    numbers = {env: number for number, env in enumerate(agents["env"].unique())}
    for (env, forecast), here in agents.groupby(["env", "forecast"], sort=False):
        env, forecast = str(env), str(forecast)
        anchors = here.groupby("seed")[["replay_cost", "bound_cost"]].first()
        others = on_traces(published, env, forecast, anchors["replay_cost"])
        rules = costs_of(others[~others["agent"]])
        best = best_of(rules)
        ours, bootstrap = _as_runs(anchors, rules[best].to_frame().T), Bootstrap()
        for learner, of_learner in here.groupby("learner", sort=False):
            costs = of_learner.pivot(index="run", columns="seed", values="cost")
            costs = costs.reindex(columns=anchors.index)
            if not np.isfinite(costs.to_numpy()).all():
                raise ValueError(
                    f"{learner}: {env}, forecast {forecast}: expected costs of each run on"
                    f" {len(anchors)} traces"
                )
            runs, number = _as_runs(anchors, costs), numbers[env]
            rows.append(
                {
                    **{"env": f"failgym/{env}", "forecast": forecast, "learner": str(learner)},
                    **{"traces": len(anchors), "world": world_of(env)},
                    "scores": dict(
                        zip(map(str, costs.index), run_scores(runs).tolist(), strict=True)
                    ),
                    "score": list(bootstrap.score(runs, number)),
                    "rule": best,
                    "rule_score": list(bootstrap.score(ours, number)),
                    "above": list(bootstrap.difference([runs], [ours], first=number)),
                }
            )
    return rows


def _as_runs(anchors: pd.DataFrame, costs: pd.DataFrame) -> Runs:
    """Costs [runs, traces] as the statistics of a leaderboard take them: traces are drawn whole."""
    replay, bound = (anchors[name].to_numpy() for name in ("replay_cost", "bound_cost"))
    traces = np.arange(len(anchors))
    units = TracesUnits(traces, traces)
    return Runs(replay - costs[anchors.index].to_numpy(), replay - bound, replay, units)


def cells(row: Mapping[str, Any], mark: str = "") -> list[str]:
    """What a table says of a learner: `COLUMNS`; names stand between two ``mark``."""
    scores: Mapping[str, float | None] = row["scores"]
    known = [
        round(score, 1) + 0.0  # never -0.0
        for score in scores.values()
        if score is not None and not math.isnan(score)
    ]
    env, learner, rule = (f"{mark}{row[name]}{mark}" for name in ("env", "learner", "rule"))
    return [
        *(env, row["forecast"], learner, f"{row['traces']}", f"{len(scores)}"),
        *(_shown(row["score"]), f"{min(known):.1f} to {max(known):.1f}" if known else NOTHING),
        *(f"{rule} {_shown(row['rule_score'])}", _shown(row["above"])),
    ]


def _shown(stored: Sequence[float | None]) -> str:
    found = score_of(stored)
    return NOTHING if math.isnan(found.value) else interval(Estimate(*found))


def main(
    lite: Annotated[Path, typer.Argument(file_okay=False, metavar="DIR")],
    published: Annotated[Path, typer.Option(file_okay=False, metavar="DIR")] = PUBLISHED,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Print what several training runs of each learner are worth beside the best rule."""
    with refusing(ValueError):
        file = JsonFile.at(json_file)
        rows = of_seeds(read(lite), read(published))
    print_table("", COLUMNS, [cells(row) for row in rows])
    file.write(rows)


if __name__ == "__main__":
    typer.run(main)

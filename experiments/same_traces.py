"""A policy on a smaller suite, beside what the published run of `v2` has on the same traces.

    failgym leaderboard run --suite v2-lite --policy NAME=FILE --out DIR
    python -m experiments.same_traces DIR --policy NAME [--published experiments/measured/v2]
        --json FILE

The traces of `v2-lite` are the first ones of `v2`. So a policy need not play all of `v2` to be held
against the rules and agents of the published run: in each environment, and under each kind of
forecast, against the rule that is the best in hindsight on these very traces. What it is above that
rule is paired, and its 95 % interval resamples traces. Of fewer than ten traces it says little.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from experiments.measured_worlds import world_of
from experiments.reproduction.command import refusing
from failgym.cli.output import JsonFile, print_table
from failgym.evaluation.scoring import Score, score
from failgym.vocabulary import TERMS

__all__ = ["PUBLISHED", "beside", "best_of", "costs_of", "on_traces", "read"]

PUBLISHED = Path("experiments/measured/v2")
COLUMNS = ["cost", "replay_cost", "bound_cost"]


def read(folder: Path) -> pd.DataFrame:
    """Costs of each policy on each trace of a submission; infinite where it failed.

    Raises:
        ValueError: naming the folder, if it holds no results.
    """
    file = folder / "results.parquet"
    if not file.is_file():
        raise ValueError(f"{folder}: expected a submission, with results.parquet")
    rows = pd.read_parquet(file)
    rows["cost"] = rows[[*TERMS]].sum(axis=1, skipna=False).fillna(math.inf)
    rows["agent"] = rows["training_seed"].notna()
    keys = ["env", "forecast", "policy", "agent", "training_seed", "seed"]
    return rows.groupby(keys, sort=False, as_index=False, dropna=False)[COLUMNS].sum()


def beside(lite: pd.DataFrame, published: pd.DataFrame, policy: str) -> list[dict[str, Any]]:
    """A policy beside the best rule on its traces, by environment and forecast.

    Args:
        lite: of the policy, as `read` gives them.
        published: of the others.
        policy: its name.

    Raises:
        ValueError: if it has played nothing, or replay costs something else in the other run.
    """
    own = lite[lite["policy"] == policy]
    if own.empty:
        raise ValueError(f"--policy: expected one that is there, got {policy!r}")
    found: list[dict[str, Any]] = []
    cells = dict.fromkeys(zip(own["env"].map(str), own["forecast"].map(str), strict=True))
    for env, forecast in cells:
        mine = own[own["env"].eq(env) & own["forecast"].eq(forecast)]
        mine = mine.set_index("seed").sort_index()
        if not np.isfinite(mine["cost"]).all():
            raise ValueError(f"{policy}: {env}, forecast {forecast}: expected no failed episode")
        others = on_traces(published, env, forecast, mine["replay_cost"])
        rules = costs_of(others[~others["agent"]])
        best = best_of(rules)
        found.append(
            {
                "env": f"failgym/{env}",
                "forecast": forecast,
                "traces": len(mine),
                "world": world_of(env),
                "score": list(_above(mine, mine["replay_cost"])),
                "rule": best,
                "rule_score": list(_score(mine, rules[best])),
                "above": list(_above(mine, rules[best])),
                "agents": {
                    name: list(_score(mine, cost))
                    for name, cost in costs_of(others[others["agent"]]).items()
                },
            }
        )
    return found


def on_traces(
    published: pd.DataFrame, env: str, forecast: str, replay_cost: pd.Series
) -> pd.DataFrame:
    """What the published run has on some traces of an environment.

    Args:
        published: as `read` gives it.
        env: without ``failgym/``.
        forecast: its kind.
        replay_cost: of each trace, by its seed.

    Raises:
        ValueError: if a trace is not there, or replay costs something else on it.
    """
    here = published["env"].eq(env) & published["forecast"].eq(forecast)
    others = published[here & published["seed"].isin(replay_cost.index)]
    replayed = others.groupby("seed")["replay_cost"].first()
    if not np.allclose(replayed.reindex(replay_cost.index, fill_value=np.nan), replay_cost):
        raise ValueError(f"{env}, forecast {forecast}: expected the traces of the published run")
    return others


def best_of(rules: dict[str, pd.Series]) -> str:
    """The policy that costs least."""
    return min(rules, key=lambda name: float(rules[name].sum()))


def costs_of(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Of each policy that has played all traces: its cost on each, the mean of training runs."""
    costs = rows.pivot_table("cost", "seed", "policy", "mean").dropna(axis=1)
    return {str(name): costs[name] for name in costs}


def _score(mine: pd.DataFrame, cost: pd.Series) -> Score:
    """Of another policy on the same traces."""
    return _points(mine, mine["replay_cost"], cost)


def _above(mine: pd.DataFrame, cost: pd.Series) -> Score:
    """How many points the policy is above another."""
    return _points(mine, cost, mine["cost"])


def _points(mine: pd.DataFrame, zero: pd.Series, cost: pd.Series) -> Score:
    room = (mine["replay_cost"] - mine["bound_cost"]).to_numpy()
    base = zero.to_numpy()
    return score(
        *(base, cost.to_numpy(), base - room),
        spent=mine["replay_cost"].to_numpy(),
        traces=np.arange(len(mine)),
    )


def main(
    lite: Annotated[Path, typer.Argument(file_okay=False, metavar="DIR")],
    policy: Annotated[str, typer.Option(help="Its name in DIR.")],
    published: Annotated[Path, typer.Option(file_okay=False, metavar="DIR")] = PUBLISHED,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Print what a policy is worth beside the rules and agents of the published run."""
    with refusing(ValueError):
        file = JsonFile.at(json_file)
        rows = beside(read(lite), read(published), policy)
    columns = ("environment", "forecast", "traces", policy, "best rule", "above it", "agents")
    cells = [
        (
            *(row["env"].removeprefix("failgym/"), row["forecast"], row["traces"]),
            f"{row['score'][0]:.1f}",
            f"{row['rule']} {row['rule_score'][0]:.1f}",
            "{:.1f} [{:.1f}, {:.1f}]".format(*row["above"]),
            ", ".join(f"{name} {one[0]:.1f}" for name, one in row["agents"].items()),
        )
        for row in rows
    ]
    print_table("", columns, cells)
    file.write(json.loads(json.dumps(rows)))


if __name__ == "__main__":
    typer.run(main)

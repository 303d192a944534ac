"""The numbers of a page as rows: of each policy in each environment with each kind of forecast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from failgym.leaderboard.page.beside import BESIDE, RANK, beside, ranks_of
from failgym.leaderboard.page.cells import Failure, Field, fields_of
from failgym.leaderboard.page.prices import priced_scenario, ranks_at_prices, readers
from failgym.leaderboard.page.reasons import reasons, sampled
from failgym.leaderboard.page.source import PolicyRun, Source
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.submission.proofs import Proof, weakest
from failgym.leaderboard.suite.account import STAKE

__all__ = ["check", "described", "names_of", "proofs_of", "rows_of"]

SCORE = ("score", "low", "high")


def check(submissions: Sequence[Source]) -> None:
    """Can they be shown together?

    Raises:
        ValueError: if there are none, suites differ, or one name stands for two kinds of policies,
            or twice for the same training run.
    """
    if not any(submission.entries for submission in submissions):
        raise ValueError("expected at least one submission with a policy")
    suites = sorted({f"{each.suite} ({each.digest[:12]})" for each in submissions})
    if len(suites) > 1:
        raise ValueError(f"suite: expected one for all submissions, found {suites}")
    known: dict[str, tuple[str, set[int | None]]] = {}
    for entry in (entry for submission in submissions for entry in submission.entries):
        kind, seeds = known.setdefault(entry.name, (entry.kind, set()))
        if entry.kind != kind:
            raise ValueError(
                f"policy: {entry.name!r} is of kind {kind} in one submission and {entry.kind}"
                " in another"
            )
        if entry.training_seed in seeds:
            raise ValueError(
                f"policy: {entry.name!r}, training seed {entry.training_seed}, is there twice"
            )
        seeds.add(entry.training_seed)


def names_of(submissions: Sequence[Source]) -> list[str]:
    """Policies in the order in which submissions state them, which their draws hang on."""
    entries = (entry for submission in submissions for entry in submission.entries)
    return list(dict.fromkeys(entry.name for entry in entries))


def described(field: Field) -> dict[str, Any]:
    """What there is to gain in an environment with one kind of forecast, and who holds it.

    Where `folds`, the `traces` are the folds of one trace.

    `stake_in_top` is the share of the one job, or slice, of all traces that holds most, as
    `failgym evaluate` says. Of a trace only the share of its own top 1 % is kept, rounded up:
    `stake_in_top_percent` is that of all these together. So it is evaluate's for one trace; of
    several, that of the top 1 % of all is another, since traces differ.
    """
    room, account = field.room, field.account
    stake = account["stake"]
    held = {name: account[name] / stake if stake > 0.0 else math.nan for name in STAKE[1:]}
    return _plain(
        {
            "env": field.env,
            "forecast": field.forecast,
            "traces": int(field.blocks.trace.max()) + 1,
            "folds": field.folds,
            **sampled(field),
            "tasks": account["tasks"],
            "room_of_cost": room.of_cost,
            "room_share": room.share,
            "room_hours": room.hours,
            "reason": room.reason,
            "warning": room.warning,
            **held,
        }
    )


def proofs_of(
    submissions: Sequence[Source], fields: Sequence[Field], names: Sequence[str]
) -> list[list[Proof | None]]:
    """[field][policy] the weakest of what is proven of its training runs; None: it did not play."""
    seeds: dict[str, list[tuple[Source, PolicyRun]]] = {}
    for submission in submissions:
        for entry in submission.entries:
            seeds.setdefault(entry.name, []).append((submission, entry))

    def proof(field: Field, name: str) -> Proof | None:
        if name not in field.outcomes:
            return None
        return weakest(
            source.proofs.get((name, run.training_seed, field.env, field.forecast), "claimed")
            for source, run in seeds[name]
            if field.env in run.specs
        )

    return [[proof(field, name) for name in names] for field in fields]


def rows_of(submissions: Sequence[Source], bootstrap: Bootstrap) -> list[dict[str, Any]]:
    """A row per environment, kind of forecast and policy, the highest scores first.

    Args:
        submissions: to one suite.
        bootstrap: of the intervals; with that of a page, the numbers are the page's.

    Returns:
        Of each row, beside where it is of (`described`), the policy, its status ("ok", or that of
        its first failure), what is proven of it, the score with its interval, its ranks, those at
        other prices, and what stands beside (`failgym.leaderboard.page.beside.BESIDE`); None is
        "not defined", and `undefined` says why, by name.

    Raises:
        ValueError: if there is nothing to show, if suites differ, or as `fields_of` does.
    """
    check(submissions)
    found = list[dict[str, Any]]()
    fields, numbers = fields_of(submissions), dict[str, int]()
    for field in fields:
        number = numbers[field.forecast] = numbers.get(field.forecast, -1) + 1
        found += _rows(field, number, submissions, bootstrap)
    return found


def _rows(
    field: Field, number: int, submissions: Sequence[Source], bootstrap: Bootstrap
) -> list[dict[str, Any]]:
    names, of = [n for n in names_of(submissions) if n in field.outcomes], described(field)
    scenario = priced_scenario(submissions[0], field.env)
    reading = readers(submissions, field.env, scenario)
    ranked = ranks_of([field], names, bootstrap, number)
    figures = beside(field, names)
    prices = ranks_at_prices(field, names, scenario)
    [proofs] = proofs_of(submissions, [field], names)
    rows: list[dict[str, Any]] = []
    for at, name in enumerate(names):
        cell, outcome = field.cell(name), field.outcomes[name]
        score = (math.nan,) * 3 if cell is None else bootstrap.score(cell.runs, number)
        known = cell is not None and prices.shape[1] > 0
        limits = (prices[at].min(), prices[at].max()) if known else (math.nan, math.nan)
        row: dict[str, Any] = {
            "policy": name,
            "runs": 0 if cell is None else len(cell.runs.saved),
            "status": outcome.status if isinstance(outcome, Failure) else "ok",
            "proof": proofs[at],
            **dict(zip(SCORE, map(float, score), strict=True)),
            **dict(zip(RANK, map(float, ranked[at]), strict=True)),
            "rank_at_prices_low": float(limits[0]),
            "rank_at_prices_high": float(limits[1]),
            "may_read_prices": name in reading,
            **dict(zip(BESIDE, map(float, figures[at]), strict=True)),
        }
        plain = of | _plain(row)
        rows.append(plain | {"undefined": reasons(field, name, plain)})
    return sorted(rows, key=lambda row: math.inf if row["score"] is None else -row["score"])


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """NaN as None, and ranks as whole numbers."""

    def plain(name: str, value: Any) -> Any:
        if isinstance(value, float) and math.isnan(value):
            return None
        return int(value) if name.startswith("rank") else value

    return {name: plain(name, value) for name, value in row.items()}

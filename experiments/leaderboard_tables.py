"""What the run of a suite found, as tables in Markdown.

    python -m experiments.results_pages --leaderboard DIR [--oracle FILE]

A summary has what there is to gain, a share of what replay costs and the machine-hours that cost as
much; the score of playing at random, and the highest of a rule as published, of a tuned one, of the
best of 2,000 simple and of 2,000 random ones and of trained agents, as far as they were played; and
what somebody was found to reach who knows all fates (`experiments.oracle_rows`). Replay is 0, the
bound 100. Of many rules the highest score on these very slices is a lucky one: what agents are
above it errs against them. A short table has the first kind of forecast only. Then a table for each
environment: the score of every policy with drawn forecasts, with trained ones and with none, and
the 95 % intervals over blocks of jobs and training runs, as on the page of the leaderboard; and
what stands beside scores, with the first of these.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from experiments.markdown import interval, table
from experiments.measured_worlds import world_of
from experiments.oracle_rows import oracle_score
from failgym.envs import SCENARIOS
from failgym.envs.spaces import TERMS
from failgym.evaluation.result import FEW
from failgym.evaluation.room import COSTS, MARK, NOTHING, said_of_room
from failgym.evaluation.scoring import HIGHEST
from failgym.leaderboard.page.cells import Failure, Field, fields_of
from failgym.leaderboard.page.rows import rows_of
from failgym.leaderboard.page.source import Source
from failgym.leaderboard.statistics.bootstrap import Bootstrap, Estimate

CHANCE, PUBLISHED, TUNED, SIMPLE, SEARCHED, AGENTS = (
    *("at random", "best rule as published", "best tuned rule", "best simple rule"),
    *("best of 2,000 random rules", "agents"),
)
RULES = (PUBLISHED, TUNED, SIMPLE, SEARCHED)
"""What agents are held against."""
NAMED = {"random": CHANCE, "best_simple_rule": SIMPLE, "best_random_rule": SEARCHED}
"""The policy that plays at random, and the rules that `experiments.random_rules` chose."""
ORACLE = "oracle"
COLUMNS = (
    *("", "forecast", "traces", "room", CHANCE, *RULES, AGENTS, "agents above all rules", ORACLE),
)
"""Of the summary."""
OF_AGENT = "machine-hours that agent saves; tasks it forfeits of 1,000 (replay)"
SHORT = (
    *("", "traces", "room", CHANCE, PUBLISHED, "best rule in hindsight", AGENTS),
    *(COLUMNS[-2], OF_AGENT),
)
"""Of the short table."""
APART = 3.0
"""Points that a suite is to tell apart."""
HALF_WIDTH, SHARE = 2.0, 90
"""Points to each side of the difference of the two best rules, and per cent of the pairs that are
`APART` apart, that are asked for."""
TOLD_APART = (
    *("", "forecast", "traces", "two best rules"),
    f"half-width of their difference ({HALF_WIDTH:g} asked)",
    *(f"pairs {APART:g} points apart", f"told apart ({SHARE} % asked)"),
    *("two best policies of all that differ", "half-width of their difference"),
)
WITH_ROOM = (
    *("", "forecast", "traces", "best rule as published", "points for one deviation of log room"),
    *("rank correlation", "deviation of log room"),
)
FEWEST, RESAMPLES = 20, 1_000
"""Traces that a slope needs, and how often they are resampled."""
NOT_PLAYED = ""
RANK, LAST = "rank (possible)", ("drawn", "ranks at prices")
BESIDE = {
    "machine-hours saved": ("saved_hours", 0),
    "hours saved": ("saved_completion_hours", 0),
    "forfeited of 1,000": ("forfeited_per_thousand", 1),
    "false kills of 1,000": ("false_kills_per_thousand", 1),
    "winsorised": ("winsorised_score", 1),
    "log cost": ("mean_log_cost_ratio", 3),
    "IQM of traces": ("iqm_of_traces", 1),
}
"""Columns beside the scores; the figure of each, and its digits."""
KEY = ("policy", "training_seed", "env", "forecast", "seed", "slice")
"""What tells the rows of results apart."""
TIMES = frozenset({"seconds"})
"""Columns that differ between two runs."""
_Best = tuple[str, Estimate] | None
"""A policy and its score, if there is one."""


class Place(NamedTuple):
    """An environment with one kind of forecast."""

    field: Field
    number: int
    """of the environment among those with this kind: names its stream of draws, as on the page"""

    def score(self, policy: str) -> Estimate | None:
        """The score of a policy, if it has one and there is something to gain."""
        cell = self.field.cell(policy)
        if cell is None or not cell.runs.scored():
            return None
        return Bootstrap().score(cell.runs, self.number)

    def best(self, policies: list[str]) -> _Best:
        """The policy with the highest score, if any has one."""
        found = [(name, score) for name in policies if (score := self.score(name)) is not None]
        return max(found, key=lambda one: one[1].value, default=None)

    def above(self, policy: str, other: str) -> Estimate:
        """The score of one policy less that of another, in pairs."""
        ours, theirs = self.field.cell(policy), self.field.cell(other)
        if ours is None or theirs is None:
            return Estimate(math.nan, math.nan, math.nan)
        return Bootstrap().difference([ours.runs], [theirs.runs], first=self.number)


def places(source: Source) -> list[Place]:
    """All of them, environment after environment."""
    fields = fields_of([source])
    numbers: dict[str, int] = {}
    found: list[Place] = []
    for field in fields:
        numbers[field.forecast] = numbers.get(field.forecast, -1) + 1
        found.append(Place(field, numbers[field.forecast]))
    envs = list(dict.fromkeys(field.env for field in fields if field.forecast == "none"))
    return sorted(found, key=lambda place: envs.index(place.field.env))


def fingerprint(results: pd.DataFrame) -> str:
    """SHA-256 (hex) of all that was found, times apart: of two runs it is the same.

    Rows in the order of policy, training seed, environment, forecast, trace and slice; column after
    column, by name; numbers to the last bit, lists one after another, texts in UTF-8.
    """
    known = results["training_seed"].fillna(-1).astype(np.int64)
    rows = results.assign(training_seed=known).sort_values(
        list(KEY), kind="stable", ignore_index=True
    )
    digest = hashlib.sha256()
    for name in sorted(set(rows.columns) - TIMES):
        values: list[Any] = rows[name].tolist()
        digest.update(name.encode())
        if values and isinstance(values[0], str):
            digest.update("\n".join(values).encode())
            continue
        each = [np.asarray(value, dtype=np.float64).ravel() for value in values]
        each = [np.where(np.isnan(one), np.nan, one) for one in each]  # one NaN is like another
        lengths = np.array([len(one) for one in each], dtype=np.int64)
        digest.update(lengths.tobytes() + np.concatenate([np.zeros(0), *each]).tobytes())
    return digest.hexdigest()


def groups(source: Source) -> dict[str, list[str]]:
    """Names of policies: chance, rules as published, as tuned and as searched for, and agents."""
    found: dict[str, dict[str, None]] = {group: {} for group in (CHANCE, *RULES, AGENTS)}
    for entry in source.entries:
        rule = NAMED.get(entry.name, TUNED if entry.files else PUBLISHED)
        found[AGENTS if entry.kind == "agent" else rule][entry.name] = None
    return {group: list(names) for group, names in found.items()}


def summary(source: Source, oracle: Mapping[str, Any] | None = None) -> list[str]:
    """The lines of a table with a row for each environment and kind of forecast; columns of what
    was not played are left out.

    Args:
        source: the results.
        oracle: what `experiments.oracle_rows` found; it counts where it is of the same suite.
    """
    by_group, here = groups(source), places(source)
    rows: list[list[str]] = []
    for place in here:
        best = {group: place.best(names) for group, names in by_group.items()}
        rows.append(
            [
                *(f"`failgym/{place.field.env}`", place.field.forecast),
                *(_traces(place.field), _room(place.field)),
                *(_named(place, best[group], group) for group in by_group),
                _above(place, best),
                _oracle(place.field, source.suite, oracle or {}),
            ]
        )
    return [*_without_empty(COLUMNS, rows), *warnings(here)]


def short(source: Source) -> list[str]:
    """The lines of a table with a row for each environment, with its first kind of forecast."""
    by_group, rows = groups(source), list[list[str]]()
    shown = list({place.field.env: place for place in reversed(places(source))}.values())[::-1]
    for place in shown:
        best = {group: place.best(names) for group, names in by_group.items()}
        rows.append(
            [
                *(f"`failgym/{place.field.env}`", _traces(place.field), _room(place.field)),
                *(_named(place, best[group], group) for group in (CHANCE, PUBLISHED)),
                _named(place, _best_rule(best), TUNED),
                _named(place, best[AGENTS], AGENTS),
                _above(place, best),
                _beside_scores(place, best[AGENTS]),
            ]
        )
    return [*_without_empty(SHORT, rows), *warnings(shown)]


def _beside_scores(place: Place, found: _Best) -> str:
    """What a policy saves and forfeits, with what replay does."""
    mine, replay = place.field.cell("" if found is None else found[0]), place.field.cell("replay")
    if mine is None or replay is None:
        return NOT_PLAYED
    hours = place.field.account["replay_waste_hours"] - mine.account["waste_hours"]
    thousands = place.field.account["tasks"] / 1000.0
    forfeits, recorded = (one.account["forfeits"] / thousands for one in (mine, replay))
    return f"{hours:,.0f} h; {forfeits:.1f} ({recorded:.1f})"


def reached(source: Source, oracle: Mapping[str, Any]) -> list[str]:
    """The lines of a table of what somebody was found to reach who knows all fates, and beside it
    what the best rule and the best agent of the whole suite reach on those same traces.

    Args:
        source: the results.
        oracle: what `experiments.oracle_rows` found, on traces that the results have too.

    Raises:
        ValueError: naming the environment, if what replay costs there differs.
    """
    by_group, rows, shown_at = groups(source), list[list[str]](), list[Place]()
    for place in places(source):
        found = oracle.get(place.field.env)
        if found is None or found["forecast"] != place.field.forecast:
            continue
        best = {group: place.best(names) for group, names in by_group.items()}
        shown = [
            ""
            if one is None
            else f"`{one[0]}` "
            + marked(place, f"{_on(source, place, one[0], found['traces']):.1f}")
            for one in (_best_rule(best), best[AGENTS])
        ]
        score = marked(place, interval(Estimate(*oracle_score(found))))
        rows.append([f"`failgym/{place.field.env}`", str(len(found["traces"])), score, *shown])
        shown_at.append(place)
    columns = ["", "traces", "who knows all fates", "best rule there", "best agent there"]
    return [*table(columns, rows), *warnings(shown_at)]


def _on(source: Source, place: Place, policy: str, traces: Sequence[Mapping[str, Any]]) -> float:
    """The score of a policy on some traces. Raises ValueError if replay costs something else."""
    results, field = source.results, place.field
    rows = results[(results["policy"] == policy) & (results["env"] == field.env)]
    rows = rows[
        (rows["forecast"] == field.forecast) & rows["seed"].isin([t["seed"] for t in traces])
    ]
    replay, bound = float(rows["replay_cost"].sum()), float(rows["bound_cost"].sum())
    wanted = rows["training_seed"].nunique(dropna=False) * sum(sum(t["replay"]) for t in traces)
    if not math.isclose(replay, wanted, rel_tol=1e-9):
        raise ValueError(f"{field.env}: expected the oracle's rows to be of the same slices")
    cost = float(rows[list(TERMS)].to_numpy().sum())
    return 100.0 * (replay - cost) / (replay - bound)


def told_apart(source: Source) -> list[str]:
    """The lines of a table of how well rules as published are told apart, by environment.

    Of each pair the score of one less that of the other, with its interval: told apart is a pair
    whose interval does not hold 0. What was measured stands for the true difference.
    """
    rules, rows = groups(source)[PUBLISHED], list[list[str]]()
    shown = list({place.field.env: place for place in reversed(places(source))}.values())[::-1]
    for place in shown:
        scores = {name: found for name in rules if (found := place.score(name)) is not None}
        ranked = sorted(scores, key=lambda name: -scores[name].value)
        pairs = [place.above(a, b) for a, b in itertools.combinations(ranked, 2)]
        apart = [pair for pair in pairs if pair.value >= APART]
        found = [pair for pair in apart if pair.low > 0.0]
        best = place.above(*ranked[:2]) if len(ranked) > 1 else None
        rows.append(
            [
                *(f"`failgym/{place.field.env}`", place.field.forecast, _traces(place.field)),
                "" if best is None else f"`{ranked[0]}`, `{ranked[1]}`",
                "" if best is None else f"{(best.high - best.low) / 2.0:.2f}",
                f"{len(apart)} of {len(pairs)}",
                f"{100.0 * len(found) / len(apart):.0f} %" if apart else "",
                *_two_best(place),
            ]
        )
    return table(list(TOLD_APART), rows)


def with_room(source: Source) -> list[str]:
    """The lines of a table of how scores of traces go with what there is to gain on them.

    Of the best rule as published: the slope of a line through the scores of traces over the
    logarithm of their room (least squares), for one standard deviation of it; Spearman's rank
    correlation; both with 95 % intervals over traces (bootstrap, percentiles); and that deviation.
    """
    rules, rows = groups(source)[PUBLISHED], list[list[str]]()
    shown = list({place.field.env: place for place in reversed(places(source))}.values())[::-1]
    for place in shown:
        best = place.best([name for name in rules if name != "replay"])
        cell = place.field.cell("" if best is None else best[0])
        if best is None or cell is None:
            continue
        traces, at = np.unique(place.field.slices[:, 0], return_inverse=True)
        room = np.bincount(at, place.field.possible, len(traces))
        score = 100.0 * np.bincount(at, cell.runs.saved.mean(axis=0), len(traces)) / room
        if len(traces) < FEWEST or not (room > 0.0).all() or np.ptp(room) == 0.0:
            continue
        log_room = np.log(room)
        deviation = float(log_room.std(ddof=1))
        steep, order = _slope_and_order(log_room / deviation, score)
        rows.append(
            [
                *(f"`failgym/{place.field.env}`", place.field.forecast, f"{len(traces):,}"),
                *(f"`{best[0]}`", interval(steep)),
                f"{order.value:.2f} [{order.low:.2f}, {order.high:.2f}]",
                f"{deviation:.2f}",
            ]
        )
    return table(list(WITH_ROOM), rows)


def _slope_and_order(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> list[Estimate]:
    """The slope of a line through points, and their rank correlation, with intervals over points.

    Resamples in which all are one point say nothing, and are left out.
    """
    known: Any = stats

    def both(at: npt.NDArray[np.int64]) -> tuple[float, float]:
        return known.linregress(x[at], y[at]).slope, known.spearmanr(x[at], y[at]).statistic

    drawn = np.random.default_rng(0).integers(0, len(x), (RESAMPLES, len(x)))
    found = np.array([both(at) for at in drawn if np.ptp(x[at]) > 0.0])
    low, high = np.percentile(found, (2.5, 97.5), axis=0)
    values = both(np.arange(len(x)))
    return [Estimate(*one) for one in zip(values, low.tolist(), high.tolist(), strict=True)]


def _two_best(place: Place) -> tuple[str, str]:
    """The best policy of all, the next that does anything else, and their half-width."""
    scores = {name: found for name in place.field.outcomes if (found := place.score(name))}
    ranked = sorted(scores, key=lambda name: -scores[name].value)
    for other in ranked[1:]:
        found = place.above(ranked[0], other)
        if found.low < found.high:
            return f"`{ranked[0]}`, `{other}`", f"{(found.high - found.low) / 2.0:.2f}"
    return "", ""


def _without_empty(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table without the columns that hold nothing."""
    there = [at for at in range(len(columns)) if any(row[at] != NOT_PLAYED for row in rows)]
    return table([columns[at] for at in there], [[row[at] for at in there] for row in rows])


def _oracle(field: Field, suite: str, found: Mapping[str, Any]) -> str:
    """The oracle's score: in the pinned world it pays what the bound does."""
    scenario, name = SCENARIOS[field.env], suite.partition(",")[0]
    there = {env: one for env, one in found.items() if one["suite"] == name}
    if scenario.world == "pinned":
        return f"{HIGHEST:.0f}" if there else NOT_PLAYED
    here = there.get(field.env)
    if here is None:
        return NOT_PLAYED
    same = here["forecast"] == field.forecast or not (scenario.kill and scenario.grace)
    if not same or here["world"] != world_of(field.env):
        return NOT_PLAYED
    return interval(Estimate(*oracle_score(here)))


def _traces(field: Field) -> str:
    return str(int(field.blocks.trace.max()) + 1)


def _room(field: Field) -> str:
    """What the bound saves of what replay costs, and in machine-hours."""
    room = field.room
    if math.isnan(room.of_cost):
        return "none"
    hours = "" if math.isnan(room.hours) else f", {room.hours:,.0f} h"
    return f"{100 * max(room.of_cost, 0.0):.1f} %{hours}"


def _named(place: Place, found: _Best, group: str) -> str:
    if found is None:
        return NOT_PLAYED
    score = marked(place, interval(found[1]))
    return score if group in NAMED.values() else f"`{found[0]}` {score}"


def _best_rule(best: Mapping[str, _Best]) -> _Best:
    """The best of all rules, published, tuned or searched for."""
    rules = filter(None, (best[group] for group in RULES))
    return max(rules, key=lambda one: one[1].value, default=None)


def _above(place: Place, best: Mapping[str, _Best]) -> str:
    """How much the agents are above the best rule."""
    agents, rule = best[AGENTS], _best_rule(best)
    if agents is None or rule is None:
        return NOT_PLAYED
    return interval(place.above(agents[0], rule[0]))


def complete(source: Source) -> Iterator[str]:
    """The lines of all tables, by environment; policies with the highest scores first."""
    rows = rows_of([source], Bootstrap())
    by_env: dict[str, list[Place]] = {}
    for place in places(source):
        by_env.setdefault(place.field.env, []).append(place)
    for env, here in by_env.items():
        names = list(dict.fromkeys(name for place in here for name in place.field.outcomes))
        names.sort(key=lambda name: -_value(here[0], name))
        yield from ("", f"## failgym/{env}", "")
        columns = ["policy", "runs", *(place.field.forecast for place in here)]
        yield from table(columns, [_row(here, name) for name in names])
        yield from warnings(here)
        yield from _beside([row for row in rows if row["env"] == env])


def _beside(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What stands beside the scores with the first kind of forecast, and what there is to gain."""
    mine = [row for row in rows if row["forecast"] == rows[0]["forecast"]]
    first = mine[0]
    yield from ("", f"With forecasts: {first['forecast']}. {_said_of_gain(first)}", "")
    columns, lines = ["policy", RANK, *BESIDE, *LAST], [_beside_row(row) for row in mine]
    yield from _without_empty(columns, lines)


def _said_of_gain(row: dict[str, Any]) -> str:
    """What there is to gain in an environment, and who holds it."""
    hours, share = (math.nan if row[n] is None else row[n] for n in ("room_hours", "room_of_cost"))
    said = said_of_room(share, hours, COSTS)
    held = ""
    if row["stake_in_top"] is not None:
        top, percent = 100 * row["stake_in_top"], 100 * row["stake_in_top_percent"]
        held = f" The top one of all holds {top:.1f} % of it, the top 1 % of each {percent:.1f} %."
    traces = "1 trace" if row["traces"] == 1 else f"{row['traces']:,} traces"
    return f"Of {row['tasks']:,.0f} tasks of {traces} {said}.{held}"


def _beside_row(row: dict[str, Any]) -> list[str]:
    def number(name: str, digits: int) -> str:
        return "" if row[name] is None else f"{row[name]:,.{digits}f}"

    def places(name: str) -> str:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return "" if low is None else str(low) if low == high else f"{low} to {high}"

    rank = "" if row["rank"] is None else f"{row['rank']} ({places('rank')})"
    drawn = "" if row["drawn_share"] is None else f"{100 * row['drawn_share']:.0f} %"
    numbers = [number(name, digits) for name, digits in BESIDE.values()]
    return [f"`{row['policy']}`", rank, *numbers, drawn, places("rank_at_prices")]


def marked(place: Place, score: str) -> str:
    """A score with a sign behind it if the room is little."""
    value, space, limits = score.partition(" ")
    return rf"{value}\{MARK}{space}{limits}" if place.field.room.warning else score


def warnings(here: Sequence[Place]) -> list[str]:
    """A line under a table for each place whose scores are marked."""
    said = [(place.field, place.field.room.warning) for place in here]
    found = [rf"\{MARK} `{of.env}`, {of.forecast}: {text}." for of, text in said if text]
    return [line for text in found for line in ("", text)]


def _value(place: Place, name: str) -> float:
    score = place.score(name)
    return -math.inf if score is None else score.value


def _row(here: list[Place], name: str) -> list[str]:
    cells = [cell for place in here if (cell := place.field.cell(name)) is not None]
    runs = str(len(cells[0].runs.saved)) if cells else ""
    return [f"`{name}`", runs, *(_cell(place, name) for place in here)]


def _cell(place: Place, name: str) -> str:
    score, outcome = place.score(name), place.field.outcomes.get(name)
    if isinstance(outcome, Failure):
        return f"{outcome.status}: {outcome.reason}"
    if outcome is not None and score is None:
        return NOTHING
    if score is None:
        return NOT_PLAYED
    blocks = len(place.field.blocks.trace)
    return marked(place, interval(score)) + (f" ({blocks} blocks)" if blocks < FEW else "")

"""Write the measured figures into the pages of results.

    python -m experiments.baseline_scores DIR --json scores.json
    python -m experiments.results_pages --scores scores.json
    python -m experiments.measures_alone --json measures.json
    python -m experiments.results_pages --measures measures.json
    python -m experiments.speed --trace DIR --json speed.json
    python -m experiments.results_pages --speed speed.json
    python -m experiments.tuned --json tuned.json  # once for each environment
    python -m experiments.results_pages --tuned tuned.json
    python -m experiments.agents_and_rules --json agents.json
    python -m experiments.results_pages --agents agents.json
    python -m experiments.sensitivity --json sensitivity.json  # once for each environment
    python -m experiments.results_pages --sensitivity sensitivity.json
    python -m experiments.random_rules --env ID --json rules.json  # once for each environment
    python -m experiments.results_pages --random-rules rules.json
    python -m experiments.cloning_ablations --rules rules.json --json ablations.json
    python -m experiments.results_pages --ablations ablations.json
    python -m experiments.information --json information.json  # once for each environment
    python -m experiments.results_pages --information information.json
    python -m experiments.alarm_ages --json alarms.json  # likewise
    python -m experiments.results_pages --alarms alarms.json
    python -m experiments.job_errors DIR --json errors.json
    python -m experiments.results_pages --job-errors errors.json
    python -m experiments.continued_records RECORD ... --json records.json
    python -m experiments.results_pages --continued records.json
    python -m experiments.speculation --google RECORD --json speculation.json
    python -m experiments.results_pages --speculation speculation.json
    python -m experiments.results_pages --leaderboard DIR  # what `failgym leaderboard run` wrote

What is measured stands in a page of ``docs/results/`` between two comments, ``<!-- scores -->`` and
``<!-- /scores -->``, or the same with another of those names; nothing else of a page is touched.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments import alarm_ages, job_errors, measures_alone
from experiments import information as information_of
from experiments import sensitivity as rankings
from experiments import speculation as copies
from experiments.continued_records import SHOWN, outside
from experiments.continued_records import Row as Compared
from experiments.leaderboard_tables import complete, summary
from experiments.markdown import replaced, table
from experiments.random_trees import RandomRule
from failgym.envs import SCENARIOS
from failgym.evaluation.result import plural
from failgym.files import replacing
from failgym.leaderboard.page.source import read_source
from failgym.leaderboard.suite.suites import RELEASED
from failgym.sim.shared.continuation import COUNTS

TOP = Path(__file__).parents[1]
PAGES = {
    "scores": "docs/results/baselines.md",
    "measures": "docs/results/baselines.md",
    "tuned": "docs/results/baselines.md",
    "agents": "docs/results/agents.md",
    "leaderboard": "docs/results/leaderboard.md",
    "policies": "docs/results/leaderboard.md",
    "speed": "docs/results/speed.md",
    "sensitivity": "docs/results/sensitivity.md",
    "turns": "docs/results/README.md",
    "random_rules": "docs/results/random_rules.md",
    "ablations": "docs/results/random_rules.md",
    "information": "docs/results/information.md",
    "alarms": "docs/results/information.md",
    "job_errors": "docs/results/information.md",
    "continued": "docs/results/continued.md",
    "speculation": "docs/results/continued.md",
}
"""The page that each generated part stands in."""
TEST_SPLIT = "test split"
"""Where agents are judged on the registered trace."""
FILE: dict[str, Any] = {"metavar": "FILE", "exists": True, "dir_okay": False}
"""Of the options that name what was measured."""
_BOUNDS = {"clairvoyant": "the clairvoyant", "bound": "a bound"}
"""In words."""
SURE = 0.7
"""Kendall's tau-b below which both rankings are shown."""
SINGLE = 1
"""Episodes of an environment that `gym.make` makes."""


def shown(env: str) -> bool:
    """Is it a released environment, or none of failgym's?"""
    name = env.removeprefix("failgym/")
    return name in RELEASED or name not in SCENARIOS


def world(env: str) -> str:
    """The world of an environment: "pinned" or "scheduled"."""
    return SCENARIOS[env.removeprefix("failgym/")].world


def scores(measured: dict[str, Any]) -> str:
    """Every rule in every environment, as `experiments.baseline_scores` wrote them."""
    known = [measured[env] for env in filter(shown, SCENARIOS) if env in measured]
    return "\n\n".join(map(_scores, known))


def _scores(found: dict[str, Any]) -> str:
    """The table of an environment, below what it is of."""
    first, last = found["seeds"]
    columns = ["policy", "fresh traces", "below the best", "registered trace"]
    cells = [
        [f"`{row['policy']}`", *(_estimate(row[name]) for name in ("fresh", "below", "registered"))]
        for row in found["rows"]
    ]
    said = (
        f"`failgym/{found['env']}`: traces {first} to {last}, {found['slices']:,} slices"
        f"{'' if found['drawn'] is None else ' drawn'},"
        f" {found['units']:,} {plural(found['unit'], found['units'])}. 100 is"
        f" {_BOUNDS[found['bound']]}. Room: {_percent(found['room'])} of replay's machine-time,"
        f" {_percent(found['room_of_cost'])} of its cost; on the registered trace"
        f" {_percent(found['registered_room'])} of the machine-time."
    )
    return "\n".join([said, "", *table(columns, cells)])


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f} %"


def measures(content: dict[str, Any]) -> str:
    """What each measure gains alone, as `experiments.measures_alone` wrote it."""
    cells = [
        [gain.name, *(_estimate(value) for value in (gain.of_bound, gain.of_found))]
        for gain in measures_alone.gains_of(content)
    ]
    columns = ["oracle", "of what the bound saves", "of what was found"]
    said = f"`{content['env']}`, {len(content['slices'])} slices:"
    return "\n".join([said, "", *table(columns, cells)])


def speed(measured: dict[str, Any]) -> str:
    """Rates, times to the first step and the whole trace, as `experiments.speed` wrote them."""
    rates: dict[str, dict[int, str]] = {}
    for row in measured["rates"]:
        if not shown(row["id"]):
            continue
        cell = f"{row['decisions_per_second']:,.0f} ({row['of_cartpole']:.2g})"
        rates.setdefault(row["id"], {})[row["episodes"]] = cell
    sizes = sorted({size for by_size in rates.values() for size in by_size})
    columns = ["decisions/s", *("single" if n == SINGLE else f"{n} episodes" for n in sizes)]
    rows = [[f"`{env}`", *(by[n] for n in sizes)] for env, by in rates.items()]
    notes = [*_settings(measured), *_first_step(measured), *_whole_trace(measured)]
    return "\n".join([*table(columns, rows), "", *notes])


def _settings(measured: dict[str, Any]) -> list[str]:
    """Which environments were not measured as registered."""
    settings: dict[str, dict[str, Any]] = measured["effort"]["settings"]
    return [
        f"- {name} with {', '.join(f'`{field}={value}`' for field, value in fields.items())}."
        for name, fields in settings.items()
    ]


def _first_step(measured: dict[str, Any]) -> list[str]:
    """From a fresh Python to the first step, the slowest of each world."""
    lines: list[str] = []
    for kind in ("pinned", "scheduled"):
        starts: list[dict[str, float]]
        starts = [times for env, times in measured["first_step"].items() if world(env) == kind]
        if not starts:
            continue
        warm = max(times["warm"] for times in starts)
        cold = [times["cold"] for times in starts if "cold" in times]
        compiled = f"; {max(cold):.0f} s where nothing is compiled yet" if cold else ""
        lines.append(
            f"- From a fresh Python to the first step, {kind} world: {warm:.1f} s{compiled}."
        )
    return lines


def _whole_trace(measured: dict[str, Any]) -> list[str]:
    whole = measured["whole_trace"]
    if not whole:
        return []
    return [
        f"- Algorithm 1 over {whole['tasks']:,} tasks of Google's trace, asked at every window"
        f" while it may still clone ({whole['decisions']:,} decisions):"
        f" {whole['seconds']:.1f} s, {whole['decisions_per_second']:,.0f} decisions/s,"
        f" {whole['tasks_per_second']:,.0f} tasks/s."
    ]


def tuned(measured: dict[str, Any]) -> str:
    """The best of each kind in every environment, as `experiments.tuned` wrote them."""
    rows = [
        [
            f"`failgym/{env}`",
            f"{found['trials']} on {found['slices'] or 'all'}",
            f"{sum(row['adopted'] for row in found['rows'])} of"
            f" {sum(row['tuned'] for row in found['rows'])}",
            *(_named(found["best"], kind) for kind in ("papers", "newer", "tuned")),
            _interval(found["best"]["gain"]),
        ]
        for env in filter(shown, SCENARIOS)
        if (found := measured.get(env))
    ]
    columns = ["", "trials, slices", "adopted", "of the papers", "newer", "tuned", "gain"]
    return "\n".join(table(columns, rows))


def _named(best: dict[str, Any], kind: str) -> str:
    """The best of a kind and its score; nothing if there is none of the kind."""
    name = best[kind]
    return f"`{name}` {_interval(best[f'{kind}_score'])}" if name else ""


def agents(rows: Sequence[dict[str, Any]]) -> str:
    """Agents beside the best rule, as `experiments.agents_and_rules` wrote them."""
    columns = ["", "judged on", "slices", "agents", "best rule", "agents above it"]
    cells = [
        [
            f"`failgym/{row['env']}`",
            f"{row['place']}",
            f"{row['slices']:,}",
            _estimate(row["agents"]),
            f"`{row['rule']}` {_estimate(row['rule_score'])}",
            _estimate(row["above"]),
        ]
        for row in rows
        if shown(row["env"])
    ]
    return "\n".join(table(columns, cells))


def sensitivity(content: dict[str, Any]) -> str:
    """How rankings hold when a constant is another, as `experiments.sensitivity` wrote it.

    A table for each environment, rules in the order in which they rank there; below `SURE` the
    whole ranking.
    """
    return "\n\n".join(
        "\n".join(_rankings(env, content[env])) for env in SCENARIOS if env in content
    )


def _rankings(env: str, found: dict[str, Any]) -> list[str]:
    """What the changes of an environment come to."""
    rows = rankings.rows_of(found)
    plain, *changed = rows
    said = [f"`{name}={value}`" for name, value in found["fields"].items()]
    said += [f"{found['episodes']} slices of each"] if found["episodes"] else []
    lines = [f"### {env}", "", f"{', '.join([*said, f'{plain.traces} traces'])}.", ""]
    shown = [plain, *(row for row in changed if row.alters)]
    cells = [[row.name, row.tau.text, *_scored(row, plain)] for row in shown]
    lines += [*table(["constant", "tau-b", *(f"`{rule}`" for rule in plain.scores)], cells), ""]
    idle = [row.name for row in changed if not row.alters]
    if idle:
        seen = max(row.traces for row in changed if not row.alters)
        lines.append(f"- On {seen} traces nothing at all is altered by: {', '.join(idle)}.")
    wide = [row.name for row in shown if row.tau.half_width > rankings.WIDTH]
    if wide:
        lines.append(
            f"- Wider than {2.0 * rankings.WIDTH:.1f} are the intervals of {', '.join(wide)}."
        )
    turned = [row for row in shown if row.tau.value < SURE]
    whole = [plain, *turned] if turned else []
    return [*lines, *(f"- {row.name}: {row.best(len(row.scores))}." for row in whole)]


def _scored(row: rankings.Row, plain: rankings.Row) -> list[str]:
    """The score of each rule, in the order in which they rank as it is."""
    return [f"{round(row.scores[rule], 1) + 0.0:.1f}" for rule in plain.scores]


def turns(content: dict[str, Any]) -> str:
    """Where rankings turn over, and who is best before and after."""
    cells = list[list[str]]()
    for env in (env for env in SCENARIOS if env in content):
        plain, *changed = rankings.rows_of(content[env])
        turned = [row for row in changed if row.tau.value < SURE]
        cells += [[f"`{env}`", r.name, r.tau.text, plain.best(1), r.best(1)] for r in turned]
        if not turned:
            least = min(changed, key=lambda row: row.tau.value)
            cells.append([f"`{env}`", f"none: least {least.name}", least.tau.text])
            cells[-1] += [plain.best(1), least.best(1)]
    return "\n".join(table(["", "constant", "tau-b", "best rule", "best there"], cells))


def random_rules(content: dict[str, Any]) -> str:
    """The best random rule of each environment, as `experiments.random_rules` wrote it."""
    found = {
        env: content[env] for env in (f"failgym/{name}" for name in SCENARIOS) if env in content
    }
    columns = ["", "random rule", "best shipped", "second best", "random rule above best", "traces"]
    rows = [
        [
            f"`{env}`",
            _estimate(_scores_of(one)[RandomRule.name]),
            *_shipped(one)[:2],
            _estimate(one["above"]),
            f"{len(one['traces'])}",
        ]
        for env, one in found.items()
    ]
    rules = [f"- `{env}`: {RandomRule.of_json(one['rule']).text}." for env, one in found.items()]
    close = [f"- `{env}`: {_as_good(one)}." for env, one in found.items()]
    return "\n".join(
        [
            *table(columns, rows),
            *("", "The rules, with the thresholds that were drawn:", "", *rules),
            *(
                "",
                "Shipped rules that the best of them is not surely above, and by how much it is:",
                "",
                *close,
            ),
        ]
    )


def _scores_of(one: dict[str, Any]) -> dict[str, Sequence[float]]:
    return {row["policy"]: row["score"] for row in one["scores"]}


def _shipped(one: dict[str, Any]) -> list[str]:
    """Rules with their scores, the best first."""
    scores = _scores_of(one)
    return [
        f"`{name}` {_estimate(score)}" for name, score in scores.items() if name != RandomRule.name
    ]


def _as_good(one: dict[str, Any]) -> str:
    """Shipped rules that the best is above by an interval that holds 0."""
    others = (row for row in one["scores"] if row["policy"] not in (RandomRule.name, one["best"]))
    close = [f"`{r['policy']}` ({_estimate(r['below'])})" for r in others if r["below"][1] <= 0.0]
    return f"beside `{one['best']}`, {', '.join(close) or 'none'}"


def ablations(content: dict[str, Any]) -> str:
    """With and without clones and forecast, as `experiments.cloning_ablations` wrote them."""
    rows = [
        [f"`{row['policy']}`", row["variant"], _estimate(row["score"]), _estimate(row["above"])]
        for row in content["rows"]
    ]
    return "\n".join(table(["policy", "variant", "score", "above itself as it is"], rows))


def information(content: dict[str, Any]) -> str:
    """What fields tell in each environment, as `experiments.information` wrote it."""
    rows = {name: information_of.rows_in(found) for name, found in content.items()}
    told = _by_environment(rows, information_of.COLUMNS, information_of.cells_of)
    known = {name: found for name, found in rows.items() if information_of.groups_of(found)}
    apart = _by_environment(known, information_of.GROUP_COLUMNS, information_of.groups_of)
    return "\n\n".join([told, "Single groups of fields, here / on the record.", apart])


def alarms(content: dict[str, Any]) -> str:
    """Precision of alarms by age in each environment, as `experiments.alarm_ages` wrote it."""
    found = {name: alarm_ages.groups_in(groups) for name, groups in content.items()}
    return _by_environment(found, alarm_ages.COLUMNS, alarm_ages.cells_of)


def errors_of_jobs(rows: Sequence[dict[str, Any]]) -> str:
    """How learned risks err within jobs, as `experiments.job_errors` wrote it."""
    cells = [job_errors.cells_of(row) for row in job_errors.rows_in(rows)]
    return "\n".join(table(job_errors.COLUMNS, cells))


def _by_environment(
    content: dict[str, Any],
    columns: Sequence[str],
    cells_of: Callable[[Any], Sequence[Sequence[str]]],
) -> str:
    """A table for each environment, below what it is called."""
    parts: list[str] = []
    for name, found in content.items():
        env, *fields = name.split()
        said = f" with {', '.join(f'`{field}`' for field in fields)}" if fields else ""
        parts += [f"`{env}`{said}:", "", *table(columns, cells_of(found)), ""]
    return "\n".join(parts).rstrip("\n")


def continued(content: dict[str, Any]) -> str:
    """Recorded attempts beside drawn ones, as `experiments.continued_records` wrote them."""
    lines = list[str]()
    for name, found in content["records"].items():
        rows = [Compared(**_numbers(row)) for row in found]
        far, count = outside(rows)
        lines += [f"**{name}**: {far} of {count} rows are outside.", "", *_record(rows), ""]
    return "\n".join(lines[:-1])


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    """What is not a number is null in the file."""
    return {name: math.nan if value is None else value for name, value in row.items()}


def _record(rows: Sequence[Compared]) -> list[str]:
    """The table of one record, all levels together; * for a row that is outside."""
    every = {(r.measure, r.comparison, r.past): r for r in rows if r.level == "every"}
    pasts = sorted({past for _, _, past in every})
    sizes = [every[SHOWN[0], "one", past] for past in pasts if (SHOWN[0], "one", past) in every]
    pasts = [row.past for row in sizes]
    cells = [["jobs, attempts", *(f"{row.jobs:,}, {row.attempts:,}" for row in sizes)]]
    for measure in SHOWN:
        alone = [every[measure, "one", past] for past in pasts]
        whole = [every.get((measure, "whole", past)) for past in pasts]
        cells.append([f"{measure}: record", *(_short(row.observed) for row in alone)])
        cells.append(["one attempt drawn", *(_drawn(row) for row in alone)])
        cells.append(["whole records drawn", *(_drawn(row) for row in whole)])
    most = COUNTS - 1
    return table(["", *(f"{past} or more" if past == most else f"{past}" for past in pasts)], cells)


def _drawn(row: Compared | None) -> str:
    if row is None:
        return ""
    far = math.isfinite(row.low) and not row.within
    return _short(row.drawn) + (" *" if far else "")


def _short(value: float) -> str:
    """Three digits; nothing where there is no number."""
    if not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def speculation(content: dict[str, Any]) -> str:
    """What rules save that copy stragglers, as `experiments.speculation` wrote it."""
    cells, seen = list[list[str]](), set[tuple[str, ...]]()
    for row in map(copies.cells, copies.rows_of(content)):
        record, rule, *rest = row
        if rule != "late_early" or (record, *rest) not in seen:  # it need not differ from `late`
            cells.append([record, f"`{rule}`", *rest])
        seen.add((record, *rest))
    counts = ", ".join(
        f"{name} {len(found)} {'draws' if name == copies.GOOGLE else 'traces'}"
        for name, found in content["records"].items()
    )
    ends = [
        f"- `{end.rule}` copies {end.copied:,} tasks that end with {end.end} in Google's record:"
        f" {end.overtaken:,} settle earlier, {end.completion:.0f} h of waiting saved,"
        f" {-end.wasted:.0f} machine-h wasted; {end.largest_job:.0%} of the loss are one job's."
        for end in (copies.End(**said) for said in content["ends"])
        if end.rule != "late_early" and end.copied >= copies.FEW
    ]
    shown = table(copies.TITLES, cells)
    return "\n".join([f"{counts}.", "", *shown, *(["", *ends] if ends else [])])


def _estimate(value: Sequence[float]) -> str:
    """Of a value and the ends of its interval."""
    return _interval(dict(zip(("value", "low", "high"), value, strict=True)))


def _interval(value: dict[str, float]) -> str:
    score, low, high = (f"{round(value[x], 1) + 0.0:.1f}" for x in ("value", "low", "high"))
    return f"{score} [{low}, {high}]"


def write(name: str, content: str, top: Path = TOP) -> None:
    """Write a generated part into its page.

    Raises:
        ValueError: if the page has not one place for it.
    """
    page = top / PAGES[name]
    text = replaced(page.read_text("utf-8"), name, content)
    with replacing(page) as partial:
        partial.write_text(text, "utf-8")


def main(
    scores_file: Annotated[Path | None, typer.Option("--scores", **FILE)] = None,
    measures_file: Annotated[Path | None, typer.Option("--measures", **FILE)] = None,
    speed_file: Annotated[Path | None, typer.Option("--speed", **FILE)] = None,
    tuned_file: Annotated[Path | None, typer.Option("--tuned", **FILE)] = None,
    agents_file: Annotated[Path | None, typer.Option("--agents", **FILE)] = None,
    continued_file: Annotated[Path | None, typer.Option("--continued", **FILE)] = None,
    speculation_file: Annotated[Path | None, typer.Option("--speculation", **FILE)] = None,
    sensitivity_file: Annotated[Path | None, typer.Option("--sensitivity", **FILE)] = None,
    random_rules_file: Annotated[Path | None, typer.Option("--random-rules", **FILE)] = None,
    ablations_file: Annotated[Path | None, typer.Option("--ablations", **FILE)] = None,
    information_file: Annotated[Path | None, typer.Option("--information", **FILE)] = None,
    alarms_file: Annotated[Path | None, typer.Option("--alarms", **FILE)] = None,
    errors_file: Annotated[Path | None, typer.Option("--job-errors", **FILE)] = None,
    leaderboard: Annotated[
        Path | None, typer.Option("--leaderboard", metavar="DIR", exists=True, file_okay=False)
    ] = None,
) -> None:
    """Write the measured figures into their pages."""
    given = [
        ("scores", scores_file, scores),
        ("measures", measures_file, measures),
        ("speed", speed_file, speed),
        ("tuned", tuned_file, tuned),
        ("agents", agents_file, agents),
        ("sensitivity", sensitivity_file, sensitivity),
        ("turns", sensitivity_file, turns),
        ("random_rules", random_rules_file, random_rules),
        ("ablations", ablations_file, ablations),
        ("information", information_file, information),
        ("alarms", alarms_file, alarms),
        ("job_errors", errors_file, errors_of_jobs),
        ("continued", continued_file, continued),
        ("speculation", speculation_file, speculation),
    ]
    for name, file, written in given:
        if file is not None:
            write(name, written(json.loads(file.read_text("utf-8"))))
    if leaderboard is not None:
        source = read_source(leaderboard)
        write("leaderboard", "\n".join(summary(source)))
        write("policies", "\n".join(complete(source)))


if __name__ == "__main__":
    typer.run(main)

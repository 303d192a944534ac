"""Write the measured figures into the pages of results.

    python -m experiments.baseline_scores DIR --json scores.json
    python -m experiments.results_pages --scores scores.json
    python -m experiments.measures_alone --json measures.json
    python -m experiments.results_pages --measures measures.json
    python -m experiments.speed --trace DIR --json speed.json
    python -m experiments.results_pages --speed speed.json
    python -m experiments.agent_speed --json agents.json
    python -m experiments.results_pages --agent-speed agents.json
    python -m experiments.tuned --json tuned.json  # once for each environment
    python -m experiments.results_pages --tuned tuned.json
    python -m experiments.agents_and_rules --json agents.json
    python -m experiments.results_pages --agents agents.json
    python -m experiments.worst_cases --json worst.json
    python -m experiments.results_pages --worst worst.json
    python -m experiments.same_traces LITE --policy generalist --json generalist.json
    python -m experiments.results_pages --generalist generalist.json
    python -m experiments.seeds LITE --json seeds.json
    python -m experiments.results_pages --seeds seeds.json
    python -m experiments.agents_elsewhere --env ID --json elsewhere.json
    python -m experiments.results_pages --elsewhere elsewhere.json
    python -m experiments.compute_curves --env ID --json curves.json  # once for each environment
    python -m experiments.results_pages --curves curves.json
    python -m experiments.sensitivity --json sensitivity.json  # once for each environment
    python -m experiments.results_pages --sensitivity sensitivity.json
    python -m experiments.random_rules --env ID --json rules.json  # once for each environment
    python -m experiments.results_pages --random-rules rules.json
    python -m experiments.random_rules --env ID --questions 1 --json simple.json  # likewise
    python -m experiments.results_pages --simple-rules simple.json
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
    python -m experiments.rolling_origin --trace DIR ... --json rolling.json
    python -m experiments.results_pages --real-traces rolling.json
    python -m experiments.power --env ID --json power.json
    python -m experiments.results_pages --power power.json
    python -m experiments.interval_simulation --json simulation.json
    python -m experiments.results_pages --simulation simulation.json
    python -m experiments.period_intervals --trials 400 --json periods.json
    python -m experiments.results_pages --periods periods.json
    python -m experiments.ranks_carry_over --trace RECORD --policies ID --json carried.json
    python -m experiments.results_pages --carried-over carried.json
    python -m experiments.gate --out FOLDER --json gate.json
    python -m experiments.results_pages --verdicts gate.json
    python -m experiments.generated_to_real --trace RECORD --out FOLDER --json real.json
    python -m experiments.results_pages --from-generated real.json
    python -m experiments.generalisation --env ID --json generalisation.json
    python -m experiments.results_pages --generalisation generalisation.json
    python -m experiments.many_machines --suite NAME --json machines.json
    python -m experiments.results_pages --machines machines.json
    python -m experiments.rllib_ppo --json rllib.json
    python -m experiments.results_pages --rllib rllib.json
    python -m experiments.off_policy --json off_policy.json
    python -m experiments.results_pages --off-policy off_policy.json
    python -m experiments.assessments NAME DIR FILE --command COMMAND --json assessments.json
    python -m experiments.results_pages --assessments assessments.json
    python -m experiments.advice --gate gate.json --out FOLDER --json advice.json
    python -m experiments.results_pages --advice advice.json
    python -m experiments.oracle_rows --suite NAME --json oracle.json
    python -m experiments.results_pages --leaderboard DIR --oracle oracle.json

where DIR is what `failgym leaderboard run` or `merge` wrote. `experiments.readme` then writes the
figures of the README from these pages.

What is measured stands in a page of ``docs/results/`` between two comments, ``<!-- scores -->`` and
``<!-- /scores -->``, or the same with another of those names; nothing else of a page is touched.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.leaderboard_tables import (
    complete,
    fingerprint,
    reached,
    short,
    summary,
    told_apart,
    with_room,
)
from experiments.markdown import replaced
from experiments.measured_worlds import note
from experiments.result_tables.agents import agents, curves, same_traces, seeds, worst
from experiments.result_tables.assessments import advice, assessments, learned
from experiments.result_tables.baselines import measures, scores, tuned
from experiments.result_tables.continued import continued, speculation
from experiments.result_tables.contrib import off_policy, rllib
from experiments.result_tables.generalisation import generalisation
from experiments.result_tables.information import alarms, errors_of_jobs, information
from experiments.result_tables.intervals import (
    carried_over,
    from_generated,
    periods,
    simulation,
    verdicts,
)
from experiments.result_tables.machines import machines
from experiments.result_tables.power import power
from experiments.result_tables.random_rules import ablations, random_rules, simple_rules
from experiments.result_tables.rankings import clones, sensitivity, turns
from experiments.result_tables.real_traces import real_traces, real_traces_refused
from experiments.result_tables.speed import agent_speed, speed
from failgym.files import replacing
from failgym.leaderboard.page.source import read_source

TOP = Path(__file__).parents[1]
PAGES = {
    "scores": "docs/results/baselines.md",
    "measures": "docs/results/baselines.md",
    "tuned": "docs/results/baselines.md",
    "agents": "docs/results/agents.md",
    "leaderboard": "docs/results/leaderboard.md",
    "policies": "docs/results/leaderboard.md",
    "fingerprint": "docs/results/leaderboard.md",
    "reached": "docs/results/leaderboard.md",
    "told_apart": "docs/results/power.md",
    "with_room": "docs/results/intervals.md",
    "board": "docs/results/README.md",
    "speed": "docs/results/speed.md",
    "agent_speed": "docs/results/speed.md",
    "sensitivity": "docs/results/sensitivity.md",
    "turns": "docs/results/README.md",
    "clones": "docs/results/sensitivity.md",
    "random_rules": "docs/results/random_rules.md",
    "simple_rules": "docs/results/random_rules.md",
    "ablations": "docs/results/random_rules.md",
    "information": "docs/results/information.md",
    "alarms": "docs/results/information.md",
    "job_errors": "docs/results/information.md",
    "continued": "docs/results/continued.md",
    "speculation": "docs/results/continued.md",
    "real_traces": "docs/results/real_traces.md",
    "real_traces_refused": "docs/results/real_traces.md",
    "power": "docs/results/power.md",
    "simulation": "docs/results/intervals.md",
    "periods": "docs/results/intervals.md",
    "carried_over": "docs/results/twins.md",
    "verdicts": "docs/results/intervals.md",
    "from_generated": "docs/results/twins.md",
    "generalisation": "docs/results/generalisation.md",
    "worst": "docs/results/agents.md",
    "generalist": "docs/results/agents.md",
    "seeds": "docs/results/agents.md",
    "elsewhere": "docs/results/agents.md",
    "curves": "docs/results/agents.md",
    "machines": "docs/many_machines.md",
    "rllib": "docs/contrib.md",
    "off_policy": "docs/results/off_policy.md",
    "assessments": "docs/results/assessments.md",
    "learned": "docs/results/assessments.md",
    "advice": "docs/results/assessments.md",
}
"""The page that each generated part stands in."""
TEST_SPLIT = "test split"
"""Where agents are judged on the registered trace."""
FILE: dict[str, Any] = {"metavar": "FILE", "exists": True, "dir_okay": False}
"""Of the options that name what was measured."""


def write(name: str, content: str, top: Path = TOP) -> None:
    """Write a generated part into its page.

    Raises:
        ValueError: if the page has not one place for it.
    """
    page = top / PAGES[name]
    text = replaced(page.read_text("utf-8"), name, content)
    with replacing(page) as partial:
        partial.write_text(text, "utf-8")


def part(written: Callable[[Any], str], content: Any) -> str:
    """What is written of measurements, and of which worlds they are if not of those of now."""
    return written(content) + note(content)


def main(
    scores_file: Annotated[Path | None, typer.Option("--scores", **FILE)] = None,
    measures_file: Annotated[Path | None, typer.Option("--measures", **FILE)] = None,
    speed_file: Annotated[Path | None, typer.Option("--speed", **FILE)] = None,
    agent_speed_file: Annotated[Path | None, typer.Option("--agent-speed", **FILE)] = None,
    tuned_file: Annotated[Path | None, typer.Option("--tuned", **FILE)] = None,
    agents_file: Annotated[Path | None, typer.Option("--agents", **FILE)] = None,
    worst_file: Annotated[Path | None, typer.Option("--worst", **FILE)] = None,
    generalist_file: Annotated[Path | None, typer.Option("--generalist", **FILE)] = None,
    seeds_file: Annotated[Path | None, typer.Option("--seeds", **FILE)] = None,
    elsewhere_file: Annotated[Path | None, typer.Option("--elsewhere", **FILE)] = None,
    curves_file: Annotated[Path | None, typer.Option("--curves", **FILE)] = None,
    continued_file: Annotated[Path | None, typer.Option("--continued", **FILE)] = None,
    speculation_file: Annotated[Path | None, typer.Option("--speculation", **FILE)] = None,
    sensitivity_file: Annotated[Path | None, typer.Option("--sensitivity", **FILE)] = None,
    random_rules_file: Annotated[Path | None, typer.Option("--random-rules", **FILE)] = None,
    simple_rules_file: Annotated[Path | None, typer.Option("--simple-rules", **FILE)] = None,
    ablations_file: Annotated[Path | None, typer.Option("--ablations", **FILE)] = None,
    information_file: Annotated[Path | None, typer.Option("--information", **FILE)] = None,
    alarms_file: Annotated[Path | None, typer.Option("--alarms", **FILE)] = None,
    errors_file: Annotated[Path | None, typer.Option("--job-errors", **FILE)] = None,
    real_traces_file: Annotated[Path | None, typer.Option("--real-traces", **FILE)] = None,
    power_file: Annotated[Path | None, typer.Option("--power", **FILE)] = None,
    simulation_file: Annotated[Path | None, typer.Option("--simulation", **FILE)] = None,
    periods_file: Annotated[Path | None, typer.Option("--periods", **FILE)] = None,
    carried_file: Annotated[Path | None, typer.Option("--carried-over", **FILE)] = None,
    verdicts_file: Annotated[Path | None, typer.Option("--verdicts", **FILE)] = None,
    from_generated_file: Annotated[Path | None, typer.Option("--from-generated", **FILE)] = None,
    generalisation_file: Annotated[Path | None, typer.Option("--generalisation", **FILE)] = None,
    machines_file: Annotated[Path | None, typer.Option("--machines", **FILE)] = None,
    rllib_file: Annotated[Path | None, typer.Option("--rllib", **FILE)] = None,
    off_policy_file: Annotated[Path | None, typer.Option("--off-policy", **FILE)] = None,
    assessments_file: Annotated[Path | None, typer.Option("--assessments", **FILE)] = None,
    advice_file: Annotated[Path | None, typer.Option("--advice", **FILE)] = None,
    leaderboard: Annotated[
        Path | None, typer.Option("--leaderboard", metavar="DIR", exists=True, file_okay=False)
    ] = None,
    oracle_file: Annotated[Path | None, typer.Option("--oracle", **FILE)] = None,
) -> None:
    """Write the measured figures into their pages."""
    given = [
        ("scores", scores_file, scores),
        ("measures", measures_file, measures),
        ("speed", speed_file, speed),
        ("agent_speed", agent_speed_file, agent_speed),
        ("tuned", tuned_file, tuned),
        ("agents", agents_file, agents),
        ("worst", worst_file, worst),
        ("generalist", generalist_file, same_traces),
        ("seeds", seeds_file, seeds),
        ("elsewhere", elsewhere_file, agents),
        ("curves", curves_file, curves),
        ("sensitivity", sensitivity_file, sensitivity),
        ("turns", sensitivity_file, turns),
        ("clones", sensitivity_file, clones),
        ("random_rules", random_rules_file, random_rules),
        ("simple_rules", simple_rules_file, simple_rules),
        ("ablations", ablations_file, ablations),
        ("information", information_file, information),
        ("alarms", alarms_file, alarms),
        ("job_errors", errors_file, errors_of_jobs),
        ("continued", continued_file, continued),
        ("speculation", speculation_file, speculation),
        ("real_traces", real_traces_file, real_traces),
        ("real_traces_refused", real_traces_file, real_traces_refused),
        ("power", power_file, power),
        ("simulation", simulation_file, simulation),
        ("periods", periods_file, periods),
        ("carried_over", carried_file, carried_over),
        ("verdicts", verdicts_file, verdicts),
        ("from_generated", from_generated_file, from_generated),
        ("generalisation", generalisation_file, generalisation),
        ("machines", machines_file, machines),
        ("rllib", rllib_file, rllib),
        ("off_policy", off_policy_file, off_policy),
        ("assessments", assessments_file, assessments),
        ("learned", assessments_file, learned),
        ("advice", advice_file, advice),
    ]
    for name, file, written in given:
        if file is not None:
            write(name, part(written, json.loads(file.read_text("utf-8"))))
    if leaderboard is not None:
        oracle = None if oracle_file is None else json.loads(oracle_file.read_text("utf-8"))
        write_board(leaderboard, oracle)


def write_board(folder: Path, oracle: Any) -> None:
    """Write what a submission says into its pages, with rows of the oracle, if there are any."""
    source = read_source(folder)
    write("board", "\n".join(short(source)))
    write("leaderboard", "\n".join(summary(source, oracle)))
    write("policies", "\n".join(complete(source)))
    rows = f"{len(source.results):,} rows of suite `{source.suite}`"
    write("told_apart", "\n".join(told_apart(source)))
    write("with_room", "\n".join(with_room(source)))
    write("fingerprint", f"{rows}: `{fingerprint(source.results)}`")
    if oracle is not None:
        write("reached", "\n".join(reached(source, oracle)))


if __name__ == "__main__":
    typer.run(main)

"""`failgym replay`: a policy on a whole trace, every task compared with the record."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from failgym.cli.compared import print_comparison
from failgym.cli.folders import check_name
from failgym.cli.options import Json, Settings, override
from failgym.cli.output import JsonFile, interactive
from failgym.cli.watch import Html, Perfetto, Recorded, Video, Watch

if TYPE_CHECKING:
    from failgym.envs import Scenario
    from failgym.policy import Policy

__all__ = ["replay"]

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a trace.")]
Spec = Annotated[str, typer.Option("--policy", metavar="SPEC", help="The policy, as for evaluate.")]
Env = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="ID",
        help="The environment whose rules apply. By default the first that the policy is made for.",
    ),
]


def replay(
    folder: Folder,
    policy: Spec = "replay",
    env: Env = None,
    settings: Settings = None,
    json: Json = None,
    video: Video = None,
    html: Html = None,
    perfetto: Perfetto = None,
) -> None:
    """Run a policy over a whole trace and compare every task with the record.

    By default nothing is decided: all tasks happen as recorded, and there must be no mismatch.
    Another policy decides about every task whose end is known, under the rules of an environment.
    With --video, --html or --perfetto tasks are played one after the other, which takes longer.
    """
    from failgym.cli.specs import load_policy
    from failgym.evaluation import Record, compare, run_policy, whole_trace_world
    from failgym.evaluation.caller import check_playable
    from failgym.evaluation.progress import progress_bar, working
    from failgym.evaluation.runner import LANES
    from failgym.traces import Trace

    check_name("DIR", folder)
    file, watch = JsonFile.at(json), Watch.at(video, html, perfetto)
    chosen = load_policy(policy)
    scenario = _scenario(chosen, env)
    scenario = override(scenario, settings, scenario.kind.replayed)
    with working("loading and compiling", interactive()):
        trace = Trace.load(folder)
        begun = time.perf_counter()
        if env is not None:
            check_playable(chosen, scenario, name=policy)
        world = whole_trace_world(trace, scenario, known_only=not _asks_nothing(scenario))
        check_playable(chosen, scenario, world, policy)
    compiled = time.perf_counter() - begun
    recorded = Recorded(chosen) if watch else None
    played, lanes = (chosen, LANES) if recorded is None else (recorded, 1)
    with progress_bar("replaying", world.slices, interactive()) as advance:
        run = run_policy(world, scenario, played, lanes=lanes, name=policy, progress=advance)
    comparison = compare(run, Record.of(trace))
    asked, simulated = not _asks_nothing(scenario), not scenario.kind.as_recorded
    print_comparison(comparison, compiled, asked=asked, simulated=simulated)
    written = asdict(comparison)
    if asked or simulated:  # what was changed is no mismatch
        written["changed"] = written.pop("mismatches")
    file.write({"trace": trace.content_hash, "compile_seconds": compiled, **written})
    if recorded is not None:
        with working("writing what is to be watched", interactive()):
            watch.write(world, scenario, run, recorded.actions)


def _scenario(policy: Policy, env: str | None) -> Scenario:
    """The rules of an environment; for replay, rules under which nothing is asked."""
    from failgym.baselines import Replay
    from failgym.baselines.base import enabled
    from failgym.envs import SCENARIOS, resolve
    from failgym.evaluation.caller import made_for

    if env is None:
        fitting = [scenario for scenario in SCENARIOS.values() if made_for(policy, scenario)]
        if not fitting:
            raise ValueError("policy: no environment allows what it decides; name one with --env")
        scenario = fitting[0]
    else:
        scenario = resolve(env)
    if isinstance(policy, Replay):
        return replace(scenario, forecast="none", **dict.fromkeys(enabled(scenario), False))
    return scenario


def _asks_nothing(scenario: Scenario) -> bool:
    """Does no decision have more than CONTINUE?"""
    from failgym.baselines.base import enabled

    return not enabled(scenario)

"""`failgym tune`: better parameters of a heuristic for an environment."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from failgym.cli.completion import policy_names
from failgym.cli.folders import check_name, holds_trace
from failgym.cli.options import (
    Env,
    RayAddress,
    Seed,
    Settings,
    WorkersOption,
    override,
    read_workers,
)
from failgym.cli.output import Cell, interactive, print_line, print_table

if TYPE_CHECKING:
    from failgym.baselines import Heuristic
    from failgym.envs import Scenario
    from failgym.evaluation import Score
    from failgym.tuning import Tuned

__all__ = ["tune"]

Spec = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="The baseline: name[:field=value,...]. Fields that are given keep their value.",
        autocompletion=policy_names,
    ),
]
Trials = Annotated[
    int,
    typer.Option(help="Number of parameter sets to try in all, earlier calls included."),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="FILE",
        help="The policy file to write. The trials are kept in FILE.trials.",
    ),
]
Episodes = Annotated[
    int | None,
    typer.Option(help="Number of slices to draw. By default all of the fit split are played."),
]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="URL",
        help="Keep the trials here instead, and share them: journal:PATH, or sqlite:///PATH or"
        " another URL of SQLAlchemy.",
    ),
]


def tune(
    env: Env,
    policy: Spec,
    out: Out,
    trials: Trials = 50,
    episodes: Episodes = None,
    seed: Seed = 0,
    settings: Settings = None,
    storage: Storage = None,
    workers: WorkersOption = "1",
    ray_address: RayAddress = None,
) -> None:
    """Search for better parameters of a baseline.

    Parameters are sought on the earlier part of the train split (fit). They are adopted if they are
    surely better on the later part (validation) too; otherwise the given ones stay. Run the same
    command again to go on after an interruption, or with more trials to add some.

    Several processes can share a search: those of --workers, or several commands with the same
    --storage. All of them end when --trials sets of parameters have been tried. Which sets these
    are depends on the order in which the processes finish. With --storage a search gives the same
    result again only if one command does all of it and is not interrupted.
    """
    from failgym.cli.specs import load_policy
    from failgym.envs import resolve
    from failgym.evaluation.progress import progress_bar
    from failgym.tuning import tune
    from failgym.worlds.forecast import unattainable

    crew = read_workers(workers, ray_address)
    _check_out(out)
    heuristic = _heuristic(load_policy(policy), policy)
    wanted = resolve(env)
    searched = {field.name for field in fields(wanted)} - {"split"}  # always fit and validation
    scenario = override(wanted, settings, searched)
    if note := unattainable(scenario):
        print_line(note)
    fixed = [part.partition("=")[0] for part in policy.partition(":")[2].split(",") if part]
    with progress_bar(f"tuning {heuristic.name}", trials, interactive()) as advance:
        tuned = tune(
            heuristic,
            scenario,
            trials=trials,
            episodes=episodes,
            seed=seed,
            fixed=fixed,
            storage=None if storage else out.with_name(f"{out.name}.trials"),
            shared=storage,
            workers=crew,
            progress=advance,
        )
    _write(tuned, out, scenario, settings, seed)
    _print(tuned, heuristic, f"failgym/{scenario.name}", out)


def _check_out(out: Path) -> None:
    """Refuse, before any work is done, what is no policy file of ours. Raises ValueError."""
    from failgym.baselines.stored import load_heuristic

    check_name("--out", out)
    if out.suffix != ".json":
        raise ValueError(f"--out {out}: expected a name that ends in .json")
    if not out.parent.is_dir():
        raise ValueError(f"--out {out}: no such folder: {out.parent}")
    if out.is_dir():
        raise ValueError(f"--out {out}: is a folder, expected a file")
    if not os.access(out.parent, os.W_OK):
        raise ValueError(f"--out {out}: the folder {out.parent} cannot be written to")
    if any(holds_trace(above) for above in Path(os.path.realpath(out)).parents):
        raise ValueError(f"--out {out}: lies in the folder of a saved trace: not written")
    if out.exists():
        load_heuristic(out)


def _heuristic(policy: object, spec: str) -> Heuristic:
    from failgym.baselines import REGISTRY, Heuristic

    if not isinstance(policy, Heuristic) or type(policy) is not REGISTRY.get(policy.name):
        raise ValueError(f"--policy {spec}: expected the name of a baseline")
    return policy


def _write(
    tuned: Tuned, out: Path, scenario: Scenario, settings: list[str] | None, seed: int
) -> None:
    from failgym import __version__
    from failgym.baselines.stored import save_heuristic

    about = {
        "env": f"failgym/{scenario.name}",
        "settings": settings or [],
        "seed": seed,
        "trials": tuned.trials,
        "adopted": tuned.adopted,
        "gain_fit": list(tuned.gain),
        "gain_validation": list(tuned.proof),
        "failgym": __version__,
    }
    save_heuristic(tuned.policy, out, about=about)


def _print(tuned: Tuned, given: Heuristic, env: str, out: Path) -> None:
    from failgym.evaluation.result import FEW, plural
    from failgym.tuning.objective import ADOPTED, SURE

    best, default = tuned.best, tuned.default
    rows: list[tuple[Cell, ...]] = [
        (field.name, *(_shown(getattr(policy, field.name)) for policy in (given, tuned.found)))
        for field in fields(given)
    ]
    print_line(f"{given.name} in {env}: best of {tuned.trials:,} trials")
    print_table("", ("", "given", "found"), rows)
    gain, proof = (_interval(found) for found in (tuned.gain, tuned.proof))
    print_line(f"gain on fit: {gain} ({SURE:.0f} %); on validation: {proof} ({ADOPTED:.0f} %)")
    print_line(f"intervals are over {plural(tuned.unit, FEW)}")
    if tuned.adopted:
        print_line(f"adopted: score on validation {default.value:.1f} -> {best.value:.1f}")
    else:
        print_line(f"the given parameters stay: score on validation {default.value:.1f}")
    print_line(f"written to {out}")


def _interval(gain: Score) -> str:
    return f"{gain.value:.1f} [{gain.low:.1f}, {gain.high:.1f}]"


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

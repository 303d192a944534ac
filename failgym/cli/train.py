"""`failgym train`: an agent for an environment, in a folder."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from failgym.cli.completion import ALGORITHM_NAMES, algorithm_names
from failgym.cli.folders import check_name, holds_trace
from failgym.cli.options import Env, Seed, Settings, override
from failgym.cli.output import Cell, interactive, print_line, print_table
from failgym.cli.values import assignments

if TYPE_CHECKING:
    from failgym.agents.training.result import TrainingResult
    from failgym.agents.training.training_settings import TrainingSettings
    from failgym.agents.training.validation import Validation
    from failgym.envs import Scenario

__all__ = ["train"]

NEEDED = ("torch", "stable_baselines3", "sb3_contrib", "pydantic", "safetensors", "yaml")
"""What training imports and a core install has not."""

Algo = Annotated[
    str,
    typer.Option(
        metavar="ALGO",
        help=f"The algorithm: one of {', '.join(ALGORITHM_NAMES)}.",
        autocompletion=algorithm_names,
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        help="Number of decisions to train on, rounded up to whole rollouts. The default is that of"
        " the hyper-parameters."
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder of the run.")]
Slots = Annotated[int | None, typer.Option("--n-envs", help="Number of parallel episodes.")]
Hyper = Annotated[
    list[str] | None,
    typer.Option(
        "--hyper",
        metavar="NAME=VALUE",
        help="Change a hyper-parameter. The value is read as YAML. Repeatable.",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A YAML file of hyper-parameters. By default failgym's own for this environment.",
    ),
]
Split = Annotated[
    Literal["fit", "train"],
    typer.Option(
        help="Train on the earlier part of the train split (fit), which leaves a validation split,"
        " or on all of it (train)."
    ),
]
Keep = Annotated[
    Literal["deterministic", "stochastic"],
    typer.Option(
        help="Keep the agent with the best score when it takes the most likely action"
        " (deterministic) or draws one (stochastic)."
    ),
]
Fields = Annotated[
    Literal["varying", "all"],
    typer.Option(
        help="What the agent observes: the fields that can vary in the scenario, or all fields."
    ),
]
ValidateEvery = Annotated[
    int | None,
    typer.Option(help="Number of decisions between two validations; a tenth of all by default."),
]
Episodes = Annotated[
    int | None,
    typer.Option(
        help="Number of slices to validate on (in pinned worlds, of tasks). By default all."
    ),
]
CheckpointEvery = Annotated[
    int | None,
    typer.Option(help="Number of decisions between two checkpoints. The default is a fiftieth."),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on with the run in the folder. The other options must be the same."
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        help="Number of threads; 0 takes one for each processor. With 1, runs repeat bit for bit."
    ),
]
RequireGain = Annotated[
    bool,
    typer.Option(
        "--require-gain", help="Exit with status 1 unless the verdict is to adopt the agent."
    ),
]
Rolling = Annotated[
    bool,
    typer.Option(
        "--rolling",
        help="Also train five agents, each on the past of a fold by time. The verdict is then based"
        " on how they do on their folds.",
    ),
]
TensorBoard = Annotated[
    bool,
    typer.Option(
        "--tensorboard", help="Write logs for TensorBoard to the folder tensorboard of the run."
    ),
]


def train(
    env: Env,
    algo: Algo,
    out: Out,
    steps: Steps = None,
    seed: Seed = 0,
    n_envs: Slots = None,
    settings: Settings = None,
    hyper: Hyper = None,
    config: Config = None,
    resume: Resume = False,
    split: Split = "fit",
    validate_every: ValidateEvery = None,
    episodes: Episodes = None,
    keep: Keep = "deterministic",
    fields: Fields = "varying",
    checkpoint_every: CheckpointEvery = None,
    threads: Threads = 1,
    tensorboard: TensorBoard = False,
    rolling: Rolling = False,
    require_gain: RequireGain = False,
) -> None:
    """Train an agent. The best one is written to best.safetensors in the folder of the run.

    Agents are scored on a part of the train split that they do not learn from (validation). The run
    ends with a verdict: adopt, no evidence, or harm. With --resume the same command goes on after
    an interruption.
    """
    if any(find_spec(module) is None for module in NEEDED):
        raise ValueError("training needs stable-baselines3: pip install 'failgym[agents]'")
    _check_out(out)
    from failgym.agents.algorithms.settings_files import read_values
    from failgym.agents.training.training_settings import TrainingSettings

    chosen = TrainingSettings(
        algo,
        steps=steps,
        seed=seed,
        n_envs=n_envs,
        config=config,
        hyper=read_values(assignments(hyper or [], "--hyper")),
        split=split,
        validate_every=validate_every,
        episodes=episodes,
        keep=keep,
        fields=fields,
        checkpoint_every=checkpoint_every,
        threads=threads,
        tensorboard=tensorboard,
        rolling=rolling,
    )
    result = _trained(env, settings or [], out, chosen, resume)
    _print(result)
    if require_gain and (result.verdict is None or result.verdict.answer != "adopt"):
        raise typer.Exit(1)


def _trained(
    env: str, changes: list[str], out: Path, settings: TrainingSettings, resume: bool
) -> TrainingResult:
    """Train, with a bar of progress; say first where more is trained on than was asked for."""
    from failgym.agents.training.train import train
    from failgym.envs import resolve
    from failgym.evaluation.progress import progress_bar
    from failgym.worlds.forecast import unattainable
    from failgym.worlds.settings.splitting import FOLDS

    wanted = resolve(env)
    free = {field.name for field in dataclasses.fields(wanted)} - {"split"}  # that is --split
    scenario = override(wanted, changes, free)
    if note := unattainable(scenario):
        print_line(note)
    total = _total(scenario, settings) * (1 + FOLDS if settings.rolling else 1)
    with progress_bar(f"{settings.algo} in {scenario.name}", total, interactive()) as advance:
        return train(
            scenario,
            out,
            settings,
            resume=resume,
            command=_command(),
            progress=advance,
            asked_for=assignments(changes, "--set"),
        )


def _total(scenario: Scenario, settings: TrainingSettings) -> int:
    """How far the bar goes; say so where more is trained on than was asked for."""
    from failgym.agents.algorithms.learner import COUNTERFACTUAL
    from failgym.agents.algorithms.settings_files import settings_for
    from failgym.agents.training.rollout_steps import rollout_of, steps_of

    file, given = settings.config, settings.hyper
    if settings.algo == COUNTERFACTUAL:
        from failgym.agents.counterfactual.train import hyper_of, steps_of_run

        return steps_of_run(hyper_of(scenario, settings))
    hyper = settings_for(
        settings.algo, scenario.name, file=file, hyper=given, n_envs=settings.n_envs
    )
    asked = (hyper.steps if settings.steps is None else settings.steps) or 0
    total = steps_of(asked, hyper)
    if total != asked > 0:
        print_line(
            f"steps: {total:,} are trained on, not {asked:,}:"
            f" whole rollouts, of {rollout_of(hyper):,} steps each"
        )
    return total


def _check_out(out: Path) -> None:
    """Refuse a folder in that of a saved trace. Raises ValueError."""
    check_name("--out", out)
    target = Path(os.path.realpath(out))
    if any(holds_trace(above) for above in (target, *target.parents)):
        raise ValueError(f"--out {out}: lies in the folder of a saved trace: not written")


def _command() -> str:
    """What was typed, without where and whether it went on."""
    words = iter(sys.argv[1:])
    given = ["failgym"]
    for word in words:
        if word == "--out":
            next(words, None)
        elif word != "--resume" and not word.startswith("--out="):
            given.append(word)
    return shlex.join(given)


def _print(result: TrainingResult) -> None:
    rows: list[tuple[Cell, ...]] = [
        (
            _named(one),
            f"{one.score:.1f}",
            "-" if one.low is None else f"{one.low:.1f} to {one.high:.1f}",
            "-" if one.stochastic is None else f"{one.stochastic:.1f}",
        )
        for one in result.validations
    ]
    print_line(f"{result.algo} in {result.env}: score on the validation split")
    print_table("", ("agent", "best\naction", "95 %\ninterval", "drawn\naction"), rows)
    print_line("intervals are over jobs, in blocks where something joins them, or blocks of slices")
    if result.warm_start is not None:
        agreement = result.warm_start["agreement"]
        known = "-" if agreement is None else f"{agreement:.1%}"
        print_line(f"warm start: {known} as the teacher, {result.warm_start_seconds:.0f} s")
    asked = "" if result.asked in (None, result.steps) else f" ({result.asked:,} asked for)"
    print_line(
        f"{result.steps:,} steps{asked} in {result.seconds:.0f} s,"
        f" {result.validation_seconds:.0f} s of them scoring:"
        f" {result.steps_per_second:,.0f} steps/s"
    )
    print_line(f"the agent of {_named(result.best)}: written to {result.policy}")
    if result.verdict is not None:
        print_line(result.verdict.text)
    else:
        print_line("no verdict: the agent has learned from what it was scored on")


def _named(one: Validation) -> str:
    """Which agent a validation is of."""
    if one.round is None or one.caution is None:
        return f"{one.steps:,} steps"
    return f"round {one.round}, caution {one.caution:g}"

"""`failgym train`: an agent for an environment, in a folder."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from failgym.cli.completion import ALGORITHM_NAMES, algorithm_names, environment_names
from failgym.cli.folders import check_name, holds_trace
from failgym.cli.options import RayAddress, Settings, WorkersOption, read_workers
from failgym.cli.output import Cell, interactive, print_line, print_table
from failgym.cli.train_runs import Named, print_outcomes, runs_of
from failgym.cli.values import assignments

if TYPE_CHECKING:
    from failgym.agents.training.many import AgentRun
    from failgym.agents.training.result import TrainingResult
    from failgym.agents.training.training_settings import TrainingSettings
    from failgym.agents.training.validation import EnvironmentScore, Validation
    from failgym.evaluation.verdict import Verdict
    from failgym.workers import Workers

__all__ = ["train"]

NEEDED = ("torch", "stable_baselines3", "sb3_contrib", "pydantic", "safetensors", "yaml")
"""What training imports and a core install has not."""

Environments = Annotated[
    list[str],
    typer.Option(
        "--env",
        metavar="ID",
        help="The environment, such as failgym/GracePeriod-v1 (`failgym envs` lists them)."
        " Repeatable: an agent for each, in DIR/ENV/seed-N.",
        autocompletion=environment_names,
    ),
]
Seeds = Annotated[
    list[int] | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Seed of all random numbers; 0 by default. Repeatable: an agent for each, in"
        " DIR/ENV/seed-N.",
    ),
]
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
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The folder of the run, or of several.")
]
Slots = Annotated[int | None, typer.Option("--n-envs", help="Number of parallel episodes.")]
Hyper = Annotated[
    list[str] | None,
    typer.Option(
        "--hyper",
        metavar="NAME=VALUE",
        help="Change a hyper-parameter. The value is read as YAML. Repeatable.",
    ),
]
Configs = Annotated[
    list[Path] | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A YAML file of hyper-parameters. By default failgym's own for this environment;"
        " 'generalist' is its own for one agent of all environments. Repeatable: agents for each,"
        " in DIR/ENV/FILE/seed-N.",
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
        "--resume",
        help="Go on with the run in the folder, or with several: those that were not begun begin."
        " The other options must be the same.",
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
        "--require-gain",
        help="Exit with status 1 unless the verdict is to adopt the agent, or all.",
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
    env: Environments,
    algo: Algo,
    out: Out,
    steps: Steps = None,
    seed: Seeds = None,
    n_envs: Slots = None,
    settings: Settings = None,
    hyper: Hyper = None,
    config: Configs = None,
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
    workers: WorkersOption = "1",
    ray_address: RayAddress = None,
) -> None:
    """Train an agent. The best one is written to best.safetensors in the folder of the run.

    Agents are scored on a part of the train split that they do not learn from (validation). The run
    ends with a verdict: adopt, no evidence, or harm. With --resume the same command goes on after
    an interruption. With several --env, --seed or --config there is an agent for each combination,
    and with --workers several are trained at once.
    """
    if any(find_spec(module) is None for module in NEEDED):
        raise ValueError("training needs stable-baselines3: pip install 'failgym[agents]'")
    crew = read_workers(workers, ray_address)
    _check_out(out)
    from failgym.agents.algorithms.settings_files import read_values
    from failgym.agents.training.training_settings import TrainingSettings

    values = read_values(assignments(hyper or [], "--hyper"))

    def chosen(seed: int, config: Path | None) -> TrainingSettings:
        return TrainingSettings(
            algo,
            steps=steps,
            seed=seed,
            n_envs=n_envs,
            config=config,
            hyper=values,
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

    named = Named(env, seed or [0], config or [], settings or [])
    runs = runs_of(named, out, chosen)
    if named.several:
        verdicts = _train_several(runs, crew, resume)
    else:
        result = _trained(runs[0], crew, resume)
        _print(result)
        verdicts = list(result.judgements)
    if require_gain and any(one is None or one.answer != "adopt" for one in verdicts):
        raise typer.Exit(1)


def _train_several(runs: list[AgentRun], crew: Workers, resume: bool) -> list[Verdict | None]:
    """Train agents, with a bar of progress, and say what came of them. Raises ValueError."""
    from failgym.agents.training.many import train_many
    from failgym.evaluation.progress import progress_bar

    said = dict.fromkeys(line for run in runs for line in _notes(run, f"{_of(run)}: "))
    for line in said:
        print_line(line)
    total, label = sum(run.total for run in runs), f"{len(runs)} agents"
    with progress_bar(label, total, interactive(), lines=True) as advance:
        outcomes = train_many(runs, resume=resume, workers=crew, progress=advance)
    print_outcomes(outcomes)
    return [
        verdict
        for one in outcomes
        for verdict in ((None,) if one.result is None else one.result.judgements)
    ]


def _of(run: AgentRun) -> str:
    """What a run shares with those of other seeds."""
    return run.name.rpartition(", ")[0]


def _trained(run: AgentRun, crew: Workers, resume: bool) -> TrainingResult:
    """Train one agent, with a bar of progress. Raises ValueError."""
    from failgym.agents.training.many import train_many
    from failgym.agents.training.train import train
    from failgym.evaluation.progress import progress_bar

    for line in _notes(run):
        print_line(line)
    label = f"{run.settings.algo} in {run.scenario.name}"
    with progress_bar(label, run.total, interactive()) as advance:
        if crew.several:
            (outcome,) = train_many([run], resume=resume, workers=crew, progress=advance)
            if outcome.result is None:
                raise ValueError(outcome.problem)
            return outcome.result
        return train(
            run.scenario,
            run.out,
            run.settings,
            resume=resume,
            command=run.command,
            progress=advance,
            asked_for=run.asked_for,
        )


def _notes(run: AgentRun, name: str = "") -> list[str]:
    """What is to be said first: who has such a forecast, and what is trained on beyond the asked.

    Args:
        run: an agent.
        name: what each line begins with.
    """
    from failgym.agents.algorithms.learner import COUNTERFACTUAL
    from failgym.agents.training.rollout_steps import rollout_of
    from failgym.worlds.forecast import unattainable

    note = unattainable(run.scenario)
    lines = [] if note is None else [f"{name}{note}"]
    if run.settings.algo == COUNTERFACTUAL:
        return lines
    asked = run.settings.steps or run.hyper.steps or 0
    if run.steps != asked > 0:
        lines.append(
            f"{name}steps: {run.steps:,} are trained on, not {asked:,}:"
            f" whole rollouts, of {rollout_of(run.hyper):,} steps each"
        )
    return lines


def _check_out(out: Path) -> None:
    """Refuse a folder in that of a saved trace. Raises ValueError."""
    check_name("--out", out)
    target = Path(os.path.realpath(out))
    if any(holds_trace(above) for above in (target, *target.parents)):
        raise ValueError(f"--out {out}: lies in the folder of a saved trace: not written")


def _print(result: TrainingResult) -> None:
    if result.best.environments is not None:
        _print_scores_in_several(result)
    else:
        rows: list[tuple[Cell, ...]] = [
            (
                _named(one),
                f"{one.score:.1f}",
                _interval(one),
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
    for env, verdict in (result.verdicts or {}).items():
        print_line(f"{env}: {verdict.text}")
    if result.verdict is not None:
        print_line(result.verdict.text)
    elif result.verdicts is None:
        print_line("no verdict: the agent has learned from what it was scored on")


def _print_scores_in_several(result: TrainingResult) -> None:
    """Of each agent the mean score and the worst environment; and the best agent's scores."""
    rows: list[tuple[Cell, ...]] = []
    for one in result.validations:
        worst = one.worst
        least = "-" if worst is None else f"{worst.score:.1f} in {_short(worst.env)}"
        rows.append((_named(one), f"{one.score:.1f}", _interval(one), least))
    many = len(result.best.environments or ())
    print_line(f"{result.algo} in {many} environments: mean score on the validation splits")
    print_table("", ("agent", "mean", "95 %\ninterval", "worst environment"), rows)
    each: list[tuple[Cell, ...]] = [
        (
            _short(one.env),
            "-" if one.caution is None else f"{one.caution:g}",
            f"{one.score:.1f}",
            _interval(one),
        )
        for one in result.best.environments or ()
    ]
    print_line(f"the agent of {_named(result.best)}")
    print_table("", ("environment", "caution", "score", "95 %\ninterval"), each)


def _short(env: str) -> str:
    return env.removeprefix("failgym/")


def _interval(one: Validation | EnvironmentScore) -> str:
    return "-" if one.low is None else f"{one.low:.1f} to {one.high:.1f}"


def _named(one: Validation) -> str:
    """Which agent a validation is of."""
    if one.round is None:
        return f"{one.steps:,} steps"
    caution = "by environment" if one.caution is None else f"{one.caution:g}"
    return f"round {one.round}, caution {caution}"

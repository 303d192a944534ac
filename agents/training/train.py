"""`train`: an agent for an environment, from its hyper-parameters to a policy file.

The agent learns on the "fit" part of the train split and is scored on the "validation" part as it
goes; the best one is kept. The test split is not touched.
"""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from stable_baselines3.common.logger import Logger, configure

from failgym.agents.algorithms.hyperparameters import OnPolicySettings, Settings
from failgym.agents.algorithms.registry import algorithm_named
from failgym.agents.algorithms.settings_files import settings_for
from failgym.agents.environments.vec_env import make_sb3_env
from failgym.agents.files.manifest import Environment
from failgym.agents.training.callback import Milestones
from failgym.agents.training.preparation import check_world, scenario_of, shaped, surrogate_of
from failgym.agents.training.result import TrainingResult
from failgym.agents.training.run_folder import Document, RunFolder, described_run, read_json
from failgym.agents.training.session import Learning
from failgym.agents.training.validation import Keep, Validator
from failgym.envs import Scenario, resolve
from failgym.envs.sources import whole_trace
from failgym.evaluation.arguments import MOST_SEED, check_count, check_threads, shown
from failgym.evaluation.progress import Advance, silent

__all__ = ["VALIDATIONS", "TrainingResult", "train"]

VALIDATIONS = 10
"""How often an agent is scored while it is trained, by default."""
CHECKPOINTS = 50
"""How many checkpoints are taken, by default."""


def train(
    env: str | Scenario,
    algo: str = "maskable_ppo",
    *,
    steps: int | None = None,
    out: str | Path,
    seed: int = 0,
    n_envs: int | None = None,
    settings: str | Path | None = None,
    hyper: Mapping[str, Any] | None = None,
    split: Literal["fit", "train"] = "fit",
    validate_every: int | None = None,
    episodes: int | None = None,
    keep: Keep = "deterministic",
    checkpoint_every: int | None = None,
    resume: bool = False,
    threads: int = 1,
    tensorboard: bool = False,
    command: str | None = None,
    progress: Advance = silent,
    asked_for: Collection[str] = (),
) -> TrainingResult:
    """Train an agent; the best one is in ``out`` as ``best.safetensors``.

    The same call with ``resume=True`` goes on after an interruption, or a kill at any moment, and
    ends with the same agent as if there had been none: checkpoints hold weights, optimiser,
    schedules, random states, running episodes and, where the algorithm has one, the replay buffer.
    With one thread the same call gives the same weights, bit for bit.

    Args:
        env: an environment's id or a scenario; its ``split`` does not matter, nor, in the pinned
            world, its ``slice_tasks``: agents learn task by task there. Its fields that are not as
            registered win over those of the hyper-parameters.
        algo: a name of `failgym.agents.algorithms.registry.ALGORITHMS`.
        steps: decisions to train on, by default as many as the hyper-parameters say; rounded up to
            whole rollouts (`failgym.agents.training.rollout_steps.steps_of`), as the result says.
        out: a folder that does not exist yet, or that of a run to go on with.
        seed: of the first weights and of all that is drawn.
        n_envs: episodes that run at once, by default those of the hyper-parameters.
        settings: a YAML file of hyper-parameters (`algorithms.settings_files`); by default the one
            that comes with failgym.
        hyper: single hyper-parameters that replace those of the file.
        split: what is trained on: "fit", or all of "train". What is validated on is part of
            "train", so that the scores mean less then.
        validate_every: decisions between two scores, a tenth of ``steps`` by default.
        episodes: slices of the validation split to score on (tasks in the pinned world); all by
            default.
        keep: which score the agent that is kept has the best of: that of its best actions, which
            `failgym.evaluate` asks for by default, or that of drawn ones. Early in training the
            best action is often never to interfere.
        checkpoint_every: decisions between two checkpoints, a fiftieth of ``steps`` by default.
        resume: go on with the run in ``out``. A finished one is only read.
        threads: of torch and of the engine; 0 for as many as there are processors.
        tensorboard: write what stable-baselines3 logs to ``out/tensorboard``.
        command: what result and policy file call the command that trained the agent.
        progress: called with the number of decisions made.
        asked_for: fields of ``env`` that win too, though they are as registered.

    Raises:
        ValueError: in one line, and nothing is left: an unknown environment, algorithm or
            hyper-parameter, with the nearest known one; a value of the wrong type or range; a
            folder that exists, or without ``resume``; one that holds another run, naming the
            difference; an option of the pinned world in another. Later: if weights are no longer
            finite.
        KeyboardInterrupt: after Ctrl-C, once a checkpoint is taken between two updates.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> result = train("failgym/Cloning-v0", "ppo", steps=512, out=folder, n_envs=16,
    ...     hyper={"n_steps": 16, "batch_size": 64}, episodes=200, validate_every=512)
    >>> result.steps, result.policy.name
    (512, 'best.safetensors')
    """
    _check_choices(split, keep)
    algorithm, given = algorithm_named(algo), resolve(env)
    chosen = settings_for(algo, given.name, file=settings, hyper=hyper, n_envs=n_envs)
    steps, seed, threads = _steps(steps, chosen), _seed(seed), check_threads(threads)
    milestones = _milestones(steps, validate_every, checkpoint_every)
    _check(command, tensorboard)
    scenario = scenario_of(given, chosen.env, asked_for).override(split=split)
    check_world(scenario, chosen)
    folder = RunFolder(out)
    run = described_run(
        Environment.of(scenario).model_dump(),
        algo,
        chosen,
        whole_trace(scenario).content_hash,
        steps=steps,
        seed=seed,
        validate_every=milestones.validation,
        episodes=_count_or_none("episodes", episodes),
        keep=keep,
    )
    if finished := _checked(folder, run, resume):
        return finished
    changed = {"n_envs": n_envs, "settings": settings and str(settings), "hyper": hyper}
    called = command or _called(scenario.name, algo, steps=steps, seed=seed, **changed)
    if not resume:
        folder.begin({**run, "command": called}, chosen)
    with _torch_threads(threads):
        with _discarded(None if resume else folder):
            venv = make_sb3_env(
                surrogate_of(scenario, chosen.surrogate), chosen.n_envs, threads=threads
            )
            model = algorithm.build(chosen, shaped(venv, chosen, seed), seed)
            validator = Validator(scenario, algorithm, seed, episodes, threads)
        model.set_logger(_logger(folder, tensorboard))
        learning = Learning(folder, run, called, scenario, model, venv)
        taught = chosen.warm_start if isinstance(chosen, OnPolicySettings) else None
        rollouts = algorithm.on_policy
        learning.learn(validator, milestones, steps, progress, rollouts=rollouts, taught=taught)
        return learning.result()


def _steps(given: int | None, settings: Settings) -> int:
    """How long to train. Raises ValueError if nobody says."""
    steps = settings.steps if given is None else given
    if steps is None:
        raise ValueError("steps: expected a number of decisions: the hyper-parameters name none")
    return check_count("steps", steps, 1)


def _seed(given: int) -> int:
    return check_count("seed", given, 0, MOST_SEED)


def _count_or_none(name: str, value: int | None) -> int | None:
    return None if value is None else check_count(name, value, 1)


def _milestones(steps: int, validate_every: int | None, checkpoint_every: int | None) -> Milestones:
    validation = _count_or_none("validate_every", validate_every)
    checkpoint = _count_or_none("checkpoint_every", checkpoint_every)
    return Milestones(
        validation=validation or -(-steps // VALIDATIONS),
        checkpoint=checkpoint or -(-steps // CHECKPOINTS),
    )


@contextmanager
def _discarded(folder: RunFolder | None) -> Generator[None]:
    """Leave nothing of a run that turns out to be none while it is prepared."""
    try:
        yield
    except (ValueError, TypeError, MemoryError, OSError, RuntimeError):
        if folder is not None:
            folder.discard()
        raise


def _checked(folder: RunFolder, run: Document, resume: bool) -> TrainingResult | None:
    """The result of a run that is over. Raises ValueError for a folder that is not for this."""
    if not resume:
        folder.check_new()
        return None
    folder.check_same(run)
    if not folder.result.exists():
        return None
    return TrainingResult.of(read_json(folder.result), folder.best)


def _called(env: str, algo: str, **options: Any) -> str:
    """The call of `train`, with the options that are not what they are by default."""
    given = [f"{name}={value!r}" for name, value in options.items() if value]
    return f"failgym.agents.train({', '.join((repr(env), repr(algo), *given))})"


def _check(command: object, tensorboard: bool) -> None:
    """Raise ValueError, naming the argument, for no text, and for what is not installed."""
    if not isinstance(command, str | None):
        raise ValueError(f"command: expected a text, got {shown(command)}")
    if tensorboard and find_spec("tensorboard") is None:
        raise ValueError("tensorboard: is not installed: pip install tensorboard")


def _check_choices(split: str, keep: str) -> None:
    """Raise ValueError, naming the argument, for one that is none of its choices."""
    if split not in ("fit", "train"):
        raise ValueError(f"split: expected 'fit' or 'train', got {split!r}")
    if keep not in get_args(Keep):
        raise ValueError(f"keep: expected one of {', '.join(get_args(Keep))}, got {keep!r}")


def _logger(folder: RunFolder, tensorboard: bool) -> Logger:
    """Where stable-baselines3 logs to: TensorBoard, or nowhere."""
    if tensorboard:
        return configure(str(folder.tensorboard), ["tensorboard"])
    return Logger(folder=None, output_formats=[])


@contextmanager
def _torch_threads(threads: int) -> Generator[None]:
    """Let torch compute with so many threads while the block runs; 0: with as many as it would."""
    before = torch.get_num_threads()
    if threads:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)

"""`train`: an agent for an environment, from its hyper-parameters to a policy file.

The agent learns on the "fit" part of the train split and is scored on the "validation" part as it
goes; the best one is kept. The test split is not touched.
"""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import shutil
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from stable_baselines3.common.logger import Logger, configure

from failgym.agents.algorithms.hyperparameters import OnPolicySettings, Settings
from failgym.agents.algorithms.learner import COUNTERFACTUAL
from failgym.agents.algorithms.registry import algorithm_named
from failgym.agents.algorithms.settings_files import settings_for
from failgym.agents.counterfactual.settings import CounterfactualSettings
from failgym.agents.environments.vec_env import make_sb3_env
from failgym.agents.files.manifest import Environment
from failgym.agents.training.callback import Milestones
from failgym.agents.training.preparation import (
    check_world,
    scenario_of,
    shaped,
    surrogate_of,
)
from failgym.agents.training.result import TrainingResult
from failgym.agents.training.rolling_origin import WHOLE, agent_of_fold, places_of, rolled
from failgym.agents.training.run_folder import (
    Document,
    RunFolder,
    described_run,
    read_json,
    write_json,
)
from failgym.agents.training.session import TrainingSession
from failgym.agents.training.training_settings import TrainingSettings
from failgym.agents.training.validation import Validator
from failgym.envs import Scenario, resolve
from failgym.envs.select_fields import select_fields
from failgym.evaluation import Anchors
from failgym.evaluation.arguments import check_count, shown
from failgym.evaluation.progress import Advance, silent
from failgym.files import replacing
from failgym.worlds.settings.splitting import FOLDS
from failgym.worlds.source import whole_trace

__all__ = ["RollingRun", "checked_run", "train"]


def train(
    env: str | Scenario,
    out: str | Path,
    settings: TrainingSettings | None = None,
    *,
    resume: bool = False,
    command: str | None = None,
    progress: Advance = silent,
    asked_for: Collection[str] = (),
) -> TrainingResult:
    """Train an agent; the best one is in ``out`` as ``best.safetensors``.

    The same call with ``resume=True`` goes on after an interruption, or a kill at any moment, and
    ends with the same agent as if there had been none: checkpoints hold weights, optimiser,
    schedules, random states, running episodes and, where the algorithm has one, the replay buffer.
    With one thread the same call gives the same weights, bit for bit. Where ``settings.rolling`` is
    set the run itself is in ``out/whole``, those of the folds in ``out/fold-1`` to ``fold-5``.

    Args:
        env: an environment's id or a scenario; its ``split`` does not matter, nor, in the pinned
            world, its ``slice_tasks``: agents learn task by task there. Its fields that are not as
            registered win over those of the hyper-parameters.
        out: a folder that does not exist yet, or that of a run to go on with.
        settings: how to train; by default those of `TrainingSettings`.
        resume: go on with the run in ``out``. A finished one is only read.
        command: what result and policy file call the command that trained the agent.
        progress: called with the number of decisions made; of counterfactual learning, as
            `failgym.agents.counterfactual.train.steps_of_run` says.
        asked_for: fields of ``env`` that win too, though they are as registered.

    Raises:
        ValueError: in one line, and nothing is left: an unknown environment, algorithm or
            hyper-parameter, with the nearest known one; a value of the wrong type or range; a
            folder that exists, or without ``resume``; one that holds another run, naming the
            difference; an option of the pinned world in another. Later: if weights are no longer
            finite.
        KeyboardInterrupt: after Ctrl-C, once a checkpoint is taken between two updates.

    >>> import tempfile
    >>> from failgym.agents import TrainingSettings
    >>> short = TrainingSettings("ppo", steps=512, n_envs=16, episodes=200, validate_every=512,
    ...     hyper={"n_steps": 16, "batch_size": 64})
    >>> result = train("failgym/Cloning-v1", tempfile.mkdtemp(), short)
    >>> result.steps, result.policy.name
    (512, 'best.safetensors')
    """
    settings = TrainingSettings() if settings is None else settings
    _check_command(command)
    if settings.rolling:
        return _rolling(env, Path(out), settings, resume, command, progress, asked_for)
    if settings.algo == COUNTERFACTUAL:
        from failgym.agents.counterfactual.train import train_counterfactual

        return train_counterfactual(
            env,
            out,
            settings,
            resume=resume,
            command=command,
            progress=progress,
            asked_for=asked_for,
        )
    plan, folder = _plan(env, settings, asked_for), RunFolder(out)
    if finished := _checked(folder, plan.run, resume):
        return finished
    called = command or f"failgym.agents.train({plan.scenario.name!r}, out, {settings})"
    if not resume:
        folder.begin({**plan.run, "command": called}, plan.hyper)
    with _torch_threads(settings.threads):
        with _discarded(None if resume else folder):
            session, validator = _prepared(plan, folder, called)
        session.learn(validator, plan.milestones, plan.steps, progress)
        return session.result(validator)


@dataclass(frozen=True)
class RollingRun:
    """A run with five folds by time: agents that can be trained apart, and what joins them."""

    given: Scenario
    scenario: Scenario
    """with what the hyper-parameters change; its train split is cut into folds"""
    folder: RunFolder
    hyper: Settings | CounterfactualSettings
    settings: TrainingSettings
    asked_for: tuple[str, ...]

    @classmethod
    def of(
        cls, env: str | Scenario, out: Path, settings: TrainingSettings, asked_for: Collection[str]
    ) -> RollingRun:
        """The run that `train` is asked for. Raises ValueError."""
        given, asked = resolve(env), tuple(asked_for)
        hyper = _hyper_of(given, settings)
        if isinstance(hyper, CounterfactualSettings) and hyper.environments:
            raise ValueError("rolling: expected one environment: folds are those of its record")
        scenario = scenario_of(given, hyper.env, asked)
        return cls(given, scenario, RunFolder(out), hyper, settings, asked)

    @property
    def document(self) -> Document:
        """What makes the run the one that it is."""
        settings = self.settings
        return described_run(
            Environment.of(self.scenario).model_dump(),
            settings.algo,
            self.hyper,
            whole_trace(self.scenario).content_hash,
            folds=FOLDS,
            steps=settings.steps,
            seed=settings.seed,
            validate_every=settings.validate_every,
            episodes=settings.episodes,
            keep=settings.keep,
            fields_shown=settings.fields,
        )

    def places(self) -> list[Anchors]:
        """Where the agents of the folds are judged. Raises ValueError, as `places_of`."""
        return places_of(self.scenario, self.settings.episodes, self.settings.seed)

    def begin(self, command: str | None) -> None:
        """Make the folder of a new run. Raises ValueError if there is something."""
        self.folder.begin({**self.document, "command": self.called(command)}, self.hyper)

    def called(self, command: str | None) -> str:
        """What the command is called that trains an agent."""
        return command or f"failgym.agents.train({self.given.name!r}, out, {self.settings})"

    def trained(self, scenario: Scenario, part: Path, progress: Advance) -> TrainingResult:
        """Train an agent in a folder within that of the run, which is begun, or go on."""
        return train(
            scenario,
            part,
            replace(self.settings, rolling=False),
            resume=RunFolder(part).begun,
            command=self.folder.described().get("command", self.called(None)),
            progress=progress,
            asked_for=self.asked_for,
        )

    def train_part(self, number: int, progress: Advance) -> None:
        """Train the agent of a fold, or that of the whole train split (0), or go on.

        Raises:
            ValueError: as `train`, naming the fold.
        """
        if number:
            trained = partial(self.trained, progress=progress)
            agent_of_fold(self.scenario, number, self.folder.path, trained)
        else:
            self.trained(self.given, self.folder.path / WHOLE, progress)


def checked_run(
    env: str | Scenario,
    out: str | Path,
    settings: TrainingSettings,
    *,
    resume: bool = False,
    asked_for: Collection[str] = (),
) -> TrainingResult | None:
    """Check what `train` is to do, but for what takes long to check: worlds are not compiled.

    Returns:
        The result of a run that is finished; None of any other.

    Raises:
        ValueError: as `train`.
    """
    if settings.rolling:
        document = RollingRun.of(env, Path(out), settings, asked_for).document
    elif settings.algo == COUNTERFACTUAL:
        from failgym.agents.counterfactual.train import document_of

        document = document_of(env, settings, asked_for)
    else:
        document = _plan(env, settings, asked_for).run
    return _checked(RunFolder(out), document, resume)


def _rolling(
    env: str | Scenario,
    out: Path,
    settings: TrainingSettings,
    resume: bool,
    command: str | None,
    progress: Advance,
    asked_for: Collection[str],
) -> TrainingResult:
    """Train, and then once more for each fold of the train split, whose verdict is the result's."""
    run = RollingRun.of(env, out, settings, asked_for)
    places, folder = run.places(), run.folder
    if finished := _checked(folder, run.document, resume):
        return finished
    if not resume:
        run.begin(command)
    trained = partial(run.trained, progress=progress)
    whole = folder.path / WHOLE
    with _discarded(None if resume else folder, unless=whole):
        result = trained(run.given, whole)
    verdict = rolled(run.scenario, places, folder.path, trained, settings.threads)
    if result.verdict is not None:
        verdict = verdict.with_kept(result.verdict)
    with replacing(folder.best) as partial_file:
        shutil.copyfile(result.policy, partial_file)
    result = replace(result, verdict=verdict, policy=folder.best)
    write_json(folder.result, result.to_json())
    return result


def _hyper_of(given: Scenario, settings: TrainingSettings) -> Settings | CounterfactualSettings:
    """The hyper-parameters of a run. Raises ValueError."""
    if settings.algo == COUNTERFACTUAL:
        from failgym.agents.counterfactual.train import hyper_of

        return hyper_of(given, settings)
    return settings_for(
        settings.algo,
        given.name,
        file=settings.config,
        hyper=settings.hyper,
        n_envs=settings.n_envs,
    )


def _check_command(command: object) -> None:
    """Raise ValueError for what is no text."""
    if not isinstance(command, str | None):
        raise ValueError(f"command: expected a text, got {shown(command)}")


@dataclass(frozen=True)
class _Plan:
    """What a run trains, all of it checked."""

    settings: TrainingSettings
    hyper: Settings
    scenario: Scenario
    steps: int
    milestones: Milestones
    run: Document
    """what makes the run the one that it is"""


def _plan(env: str | Scenario, settings: TrainingSettings, asked_for: Collection[str]) -> _Plan:
    """Check what is to be trained. Raises ValueError."""
    given = resolve(env)
    hyper = settings_for(
        settings.algo,
        given.name,
        file=settings.config,
        hyper=settings.hyper,
        n_envs=settings.n_envs,
    )
    steps = _steps(settings.steps, hyper)
    milestones = Milestones(settings.validate_every_of(steps), settings.checkpoint_every_of(steps))
    scenario = scenario_of(given, hyper.env, asked_for).override(split=settings.split)
    check_world(scenario, hyper)
    run = described_run(
        Environment.of(scenario).model_dump(),
        settings.algo,
        hyper,
        whole_trace(scenario).content_hash,
        steps=steps,
        seed=settings.seed,
        validate_every=milestones.validation,
        episodes=settings.episodes,
        keep=settings.keep,
        fields_shown=settings.fields,
    )
    return _Plan(settings, hyper, scenario, steps, milestones, run)


def _prepared(plan: _Plan, folder: RunFolder, called: str) -> tuple[TrainingSession, Validator]:
    """A model with its environment, and what scores it. Raises ValueError."""
    settings, hyper, scenario = plan.settings, plan.hyper, plan.scenario
    algorithm = algorithm_named(settings.algo)
    surrogate = surrogate_of(scenario, hyper.surrogate)
    fields = select_fields(settings.fields, scenario, hyper.without or ())
    venv = make_sb3_env(surrogate, hyper.n_envs, threads=settings.threads, fields=fields)
    model = algorithm.build(hyper, shaped(venv, hyper, settings.seed), settings.seed)
    validator = Validator(scenario, algorithm, settings.seed, settings.episodes, settings.threads)
    model.set_logger(_logger(folder, settings.tensorboard))
    taught = hyper.warm_start if isinstance(hyper, OnPolicySettings) else None
    session = TrainingSession(
        folder,
        plan.run,
        called,
        scenario,
        model,
        venv,
        rollouts=algorithm.on_policy,
        taught=taught,
    )
    return session, validator


def _steps(given: int | None, settings: Settings) -> int:
    """How long to train. Raises ValueError if nobody says."""
    steps = settings.steps if given is None else given
    if steps is None:
        raise ValueError("steps: expected a number of decisions: the hyper-parameters name none")
    return check_count("steps", steps, 1)


@contextmanager
def _discarded(folder: RunFolder | None, *, unless: Path | None = None) -> Generator[None]:
    """Leave nothing of a run that turns out to be none while it is prepared.

    Args:
        folder: of the run; None: it was there before, and stays.
        unless: a folder within it; once it is there, something was learned, and all stays.
    """
    try:
        yield
    except (ValueError, TypeError, MemoryError, OSError, RuntimeError):
        if folder is not None and not (unless is not None and unless.exists()):
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

"""`train`: an agent for an environment, from its hyper-parameters to a policy file.

The agent learns on the "fit" part of the train split and is scored on the "validation" part as it
goes; the best one is kept. The test split is not touched.
"""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger, configure

from failgym.agents.algorithms import algorithm_named
from failgym.agents.checkpoints import read_checkpoint, resume_model, taken, write_checkpoint
from failgym.agents.manifest import Environment
from failgym.agents.policy_file import load_agent, save_policy
from failgym.agents.progress import Log, Milestones, TrainingCallback, check_finite, held_interrupts
from failgym.agents.result import TrainingResult
from failgym.agents.run_folder import Document, RunFolder, described_run, read_json, write_json
from failgym.agents.settings import settings_for
from failgym.agents.unfinished import ActionRecord
from failgym.agents.validation import Keep, Validator
from failgym.agents.vec_env import make_sb3_env
from failgym.envs import Scenario, resolve
from failgym.envs.sources import whole_trace
from failgym.evaluation.arguments import check_count
from failgym.evaluation.progress import Advance, silent

__all__ = ["VALIDATIONS", "TrainingResult", "train"]

VALIDATIONS = 10
"""How often an agent is scored while it is trained, by default."""
CHECKPOINTS = 50
"""How many checkpoints are taken, by default."""
DUMPS = 100
"""Episodes between two lines of TensorBoard, for algorithms that do not learn in rollouts."""


def train(
    env: str | Scenario,
    algo: str = "maskable_ppo",
    *,
    steps: int,
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
) -> TrainingResult:
    """Train an agent; the best one is in ``out`` as ``best.safetensors``.

    The same call with ``resume=True`` goes on after an interruption, or a kill at any moment, and
    ends with the same agent as if there had been none: checkpoints hold weights, optimiser,
    schedules, random states, running episodes and, where the algorithm has one, the replay buffer.
    With one thread the same call gives the same weights, bit for bit.

    Args:
        env: an environment's id or a scenario; its ``split`` does not matter, nor, in the pinned
            world, its ``slice_tasks``: agents learn task by task there.
        algo: a name of `failgym.agents.algorithms.ALGORITHMS`.
        steps: decisions to train on; rounded up to whole rollouts.
        out: a folder that does not exist yet, or that of a run to go on with.
        seed: of the first weights and of all that is drawn.
        n_envs: episodes that run at once, by default those of the hyper-parameters.
        settings: a YAML file of hyper-parameters (`failgym.agents.settings`); by default the one
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

    Raises:
        ValueError: in one line, before anything is written: an unknown environment, algorithm or
            hyper-parameter, with the nearest known one; a value of the wrong type or range; a
            folder that exists, or without ``resume``; one that holds another run, naming the
            difference. Later: if weights are no longer finite.
        KeyboardInterrupt: after Ctrl-C, once a checkpoint is taken between two updates.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> result = train("failgym/Cloning-v0", "ppo", steps=512, out=folder, n_envs=16,
    ...     hyper={"n_steps": 16, "batch_size": 64}, episodes=200, validate_every=512)
    >>> result.steps, result.policy.name
    (512, 'best.safetensors')
    """
    _check(steps, seed, threads, validate_every, checkpoint_every, tensorboard)
    if split not in ("fit", "train"):
        raise ValueError(f"split: expected 'fit' or 'train', got {split!r}")
    if keep not in get_args(Keep):
        raise ValueError(f"keep: expected one of {', '.join(get_args(Keep))}, got {keep!r}")
    scenario = resolve(env).override(split=split)
    algorithm = algorithm_named(algo)
    chosen = settings_for(algo, scenario.name, file=settings, hyper=hyper, n_envs=n_envs)
    folder = RunFolder(out)
    milestones = Milestones(
        validation=validate_every or -(-steps // VALIDATIONS),
        checkpoint=checkpoint_every or -(-steps // CHECKPOINTS),
    )
    run = described_run(
        Environment.of(scenario).model_dump(),
        algo,
        chosen,
        whole_trace(scenario).content_hash,
        steps=steps,
        seed=seed,
        validate_every=milestones.validation,
        episodes=episodes,
        keep=keep,
    )
    if resume:
        folder.check_same(run)
        if folder.result.exists():
            return TrainingResult.of(read_json(folder.result), folder.best)
    else:
        folder.check_new()
    with _torch_threads(threads):
        venv = make_sb3_env(scenario, chosen.n_envs, threads=threads)
        model = algorithm.build(chosen, venv, seed)
        validator = Validator(scenario, algorithm, seed, episodes, threads)
        changed = {"n_envs": n_envs, "settings": settings and str(settings), "hyper": hyper}
        command = command or _called(scenario.name, algo, steps=steps, seed=seed, **changed)
        if not resume:
            folder.begin({**run, "command": command}, chosen)
        training = _Training(folder, run, model, venv, scenario, command)
        model.set_logger(_logger(folder, tensorboard))
        training.learn(validator, milestones, steps, progress, algorithm.on_policy)
        return training.result()


class _Training:
    """A model that is being trained, and the folder of the run."""

    def __init__(
        self,
        folder: RunFolder,
        run: Document,
        model: BaseAlgorithm,
        venv: Any,
        scenario: Scenario,
        command: str,
    ) -> None:
        self.folder, self.run, self.model, self.venv = folder, run, model, venv
        self.scenario = scenario
        self.command: str = folder.described().get("command", command)
        self.record = ActionRecord(venv.num_envs)
        self.log = Log()

    def learn(
        self,
        validator: Validator,
        milestones: Milestones,
        steps: int,
        progress: Advance,
        rollouts: bool,
    ) -> None:
        """Learn from where the last checkpoint left off, or from nothing, to the end."""
        begun = self.folder.checkpoint.exists()
        if begun:
            self._resume()
            progress(self.model.num_timesteps)
        with held_interrupts() as stop:
            callback = TrainingCallback(
                validator,
                milestones,
                self.log,
                by=self.run["keep"],
                record=self.record.add,
                keep=self._keep_best,
                save=self._save,
                stop=stop,
                advance=progress,
            )
            try:
                self.model.learn(
                    max(steps - self.model.num_timesteps, 0),
                    callback=callback,
                    reset_num_timesteps=not begun,
                    log_interval=1 if rollouts else DUMPS,
                )
            except (RuntimeError, ValueError):  # what torch says of numbers that are none
                check_finite(self.model)
                raise
            callback.finish()

    def result(self) -> TrainingResult:
        """What came out, written down."""
        best = self.log.best
        if best is None:
            raise ValueError(f"{self.scenario.name}: the agent was never scored")
        seconds = max(self.log.seconds - self.log.validation_seconds, 1e-9)
        result = TrainingResult(
            env=self.run["env"],
            algo=self.run["algo"],
            seed=self.run["seed"],
            steps=self.model.num_timesteps,
            best=best,
            last=self.log.validations[-1],
            validations=tuple(self.log.validations),
            seconds=self.log.seconds,
            validation_seconds=self.log.validation_seconds,
            steps_per_second=self.model.num_timesteps / seconds,
            policy=self.folder.best,
            command=self.command,
            versions=load_agent(self.folder.best).manifest.versions,
            trace_hash=self.run["trace_hash"],
        )
        write_json(self.folder.result, result.to_json())
        return result

    def _resume(self) -> None:
        """Go back to the last checkpoint. Raises ValueError if it is damaged."""
        path = self.folder.checkpoint
        state = read_checkpoint(path)
        try:
            self.log = Log.of(state["log"])
            if self.log.best is not None and self.log.best_policy is not None:
                self.model.policy.load_state_dict(self.log.best_policy)
                self.model.num_timesteps = self.log.best.steps
                self._keep_best()
            resume_model(self.model, self.venv, self.record, state["model"])
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: {' '.join(str(error).split())}") from error

    def _save(self) -> None:
        """Take a checkpoint, and write down the scores for whoever looks on."""
        state = taken(self.model, self.venv, self.record)
        write_checkpoint(self.folder.checkpoint, {"model": state, "log": self.log.to_state()})
        scores = [validation.to_json() for validation in self.log.validations]
        write_json(self.folder.evaluations, scores)

    def _keep_best(self) -> None:
        """Write the policy file of the model as it is."""
        assert self.log.best is not None
        save_policy(
            self.model,
            self.folder.best,
            env=self.scenario,
            command=self.command,
            scores={"validation": self.log.best.to_json()},
        )


def _called(env: str, algo: str, **options: Any) -> str:
    """The call of `train`, with the options that are not what they are by default."""
    given = [f"{name}={value!r}" for name, value in options.items() if value]
    return f"failgym.agents.train({', '.join((repr(env), repr(algo), *given))})"


def _check(
    steps: int,
    seed: int,
    threads: int,
    validate_every: int | None,
    checkpoint_every: int | None,
    tensorboard: bool,
) -> None:
    """Raise ValueError, naming the argument, for numbers that are too small or no whole numbers."""
    check_count("steps", steps, 1)
    check_count("seed", seed, 0)
    check_count("threads", threads, 0)
    for name, value in (
        ("validate_every", validate_every),
        ("checkpoint_every", checkpoint_every),
    ):
        if value is not None:
            check_count(name, value, 1)
    if tensorboard and find_spec("tensorboard") is None:
        raise ValueError("tensorboard: is not installed: pip install tensorboard")


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

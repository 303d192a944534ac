"""A model that learns, in the folder of its run: from nothing, or from where a checkpoint left off.

What happens before the first decision (`imitation.warm_start`) is begun anew if it was
interrupted; from the first checkpoint on nothing is lost.
"""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from stable_baselines3.common.base_class import BaseAlgorithm

from failgym.agents.algorithms.training_options import WarmStartOptions
from failgym.agents.environments.vec_env import BatchedVecEnv
from failgym.agents.files.policy_file import load_agent
from failgym.agents.files.trained_policy import TrainedPolicy
from failgym.agents.files.writing import save_policy
from failgym.agents.imitation.warm_start import WarmStartSettings, warm_start
from failgym.agents.training.callback import (
    Log,
    Milestones,
    Told,
    TrainingCallback,
    check_finite,
    held_interrupts,
)
from failgym.agents.training.checkpoints import (
    State,
    read_checkpoint,
    resume_model,
    taken,
    write_checkpoint,
)
from failgym.agents.training.episode_replay import ActionRecord
from failgym.agents.training.result import NoneAcceptable, TrainingResult
from failgym.agents.training.run_folder import Document, RunFolder, write_json
from failgym.agents.training.validation import PATIENCE, Validator
from failgym.envs import Scenario
from failgym.evaluation.progress import Advance, done_before
from failgym.evaluation.verdict import Verdict, judged

__all__ = ["TrainingSession"]

DUMPS = 100
"""Episodes between two lines of TensorBoard, for algorithms that do not learn in rollouts."""


@dataclass
class TrainingSession:
    """A model that is being trained, and the folder of the run."""

    folder: RunFolder
    run: Document
    """what is trained (`failgym.agents.training.run_folder.described_run`)"""
    command: str
    """what training is called, if the folder does not say what began it"""
    scenario: Scenario
    model: BaseAlgorithm
    venv: BatchedVecEnv
    """the environment behind whatever changes its rewards"""
    rollouts: bool
    """does the algorithm learn in rollouts?"""
    taught: WarmStartOptions | None = None
    """what a baseline teaches first"""
    log: Log = field(default_factory=Log)

    def __post_init__(self) -> None:
        self.command = self.folder.described().get("command", self.command)
        self.record = ActionRecord(self.venv.num_envs)

    def learn(
        self, validator: Validator, milestones: Milestones, steps: int, progress: Advance
    ) -> None:
        """Learn to the end.

        Args:
            validator: scores the agent.
            milestones: when it does, and when checkpoints are taken.
            steps: decisions in all.
            progress: called with the number of decisions made.

        Raises:
            ValueError: for a damaged checkpoint, or if weights are no longer finite.
            KeyboardInterrupt: after Ctrl-C, once a checkpoint is taken.
        """
        begun = self.folder.checkpoint.exists()
        if begun:
            self._resume()
            done_before(progress, self.model.num_timesteps)
        elif self.taught is not None:
            self._warm_start(self.taught)
        with held_interrupts() as stop:
            told = Told(self.record.add, self._keep_best, self._save, stop, progress)
            callback = TrainingCallback(validator, milestones, self.log, self.run["keep"], told)
            with _named_divergence(self.model):
                self.model.learn(
                    max(steps - self.model.num_timesteps, 0),
                    callback=callback,
                    reset_num_timesteps=not begun,
                    log_interval=1 if self.rollouts else DUMPS,
                )
            callback.finish()

    def result(self, validator: Validator) -> TrainingResult:
        """The result of the run, also written to its folder; the validator judges its agent."""
        best, log = self.log.best, self.log
        if best is None:
            raise NoneAcceptable(
                f"{self.scenario.name}: on the validation split every agent of this run was asked"
                f" more than {PATIENCE} times as often as replay, and overruled: none is kept;"
                " train for longer"
            )
        seconds = max(log.seconds - log.validation_seconds - log.warm_start_seconds, 1e-9)
        agent = load_agent(self.folder.best)
        result = TrainingResult(
            env=self.run["env"],
            algo=self.run["algo"],
            seed=self.run["seed"],
            steps=self.model.num_timesteps,
            best=best,
            last=log.validations[-1],
            validations=tuple(log.validations),
            warm_start=log.warm_start,
            seconds=log.seconds,
            validation_seconds=log.validation_seconds,
            warm_start_seconds=log.warm_start_seconds,
            steps_per_second=self.model.num_timesteps / seconds,
            policy=self.folder.best,
            command=self.command,
            versions=agent.manifest.versions,
            trace_hash=self.run["trace_hash"],
            asked=self.run["steps"],
            verdict=self._verdict(validator, agent),
        )
        write_json(self.folder.result, result.to_json())
        return result

    def _verdict(self, validator: Validator, agent: TrainedPolicy) -> Verdict | None:
        """What validation says; nothing where the agent has learned from the same jobs."""
        if self.scenario.split != "fit":
            return None
        return judged([validator.anchors], agent, len(self.log.validations))

    def _warm_start(self, options: WarmStartOptions) -> None:
        """Let a baseline teach the model; the environment is as if it had not been used."""
        before, seed, buffer = time.perf_counter(), self.run["seed"], self.run["settings"]
        credited = buffer.get("credit") is not None
        given = options.model_dump()
        teacher = given.pop("teacher")
        settings = WarmStartSettings(critic=not credited, **given)
        found = warm_start(self.model, teacher, settings=settings, seed=seed)
        self.venv.seed(seed)
        self.log.warm_start = found.to_json()
        self.log.warm_start_seconds = time.perf_counter() - before
        self.log.seconds = self.log.warm_start_seconds

    def _resume(self) -> None:
        """Go back to a checkpoint. Raises ValueError if it is damaged, having written nothing."""
        path = self.folder.checkpoint
        state = read_checkpoint(path)
        try:
            self.log = Log.of(state["log"])
            resume_model(self.model, self.venv, self.record, state["model"])
            self._write_best()
        except KeyError as error:
            raise ValueError(f"{path}: damaged: there is no {error}") from error
        except (RuntimeError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: {' '.join(str(error).split())}") from error

    def _write_best(self) -> None:
        """Write the policy file of the best agent so far: a kill may have come before that."""
        if self.log.best is None or self.log.best_policy is None:
            return
        policy, steps = self.model.policy, self.model.num_timesteps
        now: State = {name: weights.clone() for name, weights in policy.state_dict().items()}
        policy.load_state_dict(self.log.best_policy)
        self.model.num_timesteps = self.log.best.steps
        self._keep_best()
        policy.load_state_dict(now)
        self.model.num_timesteps = steps

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
            settings=self.run["settings"],
            scores={"validation": self.log.best.to_json()},
        )


@contextmanager
def _named_divergence(model: BaseAlgorithm) -> Generator[None]:
    """Say that training diverged where torch complains of numbers that are none."""
    try:
        yield
    except (RuntimeError, ValueError):
        check_finite(model)
        raise

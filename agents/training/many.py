"""`train_many`: agents that are trained independently of each other, by this process or others.

A step is an agent: a whole run, or with ``rolling`` one of its six. Each is written to the folder
of its own run as `train` writes it, so whatever is killed, the same call with ``resume`` goes on.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from failgym.agents.algorithms.hyperparameters import Settings
from failgym.agents.algorithms.learner import COUNTERFACTUAL
from failgym.agents.algorithms.settings_files import settings_for
from failgym.agents.training.result import TrainingResult
from failgym.agents.training.rolling_origin import FOLDER, WHOLE
from failgym.agents.training.rollout_steps import steps_of
from failgym.agents.training.run_folder import RunFolder
from failgym.agents.training.train import RollingRun, checked_run, train
from failgym.agents.training.training_settings import TrainingSettings
from failgym.envs import Scenario
from failgym.evaluation.progress import Advance, done_before, silent
from failgym.traces.store import META_FILE
from failgym.workers import ALONE, GOES_ON, Workers, each
from failgym.worlds.settings.splitting import FOLDS

__all__ = ["AgentRun", "Outcome", "train_many"]

PARTS = range(1 + FOLDS)
"""Agents of a run with folds: that of the whole train split, and that of each fold."""
LOOKS = 10
"""How far agents are that others train is read from their folders in every tenth look."""


@dataclass(frozen=True)
class AgentRun:
    """An agent that is to be trained; what `failgym.agents.train` is told of it."""

    name: str
    """what messages call it"""
    scenario: Scenario
    out: Path
    settings: TrainingSettings
    command: str | None = None
    asked_for: tuple[str, ...] = ()

    @property
    def folder(self) -> RunFolder:
        """Of the run."""
        return RunFolder(self.out)

    @property
    def rolling(self) -> RollingRun:
        """The run as one with folds."""
        return RollingRun.of(self.scenario, self.out, self.settings, self.asked_for)

    @cached_property
    def hyper(self) -> Settings:
        """The hyper-parameters of what learns by trial. Raises ValueError."""
        given, name = self.settings, self.scenario.name
        return settings_for(
            given.algo, name, file=given.config, hyper=given.hyper, n_envs=given.n_envs
        )

    @cached_property
    def steps(self) -> int:
        """What ``progress`` is called with in all, for one agent. Raises ValueError."""
        if self.settings.algo == COUNTERFACTUAL:
            from failgym.agents.counterfactual.train import steps_of_run

            return steps_of_run(self.scenario, self.settings)
        asked = self.settings.steps
        return steps_of((self.hyper.steps if asked is None else asked) or 0, self.hyper)

    @cached_property
    def steps_of_round(self) -> int:
        """The same for one round of counterfactual learning."""
        from failgym.agents.counterfactual.train import hyper_of

        return self.steps // hyper_of(self.scenario, self.settings).rounds

    @property
    def total(self) -> int:
        """What ``progress`` is called with in all."""
        return self.steps * (len(PARTS) if self.settings.rolling else 1)

    def files(self) -> Iterator[Path]:
        """What it reads."""
        scenario = self.scenario
        if self.settings.config is not None:
            yield Path(self.settings.config)
        if isinstance(scenario.trace, str | Path):
            yield Path(scenario.trace) / META_FILE
        if isinstance(scenario.forecast, str):
            yield Path(scenario.forecast)


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    run: AgentRun
    result: TrainingResult | None
    """None if it failed"""
    problem: str = ""
    """why it failed, in a line"""


def train_many(
    runs: Sequence[AgentRun],
    *,
    resume: bool = False,
    workers: Workers = ALONE,
    progress: Advance = silent,
) -> list[Outcome]:
    """Train agents, each in its folder as `failgym.agents.train` does; one that fails stops none.

    Args:
        runs: the agents; no two have the same folder.
        resume: go on with those that were begun. Finished ones are only read.
        workers: who trains; what is written is the same, times of the clock aside.
        progress: called with the number of decisions made, of the sum of `AgentRun.total`.

    Returns:
        What came of each, in order.

    Raises:
        ValueError: in one line, before anything is trained: as `train`, naming the run if there are
            several; with ``resume``, if none of them was begun; ``threads`` other than 1 where
            several train at the same time. Later, if a worker was killed, as
            `failgym.workers.each`: what was finished stays.
        KeyboardInterrupt: after Ctrl-C, once those at work have taken a checkpoint; those on a
            cluster go back to their last one.
    """
    found = _checked(runs, resume, workers)
    with _shared_folder(runs, workers), _resumable():
        training = _Training(runs, found, workers, progress)
        training.train()
    problems = training.problems
    return [Outcome(run, found[n], problems.get(n, "")) for n, run in enumerate(runs)]


def _checked(
    runs: Sequence[AgentRun], resume: bool, workers: Workers
) -> dict[int, TrainingResult | None]:
    """The results of runs that are finished, by number; None of any other. Raises ValueError."""
    if resume and not any(run.folder.begun for run in runs):
        where = runs[0].out if len(runs) == 1 else runs[0].out.parent
        raise ValueError(f"{where}: no training run to go on with; leave out --resume to begin one")
    if workers.several and any(run.settings.threads != 1 for run in runs):
        raise ValueError(f"{workers}: expected --threads 1: each agent takes one processor")
    found: dict[int, TrainingResult | None] = {}
    for number, run in enumerate(runs):
        with _named(run, len(runs) > 1):
            begun = resume and run.folder.begun
            found[number] = checked_run(
                run.scenario, run.out, run.settings, resume=begun, asked_for=run.asked_for
            )
    if workers.several:
        _check_folds([run for number, run in enumerate(runs) if found[number] is None])
    return found


def _check_folds(runs: Sequence[AgentRun]) -> None:
    """Raise ValueError where nothing is decided in a fold that an agent is to be judged on."""
    seen = set[tuple[Scenario, int | None]]()
    for run in (run for run in runs if run.settings.rolling):
        rolling = run.rolling
        if (rolling.scenario, run.settings.episodes) not in seen:
            with _named(run, len(runs) > 1):
                rolling.places()
            seen.add((rolling.scenario, run.settings.episodes))


@contextmanager
def _named(run: AgentRun, several: bool) -> Generator[None]:
    """Name a run in what is wrong with it, if there are others."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        if not several or said.startswith(str(run.out)):  # which names it too
            raise
        raise ValueError(f"{run.name}: {said}") from error


@contextmanager
def _shared_folder(runs: Sequence[AgentRun], workers: Workers) -> Generator[None]:
    """Make the folder in which a cluster sees that it is shared; leave none that stays empty."""
    folder = _parent(runs)
    made = [one for one in (folder, *folder.parents) if not one.exists()] if workers.remote else []
    if made:
        folder.mkdir(parents=True)
    try:
        yield
    finally:
        with suppress(OSError):
            for one in made:
                one.rmdir()


def _parent(runs: Sequence[AgentRun]) -> Path:
    """A folder that all runs lie in."""
    return Path(os.path.commonpath([run.out.absolute().parent for run in runs]))


@contextmanager
def _resumable() -> Generator[None]:
    """Say how the command goes on, where its workers were lost."""
    try:
        yield
    except ValueError as error:
        raise ValueError(str(error).replace(GOES_ON, f"{GOES_ON} with --resume")) from error


Step = tuple[int, int | None]
"""The number of a run, and of one of its `PARTS`; None: all of it."""


@dataclass(frozen=True)
class _Steps:
    """Trains agents, in whatever process."""

    runs: tuple[AgentRun, ...]
    progress: Advance = silent

    def train(self, step: Step) -> TrainingResult | str | None:
        """Train an agent, or go on. What went wrong, in a line; None of a part that did not."""
        run, part = self.runs[step[0]], step[1]
        try:
            if part is not None:
                run.rolling.train_part(part, self.progress)
                return None
            return train(
                run.scenario,
                run.out,
                run.settings,
                resume=run.folder.begun,
                command=run.command,
                progress=self.progress,
                asked_for=run.asked_for,
            )
        except (ImportError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
            return " ".join(str(error).split()) or type(error).__name__
        except Exception as error:  # whatever it is, the others go on
            traceback.print_exc()
            return " ".join(f"{type(error).__name__}: {error}".split())


class _Training:
    """The runs of a call, as far as they are known."""

    def __init__(
        self,
        runs: Sequence[AgentRun],
        found: dict[int, TrainingResult | None],
        workers: Workers,
        progress: Advance,
    ) -> None:
        self.runs, self.found, self.workers = tuple(runs), found, workers
        self.progress = progress
        self.problems: dict[int, str] = {}

    def train(self) -> None:
        """Train all that are not finished: their results join those found, or why they failed."""
        left = [number for number, result in self.found.items() if result is None]
        for number in self.found.keys() - left:
            done_before(self.progress, self.runs[number].total)
        apart = [n for n in left if self.workers.several and self.runs[n].settings.rolling]
        new = [n for n in apart if not self.runs[n].folder.begun]
        for number in new:
            self.runs[number].rolling.begin(self.runs[number].command)
        self._each({(n, None): self.runs[n].total for n in left if n not in apart})
        self._each({(n, part): self.runs[n].steps for n in apart for part in PARTS})
        for number in set(new) & self.problems.keys():
            _discard(self.runs[number].folder)
        self._each({(n, None): 0 for n in apart if n not in self.problems})

    def _each(self, steps: dict[Step, int]) -> None:
        """Do steps, each with so much progress."""
        apart = self.workers.several
        told = _Progress(self.runs, steps, self.progress, apart)
        outcomes = each(
            _Steps(self.runs, silent if apart else told.here).train,
            list(steps),
            self.workers,
            look=told.look,
            ended=told.ended,
            named=lambda step: self.runs[step[0]].name,
            folder=_parent(self.runs),
            shared=[file for run in self.runs for file in run.files() if file.is_file()],
        )
        for (number, part), outcome in zip(steps, outcomes, strict=True):
            if isinstance(outcome, str):
                self.problems.setdefault(number, outcome)
            elif part is None:
                self.found[number] = outcome


class _Progress:
    """How far the steps of a call of `each` are: as told here, or as their folders say.

    Args:
        runs: the agents.
        steps: those that are to be done, each with so much progress.
        advance: is told.
        apart: do other processes train? Else this one does, one step after the other.
    """

    def __init__(
        self, runs: Sequence[AgentRun], steps: Mapping[Step, int], advance: Advance, apart: bool
    ) -> None:
        self.runs, self.left, self.advance, self.apart = runs, dict(steps), advance, apart
        self.told = {step: min(self._known(step), total) for step, total in steps.items()}
        done_before(advance, sum(self.told.values()))
        self.looks = self.counted = 0

    def here(self, done: int) -> None:
        """The step at work is one of this process; it also counts what it finds done."""
        self.counted += done
        self._tell(next(iter(self.left)), self.counted)

    def look(self) -> None:
        """Read how far the agents are that other processes train."""
        self.looks += 1
        if self.apart and self.looks % LOOKS == 0:
            for step in self.left:
                self._tell(step, self._known(step))

    def ended(self, step: Step, outcome: object) -> None:
        """A step is over; what was not told of it is told now."""
        self._tell(step, self.left.pop(step))
        self.counted = 0

    def _tell(self, step: Step, so_far: int) -> None:
        if so_far > self.told[step]:
            self.advance(so_far - self.told[step])
            self.told[step] = so_far

    def _known(self, step: Step) -> int:
        """How far an agent is, by what is written down."""
        run, part = self.runs[step[0]], step[1]
        names = {None: "", 0: WHOLE}
        folder = RunFolder(run.out / names.get(part, FOLDER.format(part)))
        if run.settings.algo != COUNTERFACTUAL:
            return folder.scored
        return run.steps_of_round * folder.rounds


def _discard(folder: RunFolder) -> None:
    """Leave nothing of a run of which no agent could be begun."""
    if not any((folder.path / name).exists() for name in (WHOLE, *map(FOLDER.format, PARTS))):
        folder.discard()

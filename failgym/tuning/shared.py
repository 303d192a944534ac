"""A search that several processes share, on one machine or many: one storage, no trial twice.

A search has as many places as trials are wanted. What is tried at a place follows from its number
and the trials that are over. Who finds a place free puts a trial of it into the storage's queue,
and takes the first of the queue, which the storage gives to one process only. If two trials are of
one place, the one with the lower number holds it.

Who is at work says so every `BEAT` seconds. A trial whose process says nothing for `SILENT` seconds
is given up: its place is free, and the next trial there has the same parameters. Machines need not
agree on the time: each goes by how long it has heard nothing.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from failgym.evaluation.progress import Advance, done_before, silent
from failgym.tuning.search import LOST, PLACE, Search, not_lost, place_of
from failgym.tuning.storage import shared_study
from failgym.workers.at_node import same_results

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial, Trial

__all__ = ["SharedSearch"]

PACKAGES = ("numba", "numpy", "optuna", "pandas", "scikit-learn", "xgboost", "xgboost-cpu")
"""Their versions decide what is tried, and what comes out."""
BEAT = 5.0
"""How often a process says that it is at work [s]."""
SILENT = 60.0
"""After so long its trial is given up [s]: a dozen beats; a storage that is away for longer costs a
trial, which is tried anew."""
LOOK = 0.5
"""How often a process that waits for others looks [s]."""
_BY, _BEATS = "by", "beats of "
"""Names of what is noted of a trial, and of a study."""


class SharedSearch:
    """One process's part in a search that is kept at a URL.

    Args:
        search: the heuristic, its slices, and what is tried.
        url: of the storage (`failgym.tuning.storage.shared_study`).
        trials: how many are wanted, of all processes together.

    Raises:
        ValueError: if the storage cannot be used, or keeps another search.
    """

    def __init__(self, search: Search, url: str, trials: int) -> None:
        self.search, self.trials = search, trials
        self.study: Study = shared_study(url, search.identity | same_results(PACKAGES))
        self.study.sampler = search.sampler
        self._name = secrets.token_hex(8)
        self._told: int | None = None
        self._heard: dict[str, tuple[Any, float]] = {}
        """who is at work -> the last beat, and when it was first seen"""

    def one(self) -> bool:
        """Try one set of parameters more, as soon as a place is free.

        Returns:
            False if all that are wanted are known instead, here or elsewhere.
        """
        while len(self.known()) < self.trials:
            with self._beating():
                trial = self._claimed()
                if trial is not None and self._tried(trial):
                    return True
            if trial is None:
                self._give_up_silent()
                time.sleep(LOOK)
        return False

    def all(self, progress: Advance = silent) -> None:
        """Try sets of parameters until all that are wanted are known, here or elsewhere."""
        self.report(progress)
        while self.one():
            self.report(progress)
        self.report(progress)

    def report(self, progress: Advance) -> None:
        """Tell how many more of the trials are over than were told before."""
        over = len(self.known())
        if self._told is None:
            done_before(progress, over)
        else:
            progress(over - self._told)
        self._told = over

    def known(self) -> list[FrozenTrial]:
        """The trials that are wanted and over, in the order of their places."""
        held = self._held()
        return [held[place] for place in sorted(held) if held[place].state.is_finished()]

    def _held(self) -> dict[int, FrozenTrial]:
        """The trial of each place that is tried, or about to be."""
        held: dict[int, FrozenTrial] = {}
        for trial in not_lost(self.study):
            if PLACE in trial.user_attrs and place_of(trial) < self.trials:
                held.setdefault(place_of(trial), trial)
        return held

    def _claimed(self) -> Trial | None:
        """A trial that is this process's alone; None if there is none to be had now."""
        from optuna.exceptions import UpdateFinishedTrialError

        held = self._held()
        if not any(trial.state.name == "WAITING" for trial in held.values()):
            free = next((place for place in range(self.trials) if place not in held), None)
            if free is None:
                return None
            self.study.enqueue_trial(self._lost_at(free), user_attrs={PLACE: free})
        try:
            trial = self.study.ask(self.search.distributions)
        except UpdateFinishedTrialError:
            return None  # SQLite locks no row, so two may be given a trial, and others were faster
        holder = self._held().get(place_of(trial)) if PLACE in trial.user_attrs else None
        if holder is None or holder.number != trial.number:
            self._give_up(trial.number)  # others were faster
            return None
        return trial

    def _lost_at(self, place: int) -> dict[str, Any]:
        """The parameters of a place whose trial was given up; none if it had not all of them."""
        for trial in self.study.get_trials(deepcopy=False):
            at = PLACE in trial.user_attrs and place_of(trial) == place
            if at and trial.params.keys() == self.search.distributions.keys():
                return dict(trial.params)
        return {}

    def _tried(self, trial: Trial) -> bool:
        """Try a trial; False if others have given it up meanwhile: what came out is dropped."""
        from optuna.exceptions import UpdateFinishedTrialError

        try:
            trial.set_user_attr(_BY, self._name)
            self.search.play(self.study, trial)
        except UpdateFinishedTrialError:
            return False
        except BaseException:
            with suppress(Exception):  # the first error is told
                self._give_up(trial.number)  # or the others wait until it has been silent for long
            raise
        return True

    def _give_up(self, number: int) -> None:
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        self.study.set_user_attr(f"{LOST}{number}", True)  # if it ends meanwhile, it counts
        with suppress(UpdateFinishedTrialError):
            self.study.tell(number, state=TrialState.FAIL, skip_if_finished=True)

    def _give_up_silent(self) -> None:
        """Give up the trials of processes of which nothing has been heard for long."""
        now, beats = time.monotonic(), self.study.user_attrs
        for trial in self.study.get_trials(deepcopy=False):
            if trial.state.name != "RUNNING":
                continue
            who = str(trial.user_attrs.get(_BY, f"trial {trial.number}"))
            beat = beats.get(_BEATS + who)
            if who not in self._heard or self._heard[who][0] != beat:
                self._heard[who] = beat, now
            elif now - self._heard[who][1] > SILENT:
                self._give_up(trial.number)

    @contextmanager
    def _beating(self) -> Generator[None]:
        """Say every now and then that this process is at work, while the block runs.

        A beat that fails is not the last one: only a storage that is away for long costs a trial.
        """
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT):
                with suppress(Exception):
                    self.study.set_user_attr(_BEATS + self._name, secrets.token_hex(4))

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

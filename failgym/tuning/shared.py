"""A search that several processes share, on one machine or many: one storage, no trial twice.

The storage numbers the trials. Who has asked for one keeps it only if there are not as many before
it as are wanted; who is at work says so every `BEAT` seconds. A trial whose process says nothing
for `SILENT` seconds is given up, and somebody else tries another one instead. Machines need not
agree on the time: each goes by how long it has heard nothing.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from failgym.evaluation.progress import Advance, silent
from failgym.tuning.search import LOST, Search, done, not_lost
from failgym.tuning.storage import shared_study

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial, Trial

__all__ = ["SharedSearch"]

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
        self.study: Study = shared_study(url, search.identity)
        self.study.sampler = search.sampler
        self._name = secrets.token_hex(8)
        self._told = 0
        self._heard: dict[str, tuple[Any, float]] = {}
        """who is at work -> the last beat, and when it was first seen"""

    def one(self) -> bool:
        """Try one set of parameters more, unless as many are being tried as are wanted."""
        if len(self._claimed()) >= self.trials:
            return False
        with self._beating():
            trial = self.study.ask(self.search.distributions)
            trial.set_user_attr(_BY, self._name)
            if trial.number not in self._claimed()[: self.trials]:
                self._give_up(trial.number)  # others were faster
                return False
            self._try(trial)
        return True

    def all(self, progress: Advance = silent) -> None:
        """Try sets of parameters until all that are wanted are known, here or elsewhere."""
        while True:
            self.report(progress)
            if self._told == self.trials:
                return
            if not self.one():
                self._give_up_silent()
                time.sleep(LOOK)

    def report(self, progress: Advance) -> None:
        """Tell how many more of the trials are over than were told before."""
        over = len(self.known())
        progress(over - self._told)
        self._told = over

    def known(self) -> list[FrozenTrial]:
        """The trials that are wanted and over, in order."""
        return done(self.study)[: self.trials]

    def _try(self, trial: Trial) -> None:
        try:
            self.search.play(self.study, trial)
        except BaseException:
            self._give_up(trial.number)  # or the others wait until it has been silent for long
            raise

    def _claimed(self) -> list[int]:
        """Numbers of the trials that are over, or at work, in order."""
        return [trial.number for trial in not_lost(self.study)]

    def _give_up(self, number: int) -> None:
        from optuna.trial import TrialState

        self.study.set_user_attr(f"{LOST}{number}", True)  # if it ends meanwhile, it counts
        self.study.tell(number, state=TrialState.FAIL, skip_if_finished=True)

    def _give_up_silent(self) -> None:
        """Give up the trials of processes of which nothing has been heard for long."""
        now, beats = time.monotonic(), self.study.user_attrs
        for trial in self.study.get_trials(deepcopy=False):
            if trial.state.is_finished():
                continue
            who = str(trial.user_attrs.get(_BY, f"trial {trial.number}"))
            beat = beats.get(_BEATS + who)
            if who not in self._heard or self._heard[who][0] != beat:
                self._heard[who] = beat, now
            elif now - self._heard[who][1] > SILENT:
                self._give_up(trial.number)

    @contextmanager
    def _beating(self) -> Generator[None]:
        """Say every now and then that this process is at work, while the block runs."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT):
                self.study.set_user_attr(_BEATS + self._name, secrets.token_hex(4))

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

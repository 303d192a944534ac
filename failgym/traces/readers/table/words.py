"""Words for how runs ended: failgym's own, those of batch systems, and those that a user adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from failgym.known_names import unknown
from failgym.traces.readers.exit_status import SUCCESS, USER
from failgym.traces.readers.sacct.fields import STATES, State, state_of
from failgym.vocabulary import Cause, Outcome

__all__ = ["CAUSES", "OWN", "SYNONYMS", "Word", "word_of", "words_of"]


class Word(NamedTuple):
    """What a word says of a run."""

    state: State
    own: bool = False  # it is taken as it is, whatever follows the run
    waits: bool = False  # the run has not begun: if a start is told, it is the expected one


OWN: Final = {
    "finish": Word(State(Outcome.FINISH, None, SUCCESS), own=True),
    "fail": Word(State(Outcome.FAIL, Cause.INTRINSIC, ""), own=True),
    "kill": Word(State(Outcome.KILL, Cause.USER, USER), own=True),
    "evict": Word(State(Outcome.EVICT, Cause.PREEMPTION, None), own=True),
    "lost": Word(State(Outcome.LOST, None, None), own=True),
    "censored": Word(State(Outcome.CENSORED, None, None), own=True),
}
"""The words of a trace itself."""

SYNONYMS: Final = {
    **dict.fromkeys(
        (
            *("finished", "complete", "success", "successful", "succeeded", "done", "ok"),
            *("pass", "passed"),
        ),
        "COMPLETED",
    ),
    **dict.fromkeys(("failure", "error", "errored", "crashed", "exited", "exit"), "FAILED"),
    **dict.fromkeys(("killed", "canceled", "aborted", "terminated", "deleted"), "CANCELLED"),
    **dict.fromkeys(("timed_out", "time_out", "walltime", "time_limit"), "TIMEOUT"),
    **dict.fromkeys(
        ("node_failed", "node_failure", "machine_failure", "hardware_failure"), "NODE_FAIL"
    ),
    **dict.fromkeys(("oom", "oom_killed", "oomkilled"), "OUT_OF_MEMORY"),
    **dict.fromkeys(("evicted",), "PREEMPTED"),
    **dict.fromkeys(("requeue", "rescheduled"), "REQUEUED"),
    **dict.fromkeys(("queued", "waiting", "submitted", "blocked"), "PENDING"),
    **dict.fromkeys(("active", "started"), "RUNNING"),
    "unknown": "REVOKED",
}
"""Words of other systems, and the state of Slurm's that means as much."""

CAUSES: Final = {cause.name.lower(): cause for cause in Cause}
"""Words for why a run ended without success."""

LONGEST_WORD: Final = 200
"""A word, with what may follow it as in `CANCELLED by 1001`, is at most so long [characters]."""


def plain(text: str) -> str:
    """A word in small letters; what is neither letter nor digit is one underscore."""
    bare = text.strip().rstrip("+").lower().split(" by ", 1)[0]
    letters = (sign if sign.isascii() and sign.isalnum() else " " for sign in bare)
    return "_".join("".join(letters).split())


def word_of(text: str, more: Mapping[str, Word]) -> Word | None:
    """What a word says; `more` counts first. None: unknown."""
    if len(text) > LONGEST_WORD:
        return None
    name = plain(text)
    if name in more:
        return more[name]
    if name in OWN:
        return OWN[name]
    state = state_of(SYNONYMS.get(name, name).upper()) if name else None
    if state is None:
        return None
    waits = SYNONYMS.get(name, name.upper()) in ("PENDING", "PD")
    return Word(state, waits=waits)


def words_of(outcomes: Mapping[str, str]) -> dict[str, Word]:
    """Words that a user adds, each with the known one that means as much.

    Raises ValueError for one that means nothing known.
    """
    found: dict[str, Word] = {}
    for text, meant in outcomes.items():
        word = word_of(meant, {})
        if word is None:
            known = [*OWN, *(name.lower() for name in STATES)]
            raise unknown("outcome", meant[:60], known)
        found[plain(text)] = word
    return found

"""Rows of a table of runs, read block by block into compact columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from shlex import quote
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.job_log import (
    NO_EXIT_CODE,
    NONE,
    PLACEMENTS,
    FieldError,
    JobLog,
)
from failgym.traces.readers.sacct.fields import exit_category
from failgym.traces.readers.sacct.jobs import Bounds
from failgym.traces.readers.sources import LONGEST_TEXT
from failgym.traces.readers.table import fields as fields_of
from failgym.traces.readers.table.fields import (
    DATED,
    KINDS_APART,
    MISSING,
    TEXTS,
    UNSET,
    Memo,
    Times,
    Unit,
    is_date,
)
from failgym.traces.readers.table.files import Block
from failgym.traces.readers.table.words import CAUSES, Word, word_of
from failgym.traces.schema import TraceError
from failgym.traces.validate import MOST_GPUS
from failgym.vocabulary import DAY, Cause, Outcome

__all__ = ["Rows"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

INTEGERS: Final = (
    *("job", "task", "submit", "start", "end", "outcome", "cause", "own", "waits", "category"),
    *("exit_code", "walltime", "priority", "slots", "cpu_time"),
    *TEXTS,
)
"""Columns of whole numbers; a text is its number in `JobLog.text`, times and durations are [ms]."""
NUMBERS: Final = ("cpu", "memory", "gpu", "max_memory")
"""Columns of numbers, NaN where one is missing."""
DEFAULTS: Final = {"task": 0, "slots": 1, "exit_code": NO_EXIT_CODE}
"""What stands for a column that the table has not, where it is not `NONE`."""
EXPECTED: Final = {
    "job": f"an id of 1 to {LONGEST_TEXT} characters",
    "submit": "a time like 2024-08-26T17:08:04 or a number (--timezone, --unit)",
    "walltime": "a duration like 01:30:00 or a number (--unit)",
    "priority": "a whole number of at most 2147483647",
    "slots": "a whole number of at least 1",
    "cpu": "a number of at least 0",
    "memory": "an amount like 4G or a number",
    "gpu": f"a number of at least 0 and at most {MOST_GPUS}",
    "machines": "a list of machines like node1,node2 or node[01-03]",
    "cause": "one of " + ", ".join(CAUSES),
    "exit_code": "an exit code like 1 or 0:9",
}
"""What is expected in a field, in words."""
ALIKE: Final = {
    "start": "submit",
    "end": "submit",
    "cpu_time": "walltime",
    "max_memory": "memory",
}
"""Fields of which the same is expected as of another one."""


@dataclass
class Rows:
    """What the rows tell, a column each, and where the runs were.

    Columns are of `INTEGERS` and `NUMBERS`; rows without a field that they need not have hold
    `NONE`, or what `DEFAULTS` says. `names` are those of tasks whose ids are no numbers: such a
    task has the code -2 - its position there.
    """

    times: Times
    unit: Unit
    words: Mapping[str, Word]
    counts: Counts
    log: JobLog
    bounds: Bounds = field(default_factory=Bounds)
    jobs: dict[str, int] = field(default_factory=dict[str, int])
    """ids of jobs, also of those whose rows are all dropped; `name_jobs` numbers the others"""
    names: dict[str, int] = field(default_factory=dict[str, int])
    told: set[str] = field(default_factory=set[str])
    """fields that some file has a column for"""
    since_1970: tuple[int, str] | None = None
    """the first of the times that count from 1970 [ms], and where it was read"""
    others: tuple[int, str] | None = None
    """the last of the others, likewise"""
    taken: int = 0

    def __post_init__(self) -> None:
        self._columns: dict[str, bytearray] = {}
        readers: dict[str, Callable[[str], Any]] = {
            "job": self._job,
            "task": self._task,
            "submit": self.times.read,
            "start": self.times.read,
            "end": self.times.read,
            "outcome": self._word,
            "cause": _cause,
            "exit_code": fields_of.code_of,
            "walltime": lambda text: fields_of.duration_of(text, self.unit),
            "cpu_time": lambda text: fields_of.duration_of(text, self.unit),
            "priority": fields_of.count_of,
            "slots": lambda text: fields_of.count_of(text, 1),
            "cpu": fields_of.number_of,
            "memory": fields_of.memory_of,
            "max_memory": fields_of.memory_of,
            "gpu": _gpus,
        }
        readers |= {name: self._text_reader(name) for name in TEXTS}
        self._memos = {name: Memo(_bare(read)) for name, read in readers.items()}
        self._fates = Memo(self._fate)

    def integers(self, name: str) -> Ints:
        """A column of whole numbers, shape (rows,)."""
        return np.frombuffer(self._whole(name), dtype=np.int64).copy()

    def numbers(self, name: str) -> Floats:
        """A column of numbers, NaN where one is missing, shape (rows,)."""
        return np.frombuffer(self._whole(name), dtype=np.float64).copy()

    def _whole(self, name: str) -> bytearray:
        """A column, of all rows so far: it is kept from the first row on that has it."""
        column = self._columns.setdefault(name, bytearray())
        missing = np.nan if name in NUMBERS else DEFAULTS.get(name, NONE)
        rows = self.taken - len(column) // 8
        column += np.full(rows, missing, np.float64 if name in NUMBERS else np.int64).data
        return column

    @property
    def columns(self) -> list[str]:
        """The columns that any row has."""
        return list(self._columns)

    def bits(self, name: str) -> Ints:
        """A column, so that what is missing is equal to what is missing, shape (rows,)."""
        return np.frombuffer(self._whole(name), dtype=np.int64).copy()

    def places(self) -> npt.NDArray[np.uint64]:
        """A hash of where each run was, and of its slots there, shape (rows,)."""
        placed = pd.DataFrame({name: self.log.placements.ints(name) for name in PLACEMENTS})
        run = placed.pop("attempt")
        found = np.zeros(self.taken, dtype=np.uint64)
        np.add.at(found, run, pd.util.hash_pandas_object(placed, index=False))  # in any order
        return found

    def keep(self, kept: npt.NDArray[np.bool_]) -> None:
        """Take the other rows out again, and where their runs were, shape (rows,)."""
        for name in self.columns:
            self._columns[name] = bytearray(self.bits(name)[kept].data)
        placed, number = self.log.placements, np.cumsum(kept) - 1
        run, machine, slots = (placed.ints(name) for name in PLACEMENTS)
        placed.clear()
        stays = kept[run]
        placed.extend(number[run[stays]], machine[stays], slots[stays])
        self.taken = int(kept.sum())

    def name_jobs(self) -> None:
        """Give the log the jobs that any row is of; rows then hold their numbers there."""
        used, number = np.unique(self.integers("job"), return_inverse=True)
        kept = set(used.tolist())
        for code, text in enumerate(self.jobs):
            if code in kept:
                self.log.new_job(text)
        self._columns["job"] = bytearray(number.astype(np.int64).data)

    def clear(self) -> None:
        """Free the memory of the columns."""
        self._columns.clear()

    def take(self, file: object, block: Block, columns: Mapping[str, str]) -> None:
        """Take the next rows; `columns` are the names of the fields' columns.

        Raises TraceError naming file, line (or row) and field.
        """
        self.told |= block.texts.keys()
        try:
            names = [name for name in block.texts if name != "machines"]
            found = {name: self._read(name, block.texts[name]) for name in names}
            self._note_kinds(file, block, found)
            self._settle(block, found)
        except _RowError as error:
            said = self._wrong(error, columns[error.field], block.texts[error.field][error.row])
            place = f"{block.place} {block.numbers[error.row]}"
            raise TraceError(f"{file}, {place}: {said}") from error

    def _note_kinds(self, file: object, block: Block, found: Mapping[str, list[Any]]) -> None:
        """Note which times count from 1970, and which from something else."""
        for name in ("submit", "start", "end"):
            times = np.array(found[name])
            read = [
                (int(times[row]), f"{file}, {block.place} {block.numbers[row]}: {name} {text!r}")
                for row, text in _first_and_last(times, block.texts[name])
            ]
            for one in read:
                if one[0] >= DATED:
                    self.since_1970 = min(self.since_1970 or one, one)
                else:
                    self.others = max(self.others or one, one)

    def check_kinds(self) -> None:
        """Raise TraceError if some times count from 1970, and others from something else."""
        if self.since_1970 is None or self.others is None:
            return
        (first, dated), (last, other) = self.since_1970, self.others
        if first - last > KINDS_APART:
            year = 1970 + round(first / (365.25 * DAY))
            raise TraceError(
                f"{other} does not count from 1970, but this time, of {year}, seems to: {dated};"
                " expected times of one kind. Missing ones are empty fields; --unit says what"
                " numbers count"
            )

    def _read(self, name: str, texts: Sequence[str]) -> list[Any]:
        """What the texts of a field say. Raises _RowError."""
        memo, found = self._memos[name], list[Any]()
        try:
            for text in texts:
                found.append(memo[text])
        except ValueError as error:
            raise _RowError(name, len(found)) from error
        return found

    def _wrong(self, error: _RowError, column: str, text: str) -> FieldError:
        """What is wrong with a text of a field, which is in that column."""
        name, text = error.field, text.strip()
        expected = error.expected or EXPECTED.get(ALIKE.get(name, name), "")
        if name == "outcome":
            plain = text.isprintable() and len(text) <= 60 and not set(text) & set(",=")
            word = text if plain else "WORD"
            expected = (
                "a word like finished, failed, killed, timeout, node_fail or running; --outcomes"
                f" {quote(f'{word}=failed')} (outcomes={{{word!r}: 'failed'}}) says what another"
                " one means"
            )
        told = name if column == name else f"{name} (column {column[:60]})"
        return FieldError(told, text, expected or f"at most {LONGEST_TEXT} characters")

    # --- Texts ----------------------------------------------------------------------------------

    def _job(self, text: str) -> int:
        number = self.jobs.get(text)
        if number is None:
            if text in MISSING or len(text) > LONGEST_TEXT:
                raise ValueError
            number = self.jobs[text] = len(self.jobs)
        return number

    def _task(self, text: str) -> int:
        number = fields_of.index_of(text)
        if number is not None:
            return max(number, 0)
        if len(text) > LONGEST_TEXT:
            raise ValueError
        return -2 - self.names.setdefault(text, len(self.names))

    def _word(self, text: str) -> Word:
        word = word_of(text, self.words)
        if word is None:
            raise ValueError
        return word

    def _text_reader(self, name: str) -> Callable[[str], int]:
        return lambda text: self.log.text(None if text in MISSING else text, name)

    # --- Rows -----------------------------------------------------------------------------------

    def _settle(self, block: Block, found: dict[str, list[Any]]) -> None:
        """Append the rows of a block that have a time. Raises _RowError."""
        words: list[Word] = found.pop("outcome")
        nothing = [None] * len(words)
        causes, codes = found.pop("cause", nothing), found.pop("exit_code", nothing)
        fates = [self._fates[fate] for fate in zip(words, causes, codes, strict=True)]
        arrays = {name: np.array(values) for name, values in found.items()}
        arrays |= zip(FATE, np.array(fates, dtype=np.int64).T, strict=True)
        by_user = (arrays["cause"] == Cause.USER) & (arrays["outcome"] != Outcome.KILL)
        if by_user.any():
            raise _RowError("cause", int(np.argmax(by_user)), "another cause: users kill")
        self._twice(arrays, block)
        kept = self._timed(arrays)
        if "machines" in block.texts:
            self._place(block.texts["machines"], arrays, kept)
        self._append(arrays, kept)

    def _twice(self, arrays: dict[str, Any], block: Block) -> None:
        """An end before the start may be in the second of two hours of a name."""
        early = (arrays["end"] != NONE) & (arrays["end"] < arrays["start"])
        for at in np.flatnonzero(early).tolist():
            arrays["end"][at] += self.times.again(block.texts["end"][at])

    def _timed(self, arrays: dict[str, Any]) -> npt.NDArray[np.bool_]:
        """Which rows have any time; the others are counted."""
        kept = np.zeros(len(arrays["outcome"]), dtype=np.bool_)
        for name in ("submit", "start", "end"):
            kept |= arrays[name] != NONE
        self.counts.read("rows", len(kept))
        if not kept.all():
            self.counts.drop("no time known", int((~kept).sum()))
        return kept

    def _append(self, arrays: dict[str, Any], kept: npt.NDArray[np.bool_]) -> None:
        for name, values in arrays.items():
            column = self._whole(name)
            column += values[kept].astype(np.float64 if name in NUMBERS else np.int64).data
        self.taken += int(kept.sum())

    def _place(
        self,
        texts: Sequence[str],
        arrays: Mapping[str, npt.NDArray[Any]],
        kept: npt.NDArray[np.bool_],
    ) -> None:
        """Spread the slots of the runs over their machines evenly. Raises _RowError.

        Lists of machines are read one by one: a short text may name very many.
        """
        slots = arrays.get("slots", np.full(len(kept), 1))
        log, bounds, first = self.log, self.bounds, self.taken
        for run, at in enumerate(np.flatnonzero(kept).tolist()):
            try:
                names = fields_of.hosts_in(texts[at].strip())
            except ValueError as error:
                raise _RowError("machines", at) from error
            if not names or arrays["start"][at] == NONE:
                continue
            most = bounds.places + bounds.places_per_row * (first + run)
            if len(log.placements) + len(names) > most:
                self.counts.note("where a run was left out: too many machines for so few rows")
                continue
            if len(log.machines) + len(names) > bounds.machines and bounds.machines < len(
                log.machines.keys() | set(names)
            ):
                raise _RowError("machines", at, f"at most {bounds.machines} machines in all")
            log.place_evenly(first + run, names, max(int(slots[at]), 1))

    def _fate(self, told: tuple[Word, Cause | None, int | None]) -> tuple[int, ...]:
        """What a word, a cause and an exit code say of a run, as `FATE` lists it."""
        word, cause, code = told
        outcome = word.state.outcome
        own = word.own or cause is not None
        cause = word.state.cause if cause is None else cause
        if outcome == Outcome.CENSORED:
            code = None
        category = self.log.text(exit_category(word.state, code))
        return (
            outcome,
            NONE if cause is None or outcome in CAUSELESS else cause,
            own,
            word.waits,
            category,
            NO_EXIT_CODE if code is None else code,
        )


def _first_and_last(times: Ints, texts: Sequence[str]) -> list[tuple[int, str]]:
    """Row and text of the first time that counts from 1970, and of the last that does not.

    What a clock shows that nobody had set is neither.
    """
    dated = np.flatnonzero(times >= DATED)
    first = [int(dated[np.argmin(times[dated])])] if len(dated) else []
    others = np.flatnonzero((times > 0) & (times < DATED))
    by_time: list[int] = others[np.argsort(times[others], kind="stable")[::-1]].tolist()
    set_ = (row for row in by_time if times[row] > UNSET or not is_date(texts[row]))
    return [(row, texts[row].strip()) for row in (*first, *islice(set_, 1))]


FATE: Final = ("outcome", "cause", "own", "waits", "category", "exit_code")
"""Columns that an outcome, a cause and an exit code make together."""
CAUSELESS: Final = (Outcome.FINISH, Outcome.CENSORED)
"""Outcomes that have no cause."""


def _bare(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A reader of texts without the blanks around them."""
    return lambda text: read(text.strip())


class _RowError(ValueError):
    """A text that is not what its field holds: its position in the block, and what is expected."""

    def __init__(self, field: str, row: int, expected: str = "") -> None:
        super().__init__(field)
        self.field, self.row, self.expected = field, row, expected


def _cause(text: str) -> Cause | None:
    if text in MISSING:
        return None
    if text.lower() not in CAUSES:
        raise ValueError
    return CAUSES[text.lower()]


def _gpus(text: str) -> float:
    found = fields_of.number_of(text)
    if found > MOST_GPUS:
        raise ValueError
    return found

"""Fields of Slurm's `sacct`: job ids, states, durations, memory, host lists."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from failgym.traces.readers.exit_status import CODES, SUCCESS, SYSTEM, USER, WALLTIME
from failgym.traces.readers.job_log import INT32, LONGEST_NAME, amount_of_memory
from failgym.vocabulary import Cause, Outcome

__all__ = [
    "MISSING",
    "STATES",
    "JobId",
    "Requested",
    "State",
    "duration",
    "exit_category",
    "exit_code",
    "gpus_of",
    "hosts_of",
    "indices_of",
    "job_id",
    "requested_memory",
    "state_of",
    "trackable",
]

MISSING: Final = frozenset({"", "Unknown", "None", "N/A", "NONE", "(null)", "INVALID", "Invalid"})
"""What stands in a field that has no value."""


class JobId(NamedTuple):
    """A job id taken apart: `123_4.batch` is the step `batch` of element 4 of job 123."""

    job: str
    element: int | None  # of an array, or component of a heterogeneous job
    pending: str  # elements of an array that share a row, like "5-9%2"
    step: str


_JOB_ID = re.compile(
    r"([0-9]{1,18})(?:_(?:([0-9]{1,9})|\[([^\]]*)\]))?(?:\+([0-9]{1,9}))?(?:\.(.+))?"
)


def job_id(text: str) -> JobId | None:
    """`123`, `123_4`, `123_[5-9%2]`, `123+1`, each with `.step` or without; None for others."""
    match = _JOB_ID.fullmatch(text)
    if match is None:
        return None
    job, element, pending, component, step = match.groups()
    index = element or component
    return JobId(job, int(index) if index else None, pending or "", step or "")


MOST_ELEMENTS: Final = 100_000
"""Elements of an array that may share a row."""
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?(?::([0-9]{1,9}))?")


def indices_of(pending: str) -> list[int] | None:
    """The elements that `1,3,5-9:2%4` names; None if malformed or more than `MOST_ELEMENTS`.

    Slurm cuts long lists short with three dots, which are passed over.
    """
    found: list[int] = []
    for part in pending.split("%")[0].split(","):
        if part == "...":
            continue
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        first, last, step = int(match[1]), int(match[2] or match[1]), max(int(match[3] or 1), 1)
        if len(found) + (last - first) // step >= MOST_ELEMENTS:
            return None
        found += range(first, last + 1, step)
    return sorted(set(found)) or None


class State(NamedTuple):
    """What a state means for the run: how it ended, why, and its exit category ("": by code)."""

    outcome: Outcome
    cause: Cause | None
    category: str | None


_FINISH = State(Outcome.FINISH, None, SUCCESS)
_FAIL = State(Outcome.FAIL, Cause.INTRINSIC, "")
_MACHINE = State(Outcome.FAIL, Cause.MACHINE, SYSTEM)
_LIMIT = State(Outcome.KILL, Cause.WALLTIME, WALLTIME)
_REQUEUE = State(Outcome.EVICT, Cause.REQUEUE, None)
_OPEN = State(Outcome.CENSORED, None, None)

STATES: Final = {
    "COMPLETED": _FINISH,
    "FAILED": _FAIL,
    "SPECIAL_EXIT": _FAIL,
    "OUT_OF_MEMORY": State(Outcome.FAIL, Cause.INTRINSIC, USER),
    "TIMEOUT": _LIMIT,
    "DEADLINE": _LIMIT,
    "CANCELLED": State(Outcome.KILL, Cause.USER, USER),
    "NODE_FAIL": _MACHINE,
    "BOOT_FAIL": _MACHINE,
    "LAUNCH_FAILED": _MACHINE,
    "RECONFIG_FAIL": _MACHINE,
    "PREEMPTED": State(Outcome.EVICT, Cause.PREEMPTION, None),
    "REQUEUED": _REQUEUE,
    "REQUEUE_FED": _REQUEUE,
    "REQUEUE_HOLD": _REQUEUE,
    "RESIZING": _REQUEUE,
    "REVOKED": State(Outcome.LOST, None, None),
    **dict.fromkeys(
        (
            *("RUNNING", "PENDING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED"),
            *("SIGNALING", "STAGE_OUT", "RESV_DEL_HOLD", "POWER_UP_NODE", "EXPEDITING"),
        ),
        _OPEN,
    ),
}
"""States by name (section "Job State Codes" of sacct's manual and of Slurm's job states)."""

_SHORT: Final = {
    **{"CD": "COMPLETED", "F": "FAILED", "SE": "SPECIAL_EXIT", "OOM": "OUT_OF_MEMORY"},
    **{"TO": "TIMEOUT", "DL": "DEADLINE", "CA": "CANCELLED", "NF": "NODE_FAIL"},
    **{"BF": "BOOT_FAIL", "PR": "PREEMPTED", "RQ": "REQUEUED", "RF": "REQUEUE_FED"},
    **{"RH": "REQUEUE_HOLD", "RS": "RESIZING", "RV": "REVOKED", "R": "RUNNING", "PD": "PENDING"},
    **{"S": "SUSPENDED", "CG": "COMPLETING", "CF": "CONFIGURING", "ST": "STOPPED"},
    **{"SI": "SIGNALING", "SO": "STAGE_OUT", "RD": "RESV_DEL_HOLD"},
}


@lru_cache(maxsize=1 << 12)
def state_of(text: str) -> State | None:
    """The meaning of a state: `CANCELLED by 1001` and the short forms count; None if unknown."""
    word = text.split(" ", 1)[0].rstrip("+").upper()
    return STATES.get(_SHORT.get(word, word))


_DURATION = re.compile(
    r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?(?:([0-9]{1,9}):)?([0-9]{1,12})(\.[0-9]*)?"
)


@lru_cache(maxsize=1 << 16)
def duration(text: str) -> float | None:
    """Seconds of `[days-][hours:]minutes:seconds[.fraction]`; None if it is none.

    After days, the first number is of hours: `1-12` is a day and a half.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, *clock = match.groups()[:4]
    parts = [int(part) for part in clock if part is not None]
    factors = (3_600, 60, 1)[: len(parts)] if days else (3_600, 60, 1)[-len(parts) :]
    seconds = sum(part * factor for part, factor in zip(parts, factors, strict=True))
    return seconds + int(days or 0) * 86_400 + float(match[5] or 0 if match[5] != "." else 0)


_EXIT = re.compile(r"([0-9]{1,9})(?::([0-9]{1,3}))?")


@lru_cache(maxsize=1 << 12)
def exit_code(text: str) -> int | None:
    """The exit code of `code:signal`, 128 + the signal if there is one; None if it is none."""
    match = _EXIT.fullmatch(text)
    if match is None:
        return None
    signal = int(match[2] or 0)
    return 128 + signal if signal else int(match[1])


def exit_category(state: State, code: int | None) -> str | None:
    """The category of Kumar et al. of a state, or of the exit code where the state leaves it."""
    if state.category != "":
        return state.category
    return CODES.category(code) if code else USER


_TRES_MEMORY = re.compile(r"(?:^|,)mem=([^,]{1,40})(?:,|$)")
_TRES_CPU = re.compile(r"(?:^|,)cpu=([0-9]{1,10})(?:,|$)")


@lru_cache(maxsize=1 << 12)
def trackable(tres: str) -> tuple[int, float]:
    """Processors (0: not stated) and bytes of memory (NaN: not stated) of a TRES list."""
    cpu, memory = _TRES_CPU.search(tres), _TRES_MEMORY.search(tres)
    slots = int(cpu[1]) if cpu and int(cpu[1]) <= INT32 else 0
    return slots, amount_of_memory(memory[1], "M") if memory else float("nan")


_GPUS = "gres/gpu"


@lru_cache(maxsize=1 << 12)
def gpus_of(tres: str) -> int:
    """Graphics processors of a TRES list: `gres/gpu`, else the sum of its types `gres/gpu:a100`."""
    found = {name: amount for name, _, amount in (part.partition("=") for part in tres.split(","))}
    told = {
        name: int(amount)
        for name, amount in found.items()
        if amount.isascii() and amount.isdigit() and len(amount) < 7
    }
    typed = sum(amount for name, amount in told.items() if name.startswith(f"{_GPUS}:"))
    return told.get(_GPUS, typed)


class Requested(NamedTuple):
    """Memory that a job requested [bytes]: of each processor, of each node, or of the whole job."""

    amount: float  # NaN: not known
    of: str  # "c", "n" or ""
    flagged: bool  # it is of a processor because a bit of the number says so

    def per_slot(self, slots: int, nodes: int) -> float:
        """Bytes per slot of a job of so many slots and nodes."""
        if self.of == "c":
            return self.amount
        return self.amount * (max(nodes, 1) if self.of == "n" else 1) / slots


PER_CPU: Final = (1 << 63, 1 << 31)
"""Slurm's MEM_PER_CPU, of 64 bits and of versions before 17.11 of 32: a request with this bit is of
a processor, whatever letter follows, and the other bits are the amount [MB]."""
MOST_MEMORY: Final = {"c": 1 << 30, "n": 1 << 30, "": 1 << 40}
"""No processor, node or job has so much [MB]; numbers that stand for no request are more."""
_FLAGGED = re.compile(r"([0-9]{1,20})([KMGTPE]?)")
_IN_MEGABYTES: Final = {unit: 1024**power for power, unit in enumerate("MGTPE")} | {"": 1}


@lru_cache(maxsize=1 << 12)
def requested_memory(text: str) -> Requested:
    """What `ReqMem` says: `4Gc` of a processor, `16Gn` of a node, `64G` of the job.

    Old versions of Slurm mark memory of a processor by a bit of the number, which later ones print:
    `2147486448Mn` is 2,800 MB per processor. Where rounding took the amount it is not known.
    """
    of = text[-1:] if text[-1:] in ("c", "n") else ""
    bare = text.removesuffix(of)
    match = _FLAGGED.fullmatch(bare.upper())
    if match is not None and match[2] in _IN_MEGABYTES:
        number = int(match[1]) * _IN_MEGABYTES[match[2]]
        bit = next((bit for bit in PER_CPU if number & bit), 0)
        if bit and number - bit < MOST_MEMORY["c"] and (of or match[2] in ("", "M")):
            return Requested((number - bit) * 2.0**20, "c", flagged=True)
    amount = amount_of_memory(bare, "M")
    known = amount < MOST_MEMORY[of] * 2.0**20
    return Requested(amount if known else float("nan"), of, flagged=False)


MOST_HOSTS: Final = 1 << 16
"""Hosts that a list may name."""
_PLAIN = re.compile(r"[^,\[\]]{1,255}")
_BRACKETS = re.compile(r"\[([0-9,\-]*)\]")
_OUTSIDE = re.compile(r"[^,\[\]]+")
_NUMBERS = re.compile(r"([0-9]{1,12})(?:-([0-9]{1,12}))?")


def hosts_of(nodes: str) -> tuple[str, ...] | None:
    """The hosts that `node[01-03,07],login1` names; None if malformed or more than `MOST_HOSTS`."""
    if _PLAIN.fullmatch(nodes):
        return (nodes,)
    hosts: list[str] = []
    for part in _parts(nodes):
        names = [""]
        for place, piece in enumerate(_BRACKETS.split(part)):
            more = _numbers(piece) if place % 2 else _outside(piece)
            if more is None or len(names) * len(more) + len(hosts) > MOST_HOSTS:
                return None
            if len(names[-1]) + len(more[-1]) > LONGEST_NAME:
                return None
            names = [name + suffix for name in names for suffix in more]
        if not part:
            return None
        hosts += names
        if len(hosts) > MOST_HOSTS:
            return None
    return tuple(dict.fromkeys(hosts))


def _outside(text: str) -> list[str] | None:
    """What is not in brackets, if it holds none."""
    return [text] if not text or _OUTSIDE.fullmatch(text) else None


def _parts(nodes: str) -> list[str]:
    """The list cut at the commas that are not in brackets."""
    parts: list[str] = []
    cut: list[str] = []
    inside = False
    for chunk in nodes.split(","):
        cut.append(chunk)
        opened, closed = chunk.rfind("["), chunk.rfind("]")
        inside = inside if opened == closed else opened > closed
        if not inside:
            parts.append(",".join(cut))
            cut = []
    return [*parts, ",".join(cut)] if cut else parts


def _numbers(text: str) -> list[str] | None:
    found: list[str] = []
    for part in text.split(","):
        match = _NUMBERS.fullmatch(part)
        if match is None:
            return None
        first, last = match[1], match[2] or match[1]
        if int(last) - int(first) + len(found) >= MOST_HOSTS:
            return None
        found += [f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)]
    return found or None

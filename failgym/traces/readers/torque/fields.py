"""Fields of TORQUE and PBS accounting records: times, exit codes, processors, hosts, memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from failgym.traces.readers.job_log import (
    INT32,
    LAST_SECOND,
    FieldError,
    Hosts,
    amount_of_memory,
)

__all__ = [
    "duration",
    "exit_status",
    "fields_of",
    "hosts_of",
    "is_shared",
    "job_and_index",
    "memory_per_slot",
    "requested_gpus",
    "requested_slots",
    "time_of",
    "walltime_of",
]

_CLOCK = re.compile(
    r"(?:([0-9]{1,9}):)?(?:([0-9]{1,9}):)?(?:([0-9]{1,9}):)?([0-9]{1,12})(?:\.[0-9]*)?"
)
_CHUNK = re.compile(r"([^/+*(),\s]{1,255})(?:/([0-9,\-]+)(?:\*([0-9]{1,10}))?)?")
_VNODE = re.compile(r"([^:+()\s]{1,255})((?::[^:+()\s]*)*)")
_PPN = re.compile(r"ppn=([0-9]{1,10})")
_NCPUS = re.compile(r"ncpus=([0-9]{1,10})")
_GPUS = re.compile(r"(?::|^)n?gpus=([0-9]{1,6})(?=:|$)")


@lru_cache(maxsize=1 << 16)
def duration(text: str) -> int | None:
    """Seconds of `SS`, `MM:SS`, `HH:MM:SS` or `DD:HH:MM:SS`; None if it is none of them."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    parts = [int(part) for part in match.groups() if part is not None]
    factors = (86_400, 3_600, 60, 1)[-len(parts) :]
    return sum(part * factor for part, factor in zip(parts, factors, strict=True))


_UNLIMITED = frozenset({"-1", "unlimited", "infinity", "infinite"})


def walltime_of(fields: Mapping[str, str]) -> int | None:
    """Seconds of walltime that were requested; None if there is no limit. Raises FieldError."""
    text = fields.get("Resource_List.walltime")
    if not text or text.lower() in _UNLIMITED:
        return None
    seconds = duration(text)
    if seconds is None or seconds > LAST_SECOND:
        raise FieldError("Resource_List.walltime", text, "a duration like 01:30:00")
    return seconds


@lru_cache(maxsize=1 << 12)
def hosts_of(exec_host: str, exec_vnode: str = "") -> Hosts | None:
    """The hosts of a job with their slots, in the order in which they are named; None if malformed.

    TORQUE writes `node1/0+node1/1` (a slot each), or `node1/0-3,7+node2/0-1`; PBS Professional
    writes `node1/0*8+node2/1*4` (8 and 4 processors). Where it leaves out the numbers of
    processors they are those of `exec_vnode`: `(node1:ncpus=8:mem=1gb)+(node2[0]:ncpus=4)`.
    """
    if exec_vnode and "*" not in exec_host:
        found = _vnodes(exec_vnode)
        if found is not None:
            return found
    slots: dict[str, int] = {}
    for chunk in exec_host.split("+"):
        match = _CHUNK.fullmatch(chunk)
        if match is None:
            return None
        host, numbers, processors = match.groups()
        count = int(processors) if processors else _count(numbers or "0")
        if count is None:
            return None
        slots[host] = slots.get(host, 0) + max(count, 1)
    return _bounded(slots)


def _count(numbers: str) -> int | None:
    """How many numbers a list like `0-3,7` has."""
    total = 0
    for part in numbers.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or len(part) > 24:
            return None
        total += int(last) - int(first) + 1 if dash else 1
        if dash and int(last) < int(first):
            return None
    return total


def _vnodes(exec_vnode: str) -> Hosts | None:
    slots: dict[str, int] = {}
    for chunk in exec_vnode.replace("(", "").replace(")", "").split("+"):
        match = _VNODE.fullmatch(chunk)
        processors = _NCPUS.search(match[2]) if match else None
        if match is None or processors is None:
            return None
        if int(processors[1]):
            slots[match[1]] = slots.get(match[1], 0) + int(processors[1])
    return _bounded(slots) if slots else None


def _bounded(slots: dict[str, int]) -> Hosts | None:
    return tuple(slots.items()) if sum(slots.values()) <= INT32 else None


def requested_slots(fields: Mapping[str, str]) -> int | None:
    """Slots that the resources of a request ask for; None if nothing can be told."""
    for name in _SLOTS:
        if text := fields.get(name):
            return _of_nodes(text)
    return None


_SLOTS: Final = tuple(
    f"Resource_List.{name}"
    for name in ("nodes", "ncpus", "procs", "mppwidth", "size", "neednodes", "nodect")
)
"""Resources that tell of slots, the more telling first; `mppwidth` and `size` are Cray's."""


@lru_cache(maxsize=1 << 12)
def _of_nodes(nodes: str) -> int | None:
    """Slots of `2:ppn=16`, `node7:ppn=4+3:gpu` or `4`."""
    total = 0
    for part in nodes.split("#")[0].split("+"):
        head = part.split(":")[0]
        count = int(head) if head.isascii() and head.isdigit() and len(head) < 11 else 1
        ppn = _PPN.search(part)
        total += count * (int(ppn[1]) if ppn else 1)
    return _slots(total)


MOST_GPUS: Final = 2**20
"""More graphics processors than a job can have."""


def requested_gpus(fields: Mapping[str, str]) -> float:
    """Graphics processors of a request; NaN if its resources are not told.

    PBS tells them in all as `ngpus`, or of each chunk of `select`; TORQUE of each node of `nodes`,
    as `2:ppn=16:gpus=1`.
    """
    told = fields.get("Resource_List.ngpus", "")
    if told.isascii() and told.isdigit() and len(told) < 7:
        return float(told)
    for name in ("select", "nodes", "neednodes"):
        if text := fields.get(f"Resource_List.{name}"):
            return _gpus_of(text)
    return float("nan") if requested_slots(fields) is None else 0.0


@lru_cache(maxsize=1 << 12)
def _gpus_of(nodes: str) -> float:
    """Graphics processors of `2:ncpus=8:ngpus=1+4:ncpus=8` or `2:ppn=16:gpus=1`; NaN: too many."""
    total = 0
    for part in nodes.split("#")[0].split("+"):
        head, found = part.split(":")[0], _GPUS.search(part)
        count = int(head) if head.isascii() and head.isdigit() and len(head) < 11 else 1
        total += count * (int(found[1]) if found else 0)
    return float(total) if total <= MOST_GPUS else float("nan")


def _slots(number: int) -> int | None:
    return number if 0 < number <= INT32 else None


_COMMENT = " comment="


def fields_of(message: str) -> dict[str, str]:
    """The `key=value` pairs of a message; of a key that is there twice, the last.

    A comment is free text: what follows it counts for keys alone that are not before it.
    """
    if _COMMENT in message:
        before, _, after = message.partition(_COMMENT)
        return dict(_pairs(after)) | dict(_pairs(before))
    if '"' not in message:
        try:
            return dict([pair.split("=", 1) for pair in message.split(" ")])
        except ValueError:  # a word without a value: rare, and slower to leave out
            pass
    return dict(_pairs(message))


def _pairs(message: str) -> Iterator[tuple[str, str]]:
    """Keys and values, which may be in quotes; words without a value are left out."""
    at = 0
    while (equals := message.find("=", at)) >= 0:
        key = message[max(message.rfind(" ", at, equals) + 1, at) : equals]
        begin = at = equals + 1
        if key:
            closed = message.find('"', begin + 1) if message.startswith('"', begin) else -1
            blank = message.find(" ", begin)
            at = closed + 1 if closed >= 0 else blank if blank >= 0 else len(message)
            yield key, message[begin:at]


def time_of(fields: Mapping[str, str], name: str, otherwise: int) -> int:
    """A time [s since 1970]; 0 stands for none."""
    text = fields.get(name)
    if not text or text == "0":
        return otherwise
    if not (text.isascii() and text.isdigit()) or len(text) > 12 or int(text) > LAST_SECOND:
        raise FieldError(name, text, "seconds since 1970")
    return int(text)


def exit_status(fields: Mapping[str, str]) -> int | None:
    """The exit status; None if there is none."""
    text = fields.get("Exit_status")
    if not text:
        return None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 10 or int(digits) > INT32:
        raise FieldError("Exit_status", text, "a whole number")
    return int(text)


def memory_per_slot(fields: Mapping[str, str], width: float) -> float:
    """Bytes per slot: `pmem` is of a process, `mem` of the whole job."""
    each = amount_of_memory(fields.get("Resource_List.pmem", ""))
    return each if each == each else amount_of_memory(fields.get("Resource_List.mem", "")) / width


def is_shared(fields: Mapping[str, str]) -> bool | None:
    """Whether the job shares its nodes; None if it does not say."""
    policy = fields.get("Resource_List.naccesspolicy", "").lower()
    place = fields.get("Resource_List.place", "").lower()
    if policy:
        return policy == "shared"
    if "excl" in place:
        return False
    return True if "shared" in place else None


_ARRAY = re.compile(r"([0-9]+)(?:\[([0-9]*)\]|-([0-9]{1,9}))(\..*)?")


def job_and_index(job: str) -> tuple[str, int | None]:
    """The job that an id is of, and its index in the array, if it is of one.

    Arrays are `123[4].server`; before TORQUE 2.5 they were `123-4.server`.
    """
    match = _ARRAY.fullmatch(job)
    if match is None:
        return job, None
    number, index, old, server = match.groups()
    index = index or old
    if not index or len(index) > 9:
        return job, None
    return f"{number}[]{server or ''}", int(index)

"""What goes between the run and the process of a policy: frames of plain arrays, nothing else.

A frame is a header of 16 bytes and arrays whose sizes follow from it. The policy is not trusted:
the run reads as many bytes as the answer must have, and takes them for numbers and nothing else.

To the policy:

| kind | count | then |
|---|---|---|
| MADE_FOR | 0 | |
| BEGIN | lanes | |
| READABLE | bytes | names of files and folders in UTF-8, a line each |
| PLAYS_IN | bytes | JSON: the name of an environment, and what is charged there (`told`) |
| ASK | n | lanes int32 [n], fresh uint8 [n], mask uint8 [n, 5], observations float32 [n, fields] |

From it: ANSWER with a uint8 for each of n questions (to MADE_FOR: one for each registered
environment; to READABLE: for each file; to BEGIN and PLAYS_IN: none), or CRASHED or NONSENSE with a
reason of `count` bytes.
"""

from __future__ import annotations

import json
import struct
from dataclasses import fields
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.envs.scenarios import resolve
from failgym.sim.shared.fields import FIELDS
from failgym.vocabulary import ACTIONS
from failgym.worlds.scenario import Scenario
from failgym.worlds.settings.prices import Prices

__all__ = [
    "HEADER",
    "Frame",
    "Header",
    "Questions",
    "header",
    "parse_header",
    "scenario_told",
    "told",
]

HEADER = struct.Struct("<4sBxxxII")
"""Mark, kind, number of the question, count."""
MARK = b"fgym"


class Frame(IntEnum):
    """Kinds of frames."""

    MADE_FOR = 1
    BEGIN = 2
    ASK = 3
    ANSWER = 4
    CRASHED = 5
    NONSENSE = 6
    READABLE = 7
    PLAYS_IN = 8


class Header(NamedTuple):
    """Header of a frame; what follows it has a size that follows from its count."""

    kind: int
    number: int
    """of the question; its answer has the same"""
    length: int
    """of what follows"""


def told(scenario: Scenario) -> bytes:
    """What a trained agent is told of where it plays: no trace, no seed.

    Raises:
        ValueError: for a scenario without a name.
    """
    if not scenario.name:
        raise ValueError("scenario: expected one with a name")
    charged = {field.name: getattr(scenario, field.name) for field in fields(Prices)}
    return json.dumps({"env": scenario.name, "charged": charged}).encode()


def scenario_told(content: bytes) -> Scenario:
    """The scenario that is registered by such a name, with such prices. Raises ValueError."""
    said = json.loads(content)
    return resolve(said["env"], said["charged"])


def header(kind: Frame, number: int, count: int) -> bytes:
    """The header of a frame."""
    return HEADER.pack(MARK, kind, number, count)


def parse_header(content: bytes) -> Header:
    """Read a header. Raises ValueError if it is none."""
    mark, kind, number, length = HEADER.unpack(content)
    if mark != MARK:
        raise ValueError("expected the mark of a frame")
    return Header(kind, number, length)


class Questions(NamedTuple):
    """What a policy is fed: observations and masks of the lanes that it is asked about."""

    lanes: npt.NDArray[np.int32]
    """[n]"""
    fresh: npt.NDArray[np.bool_]
    """[n] is it the first question of an episode?"""
    mask: npt.NDArray[np.int8]
    """[n, 5] legal actions"""
    obs: npt.NDArray[np.float32]
    """[n, fields]"""

    @staticmethod
    def size(count: int) -> int:
        """Bytes that so many questions take."""
        return count * (4 + 1 + ACTIONS + 4 * len(FIELDS))

    def pack(self) -> bytes:
        """The arrays as bytes, in the order of the fields."""
        return b"".join(
            (
                np.ascontiguousarray(self.lanes, dtype="<i4").tobytes(),
                np.ascontiguousarray(self.fresh, dtype=np.uint8).tobytes(),
                np.ascontiguousarray(self.mask, dtype=np.uint8).tobytes(),
                np.ascontiguousarray(self.obs, dtype="<f4").tobytes(),
            )
        )

    @classmethod
    def unpack(cls, content: bytes, count: int) -> Questions:
        """The arrays that `pack` made bytes of."""
        first, second = 4 * count, 5 * count
        third = second + ACTIONS * count
        mask = np.frombuffer(content[second:third], dtype=np.int8)
        obs = np.frombuffer(content[third:], dtype="<f4")
        return cls(
            lanes=np.frombuffer(content[:first], dtype="<i4"),
            fresh=np.frombuffer(content[first:second], dtype=np.uint8).astype(np.bool_),
            mask=mask.reshape(count, ACTIONS),
            obs=obs.reshape(count, len(FIELDS)),
        )

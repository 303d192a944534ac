"""What came of a step, on its way to the process that asked for it.

What a step raises is sent like a result. Raised over there, an error whose class cannot be made
again would be taken for the death of a worker, and what caused it would be lost on the way.
"""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any

from failgym.memory import give_back

__all__ = ["Outcome"]

FORESEEN = (ValueError, OSError, MemoryError)
"""Classes of errors that commands tell in a line."""


@dataclass(frozen=True)
class Outcome:
    """The result of a step, or why there is none."""

    result: Any = None
    error: Exception | None = None
    """what it raised; None if it did not"""
    cause: Exception | None = None
    """of the error, if it names one"""
    trace: str = ""
    """where it was raised"""

    @classmethod
    def of(cls, work: Callable[[Any], Any], item: Any) -> Outcome:
        """Do a step, and leave the memory that it freed to others."""
        try:
            return cls(work(item))
        except Exception as error:
            cause = error.__cause__
            return cls(
                error=_sendable(error),
                cause=_sendable(cause) if isinstance(cause, Exception) else None,
                trace=traceback.format_exc(),
            )
        finally:
            give_back()

    def get(self) -> Any:
        """The result. Raises what the step raised, from its cause; what is no line says where."""
        if self.error is None:
            return self.result
        if not isinstance(self.error, FORESEEN):
            self.error.add_note(f"in a worker:\n{self.trace}")
        raise self.error from self.cause


def _sendable(error: Exception) -> Exception:
    """An error as another process can make it again; one of a foreseen class with its words."""
    try:
        ForkingPickler.dumps(error)
        again: Any = copy.copy(error)
        if type(again) is type(error) and str(again) == str(error):
            return error
    except Exception:  # whatever its class does to itself
        pass
    for kind in FORESEEN:
        if isinstance(error, kind):
            return kind(str(error))
    return RuntimeError(f"{type(error).__name__}: {error}")

"""How a host has policies started: the options, and the command that they make."""

from __future__ import annotations

import shlex
import shutil
from typing import Annotated

import typer

__all__ = [
    "MEMORY_LIMIT",
    "PROCESS_LIMIT",
    "MemoryLimit",
    "PolicyCommand",
    "ProcessLimit",
    "read_policy_command",
]

MEMORY_LIMIT, PROCESS_LIMIT = 4096, 256
"""As in `failgym.leaderboard.policy_process.limits`, which takes longer to import."""

MemoryLimit = Annotated[
    int,
    typer.Option(
        "--memory-limit",
        metavar="MIB",
        help="Memory of a policy and of all processes that it starts, together.",
    ),
]
ProcessLimit = Annotated[
    int,
    typer.Option(
        "--process-limit",
        metavar="N",
        help="Number of processes and threads of a policy, with those of its command.",
    ),
]
PolicyCommand = Annotated[
    str | None,
    typer.Option(
        "--policy-command",
        metavar="CMD",
        help="The command that starts policies as another user, in a namespace or in a container"
        " (docs/hosting.md).",
    ),
]


def read_policy_command(text: str | None) -> tuple[str, ...]:
    """What starts the process of a policy.

    Args:
        text: a command of the host's, which the usual one is appended to; unless it names that
            itself, as one into a container must, whose Python lies elsewhere. None: there is none.

    Raises:
        ValueError: for a command that cannot be read, or is not there.
    """
    from failgym.cli.policy_process import COMMAND, MODULE

    if text is None:
        return COMMAND
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"--policy-command {text!r}: {error}") from error
    if not words or shutil.which(words[0]) is None:
        name = words[0] if words else ""
        raise ValueError(f"--policy-command {text!r}: there is no command {name!r}")
    return words if MODULE in words else (*words, *COMMAND)

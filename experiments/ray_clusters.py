"""Ray clusters of several nodes on this machine."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["add_node", "busy_workers", "cluster", "kill_node"]

STORE = 80 << 20
"""Object store of a node [bytes]; Ray takes no less than 75 MiB."""
TRIES = 5
"""How often a node is begun that is not there in time."""


@contextmanager
def cluster(nodes: int = 2) -> Generator[Any]:
    """A cluster of nodes with one processor each, Ray's `Cluster`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own
        from ray.cluster_utils import Cluster

        made = Cluster(True, head_node_args=_node() | {"include_dashboard": False})
        try:
            for _ in range(nodes - 1):
                add_node(made)
            yield made
        finally:
            made.shutdown()


def add_node(made: Any) -> Any:
    """Another node.

    On a busy machine it may not be there within Ray's half minute: then nothing is left of it, and
    another one is begun.
    """
    before = set(_children(os.getpid()))
    for left in reversed(range(TRIES)):
        try:
            return made.add_node(**_node())
        except Exception:  # Ray has no other name for it
            for pid in set(_children(os.getpid())) - before:
                os.kill(pid, signal.SIGKILL)  # it might join later, as one too many
            if not left:
                raise
    raise AssertionError("the last one is returned or raised")


def _node() -> dict[str, Any]:
    return {"num_cpus": 1, "object_store_memory": STORE}


def kill_node(made: Any, node: Any) -> None:
    """SIGKILL to all processes of a node, its workers among them."""
    for pid in _children(_raylet(node)):
        os.kill(pid, signal.SIGKILL)
    made.remove_node(node, allow_graceful=False)


def busy_workers(node: Any) -> list[int]:
    """Processes of a node that do a step."""
    return [pid for pid in _children(_raylet(node)) if _title(pid).startswith("ray::step")]


def _raylet(node: Any) -> int:
    return node.all_processes["raylet"][0].process.pid


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _children(parent: int) -> list[int]:
    """Processes that a process has started and that live."""
    found: list[int] = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, above = file.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(above) == parent and state != "Z":
            found.append(int(file.parent.name))
    return found

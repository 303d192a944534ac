"""What all task graphs have in common."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

__all__ = ["acyclic"]


def acyclic(tasks: int, parents: Sequence[int], children: Sequence[int]) -> bool:
    """Whether no task waits for itself, at however many removes.

    Tasks are numbered from 0; edge n leads from `parents[n]` to `children[n]`, and is there once.
    """
    if all(map(int.__lt__, parents, children)):
        return True
    below: dict[int, list[int]] = {}
    for parent, child in zip(parents, children, strict=True):
        below.setdefault(parent, []).append(child)
    waits = Counter(children)
    ready = deque(task for task in range(tasks) if not waits[task])
    done = 0
    while ready:
        done += 1
        for child in below.get(ready.popleft(), ()):
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    return done == tasks

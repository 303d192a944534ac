"""The threads of boosted trees: one."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["one_thread"]


def one_thread() -> AbstractContextManager[Any]:
    """Lets OpenMP run one thread within.

    scikit-learn's boosted trees start as many as there are cores. They wait for each other at every
    node of a tree, so that all wait where one of the cores is not free: on two busy cores the past
    and the future of a log of 28,000 jobs take 6 s with one thread, and 18 to 89 s with 2 to 8.
    """
    from threadpoolctl import threadpool_limits

    importlib.import_module("sklearn.ensemble")  # loads the OpenMP that is to be limited
    return threadpool_limits(1, user_api="openmp")

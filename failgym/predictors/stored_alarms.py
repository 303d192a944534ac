"""The law of a forecast's alarms as plain arrays of its file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.alarms import AlarmLaw
from failgym.sim.shared.continuation import Law

__all__ = ["alarm_arrays", "alarms_in"]

_LAWS = ("true_score", "false_score", "lead")
_BY_TASK = ("job_true", "job_false")


def alarm_arrays(law: AlarmLaw) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, each called ``alarms_`` something."""
    laws = {name: getattr(law, name) for name in _LAWS}
    arrays = {
        "seed": np.array(law.seed % 2**64, dtype=np.uint64),
        "shares": np.array([law.prior, law.job_share]),
        "false_factor": np.array(law.false_factor),
        "outside": np.array(law.outside),
        **{name: np.array([each.value, each.share]) for name, each in laws.items()},
        **{name: getattr(law, name) for name in _BY_TASK},
    }
    return {f"alarms_{name}": array for name, array in arrays.items()}


def alarms_in(content: Mapping[str, npt.NDArray[Any]]) -> AlarmLaw:
    """The law in the arrays of a file.

    Raises:
        KeyError: if one is missing.
        ValueError: or TypeError, if they are no law.
    """
    prior, job_share = content["alarms_shares"].tolist()
    laws: dict[str, Any] = {}
    for name in _LAWS:
        value, share = np.asarray(content[f"alarms_{name}"], dtype=np.float64)
        laws[name] = Law(np.array([0, len(value)], dtype=np.int64), value, share)
    numbers: dict[str, Any] = {
        name: np.asarray(content[f"alarms_{name}"], dtype=np.float64) for name in _BY_TASK
    }
    return AlarmLaw(
        seed=int(content["alarms_seed"]),
        prior=float(prior),
        job_share=float(job_share),
        false_factor=float(content["alarms_false_factor"]),
        outside=bool(content["alarms_outside"]),
        **laws,
        **numbers,
    )

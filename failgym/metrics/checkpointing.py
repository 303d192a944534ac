"""Checkpointing in closed form; times in any one unit."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from failgym.memory import check_room

Floats = npt.NDArray[np.float64]


def young_interval(cost: float, mtbf: float) -> float:
    """Work between checkpoints, sqrt(2 C M) (Young, CACM 1974)."""
    return float(np.sqrt(2.0 * cost * mtbf))


def daly_interval(cost: float, mtbf: float) -> float:
    """Work between checkpoints, the higher-order estimate (Daly, FGCS 22(3), 2006)."""
    if cost >= 2.0 * mtbf:
        return mtbf
    x = cost / (2.0 * mtbf)
    return young_interval(cost, mtbf) * (1.0 + np.sqrt(x) / 3.0 + x / 9.0) - cost


def saving_periodic(runtime: npt.ArrayLike, work: float, cost: float) -> Floats:
    """S_OCP = N T_w / T_r: what periodic checkpoints save of a failed run, a share of it.

    Kumar et al. 2020, section VI-A. `work` T_w lies between checkpoints of the given `cost` T_s;
    N = floor(T_r / (T_w + T_s)) checkpoints were taken.
    """
    runtime = np.asarray(runtime, dtype=np.float64)
    return np.floor(runtime / (work + cost)) * work / runtime


def saving_ml(
    precision: npt.ArrayLike, recall: npt.ArrayLike, runtime: npt.ArrayLike, cost: float
) -> Floats:
    """S_ML = R (1 - T_s / (P T_r)), at least 0: one checkpoint for each flagged job saves all.

    Kumar et al. 2020, section VI-A.
    """
    ratio = cost / (np.asarray(precision, np.float64) * np.asarray(runtime, np.float64))
    return np.maximum(np.asarray(recall, np.float64) * (1.0 - ratio), 0.0)


def saving_combined(
    precision: npt.ArrayLike,
    recall: npt.ArrayLike,
    runtime: npt.ArrayLike,
    work: float,
    cost: float,
    form: Literal["A", "B", "printed"] = "B",
) -> Floats:
    """S_T, the saving of ML and periodic checkpoints together (Kumar et al. 2020, section VI-A).

    The paper prints two lines that disagree. ``A`` follows from the first one: periodic checkpoints
    are paid for in the runs that the model saved, too. ``B`` does not charge those, and is what
    Table VIII was computed with. ``printed`` is the second line as it stands; it can exceed 1.
    """
    recall, runtime = np.asarray(recall, np.float64), np.asarray(runtime, np.float64)
    flagged = saving_ml(precision, recall, runtime, cost)
    periodic = saving_periodic(runtime, work, cost)
    paid = recall * np.floor(runtime / (work + cost)) * cost / runtime
    if form == "A":
        return flagged - paid + (1.0 - recall) * periodic
    if form == "B":
        return flagged + (1.0 - recall) * periodic
    return flagged - paid + periodic


def mean_periodic_saving(work: float, cost: float, longest: float, shortest: float = 0.0) -> float:
    """The mean of `saving_periodic` over runtimes uniform on (shortest, longest].

    Kumar et al. 2020, Table VIII, "Periodic": normalised area under the curve of Fig. 10. With
    k checkpoints between k T and (k + 1) T, T = T_w + T_s, the area is T_w sum k ln((k + 1) / k),
    the ends cut to the range.
    """
    period = work + cost
    count = int(longest // period)
    check_room(32 * count, f"{count:,} checkpoints of a run")
    k = np.arange(1, count + 1, dtype=np.float64)
    low = np.maximum(k * period, shortest)
    high = np.maximum(np.minimum((k + 1.0) * period, longest), low)
    return float(work * np.sum(k * np.log(high / low)) / (longest - shortest))


def mean_ml_saving(
    precision: npt.ArrayLike, recall: npt.ArrayLike, cost: float, longest: float
) -> Floats:
    """The mean of `saving_ml` over runtimes uniform on (0, longest].

    Kumar et al. 2020, Table VIII, "ML". With a = T_s / P the area is R (1 - a/L - a/L ln(L/a)):
    runs shorter than a have no saving.
    """
    share = cost / np.asarray(precision, np.float64) / longest
    share = np.minimum(share, 1.0)
    return np.asarray(recall, np.float64) * (1.0 - share + share * np.log(share))


def mean_combined_saving(
    precision: npt.ArrayLike,
    recall: npt.ArrayLike,
    work: float,
    cost: float,
    longest: float,
    form: Literal["A", "B", "printed"] = "B",
) -> Floats:
    """The mean of `saving_combined` over runtimes uniform on (0, longest].

    Kumar et al. 2020, Table VIII, "ML+Periodic".
    """
    recall = np.asarray(recall, np.float64)
    flagged = mean_ml_saving(precision, recall, cost, longest)
    periodic = mean_periodic_saving(work, cost, longest)
    paid = recall * periodic * cost / work
    if form == "A":
        return flagged - paid + (1.0 - recall) * periodic
    if form == "B":
        return flagged + (1.0 - recall) * periodic
    return flagged - paid + periodic

"""What the last n jobs of a user foretell of the next, by four methods (Kumar et al., V)."""

from __future__ import annotations

from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt

from failgym.predictors.history.job_use import Past
from failgym.vocabulary import HOUR

__all__ = ["METHODS", "Method", "Norms", "foretold", "same_words"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Method = Literal["last", "average", "median", "mcs"]

METHODS = cast(tuple[Method, ...], get_args(Method))
"""In the order of Table VI."""


class Norms(NamedTuple):
    """What attributes are divided by for the cosine."""

    widest: float
    """Slots of the widest job."""
    walltime: float
    """The longest walltime requested [ms]; 0: none is."""


class _Words(NamedTuple):
    """Texts of jobs as numbers, equal where the texts are; users without a name are -1."""

    user: Integers
    name: Integers
    queue: Integers


def same_words(past: Past, asked: Past) -> tuple[_Words, _Words]:
    """The texts of jobs that are seen, and of those that are asked about."""
    codes: list[Integers] = []
    for name in _Words._fields:
        both = np.concatenate([getattr(past, name), getattr(asked, name)])
        codes.append(np.unique(both, return_inverse=True)[1])
        if name == "user":
            codes[-1] = np.where(both == "", -1, codes[-1])
    seen = len(past.end)
    return _Words(*(code[:seen] for code in codes)), _Words(*(code[seen:] for code in codes))


def foretold(
    past: Past,
    asked: Past,
    words: tuple[_Words, _Words],
    quantity: str,
    methods: tuple[Method, ...],
    longest: int,
    norms: Norms,
) -> list[Floats]:
    """What each method foretells of jobs from the last 1 to `longest`, [jobs, longest] each."""
    values = past.use.of(quantity)
    counts = np.flatnonzero(~np.isnan(values) & (past.end >= 0) & (words[0].user >= 0))
    last = _last_jobs(words[0].user[counts], past.end[counts], words[1].user, asked.submit, longest)
    rows = np.append(counts, -1)[last]
    used = np.where(rows >= 0, values[rows], np.nan)
    rules = {
        "last": lambda: np.repeat(used[:, :1], longest, axis=1),
        "average": lambda: _averages(used),
        "median": lambda: _medians(used),
        "mcs": lambda: _most_similar(used, _similarity(past, rows, asked, words, norms)),
    }
    return [rules[method]() for method in methods]


def _last_jobs(
    user: Integers, end: Integers, asked: Integers, time: Integers, longest: int
) -> Integers:
    """The last jobs of users that had ended by a time, the latest first, [asked, longest].

    Of jobs that ended together the later row is the later. -1 where there is none.
    """
    order = np.lexsort((end, user))
    question = np.repeat((0, 1), (len(user), len(asked)))
    whose = np.concatenate([user, asked])
    merged = np.lexsort((question, np.concatenate([end, time]), whose))
    before = np.empty(len(whose), dtype=np.int64)
    before[merged] = np.cumsum(question[merged] == 0)
    first = np.searchsorted(user[order], asked)
    place = before[len(user) :, None] - 1 - np.arange(longest)
    return np.where(place >= first[:, None], np.append(order, -1)[np.maximum(place, -1)], -1)


def _averages(used: Floats) -> Floats:
    known = np.cumsum(~np.isnan(used), axis=1)
    total = np.cumsum(np.nan_to_num(used), axis=1)
    return np.where(known > 0, total / np.maximum(known, 1), np.nan)


def _medians(used: Floats) -> Floats:
    """Of an even number, the lower of the middle two."""
    result = np.empty_like(used)
    known = np.cumsum(~np.isnan(used), axis=1)
    for n in range(used.shape[1]):
        middle = np.maximum(known[:, n] - 1, 0) // 2
        ordered = np.sort(used[:, : n + 1], axis=1)  # NaN last
        result[:, n] = ordered[np.arange(len(used)), middle]
    return result


def _most_similar(used: Floats, similarity: Floats) -> Floats:
    """Of equally similar ones, the latest: those come first."""
    result, best, value = np.empty_like(used), np.full(len(used), -1.0), np.full(len(used), np.nan)
    for n in range(used.shape[1]):
        better = similarity[:, n] > best
        best = np.where(better, similarity[:, n], best)
        value = np.where(better, used[:, n], value)
        result[:, n] = value
    return result


def _similarity(
    past: Past, rows: Integers, asked: Past, words: tuple[_Words, _Words], norms: Norms
) -> Floats:
    """The cosine between each job and those before it, [jobs, longest]; NaN where there is none."""
    width, walltime = asked.width / norms.widest, _share(asked.walltime, norms.walltime)
    own = _length(1.0, 1.0, width, walltime, 1.0)[:, None]
    name = (words[0].name[rows] == words[1].name[:, None]).astype(np.float64)
    queue = (words[0].queue[rows] == words[1].queue[:, None]).astype(np.float64)
    its_width, its_walltime = past.width[rows] / norms.widest, _share(past.walltime, norms.walltime)
    its_walltime = its_walltime[rows]
    near = 1.0 / (1.0 + np.abs(asked.submit[:, None] - past.submit[rows]) / HOUR)
    dot = name + queue + its_width * width[:, None] + its_walltime * walltime[:, None] + near
    cosine = dot / (_length(name, queue, its_width, its_walltime, near) * own)
    return np.where(rows >= 0, cosine, np.nan)


def _share(part: Integers, whole: float) -> Floats:
    return part / whole if whole > 0 else np.zeros(len(part))


def _length(
    a: Floats | float, b: Floats | float, c: Floats, d: Floats, e: Floats | float
) -> Floats:
    return np.sqrt(a * a + b * b + c * c + d * d + e * e)

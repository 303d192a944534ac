"""May a policy be used? What its validation shows, and what it could have shown.

Training compares many agents on the same jobs, and keeps the one that looks best there: some of
that is luck. So the interval that decides is wide enough for all of them at once (Bonferroni: at
95 % for n candidates each has one of 1 - .05/n). If it lies above 0, the agent saves; below, it
does harm. If it holds 0 these jobs do not tell, and what is sure is replay.

Where one or two jobs hold most of what there is to gain, an interval of so high a confidence is too
narrow: the stretch of `failgym.evaluation.statistics.interval_width` is approximate far out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict

from failgym.continued import why_unknown
from failgym.evaluation import Anchors
from failgym.evaluation.caller import Predicts
from failgym.evaluation.evidence import Evidence, score_of
from failgym.evaluation.ledger import Run
from failgym.evaluation.savings import moved, share_of_moved
from failgym.evaluation.scoring import HIGHEST
from failgym.vocabulary import Outcome
from failgym.worlds.build import split_of
from failgym.worlds.settings.source import generated
from failgym.worlds.split import learned_from

__all__ = ["ERROR", "MOSTLY", "Answer", "Verdict", "judged", "verdict_of", "verdict_on"]

Answer = Literal["adopt", "no evidence", "harm"]
ERROR = 5.0
"""Chance of a wrong verdict on an agent that is worth nothing, of all candidates together [%]."""
RESAMPLES = 20_000
"""Bootstrap samples: far out in the tails few would be left."""
LARGEST = 10**9
"""More jobs than anybody has."""
MOSTLY = 0.5
"""Share of a saving that rests on drawn attempts above which that is said (chosen)."""
_LOST = (Outcome.FAIL, Outcome.EVICT, Outcome.LOST)


@dataclass(frozen=True)
class Verdict:
    """What the validation split, or folds by time, say of the agent that was kept."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    answer: Answer
    acts: bool
    """did it ever do anything there?"""
    score: float | None
    """between replay (0) and the bound (100); None where there is nothing to gain"""
    low: float | None
    """with `high`: the interval for all candidates at once; None where it hangs on too few jobs"""
    high: float | None
    candidates: int
    """agents that it was chosen among"""
    unit: str
    """what is resampled"""
    units: int
    """how many there are"""
    members: int
    """jobs that they are made of, or slices"""
    smallest: float | None
    """the smallest score that would have been told from 0, of an agent that varies as this one: how
    far the interval reaches down"""
    more: int | None
    """jobs, or slices, to judge on beside these that would be needed if the score stays what it is,
    since an interval shrinks with one over the root of their number; None if the score is not above
    0, or nobody can have so many. A record needs more: only a part of it is judged on"""
    folds: int | None = None
    """by time, each judged by an agent of its own past (`training.rolling_origin`); None: the agent
    was judged on the validation split"""
    learned: int | None = None
    """in so many of them something could be learned from the past; replay plays the others"""
    drawn: float | None = None
    """on a record: share of what it saves and loses that rests on attempts beyond it, which were
    drawn; None where nothing is saved or lost"""
    untold: str | None = None
    """why the record cannot tell what these would have met, if most rests on them"""
    kept: Literal["never acts", "does harm"] | None = None
    """of folds: what speaks against the agent that is kept, on the validation split, whatever those
    of the folds do"""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def with_kept(self, kept: Verdict) -> Verdict:
        """The same of folds, once it is known what the agent that is kept does on its validation.

        The folds were played by others like it. If it does harm there, or nothing at all, nothing
        speaks for using it.
        """
        if kept.acts and kept.answer != "harm":
            return self
        answer = "no evidence" if self.answer == "adopt" else self.answer
        why = "does harm" if kept.acts else "never acts"
        return replace(self, answer=answer, more=None, kept=why)

    def of_attempts(self, anchors: Sequence[Anchors], runs: Sequence[Run]) -> Verdict:
        """The same, and on a record how much of it rests on attempts that are not recorded.

        The laws of a generated trace, or of a twin, are its own. If most of it does, and the record
        does not tell what comes after a failure, nothing is adopted.

        Args:
            anchors: what the agent was judged on.
            runs: what it did there.
        """
        if any(generated(each.scenario.trace) or each.scenario.twin for each in anchors):
            return self
        pairs = zip(anchors, runs, strict=True)
        apart, rests = np.transpose(
            [moved(each.world, each.replayed, run).sum(axis=0) for each, run in pairs]
        )
        share = share_of_moved(float(apart.sum()), float(rests.sum())).value
        if math.isnan(share):
            return self
        whys = [
            _why_untold(each) if part > 0.0 else None
            for each, part in zip(anchors, rests, strict=True)
        ]
        untold = sum(part for part, why in zip(rests, whys, strict=True) if why is not None)
        found = replace(self, drawn=share)
        if untold <= MOSTLY * apart.sum():
            return found
        answer = "no evidence" if self.answer == "adopt" else self.answer
        return replace(found, answer=answer, more=None, untold=next(filter(None, whys)))

    @property
    def text(self) -> str:
        """In a line."""
        of = f"{self.members:,} {self._members} of {self._where}"
        if self.score is None:
            return f"no evidence: there is nothing to gain on {of}"
        if not self.acts:
            return f"no evidence: keep replay; the agent never acts on {of}"
        if self.low is None or self.high is None:
            return f"no evidence: keep replay; too few of {of} decide for an interval"
        found = f"score {self.score:.1f}, [{self.low:.1f}, {self.high:.1f}] on {of}"
        if self.drawn is not None and self.drawn > MOSTLY:
            found += f"; {100.0 * self.drawn:.0f} % of what it saves and loses rests on attempts"
            found += " beyond the record, which are drawn"
        if self.untold is not None:
            found += f"; before that {self.untold}"
        if self.kept is not None:
            found += f"; the agent that is kept {self.kept} on the validation split"
        if self.answer != "no evidence":
            return f"{self.answer}: {found}"
        if self.low > 0.0 or self.high < 0.0:
            return f"no evidence: keep replay; {found}"
        told = self.smallest is not None and self.smallest < HIGHEST
        least = f"below {self.smallest:.1f} " if told else ""
        text = f"no evidence: keep replay; {found}; for an agent like this no score {least}can be"
        text += " told from 0"
        if self.more is not None:
            text += f"; about {self.more:,} more {self._members} to judge on would decide"
        return text

    @property
    def _where(self) -> str:
        """What it was judged on, and whether that was new to it."""
        if self.folds is not None:
            text = f"{self.folds} folds by time, each played by an agent of its past"
            few = self.learned is not None and self.learned < self.folds
            return f"{text} ({self.learned} of them learned anything)" if few else text
        chosen = f"chosen among {self.candidates}" if self.candidates > 1 else "the only candidate"
        return f"the validation split, {chosen}"

    @property
    def _members(self) -> str:
        return "jobs" if "job" in self.unit else "slices"


def _why_untold(place: Anchors) -> str | None:
    """Why what was before does not tell what comes after a failure; None if it does."""
    after = _LOST if place.scenario.checkpoint else (Outcome.FAIL,)
    return why_unknown(split_of(place.scenario, learned_from(place.scenario.split)), after)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def verdict_of(anchors: Sequence[Anchors], runs: Sequence[Run], candidates: int) -> Verdict:
    """What runs of an agent on validation splits say.

    Args:
        anchors: of each trace.
        runs: of the agent, on the slices of each.
        candidates: how many agents it was chosen among, itself included.
    """
    evidence = [each.evidence for each in anchors]
    costs = [each.costs(run) for each, run in zip(evidence, runs, strict=True)]
    acts = any(
        not (run.costs == each.replay.costs).all() for each, run in zip(anchors, runs, strict=True)
    )
    found = verdict_on(evidence, costs, acts, candidates, anchors[0].seed)
    return found.of_attempts(anchors, runs)


def verdict_on(
    evidence: Sequence[Evidence],
    costs: Sequence[npt.NDArray[np.float64]],
    acts: bool,
    candidates: int,
    seed: int,
) -> Verdict:
    """What costs on the rows of some traces say.

    Args:
        evidence: of each trace.
        costs: [traces][rows] what the agent costs.
        acts: did it ever do anything?
        candidates: how many agents it was chosen among, itself included.
        seed: of the bootstrap.
    """
    confidence = 100.0 - ERROR / candidates
    found = score_of(evidence, costs, seed, confidence=confidence, resamples=RESAMPLES)
    score, low, high = found  # what is not known is NaN, and compares as false
    answer: Answer = "adopt" if low > 0.0 else "harm" if high < 0.0 else "no evidence"
    members = sum(len(np.unique(each.units.member)) for each in evidence)
    more = None
    if answer == "no evidence" and score > 0.0 >= low:
        wanted = members * ((score - low) / score) ** 2 - members
        more = max(math.ceil(wanted), 1) if wanted < LARGEST else None
    return Verdict(
        answer=answer,
        acts=acts,
        score=_known(score),
        low=_known(low),
        high=_known(high),
        candidates=candidates,
        unit=evidence[0].units.name,
        units=sum(each.units.count for each in evidence),
        members=members,
        smallest=_known(score - low),
        more=more,
    )


def judged(anchors: Sequence[Anchors], agent: Predicts, candidates: int) -> Verdict:
    """What an agent does on validation splits, and what that says. See `verdict_of`."""
    return verdict_of(anchors, [each.run(agent) for each in anchors], candidates)

"""What a campaign of advice says: is it right, does it harm, does it miss what is large?

Advice is

* *harmful* if the rule to adopt surely costs more than replay;
* *right* if it surely saves;
* *missed* if nothing is to be adopted, and yet some rule's true gain is at least twice the smallest
  that this record could have told from 0; or, by the *typical* smallest, twice the middle one of
  all records of the law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.gate_summary import Share
from failgym.evaluation.scoring import Score

__all__ = ["TITLES", "Advised", "counted", "counts"]

TITLES = (
    *("", "records", "adopt", "right", "unsure", "harmful advice", "twice the smallest: abstained"),
    "by the typical smallest",
)


@dataclass(frozen=True)
class Advised:
    """The advice on a record, beside the truth."""

    case: str
    record: int
    answer: str
    policy: str | None
    """the one to adopt"""
    truth: Score | None
    """of that policy"""
    large: tuple[str, ...]
    """rules whose true gain is at least twice the smallest that the record could have told"""
    large_typically: tuple[str, ...]
    """the same, by the middle one of all records of its case"""

    @property
    def harmful(self) -> bool:
        """Does the advice surely cost more than replay?"""
        return self.truth is not None and self.truth.high < 0.0

    @property
    def right(self) -> bool:
        """Does it surely save?"""
        return self.truth is not None and self.truth.low > 0.0


def counted(name: str, found: Sequence[Advised]) -> tuple[str | int, ...]:
    """A row of the table."""
    adopted = [one for one in found if one.policy is not None]
    harmful = Share(sum(one.harmful for one in found), len(found), len(found))
    missed, typically = (
        Share(sum(one.policy is None for one in large), len(large), len(large))
        for large in (
            [one for one in found if one.large],
            [one for one in found if one.large_typically],
        )
    )
    right = sum(one.right for one in adopted)
    unsure = len(adopted) - right - harmful.so
    return (
        name,
        len(found),
        len(adopted),
        right,
        unsure,
        harmful.text,
        missed.text,
        typically.text,
    )


def counts(found: Sequence[Advised], cases: Sequence[str]) -> list[tuple[str | int, ...]]:
    """The rows of the table: of all records, then of those of each case."""
    of_case = [counted(case, [one for one in found if one.case == case]) for case in cases]
    return [counted("all", found), *of_case]

"""Whether a regular expression takes time that is more than linear in the text.

A backtracking matcher tries every path through the pattern's automaton. Their number grows faster
than the text where the automaton is ambiguous without bound: there are states p and q (not the
same) and a text that leads from p to p, from p to q and from q to q (A. Weber, H. Seidl: On the
degree of ambiguity of finite automata, 1991; N. Weideman et al.: Analyzing matching time behavior
of backtracking regular expression matchers by using ambiguity of NFA, 2016). The automaton is
Glushkov's. Assertions are left out, and every state may be the last: what is called linear is so,
what is not called linear may be all the same.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix  # type: ignore[import-untyped]
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

__all__ = ["is_linear"]

FEW = 100
"""A part that is repeated at most so often costs a factor; beyond it counts as any number."""
ALWAYS = "aZ09_ \n\t-.é\x00"


def is_linear(pattern: re.Pattern[Any], *, anywhere: bool) -> bool:
    """Whether no text takes more than linear time; `anywhere`: it is searched for, not matched."""
    text = pattern.pattern
    tree = parser.parse(text, pattern.flags if isinstance(text, str) else pattern.flags & ~re.U)
    automaton = _Automaton(bool(pattern.flags & re.IGNORECASE), bool(pattern.flags & re.DOTALL))
    automaton.signs = _signs(tree)
    part = automaton.sequence(tree)
    if anywhere:
        start = automaton.atom(frozenset(automaton.signs))
        automaton.join(start.last, start.first)
        part = automaton.after(start, part)
    return not automaton.ambiguous()


@dataclass
class _Part:
    """A part of a pattern: whether it takes nothing, and where it begins and ends."""

    empty: bool = True
    first: list[int] = field(default_factory=list[int])
    last: list[int] = field(default_factory=list[int])


@dataclass
class _Automaton:
    """Positions of a pattern, the signs that each takes, and which may follow which."""

    ignore_case: bool
    dot_all: bool
    signs: str = ""
    takes: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    edges: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])

    def atom(self, signs: frozenset[str]) -> _Part:
        self.takes.append(signs)
        return _Part(False, [len(self.takes) - 1], [len(self.takes) - 1])

    def join(self, last: Iterable[int], first: Iterable[int]) -> None:
        self.edges.update(itertools.product(last, first))

    def after(self, one: _Part, other: _Part) -> _Part:
        self.join(one.last, other.first)
        return _Part(
            one.empty and other.empty,
            one.first + (other.first if one.empty else []),
            other.last + (one.last if other.empty else []),
        )

    def sequence(self, items: Iterable[Any]) -> _Part:
        made = _Part()
        for operator, value in items:
            made = self.after(made, self.part(operator, value))
        return made

    def part(self, operator: Any, value: Any) -> _Part:
        if operator in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
            return _Part()
        if operator is sre.SUBPATTERN:
            return self.sequence(value[3])
        if operator is sre.ATOMIC_GROUP:
            return self.sequence(value)
        if operator is sre.BRANCH:
            parts = [self.sequence(branch) for branch in value[1]]
            return _Part(
                any(part.empty for part in parts),
                [at for part in parts for at in part.first],
                [at for part in parts for at in part.last],
            )
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self.repeat(*value)
        return self.atom(frozenset(s for s in self.signs if self.fits(operator, value, s)))

    def repeat(self, least: int, most: int, what: Any) -> _Part:
        made = _Part()
        for number in range(max(min(least, 2), 1)):
            part = self.sequence(what)
            part.empty |= number >= least
            if most > FEW and number >= least - 1:
                self.join(part.last, part.first)
            made = self.after(made, part)
        if least < most <= FEW and most > 1:
            part = self.sequence(what)
            part.empty = True
            made = self.after(made, part)
        return made

    def fits(self, operator: Any, value: Any, sign: str) -> bool:
        cases = {sign, sign.lower(), sign.upper()} if self.ignore_case else {sign}
        if operator is sre.ANY:
            return self.dot_all or sign != "\n"
        if operator is sre.LITERAL:
            return chr(value) in cases
        if operator is sre.NOT_LITERAL:
            return chr(value) not in cases
        assert operator is sre.IN, operator
        negated = value[0][0] is sre.NEGATE
        inside = any(_in_set(one, what, case) for one, what in value[negated:] for case in cases)
        return inside != negated

    def ambiguous(self) -> bool:
        """Whether some two states are as the module says, or some loop has two ways."""
        count = len(self.takes)
        common = [
            (a, b)
            for a, b in self.edges
            if self.takes[b]  # an edge is taken by what b takes
        ]
        if not common:
            return False
        first, second = np.array(common).T
        _, loops = _components(first, second, count)
        if any(n > 1 and loops[a] == loops[b] for (a, b), n in self.edges.items()):
            return True
        return self._doubled(common, loops, count)

    def _doubled(self, common: Sequence[tuple[int, int]], loops: Any, count: int) -> bool:
        """Whether (p, p, q) leads to (p, q, q) for some p and q, all three by the same text."""
        looping = {a for a, b in common if loops[a] == loops[b]}
        by_sign = [[e for e in common if s in self.takes[e[1]]] for s in self.signs]
        start: list[Any] = []
        end: list[Any] = []
        for edges in by_sign:
            if not edges:
                continue
            a, b = np.array(edges).T
            inner = np.array([loops[x] == loops[y] for x, y in edges])
            one, two = a[inner], b[inner]  # the first and the third stay in their loops
            start.append(
                (one[:, None, None] * count + a[None, :, None]) * count + one[None, None, :]
            )
            end.append((two[:, None, None] * count + b[None, :, None]) * count + two[None, None, :])
        pairs = [(p, q) for p in looping for q in looping if p != q]
        back = [(p * count + q) * count + q for p, q in pairs]
        begun = [(p * count + p) * count + q for p, q in pairs]
        if not pairs:
            return False
        first = np.concatenate([*(one.ravel() for one in start), np.array(back)])
        second = np.concatenate([*(one.ravel() for one in end), np.array(begun)])
        _, component = _components(first, second, count**3)
        return bool((component[np.array(back)] == component[np.array(begun)]).any())


def _components(first: Any, second: Any, size: int) -> tuple[int, Any]:
    graph = coo_matrix((np.ones(len(first), dtype=np.int8), (first, second)), shape=(size, size))
    return connected_components(graph, directed=True, connection="strong")


def _in_set(operator: Any, value: Any, sign: str) -> bool:
    if operator is sre.LITERAL:
        return chr(value) == sign
    if operator is sre.RANGE:
        return value[0] <= ord(sign) <= value[1]
    kinds = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    name = str(operator is sre.CATEGORY and value).removeprefix("CATEGORY_")
    found = re.fullmatch(kinds[name.removeprefix("NOT_")], sign) is not None
    return found != name.startswith("NOT_")


def _signs(tree: Any) -> str:
    """Signs of every kind that the pattern tells apart."""
    found = set(ALWAYS)

    def walk(value: Any) -> None:
        if isinstance(value, tuple) and len(value) == 2 and value[0] in (sre.LITERAL, sre.RANGE):
            ends = value[1] if value[0] is sre.RANGE else (value[1], value[1])
            near = (ends[0] - 1, *ends, ends[1] + 1)
            found.update(chr(code) for code in near if 0 <= code < 0x110000)
            return
        if isinstance(value, list | tuple | parser.SubPattern):
            for one in value:
                walk(one)

    walk(list(tree))
    return "".join(sorted(found))

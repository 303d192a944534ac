"""Do the names of policies say who played? The rows of a table are told apart by them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from failgym.baselines import REGISTRY
from failgym.leaderboard.submission.lookalikes import skeleton
from failgym.leaderboard.submission.proofs import PROOFS
from failgym.leaderboard.submission.records import PolicyRecord
from failgym.leaderboard.submission.specs import is_shipped, names_a_file, specs_of, why_not_asked
from failgym.policy import Policy

__all__ = ["at_a_glance", "baseline_named", "misnamed_file", "misnamed_files", "name_problems"]

_TELLING = "+*#'\u2032"
"""Signs that tell names apart: `a+` and `a*`."""


def name_problems(policies: Sequence[PolicyRecord]) -> Iterator[str]:
    """Names that are a baseline's, a SPEC's or another policy's, and policies under two names."""
    for policy in policies:
        for problem in _misnamed(policy):
            yield f"policy {policy.name!r}: {problem}"
    yield from _alike(policies)
    yield from _twice(policies)


def misnamed_files(
    policies: Sequence[PolicyRecord], load: Callable[[str], Policy]
) -> Iterator[str]:
    """`misnamed_file` of the policies that are at hand, a line each.

    Args:
        policies: as a submission states them.
        load: makes a policy of a SPEC; it is given none that may hold code.
    """
    for policy in policies:
        found = dict[str, None]()
        for env, spec in policy.specs.items():
            if why_not_asked(policy, env) is not None:
                continue
            for one in specs_of(spec):
                try:
                    found.update(dict.fromkeys(misnamed_file(policy, one, load(one))))
                except ValueError:
                    continue  # is said elsewhere
        for problem in found:
            yield f"policy {policy.name!r}: {problem}"


def misnamed_file(policy: PolicyRecord, spec: str, asked: Any) -> Iterator[str]:
    """Does a file hold what the name of the policy and its training seed say?

    Args:
        policy: as a submission states it.
        spec: of the policy.
        asked: the policy that was made of it.
    """
    name, baseline = getattr(asked, "name", None), baseline_named(policy.name)
    if policy.kind == "baseline" and baseline is not None and name != baseline:
        yield f"reads like a variant of {baseline}, and {Path(spec).name} is {name}"
    seed: int | None = getattr(getattr(asked, "manifest", None), "seed", None)
    if None not in (seed, policy.training_seed) and seed != policy.training_seed:
        yield f"{spec}: was trained with seed {seed}, it states {policy.training_seed}"


def baseline_named(name: str) -> str | None:
    """The baseline that a name claims to be, or a variant of: its own name, perhaps with more.

    Of baselines whose names begin alike it is the one with the longest.
    """
    reads = _words(name)
    for baseline in sorted(REGISTRY, key=len, reverse=True):
        if _is_called(name, baseline) or reads.startswith(f"{_words(baseline)}_"):
            return baseline
    return None


def _words(name: str) -> str:
    """What a name reads like, whatever stands around its words and between them."""
    return re.sub(r"[\W_]+", "_", skeleton(name)).strip("_")


def _is_called(name: str, baseline: str) -> bool:
    """Is it the name of a baseline, in one word or several?"""
    return _words(name).replace("_", "") == _words(baseline).replace("_", "")


def _misnamed(policy: PolicyRecord) -> Iterator[str]:
    name, specs = policy.name, dict.fromkeys(policy.specs.values())
    baseline = baseline_named(name)
    for spec in specs:
        shipped = spec.partition(":")[0] if is_shipped(spec) else None
        if baseline and _is_called(name, baseline) and shipped != baseline:
            yield f"is the name of a baseline, and {spec!r} was played"
        elif baseline and (policy.kind != "baseline" or shipped not in (None, baseline)):
            yield f"reads like a variant of {baseline}, and {spec!r} was played"
    is_spec = names_a_file(name) or (is_shipped(name) and ":" in name)
    if is_spec and any(not _stands_for(name, *item) for item in policy.specs.items()):
        yield f"reads like a SPEC, and {policy.spec!r} was played"
    if policy.training_seed is not None and policy.kind != "agent":
        yield f"a policy of kind {policy.kind!r} has no training seed"
    words = re.split(r"[\W_]+", skeleton(name))
    for word in PROOFS:
        if skeleton(word) in words:
            yield f"says {word!r}, which is for `verify` to say"


def _stands_for(name: str, env: str, spec: str) -> bool:
    """Is a SPEC what a name says that is one, words in braces left open?"""
    wanted = re.escape(name.replace("{env}", env)).replace(re.escape("{seed}"), "[0-9]+")
    return re.fullmatch(wanted, spec) is not None


def _alike(policies: Sequence[PolicyRecord]) -> Iterator[str]:
    first: dict[str, str] = {}
    for name in dict.fromkeys(policy.name for policy in policies):
        other = first.setdefault(at_a_glance(name), name)
        if other != name:
            yield f"policies {other!r} and {name!r} read alike"


def at_a_glance(name: str) -> str:
    """What is seen of a name: not how its words are parted, nor what stands around them."""
    signs = (
        sign if sign in _TELLING or unicodedata.category(sign)[0] not in "PSZ" else "_"
        for sign in skeleton(name)
    )
    return re.sub("_+", "_", "".join(signs)).strip("_")


def _twice(policies: Sequence[PolicyRecord]) -> Iterator[str]:
    first: dict[str, PolicyRecord] = {}
    for policy in policies:
        if policy.kind == "code":
            continue  # the same name of a class may be other code
        other = first.setdefault(json.dumps(_what(policy), sort_keys=True), policy)
        if other is not policy:
            yield f"policies {other.said} and {policy.said} are the same one: {policy.spec}"


def _what(policy: PolicyRecord) -> dict[str, Any]:
    """Environment -> hash of the policy's file, or its SPEC where it has none."""
    return {
        env: file.sha256 if (file := policy.files.get(env)) else spec
        for env, spec in policy.specs.items()
    }

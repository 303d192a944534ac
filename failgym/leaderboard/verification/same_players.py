"""Is one player there as several? A SPEC can be written in many ways, and a file copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from failgym.baselines import Heuristic
from failgym.leaderboard.submission.records import PolicyRecord
from failgym.leaderboard.verification.asking_again import why_not_asked
from failgym.policy import Policy

__all__ = ["same_players"]


def same_players(policies: Sequence[PolicyRecord], load: Callable[[str], Policy]) -> Iterator[str]:
    """Policies that are at hand and are one: a rule with the same parameters, the same weights.

    Two policies are one if they are so wherever they play; two training runs of an agent if they
    are so anywhere, since no two end with the same weights.

    Args:
        policies: as a submission states them.
        load: makes a policy of a SPEC; it is given none that may hold code.
    """
    first: dict[Any, PolicyRecord] = {}
    for policy in policies:
        players = _players(policy, load)
        runs = [(policy.name, env, told) for env, told in players.items()]
        whole = [frozenset(players.items())] if len(players) == len(policy.specs) else []
        others = [first[key] for key in (*whole, *runs) if key in first]
        first.update((key, policy) for key in (*whole, *runs) if key not in first)
        if others:
            yield f"policies {others[0].said} and {policy.said} are the same one: {policy.spec}"


def _players(policy: PolicyRecord, load: Callable[[str], Policy]) -> dict[str, Any]:
    """Environment -> what tells a player from others, where it can be asked."""
    found: dict[str, Any] = {}
    for env, spec in policy.specs.items():
        if why_not_asked(policy, env) is not None:
            continue
        try:
            asked: Any = load(spec)
        except ValueError:
            continue  # is said elsewhere
        told = asked if isinstance(asked, Heuristic) else getattr(asked, "digest", None)
        if told is not None:
            found[env] = told
    return found

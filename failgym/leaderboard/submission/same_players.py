"""Is one player there under several names? A SPEC can be written in many ways, and a file copied.

A rule is told by its name and its parameters, an agent by the weights that choose its actions.
Whoever permutes or rescales weights makes another agent that plays the same; that is not found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from failgym.baselines import Heuristic
from failgym.leaderboard.submission.policy_names import baseline_named
from failgym.leaderboard.submission.records import PolicyRecord
from failgym.leaderboard.submission.specs import specs_of, why_not_asked
from failgym.policy import Policy

__all__ = ["players_of", "same_players", "twins"]

_RULE = "rule"


def players_of(policy: PolicyRecord, load: Callable[[str], Policy]) -> dict[str, str]:
    """Environment -> what tells the player there from others, where it can be asked.

    Args:
        policy: as a submission states it.
        load: makes a policy of a SPEC; it is given none that may hold code.
    """
    found: dict[str, str] = {}
    for env, spec in policy.specs.items():
        if why_not_asked(policy, env) is not None:
            continue
        try:
            players = [_player(load(one)) for one in specs_of(spec)]
        except ValueError:
            continue  # is said elsewhere
        known = [player for player in players if player is not None]
        if len(known) == len(players):  # of folds with one and the same it is that one
            found[env] = known[0] if len(set(known)) == 1 else "; ".join(known)
    return found


def _player(asked: Any) -> str | None:
    """What tells a player from others; None of one that cannot be told."""
    if isinstance(asked, Heuristic):
        parameters = hashlib.sha256(repr(asked).encode()).hexdigest()
        return f"{_RULE} {asked.name} {parameters}"
    digest = getattr(asked, "digest", None)
    return None if digest is None else f"weights {digest}"


def twins(
    players: Iterable[tuple[PolicyRecord, Mapping[str, str]]],
) -> Iterator[tuple[PolicyRecord, PolicyRecord, str]]:
    """Pairs of policies with one player in an environment, which their names do not say.

    A rule may be there as published and as tuned: a search may keep what was published. Then both
    names begin with the rule's.
    """
    first: dict[tuple[str, str], PolicyRecord] = {}
    for policy, known in players:
        for env, player in known.items():
            other = first.setdefault((env, player), policy)
            if other is not policy and not (_says(policy, player) and _says(other, player)):
                yield other, policy, env


def same_players(policies: Iterable[PolicyRecord], load: Callable[[str], Policy]) -> Iterator[str]:
    """`twins` of the policies that are at hand, a line each."""
    envs: dict[str, list[str]] = {}
    for one, other, env in twins((policy, players_of(policy, load)) for policy in policies):
        envs.setdefault(f"policies {one.said} and {other.said}", []).append(env)
    for pair, where in envs.items():
        yield f"{pair} are the same one in {', '.join(where)}"


def _says(policy: PolicyRecord, player: str) -> bool:
    """Does the name of a policy say which rule it is?"""
    kind, name, *_ = player.split()
    return kind == _RULE and baseline_named(policy.name) == name

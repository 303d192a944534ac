"""Is what was asked what a submission says: can there be such a SPEC, and who was it made for?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from failgym.evaluation.caller import made_for
from failgym.leaderboard.submission.policy_names import misnamed_file
from failgym.leaderboard.submission.records import PolicyRecord, Submission
from failgym.leaderboard.submission.specs import is_shipped, specs_of, why_not_asked
from failgym.leaderboard.suite.suites import Suite
from failgym.policy import Policy
from failgym.worlds.scenario import Scenario

__all__ = ["identity_problems"]

Load = Callable[[str], Policy]


def identity_problems(submission: Submission, suite: Suite, load: Load) -> Iterator[str]:
    """What cannot be true of policies that are at hand: shipped baselines, and files.

    Args:
        submission: what is stated.
        suite: where they played.
        load: makes a policy of a SPEC; it is given none that may hold code.
    """
    scenarios = {course.env: course.scenario() for course in suite.courses}
    for policy in submission.policies:
        for problem in dict.fromkeys(_problems(policy, scenarios, load)):
            yield f"policy {policy.name!r}: {problem}"
        if not suite.real:  # a user's trace may lack what a baseline goes by
            for problem in _elsewhere(policy, scenarios, load):
                yield f"policy {policy.name!r}: {problem}"


def _problems(policy: PolicyRecord, scenarios: dict[str, Scenario], load: Load) -> Iterator[str]:
    made: dict[str, Any] = {}
    for env, stated in policy.specs.items():
        if env not in scenarios or why_not_asked(policy, env) is not None:
            continue
        for spec in specs_of(stated):
            try:
                asked = made[spec] = made.get(spec) or load(spec)
            except ValueError as error:
                if policy.kind == "baseline":  # what loads an agent may not be installed here
                    yield f"{spec!r} cannot have been asked: {error}"
                continue
            if not made_for(asked, scenarios[env]):
                yield f"{spec!r} was not made for {env}"
            yield from misnamed_file(policy, spec, asked)


def _elsewhere(policy: PolicyRecord, scenarios: dict[str, Scenario], load: Load) -> Iterator[str]:
    """Is a shipped baseline missing where it could have played?"""
    for spec in dict.fromkeys(policy.specs.values()):
        if not is_shipped(spec):
            continue
        try:
            asked = load(spec)
        except ValueError:
            continue  # has been said
        for other, scenario in scenarios.items():
            if other not in policy.specs and made_for(asked, scenario):
                yield f"{spec!r} was made for {other} too, and has no rows there"

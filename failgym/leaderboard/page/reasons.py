"""Why numbers of a row are not defined: each has its reason, as in `failgym evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from failgym.envs import SCENARIOS
from failgym.evaluation.result import FEW, plural
from failgym.evaluation.room import NOTHING
from failgym.leaderboard.page.beside import MOST_RANKED, undefined
from failgym.leaderboard.page.cells import Failure, Field
from failgym.leaderboard.suite.account import STAKE
from failgym.leaderboard.suite.reference import WHOLE

__all__ = ["reasons", "sampled"]

SCORED = ("score", "low", "high", "rank", "rank_low", "rank_high")
"""What there is only where there is something to gain."""
AT_PRICES = ("rank_at_prices_low", "rank_at_prices_high")


def sampled(field: Field) -> dict[str, Any]:
    """What was resampled for intervals, whether these are few, and what the stake is counted by.

    As `failgym.evaluation.result.Evaluation` has it: `unit`, `units`, `few` and `stake_of`.
    """
    known = SCENARIOS.get(field.env)
    of = "slice" if known is not None and known.world == "scheduled" else "job"
    unit = "trace" if bool(np.all(field.slices[:, 1] == WHOLE)) else f"block of {of}s"
    count = len(field.blocks.trace)
    return {"unit": unit, "units": count, "few": count < FEW, "stake_of": of}


def reasons(field: Field, policy: str, row: Mapping[str, Any]) -> dict[str, str]:
    """Why the numbers of a policy's row that are None are not defined, by their names.

    Args:
        field: the environment.
        policy: by name.
        row: its numbers (`failgym.leaderboard.page.rows.rows_of`).
    """
    known = _of_field(field)
    outcome = field.outcomes[policy]
    if isinstance(outcome, Failure):
        failed = f"{outcome.status}: {outcome.reason}".removesuffix(": ")
        return {name: known.get(name, failed) for name, value in _numbers(row) if value is None}
    known |= undefined(field, [policy])
    known |= dict.fromkeys(AT_PRICES, "the suite is of another version, whose prices nobody knows")
    if row["score"] is None:
        known |= dict.fromkeys(SCORED, field.room.reason or NOTHING)
    else:
        known |= dict.fromkeys(SCORED[1:3], _no_interval(field))
        known |= dict.fromkeys(
            SCORED[4:], f"of more than {MOST_RANKED} policies only ranks are found"
        )
    return {name: known[name] for name, value in _numbers(row) if value is None and name in known}


def _numbers(row: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """All but what is a reason itself."""
    return [(name, value) for name, value in row.items() if name not in ("reason", "warning")]


def _of_field(field: Field) -> dict[str, str]:
    """Of what there is to gain, whoever plays."""
    nothing = f"the bound saves nothing on any {sampled(field)['stake_of']}"
    return {
        "room_of_cost": "replay costs nothing",
        "room_share": "replay spends nothing that is charged for",
        "room_hours": "machine-time has no price",
        **dict.fromkeys(STAKE[1:], nothing),
    }


def _no_interval(field: Field) -> str:
    of = sampled(field)
    if of["units"] < 2:
        return f"an interval needs two {plural(of['unit'], 2)}, and there is one"
    units = f"{of['units']:,} {plural(of['unit'], of['units'])}"
    return f"there is something to gain on too few of the {units}"

"""What the page shows, packed: a header of names and one stretch of numbers, compressed.

The text is base64 of a zlib stream. In it: the header's length in bytes (uint32, little-endian),
the header (JSON, UTF-8), and the arrays that it lists, float32, all first bytes of the numbers,
then all second ones, and so on: bytes of one kind compress better side by side.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

import failgym
from failgym.envs.spaces import TERMS
from failgym.leaderboard.page.beside import BESIDE, beside, ranks_of, undefined
from failgym.leaderboard.page.cells import FORECASTS, Failure, Field, fields_of
from failgym.leaderboard.page.prices import (
    priced_scenario,
    prices_of,
    ranks_at_prices,
    readers,
)
from failgym.leaderboard.page.ranking import COUNTS, aggregates, costs, counts, scores
from failgym.leaderboard.page.rows import check, described, proofs_of
from failgym.leaderboard.page.source import Source
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.statistics.estimators import AGGREGATES
from failgym.leaderboard.submission.proofs import MEANINGS
from failgym.worlds.scenario import Scenario

__all__ = ["pack", "payload"]

Floats = npt.NDArray[np.float64]
REASON = 300
"""Characters that are kept of why an episode failed."""
LARGE = 10_000.0
"""Of numbers beside scores such as hours: from here on they are shown to their units."""
LEVEL = 9
"""zlib's level of compression, the highest."""


def payload(submissions: Sequence[Source], bootstrap: Bootstrap) -> str:
    """The packed content of a page.

    Raises:
        ValueError: if there is nothing to show, if a training run of a policy is there twice, if
            suites differ, or as `fields_of` does.
    """
    check(submissions)
    policies = _policies(submissions)
    names = [str(policy["name"]) for policy in policies]
    fields = fields_of(submissions)
    forecasts = [name for name in FORECASTS if any(field.forecast == name for field in fields)]
    envs = dict.fromkeys(field.env for field in fields)
    scenarios = {env: priced_scenario(submissions[0], env) for env in envs}
    header = {
        "failgym": failgym.__version__,
        "suite": submissions[0].suite,
        "digest": submissions[0].digest,
        "terms": TERMS,
        "aggregates": list(AGGREGATES),
        "counts": COUNTS,
        "beside": BESIDE,
        "forecasts": forecasts,
        "confidence": bootstrap.confidence,
        "submissions": [_provenance(submission) for submission in submissions],
        "policies": policies,
        "proofs": proofs_of(submissions, fields, names),
        "meanings": MEANINGS,
        "fields": [
            _described(field, names) | _priced(field, submissions, names, scenarios[field.env])
            for field in fields
        ],
        "failures": _failures(fields, names),
    }
    return pack(header, _arrays(fields, forecasts, names, bootstrap, scenarios))


def pack(header: dict[str, Any], arrays: dict[str, Floats]) -> str:
    """Header and arrays as this module's docstring says."""
    listed = [{"name": name, "length": array.size} for name, array in arrays.items()]
    text = json.dumps({**header, "arrays": listed}, ensure_ascii=False).encode()
    parts = [len(text).to_bytes(4, "little"), text]
    for array in arrays.values():
        planes = array.astype("<f4").ravel().view(np.uint8).reshape(-1, 4).T
        parts.append(planes.tobytes())
    return base64.b64encode(zlib.compress(b"".join(parts), LEVEL)).decode("ascii")


def _policies(submissions: Sequence[Source]) -> list[dict[str, Any]]:
    """By name, with the training runs of each and the submissions that they are in."""
    found: dict[str, dict[str, Any]] = {}
    for at, submission in enumerate(submissions):
        for entry in submission.entries:
            policy = found.setdefault(
                entry.name, {"name": entry.name, "kind": entry.kind, "runs": []}
            )
            run = {name: of for name, of in asdict(entry).items() if name not in ("name", "kind")}
            policy["runs"].append({"submission": at, **run})
    return list(found.values())


def _arrays(
    fields: Sequence[Field],
    forecasts: Sequence[str],
    names: Sequence[str],
    bootstrap: Bootstrap,
    scenarios: Mapping[str, Scenario | None],
) -> dict[str, Floats]:
    """By name, in the order in which the page reads them."""
    groups = [[field for field in fields if field.forecast == name] for name in forecasts]
    numbered = [(number, field) for group in groups for number, field in enumerate(group)]
    cells = [field.cell(name) for field in fields for name in names]
    arrays = {
        "overall": [aggregates(group, names, bootstrap) for group in groups],
        "scores": [scores(field, names, bootstrap, number) for number, field in numbered],
        "costs": [costs(field, names) for field in fields],
        "counts": [counts(field, names) for field in fields],
        "beside": [_whole(beside(field, names)) for field in fields],
        "overall_ranks": [ranks_of(group, names, bootstrap) for group in groups],
        "ranks": [ranks_of([field], names, bootstrap, number) for number, field in numbered],
        "price_ranks": [ranks_at_prices(each, names, scenarios[each.env]) for each in fields],
        "possible": [field.possible for field in fields],
        "spent": [field.spent for field in fields],
        "block_possible": [field.blocks.possible for field in fields],
        "block_spent": [field.blocks.spent for field in fields],
        "saved": [cell.runs.saved for cell in cells if cell is not None],
        "block_saved": [cell.runs.by_unit().saved for cell in cells if cell is not None],
    }
    return {name: _joined(parts) for name, parts in arrays.items()}


def _whole(values: Floats) -> Floats:
    """Large numbers to their units, as they are shown: float32 would have them rounded twice."""
    return np.where(np.abs(values) < LARGE, values, np.round(values))


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0)


def _provenance(submission: Source) -> dict[str, Any]:
    return {
        "folder": submission.folder,
        "address": submission.address,
        "failgym": submission.failgym,
        "traces": submission.traces,
        "left_out": submission.left_out,
        "secret": submission.secret,
    }


def _described(field: Field, names: Sequence[str]) -> dict[str, Any]:
    """What it is, what there is to gain, and why it has no scores, or marked ones."""
    return {
        **described(field),
        "slices": field.slices.tolist(),
        "of_slice": field.units.of_row.tolist(),
        "trace_of": field.units.trace.tolist(),
        "block_traces": field.blocks.trace.tolist(),
        "undefined": undefined(field, names),
    }


def _priced(
    field: Field, submissions: Sequence[Source], names: Sequence[str], scenario: Scenario | None
) -> dict[str, Any]:
    """At what prices policies are ranked, and the numbers of those that may play otherwise."""
    found = readers(submissions, field.env, scenario)
    marked = [at for at, name in enumerate(names) if name in found]
    return {"prices": prices_of(scenario), "readers": marked}


def _failures(fields: Sequence[Field], names: Sequence[str]) -> list[dict[str, Any]]:
    """Each with its field and policy, by number."""
    found: list[dict[str, Any]] = []
    for at, field in enumerate(fields):
        for policy, name in enumerate(names):
            failure = field.outcomes.get(name)
            if isinstance(failure, Failure):
                reason = failure.reason[:REASON]
                found.append({**asdict(failure), "reason": reason, "field": at, "policy": policy})
    return found

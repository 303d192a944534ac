"""Is the advice of `failgym assess` to be trusted? Records whose truth is known.

    python -m experiments.advice --gate FILE --out DIR [--records 100] [--workers 1] [--json FILE]

The records, and the truth of every rule, are those of `experiments.gate`: a record is a generated
trace that is played as if it were a real one, and the truth of a rule is what it saves on many
fresh traces of the same law (``--gate``: what that campaign wrote with ``--json``). Each is
assessed as an operator would, with all published rules and forecasts that are learned from its
past. What is counted is said in `experiments.advice_summary`.

Only kills are played. Retries and clones have other prices in an assessment. Rules of checkpoints
go by the mean time between losses, which an assessment counts on each record: their truth would be
another one for each.

DIR keeps what was found on each record by this code and law: the same command goes on after a kill.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from experiments.advice_summary import TITLES, Advised, counts
from experiments.gate import CASES, Case, Key, dealt, told
from experiments.gate_summary import TWICE
from experiments.result_tables.cells import score_of
from failgym.assessment import MEASURES, Candidate, assess
from failgym.cli.options import RayAddress, WorkersOption, read_workers
from failgym.cli.output import JsonFile, print_line, print_table
from failgym.evaluation.scoring import Score
from failgym.files import replacing
from failgym.sources import code_hash
from failgym.workers import each

__all__ = ["Assessments", "advised", "counted_among", "truths_in", "typical"]

PLAYED = tuple(case for case in CASES if case.env == MEASURES["kill"].env)
"""The laws of the campaign of verdicts whose rules and prices are those of the measure."""


@dataclass(frozen=True)
class Assessments:
    """What is kept in a folder; other workers get a copy."""

    folder: Path

    def file(self, key: Key) -> Path:
        """Where the advice on a record is."""
        return self.folder / f"{key.file}.json"

    def assess(self, key: Key) -> None:
        """Assess a record, unless it has been."""
        case = next(one for one in PLAYED if one.name == key.case)
        known = self.row(key)
        by = {"law": case.law, "code": code_hash()}
        if known is not None and all(known.get(name) == value for name, value in by.items()):
            return
        begun, trace = time.perf_counter(), case.trace(key.number)
        found = assess(
            trace,
            trace,
            {name: Candidate(rule, "published", name) for name, rule in case.rules.items()},
            name=key.file,
            measures=["kill"],
            forecasts=("trained",),
        )
        assert found.advice is not None
        rules = [one for one in found.judged if one.kind != "chosen"]
        row = {
            **by,
            "case": case.name,
            "number": key.number,
            "answer": found.advice.answer,
            "policy": found.advice.policy,
            "share": {room.measure: room.share for room in found.rooms},
            "smallest": {one.policy: one.verdict.smallest for one in rules},
            "saved": {one.policy: one.share for one in rules},
            "left_out": list(found.left_out),
            "seconds": time.perf_counter() - begun,
        }
        with replacing(self.file(key)) as partial:
            partial.write_text(json.dumps(row, indent=1), "utf-8")

    def row(self, key: Key) -> dict[str, Any] | None:
        """What is known of a record; None if nothing is."""
        if not self.file(key).is_file():
            return None
        return json.loads(self.file(key).read_text("utf-8"))


def typical(rows: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """The middle of the smallest gains that records of a case could have told, by rule."""
    found: dict[str, float | None] = {}
    for name in rows[0]["smallest"]:
        each = [math.inf if (one := row["smallest"][name]) is None else one for row in rows]
        middle = median(each)
        found[name] = middle if math.isfinite(middle) else None
    return found


def advised(
    row: dict[str, Any], truths: dict[str, Score], typically: dict[str, float | None]
) -> Advised:
    """An advice beside the truth.

    Args:
        row: of a record.
        truths: of the rules of its case, in percent of what replay spends.
        typically: `typical` of its case.
    """

    def large(smallest: dict[str, float | None]) -> tuple[str, ...]:
        return tuple(
            name
            for name, least in smallest.items()
            if least is not None and truths[name].low > 0.0
            if truths[name].value >= TWICE * least > 0.0
        )

    policy = row["policy"]
    truth = None if policy is None else truths[policy]
    told = large(row["smallest"]), large(typically)
    return Advised(row["case"], row["number"], row["answer"], policy, truth, *told)


def counted_among(
    rows: Sequence[dict[str, Any]], truths: dict[str, dict[str, Score]]
) -> list[Advised]:
    """Every advice beside the truth.

    Args:
        rows: of all records.
        truths: of the rules, by case.
    """
    cases = dict.fromkeys(row["case"] for row in rows)
    middle = {name: typical([row for row in rows if row["case"] == name]) for name in cases}
    return [advised(row, truths[row["case"]], middle[row["case"]]) for row in rows]


def truths_in(content: dict[str, Any], cases: Sequence[Case]) -> dict[str, dict[str, Score]]:
    """What each rule truly saves, by case, in percent of what replay spends.

    Args:
        content: what `experiments.gate` wrote.
        cases: those that are asked about.

    Raises:
        ValueError: for a case that is not there, or of another law.
    """
    laws = {law["name"]: law for law in content["cases"]}
    for case in cases:
        if laws.get(case.name) != case.law:
            raise ValueError(f"--gate: expected {case.name!r} as it is now: run experiments.gate")
    found: dict[str, dict[str, list[float | None]]] = content["rules_of_spent"]
    return {
        case.name: {rule: score_of(truth) for rule, truth in found[case.name].items()}
        for case in cases
    }


def main(
    gate: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, metavar="FILE", help="Of the verdicts.")
    ],
    out: Annotated[Path, typer.Option(file_okay=False, metavar="DIR", help="Kept there.")],
    records: Annotated[int, typer.Option(min=1, help="Of all cases together.")] = 100,
    workers: WorkersOption = "1",
    ray_address: RayAddress = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Count how often the advice is right, abstains, or harms."""
    file, keys = JsonFile.at(json_file), dealt(PLAYED, records)
    crew = read_workers(workers, ray_address)
    truths = truths_in(json.loads(gate.read_text("utf-8")), PLAYED)
    out.mkdir(parents=True, exist_ok=True)
    assessments = Assessments(out)
    with told("records", len(keys)) as advance:
        each(assessments.assess, keys, crew, done=advance, folder=out)
    rows = [row for key in keys if (row := assessments.row(key)) is not None]
    found = counted_among(rows, truths)
    rows_of = counts(found, [case.name for case in PLAYED])
    print_table("Advice on simulated records", TITLES, rows_of)
    print_line(f"{sum(bool(row['left_out']) for row in rows)} records left something out")
    cases = [case.law for case in PLAYED]
    kept = [{name: row[name] for name in row if name != "law"} for row in rows]  # `cases` has it
    content = {"records": kept, "advised": [asdict(one) for one in found], "cases": cases}
    file.write(content)


if __name__ == "__main__":
    typer.run(main)

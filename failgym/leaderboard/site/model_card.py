"""The model card of a policy: what it is, how it was trained and run, what it scores, its limits.

Sections follow Mitchell et al.: Model cards for model reporting (FAT* 2019), as far as a submission
knows.
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from xml.etree import ElementTree as ET

from failgym.baselines import REGISTRY
from failgym.evaluation.result import plural
from failgym.leaderboard.page.source import Source
from failgym.leaderboard.site.html import MOST_ITEMS, Node, cut, facts, items, node, table
from failgym.leaderboard.submission.proofs import MEANINGS, PROOFS, Proof, weakest
from failgym.leaderboard.submission.records import CODE_NOTE, PolicyFile, PolicyRecord
from failgym.leaderboard.submission.specs import is_shipped

__all__ = ["Card", "badge", "number"]

Row = Mapping[str, Any]
"""Of `failgym.leaderboard.page.rows_of`."""

KINDS = {
    "baseline": "a rule that comes with failgym",
    "agent": "a trained agent, whose file is read as numbers and never run",
    "code": f"a class of the submitter's: {CODE_NOTE}",
}
FIGURES = {
    "saved_hours": "Machine-hours saved",
    "saved_completion_hours": "Hours of completion saved",
    "forfeited_per_thousand": "Forfeited / 1,000",
    "false_kills_per_thousand": "False kills / 1,000",
}
"""Columns beside the scores."""

MOST_SIGNS = 100_000
"""Signs after which no more is shown of what a file says; the last list may reach beyond."""


@dataclass(frozen=True)
class Card:
    """A policy of a submission, all its training runs together."""

    anchor: str
    """where it stands on its page"""
    runs: tuple[PolicyRecord, ...]
    """its training runs in this submission; one, if it was not trained"""
    rows: tuple[Row, ...]
    """what it scores on the board; no other submission has a policy of its name"""
    source: Source
    files: Mapping[PolicyFile, Mapping[str, Any] | str]
    """what its files say of themselves, or why nothing is known"""

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.runs[0].name

    @property
    def kind(self) -> str:
        """Baseline, agent or code."""
        return self.runs[0].kind

    @property
    def proof(self) -> Proof:
        """The weakest of what is proven of its rows."""
        return weakest(row["proof"] for row in self.rows)

    @property
    def envs(self) -> list[str]:
        """The environments that it plays in, in the order of its rows."""
        played = {env for run in self.runs for env in run.specs}
        return list(dict.fromkeys(row["env"] for row in self.rows if row["env"] in played))

    def element(self) -> ET.Element:
        """The card as it stands on a page."""
        head = node("h2", node("bdi", self.name), " ", badge(self.proof))
        return node(
            "section",
            head,
            node("h3", "What it is"),
            self._details(),
            node("h3", "How it was trained"),
            *self._training(),
            node("h3", "How it was run"),
            *self._runs(),
            node("h3", "Scores"),
            self._scores(),
            node("h3", "Limits"),
            node("ul", *(node("li", limit) for limit in self._limits()), class_="limits"),
            id=self.anchor,
            class_="card",
        )

    def _details(self) -> ET.Element:
        specs = dict.fromkeys(spec for run in self.runs for spec in run.specs.values())
        hashes = (f"{file.name}: SHA-256 {file.sha256}" for file in self.files)
        return facts(
            [
                ("Kind", f"{self.kind}: {KINDS[self.kind]}"),
                ("Rule", self._rule()),
                ("Plays in", ", ".join(self.envs)),
                ("SPEC", items(specs)),
                ("Files", items(hashes) if self.files else None),
            ]
        )

    def _rule(self) -> str | None:
        """What a rule of failgym does, as its own docstring says; of others nobody knows."""
        shipped = {spec.partition(":")[0] for run in self.runs for spec in run.specs.values()}
        if self.kind != "baseline" or len(shipped) != 1 or not is_shipped(*shipped):
            return None
        return (inspect.getdoc(REGISTRY[shipped.pop()]) or "").partition("\n\n")[0]

    def _training(self) -> Iterator[ET.Element]:
        seeds = [str(run.training_seed) for run in self.runs if run.training_seed is not None]
        if seeds:
            yield facts([("Seeds" if len(seeds) > 1 else "Seed", ", ".join(seeds))])
        if not self.files and self.kind == "baseline":
            yield node("p", "It was not trained.")
        elif not self.files:
            yield node("p", "Nothing is known of it: it is no file.")
        for file, said in self.files.items():
            if isinstance(said, str):
                yield node("p", node("code", file.name), f" {cut(said)}.")
                continue
            where = ", ".join(self._played_with(file))
            summary = node("summary", node("code", file.name), f" ({where}), as the file says")
            pairs = _facts(said)
            alone = {"open": "open"} if len(self.files) == 1 else {}
            yield node("details", summary, facts(pairs), **alone)

    def _played_with(self, file: PolicyFile) -> list[str]:
        """The environments that a file was played in."""
        played = (env for run in self.runs for env, of in run.files.items() if of == file)
        return list(dict.fromkeys(played))

    def _runs(self) -> Iterator[ET.Element]:
        for run in self.runs:
            versions = (f"{name} {version}" for name, version in sorted(run.versions.items()))
            pairs: list[tuple[str, Node | None]] = [
                ("Command, as stated by the submitter", node("code", run.command)),
                ("Versions, as stated by the submitter", ", ".join(versions)),
                ("Proven", self._proven(run)),
            ]
            if run.training_seed is not None:
                pairs.insert(0, ("Training seed", str(run.training_seed)))
            yield facts(pairs)

    def _proven(self, run: PolicyRecord) -> str:
        """How many rows of a run are verified, replayed or only claimed."""
        rows = [row for row in self.rows if row["env"] in run.specs]
        found = Counter(
            self.source.proofs.get((*run.key, row["env"], row["forecast"]), "claimed")
            for row in rows
        )
        said = (f"{proof} {found[proof]} ({MEANINGS[proof]})" for proof in PROOFS if found[proof])
        return f"of {len(rows)} {plural('row', len(rows))}: {'; '.join(said)}"

    def _scores(self) -> ET.Element:
        columns = ("Environment", "Forecasts", "Proven", "Score", "95 % interval", "Rank")
        columns = (*columns, "Possible ranks", "Training runs", *FIGURES.values())
        rows = [
            (
                row["env"],
                row["forecast"],
                badge(row["proof"]),
                row["status"] if row["status"] != "ok" else number(row["score"]),
                _range(number(row["low"]), number(row["high"])),
                number(row["rank"], 0),
                _range(number(row["rank_low"], 0), number(row["rank_high"], 0)),
                str(row["runs"]),
                *(number(row[name]) for name in FIGURES),
            )
            for row in self.rows
        ]
        return table(f"Scores of {self.name}", columns, rows)

    def _limits(self) -> Iterator[str]:
        if self.kind == "code":
            yield f"It is {CODE_NOTE}: the seeds of a public suite let code look ahead."
        yield f"{self.proof}: {MEANINGS[self.proof]}. Nobody can verify commands and versions."
        if self.kind == "agent" and max((row["runs"] for row in self.rows), default=0) == 1:
            yield "One training run says nothing of the next."
        for row in self.rows:
            where = f"{row['env']}, forecasts {row['forecast']}"
            if row["warning"]:
                yield f"{where}: {row['warning']}."
            if row["score"] is None and (why := row["undefined"].get("score")):
                yield f"{where}: no score: {why}"
            elif row["few"]:
                units = f"{row['units']} {plural(row['unit'], row['units'])}"
                yield f"{where}: the interval is of {units}, which says little."


def badge(proof: Proof) -> ET.Element:
    """A word for what is proven, with its meaning as a title."""
    return node("span", proof, class_=f"proof {proof}", title=MEANINGS[proof])


def number(value: float | None, digits: int = 1) -> str:
    """A number as the leaderboard writes it."""
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "−")


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _facts(said: Mapping[str, Any]) -> list[tuple[str, Node]]:
    """What a file says, by name: as much of it as anybody reads."""
    found, signs = list[tuple[str, Node]](), 0
    for name, of in said.items():
        if signs > MOST_SIGNS or len(found) == MOST_ITEMS:
            return [*found, ("Not shown", f"{len(said) - len(found):,} more names")]
        value = _value(of)
        found.append((cut(name), value))
        signs += len(value) if isinstance(value, str) else sum(map(len, value.itertext()))
    return found


def _value(of: Any) -> Node:
    """What a file says under a name: a text, or JSON."""
    if isinstance(of, Sequence) and not isinstance(of, str):
        listed = cast(Sequence[Any], of)
        shown = [_text(each) for each in listed[:MOST_ITEMS]]
        if len(listed) > MOST_ITEMS:
            shown.append(f"… and {len(listed) - MOST_ITEMS:,} more")
        return items(shown) if shown else "none"
    return node("code", cut(_text(of)))


def _text(of: Any) -> str:
    try:
        return of if isinstance(of, str) else json.dumps(of, ensure_ascii=False, sort_keys=True)
    except RecursionError:
        return "nested too deeply to be shown"

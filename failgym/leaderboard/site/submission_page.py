"""The page of a submission: what was run on what, a model card of each policy, and the hashes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree as ET

from failgym.evaluation.result import plural
from failgym.leaderboard.site.html import document, facts, items, node, table
from failgym.leaderboard.site.model_card import Card, Row, badge, number
from failgym.leaderboard.site.policy_files import PolicyFiles
from failgym.leaderboard.site.submissions import SubmissionRead
from failgym.leaderboard.submission.records import SUBMISSION_FILE, PolicyRecord

__all__ = ["submission_page"]


def submission_page(
    submission: SubmissionRead, rows: Sequence[Row], policy_files: PolicyFiles, index: str
) -> str:
    """The page as HTML, with nothing in it from elsewhere.

    Args:
        submission: whose page it is.
        rows: those of the leaderboard (`failgym.leaderboard.page.rows_of`), on which a name is that
            of one submission's policy (`write_site` refuses others).
        policy_files: finds the files of its policies.
        index: address of the leaderboard, from the page.
    """
    cards = _cards(submission, rows, policy_files)
    about, count = submission.about, len(submission.source.results)
    said = (
        f"Suite {submission.source.suite}",
        f"{len(cards)} {'policy' if len(cards) == 1 else 'policies'}",
        f"{count:,} {plural('episode', count)}",
        f"run by failgym {about.failgym}",
    )
    head = node(
        "header",
        node(
            "div",
            node("p", node("a", "← Leaderboard", href=index)),
            node("h1", node("bdi", submission.name)),
            node("p", " · ".join(said)),
        ),
    )
    main = node("main", _contents(cards), *(card.element() for card in cards))
    main.append(_provenance(submission))
    return document(f"{submission.name} – failgym leaderboard", _style(), head, main)


def _cards(
    submission: SubmissionRead, rows: Sequence[Row], policy_files: PolicyFiles
) -> list[Card]:
    runs: dict[str, list[PolicyRecord]] = {}
    for policy in submission.about.policies:
        runs.setdefault(policy.name, []).append(policy)
    cards: list[Card] = []
    for at, (name, of) in enumerate(runs.items()):
        said: dict[Any, Any] = {}
        for run in of:
            said |= policy_files.said(run)
        mine = tuple(row for row in rows if row["policy"] == name)
        cards.append(Card(f"policy-{at + 1}", tuple(of), mine, submission.source, said))
    return cards


def _contents(cards: Sequence[Card]) -> ET.Element:
    """A table of the policies, each with a link to its card."""
    rows = [
        (
            node("a", node("bdi", card.name), href=f"#{card.anchor}"),
            card.kind,
            badge(card.proof),
            str(len(card.runs)),
            number(len(card.envs), 0),
        )
        for card in cards
    ]
    columns = ("Policy", "Kind", "Proven", "Training runs", "Environments")
    title = node("h2", "Policies", id="contents")
    return node("section", title, table("Policies", columns, rows), aria_labelledby="contents")


def _provenance(submission: SubmissionRead) -> ET.Element:
    about = submission.about
    traces = (f"{one.env}, seed {one.seed}: {one.content_hash}" for one in about.traces)
    left = [f"{one.env}, forecasts {one.forecast}: {one.reason}" for one in about.left_out]
    hashes = [f"{name}: SHA-256 {of}" for name, of in about.files.items()]
    spent = about.seconds
    listed = node("details", node("summary", f"{len(hashes):,} files"), items(hashes))
    return node(
        "section",
        node("h2", "What it was run on", id="provenance"),
        facts(
            [
                ("Suite", f"{submission.source.suite}, digest {about.suite.digest}"),
                ("Traces, by content hash", items(traces)),
                ("Left out", items(left) if left else None),
                ("Secret seed", about.secret and f"drawn with one, SHA-256 {about.secret}"),
                ("Time", f"engine {spent.engine:,.1f} s, policies {spent.policy:,.1f} s"),
                (SUBMISSION_FILE, f"SHA-256 {submission.sha256}"),
                ("Other files", listed),
            ]
        ),
        aria_labelledby="provenance",
    )


def _style() -> str:
    """That of the leaderboard, and what only these pages have."""
    package = files("failgym.leaderboard")
    parts = (package / "page" / "web" / "page.css", package / "site" / "web" / "site.css")
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)

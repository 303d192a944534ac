"""The HTML file: template, style, program, charts and content in one.

The file asks for nothing from elsewhere and its own policy forbids it (Content-Security-Policy):
only the two scripts that it was written with run, known by their hashes, so no text of a
submission can become one. Charts are drawn by Plotly: `web/plotly-basic.min.js` is the file of the
npm package plotly.js-basic-dist-min 4.1.1, unchanged (MIT).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path

from failgym.files import replacing
from failgym.leaderboard.page.payload import payload
from failgym.leaderboard.page.source import Source, read_source
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.verification.verdict_file import Verdicts

__all__ = ["write_page"]

PROGRAM = (
    *("payload.js", "spread.js", "statistics.js", "state.js", "dom.js"),
    *("columns.js", "table.js", "details.js", "room.js", "plots.js", "pareto.js"),
    *("tradeoff.js", "prices.js"),
    *("profiles.js", "slices.js", "pair.js", "address.js", "main.js"),
)
"""Files of the program, in the order in which they are joined."""
CHARTS = "plotly-basic.min.js"


def write_page(
    submissions: Iterable[Path | Source],
    path: Path,
    bootstrap: Bootstrap | None = None,
    verdicts: Verdicts | None = None,
) -> None:
    """Write a leaderboard's page.

    Args:
        submissions: folders, which are read but not verified, or what was read.
        path: of the HTML file; replaced if it is there.
        bootstrap: of the intervals; the default's seed if None.
        verdicts: of the host; what they do not know is shown as claimed.

    Raises:
        ValueError: naming the file or policy, if submissions are malformed or do not belong
            together.
    """
    read = [
        each if isinstance(each, Source) else read_source(each, verdicts) for each in submissions
    ]
    text = _document(payload(read, bootstrap or Bootstrap()), _submissions(read))
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _submissions(sources: Iterable[Source]) -> str:
    """Links to the pages of submissions, which need no program; nothing where there are none."""
    links = [
        f'<li><a href="{escape(one.address)}"><bdi>{escape(one.folder)}</bdi></a></li>'
        for one in sources
        if one.address
    ]
    if not links:
        return ""
    title = '<h2 id="submissions-title">Submissions</h2>'
    listed = "\n".join(links)
    return f'<nav aria-labelledby="submissions-title">\n{title}\n<ul>\n{listed}\n</ul>\n</nav>'


def _document(content: str, submissions: str) -> str:
    program = "(() => {\n'use strict';\n" + "\n".join(map(_web, PROGRAM)) + "\n})();"
    parts = {
        "policy": _security(program, _web(CHARTS)),
        "style": _web("page.css"),
        "content": content,
        "program": program,
        "charts": _web(CHARTS),
        "submissions": submissions,  # the last: nothing is looked for in what others have named
    }
    text = _web("page.html")
    for name, part in parts.items():
        before, after = text.split(f"%{name}%")
        text = before + part + after
    return text


def _security(*scripts: str) -> str:
    """The page's own policy: these scripts, its own style, and nothing else."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline';"
        " img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _web(name: str) -> str:
    return (files("failgym.leaderboard.page") / "web" / name).read_text(encoding="utf-8")

"""How large the page of a large leaderboard is, how long it takes to write, and to open.

    python -m experiments.page_size [--submissions 1000] [--episodes 504] [--runs 5] [--json FILE]

Submissions are made up: a policy each in all six environments, with drawn forecasts, trained ones
and none. Costs are noise to the last bit, so that nothing of them can be compressed away. The page
is opened in a headless Chromium (Playwright), in a fresh window each time, until the table is
there: the median of the wall times, and of the processor time that the main thread of the page
took since it began, which other work on the machine lengthens less.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from failgym.cli.output import JsonFile, interactive, print_line
from failgym.envs import SCENARIOS
from failgym.envs.spaces import TERMS
from failgym.evaluation.progress import working
from failgym.leaderboard.page import write_page
from failgym.leaderboard.page.source import PolicyRun, Source
from failgym.leaderboard.submission.tables import ANCHOR_BLOCKS, COUNTED
from failgym.leaderboard.submission.tables import BLOCKS as MINE
from failgym.leaderboard.suite.cost_blocks import BLOCKS
from failgym.leaderboard.suite.suites import FORECASTS

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Whichever is installed, else Playwright's own."""
READY = "html[data-ready]"
"""What the page is when its table is there."""
PATIENCE = 300_000
"""For opening a page on a busy machine [ms]."""
WIDTH, HEIGHT = 1280, 900
"""Of the window [px]."""


@dataclass(frozen=True)
class Measured:
    """A page."""

    submissions: int
    episodes: int
    """of each"""
    bytes: int
    written: float
    """wall time of writing it [s]"""
    opened: float
    """wall time until the table is there, median [s]"""
    processor: float
    """processor time of the main thread in that, median [s]"""


def submission(number: int, episodes: int) -> Source:
    """A policy on the same slices as all others."""
    cells = [(env, forecast) for env in SCENARIOS for forecast in FORECASTS]
    slices = episodes // len(cells)
    world, own = np.random.default_rng(0), np.random.default_rng([1, number])
    name, skill = f"lab/policy-{number}", own.uniform(-0.2, 0.9)
    parts: list[pd.DataFrame] = []
    for env, forecast in cells:
        replay = world.gamma(4.0, 0.5, slices) + 1.0
        bound = replay * world.uniform(0.2, 0.6, slices)
        cost = replay - (skill + 0.2 * own.standard_normal(slices)) * (replay - bound)
        share = own.dirichlet(np.ones(len(TERMS)), slices)
        rows = pd.DataFrame(cost[:, None] * share, columns=list(TERMS))
        block = np.eye(BLOCKS)[np.arange(slices) * BLOCKS // slices]
        shared = zip((MINE, *ANCHOR_BLOCKS), (cost, replay, bound, replay), strict=True)
        blocks = {name: pd.Series((of[:, None] * block).tolist()) for name, of in shared}
        parts.append(
            rows.assign(
                policy=name,
                env=env,
                forecast=forecast,
                training_seed=pd.array([None] * slices, dtype="Int64"),
                seed=0,
                slice=np.arange(slices),
                replay_cost=replay,
                bound_cost=bound,
                replay_spent=replay,
                **dict.fromkeys(COUNTED, replay),
                **blocks,
                decisions=own.integers(100, 5_000, slices),
                illegal=0,
                seconds=own.uniform(0.01, 0.1, slices),
                status="ok",
                reason="",
            )
        )
    run = PolicyRun(
        name,
        "baseline",
        None,
        specs=dict.fromkeys(SCENARIOS, name),
        files={},
        command=f"failgym leaderboard run --suite v2 --policy '{name}' --out runs/{number}",
        versions={"python": "3.11.9", "numpy": np.__version__},
    )
    traces = tuple((env, 0, f"{at:02x}" * 32) for at, env in enumerate(SCENARIOS))
    return Source(
        *(pd.concat(parts, ignore_index=True), (run,)),
        suite="made up, version 1",
        digest="00" * 32,
        failgym="0",
        traces=traces,
        folder=f"of-{number}",
    )


def openings(address: str, runs: int) -> Iterator[tuple[float, float]]:
    """Wall and processor time of opening a page [s]."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for _ in range(runs):
            context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
            context.set_default_timeout(PATIENCE)
            tab = context.new_page()
            session: Any = context.new_cdp_session(tab)
            session.send("Performance.enable")
            begun = time.perf_counter()
            tab.goto(address)
            tab.wait_for_selector(READY)
            yield time.perf_counter() - begun, _processor(session)
            context.close()
        browser.close()


def _processor(session: Any) -> float:
    """Processor time of the main thread of a page so far [s]."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime")


def measured(submissions: int, episodes: int, runs: int) -> Measured:
    """Write a page and open it."""
    with tempfile.TemporaryDirectory() as folder, working("writing the page", interactive()):
        path = Path(folder) / "page.html"
        made = [submission(number, episodes) for number in range(submissions)]
        begun = time.perf_counter()
        write_page(made, path)
        written = time.perf_counter() - begun
        walls, processors = zip(*openings(path.as_uri(), runs), strict=True)
        return Measured(
            submissions=submissions,
            episodes=len(made[0].results),
            bytes=os.path.getsize(path),
            written=written,
            opened=statistics.median(walls),
            processor=statistics.median(processors),
        )


def main(
    submissions: Annotated[int, typer.Option(min=1)] = 1_000,
    episodes: Annotated[int, typer.Option(min=18, help="Rows of each submission.")] = 504,
    runs: Annotated[int, typer.Option(min=1, help="How often the page is opened.")] = 5,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Measure a large page."""
    file = JsonFile.at(json_file)
    page = measured(submissions, episodes, runs)
    print_line(
        f"{page.submissions:,} submissions of {page.episodes} rows: {page.bytes / 1e6:.1f} MB,"
        f" written in {page.written:.0f} s, opened in {page.opened:.2f} s"
        f" ({page.processor:.2f} s of the processor)"
    )
    file.write(asdict(page))


if __name__ == "__main__":
    typer.run(main)

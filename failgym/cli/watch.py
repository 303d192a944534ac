"""What `failgym replay` shows of a run besides figures: a film, a page, a trace of events."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failgym.cli.folders import check_name
from failgym.cli.output import JsonFile

if TYPE_CHECKING:
    from failgym.envs import Scenario
    from failgym.envs.rendering import Recorder
    from failgym.evaluation import Run
    from failgym.sim.shared.rules import Rules
    from failgym.worlds.world import World

__all__ = ["Html", "Perfetto", "Recorded", "Video", "Watch"]

Video = Annotated[
    Path | None,
    typer.Option("--video", metavar="FILE", help="Also write a film of the run, an .mp4 file."),
]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write a page with a timeline to explore."),
]
Perfetto = Annotated[
    Path | None,
    typer.Option("--perfetto", metavar="FILE", help="Also write trace events for Perfetto."),
]
MOST_ATTEMPTS = 200_000
"""Attempts that a browser still draws smoothly."""


class Recorded:
    """A policy, and what it has answered; it must be asked about one episode at a time.

    Args:
        policy: decides.
    """

    def __init__(self, policy: Any) -> None:
        self._answers: list[tuple[Any, Any]] = []
        self._policy = policy
        decide: Callable[..., tuple[Any, Any]] = policy.predict

        @functools.wraps(decide)  # whoever looks sees which arguments the policy takes
        def predict(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
            self._answers.append(self._policy.predict(*args, **kwargs))
            return self._answers[-1]

        self.predict = predict

    def playing_by(self, rules: Rules) -> Recorded:
        """The same, the policy playing by such rules."""
        from failgym.evaluation.caller import playing_by

        self._policy = playing_by(self._policy, rules)
        return self

    def __getattr__(self, name: str) -> Any:
        """All else is the policy's."""
        return getattr(self._policy, name)

    @property
    def actions(self) -> list[int]:
        """All actions, in order; whoever asked has checked them."""
        return [int(action) for actions, _ in self._answers for action in actions]


@dataclass(frozen=True)
class Watch:
    """The files that are asked for."""

    video: JsonFile
    html: JsonFile
    perfetto: JsonFile

    @classmethod
    def at(cls, video: Path | None, html: Path | None, perfetto: Path | None) -> Watch:
        """Check, before any work is done, that the files can be written. Raises ValueError."""
        named = {"--video": video, "--html": html, "--perfetto": perfetto}
        for option, path in named.items():
            if path is not None:
                check_name(option, path)
        files = [JsonFile.at(path, option) for option, path in named.items()]
        if video is not None:
            _check_video(video, files[0])
        return cls(*files)

    def __bool__(self) -> bool:
        return any(file.path is not None for file in (self.video, self.html, self.perfetto))

    def write(self, world: World, scenario: Scenario, run: Run, actions: list[int]) -> None:
        """Play a run once more and write the files.

        Args:
            world: what was played, slice by slice.
            scenario: whose rules it was compiled for.
            run: how it went.
            actions: all answers, in order.

        Raises:
            ValueError: if the page would have to show more than `MOST_ATTEMPTS`.
        """
        from failgym.envs.rendering import Recorder
        from failgym.envs.rendering.playback import play_back, write_film

        recorder = Recorder(world, scenario)
        title = f"{run.policy}, rules of {scenario.name}"
        attempts = int(run.outcomes["attempts"].sum())
        if self.html.path is not None and attempts > MOST_ATTEMPTS:
            limit = f"expected at most {MOST_ATTEMPTS:,} attempts, got {attempts:,}"
            raise ValueError(f"--html {self.html.path}: {limit}")
        if self.video.path is None:
            play_back(recorder, actions)
        else:
            span = int(run.outcomes["submit"].min()), int(run.outcomes["end"].max())
            with self.video.whole() as partial:
                write_film(partial, recorder, actions, title, span)
        self._write_texts(recorder, title)

    def _write_texts(self, recorder: Recorder, title: str) -> None:
        from failgym.envs.rendering.page import page
        from failgym.envs.rendering.perfetto import trace_events

        timeline, machines = recorder.timeline, recorder.scene.machines
        if self.html.path is not None:
            self.html.write_text(page(timeline, title, machines))
        if self.perfetto.path is not None:
            events = trace_events(timeline, title, machines)
            self.perfetto.write_text(json.dumps(events, separators=(",", ":")) + "\n")


def _check_video(path: Path, file: JsonFile) -> None:
    """A film has a name that says so, is no stream, and needs libraries. Raises ValueError."""
    if path.suffix.lower() != ".mp4":
        raise ValueError(f"--video {path}: expected a name that ends in .mp4")
    if file.streams:
        raise ValueError(f"--video {path}: expected a file")
    from failgym.envs.rendering.libraries import check_film

    try:
        check_film()
    except ValueError as error:
        raise ValueError(f"--video {path}: {error}") from error

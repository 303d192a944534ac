"""A run played once more from its actions, and the film of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from failgym.envs.rendering.recorder import Recorder
from failgym.envs.rendering.renderer import FPS, picture_of

__all__ = ["MOST_FRAMES", "play_back", "write_film"]

MOST_FRAMES = 600
"""Pictures of a film."""
LAST_FRAMES = FPS
"""So many pictures of the end follow: it stands still for a second."""
Then = Callable[[], None]


def play_back(recorder: Recorder, actions: Sequence[int], then: Then = lambda: None) -> None:
    """Play all slices of a world, one after the other, into one timeline.

    Args:
        recorder: of the world.
        actions: the answers to all decisions, in order.
        then: called when a decision is open, and when an episode is over.
    """
    answers = iter(actions)
    for chosen in range(recorder.world.slices):
        recorder.begin(chosen, fresh=chosen == 0)
        then()
        while not recorder.done:
            recorder.play([next(answers)])
            then()


def write_film(
    path: Path, recorder: Recorder, actions: Sequence[int], title: str, span: tuple[int, int]
) -> None:
    """Play all slices of a world and write a film of it, by the clock if tasks share one.

    Else its pictures are of decisions, spread evenly over all of them.

    Args:
        path: the file.
        recorder: of the world.
        actions: the answers to all decisions, in order.
        title: is shown in it.
        span: when the first task is submitted, and when the last one settles [ms].

    Raises:
        ModuleNotFoundError: without Pillow or imageio-ffmpeg.
    """
    from failgym.envs.rendering.video import film

    with film(path, FPS) as made:

        def show() -> None:
            made.add(picture_of(recorder, title))

        if recorder.scene.one_by_one:
            moments = len(actions) + recorder.world.slices
            play_back(recorder, actions, _evenly(moments, show))
        else:
            recorder.before_event = _by_clock(recorder, span, show)
            play_back(recorder, actions)
        for _ in range(LAST_FRAMES):
            show()


def _evenly(moments: int, show: Then) -> Then:
    """Shows as many moments as a film has pictures, spread evenly over all of them."""
    passed = 0

    def then() -> None:
        nonlocal passed
        frames = min(MOST_FRAMES, moments)
        if (passed + 1) * frames // moments > passed * frames // moments:
            show()
        passed += 1

    return then


def _by_clock(recorder: Recorder, span: tuple[int, int], show: Then) -> Callable[[int], None]:
    """Shows moments at even distances of simulated time, before what happens next."""
    shown, (begin, end) = 0, span

    def before_event(time: int) -> None:
        nonlocal shown
        while shown < MOST_FRAMES:
            moment = begin + (end - begin) * shown // MOST_FRAMES
            if moment >= time:
                return
            recorder.timeline.now = max(recorder.timeline.now, moment)
            show()
            shown += 1

    return before_event

"""Rendering: what every environment shows in every mode, and that showing it changes nothing."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.utils.env_checker import check_env

from failgym.envs import TOTALS, MitigationEnv
from failgym.envs.rendering import FPS, MODES, Timeline
from failgym.vocabulary import Action
from tests.envs.worlds import IDS, legal, make, play, small

STEPS = 40


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def rendered(env: gym.Env[Any, Any], steps: int, seed: int = 3) -> list[Any]:
    """What an environment renders at every decision under a random legal policy."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    seen, ended = [env.render()], False
    while not ended and len(seen) <= steps:
        *_, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
        seen.append(env.render())
    return seen


def timeline_of(env: gym.Env[Any, Any]) -> Timeline:
    renderer = env.unwrapped._renderer  # type: ignore[attr-defined]
    return renderer._recorder.timeline


def plain(text: str) -> str:
    """A text without the codes of colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasiums_checker_in_each_mode(env_id: str) -> None:
    pytest.importorskip("pygame")
    check_env(make(env_id).unwrapped)  # makes one of each mode, and renders it
    assert make(env_id).metadata["render_modes"] == MODES
    assert make(env_id).metadata["render_fps"] == FPS


@pytest.mark.parametrize("env_id", IDS)
def test_rendering_changes_nothing(env_id: str) -> None:
    env = make(env_id, render_mode="ansi")
    rendered(env, STEPS)
    assert play(env, seed=5, steps=STEPS) == play(make(env_id), seed=5, steps=STEPS)


@pytest.mark.parametrize("env_id", IDS)
def test_only_the_past_is_shown(env_id: str) -> None:
    env, rng = make(env_id, render_mode="ansi"), np.random.default_rng(1)
    _, info = env.reset(seed=1)
    for _ in range(STEPS):
        env.render()
        seen = timeline_of(env)
        episode = env.unwrapped.batch.state.episodes[0]  # type: ignore[attr-defined]
        assert seen.now == episode["now"]
        # Tasks that are served one after the other have clocks of their own.
        shared = env.unwrapped.scenario.order == "time"  # type: ignore[attr-defined]
        assert max(times(seen, None if shared else seen.serving)) <= seen.now
        *_, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
        if ended:
            return


def times(timeline: Timeline, task: int | None) -> list[int]:
    """Every time that a timeline knows of, or knows of a task."""
    marks = [mark.time for mark in timeline.marks if task in (None, mark.task)]
    found: list[int | None] = [timeline.now, *marks]
    for attempt in timeline.attempts:
        if task in (None, attempt.task):
            found += [attempt.start, attempt.end]
            found += [time for pause in attempt.pauses for time in (pause.start, pause.end)]
    if task is None:
        found += [time for outage in timeline.outages for time in (outage.down, outage.up)]
    return [time for time in found if time is not None]


@pytest.mark.parametrize("env_id", IDS)
def test_the_figures_are_those_of_the_episode(env_id: str) -> None:
    env, ended, paid = make(env_id, render_mode="ansi"), False, 0.0
    _, info = env.reset(seed=2)
    rng = np.random.default_rng(2)
    while not ended:
        _, reward, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
        paid -= float(reward)
    text = plain(env.render())  # type: ignore[arg-type]
    totals = dict(zip(TOTALS, info["totals"].tolist(), strict=True))
    tasks = totals["tasks"]
    assert f"{tasks:,} of {tasks:,} tasks settled" in text
    assert f"all {paid:,.3f}" in text
    accounts = timeline_of(env).totals(own=True)
    for name, time in accounts.items():
        if name not in ("in_flight", "transfer"):
            assert time == totals[name], name


@pytest.mark.parametrize("env_id", ["failgym/Cloning-v1", "failgym/Mitigation-v1"])
def test_many_at_once_look_as_one_by_one(env_id: str) -> None:
    fields: dict[str, Any] = {**small(env_id), "render_mode": "ansi"}
    many: Any = gym.make_vec(env_id, num_envs=2, autoreset_mode="SameStep", **fields)
    single = [make(env_id, render_mode="ansi") for _ in range(2)]
    many.reset(seed=4)
    for i, env in enumerate(single):
        env.reset(seed=4 + i)
    rng = np.random.default_rng(0)
    for _ in range(STEPS):
        assert many.render() == tuple(env.render() for env in single)
        actions = legal(many.unwrapped.action_masks(), rng)
        many.step(actions)
        for env, action in zip(single, actions, strict=True):
            if env.step(int(action))[2]:
                env.reset()


def test_pictures_are_pictures_and_stay_the_same() -> None:
    pytest.importorskip("PIL")
    env = make("failgym/Cloning-v1", render_mode="rgb_array")
    first, again = rendered(env, 10), rendered(env, 10)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert first[0].shape == (576, 1024, 3)
    assert first[0].dtype == np.uint8
    assert not np.array_equal(first[0], first[-1])


def test_whoever_renders_nothing_pays_nothing() -> None:
    """Without a mode no action is noted; with one, nothing is played before it is asked for."""
    silent: Any = make("failgym/Checkpoint-v1").unwrapped
    play(silent, seed=0, steps=5)
    assert silent._renderer is None
    quiet: Any = make("failgym/Checkpoint-v1", render_mode="rgb_array").unwrapped
    play(quiet, seed=0, steps=5)
    assert quiet._renderer._recorder is None
    assert len(quiet.batch.array("log", 0)) == 0


def pickled(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_a_copy_renders_the_same(copied: Any) -> None:
    env: Any = make("failgym/GracePeriod-v1", render_mode="ansi", slice_tasks=16).unwrapped
    rendered(env, 7)
    twin = copied(env)
    assert twin.render() == env.render()
    env.step(int(Action.CONTINUE))
    twin.step(int(Action.CONTINUE))
    assert twin.render() == env.render()


def test_record_video(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    library: Any = pytest.importorskip("imageio_ffmpeg")
    env = make("failgym/Mitigation-v1", render_mode="rgb_array")
    filmed = gym.wrappers.RecordVideo(env, str(tmp_path / "films"), video_length=5)
    rendered(filmed, 8)
    filmed.close()
    (film,) = (tmp_path / "films").glob("*.mp4")
    frames, seconds = library.count_frames_and_secs(str(film))
    assert frames >= 5
    assert seconds == pytest.approx(frames / FPS, abs=0.1)


def test_a_window_opens_and_closes() -> None:
    pytest.importorskip("pygame")
    env = make("failgym/GracePeriod-v1", render_mode="human")
    assert rendered(env, 2) == [None] * 3
    env.close()


def test_an_unknown_mode() -> None:
    with pytest.raises(ValueError, match="render_mode: expected ansi, human, rgb_array or None"):
        MitigationEnv("Cloning-v1", render_mode="rgb", jobs=200)


def test_render_before_reset() -> None:
    env = make("failgym/Cloning-v1", render_mode="ansi").unwrapped
    with pytest.raises(RuntimeError, match="call reset first"):
        env.render()


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make("failgym/Cloning-v1", render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    for name in [name for name in sys.modules if name.startswith("failgym.envs.rendering.")]:
        if name.rpartition(".")[2] in ("picture", "bars", "letters", "marks"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DependencyNotInstalled, match=r"PIL: pip install 'failgym\[render\]'"):
        env.render()

"""Digests of what the environments and the baselines do: has a change changed anything?

    python -m experiments.digests FILE [--trace NAME=FOLDER ...] [--only TEXT ...]
    python -m experiments.digests FILE --against BEFORE [...]

Writes a file of digests, each with what it is of. With ``--against`` it names those that differ
from a file that another version wrote, or are in one file only, and ends with status 1 if there are
any. It plays every environment as registered, in variants with few tasks, and on each ``--trace``
(a stored one) that can carry it:

- one by one: episodes at random and by a rule: observations, masks, rewards, infos;
- batched: episodes side by side in the three autoreset modes;
- scored: baselines and shipped agents on slices of the test split: costs by term, the outcomes of
  all tasks, the whole evaluation; and the bound.

Some random actions are illegal. Behind each digest stand the steps and the ends of episodes that it
saw; one that saw no end, where there should be some, is an error. The programs here use what users
use, and stay as they are when what lies behind is changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import typer
from gymnasium.vector import AutoresetMode

import failgym
from experiments.determinism import RULES
from failgym.agents import load_agent
from failgym.baselines import REGISTRY
from failgym.cli.output import print_line
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.files import replacing
from failgym.vocabulary import SECOND

SEEDS = 40
MOST_STEPS = 3_000
"""Of an episode that is played to its end."""
LARGE_SEEDS, LARGE_STEPS = 3, 400
"""Of the environments as registered, whose episodes are not played to their ends."""
SLOTS, BATCHED_STEPS = 16, 300
"""Episodes side by side, and steps of them: more until some have ended."""
ILLEGAL = 0.05
"""Share of the random actions that are drawn from all, legal or not."""
SLICES, LANES = 3, 2
"""Slices of the test split that are scored, and how many at once."""
LEAVE_OUT = ("steps_per_second", "low", "high", "traces", "unit", "units")
"""What an evaluation says of the clock, and of its interval, which is no trajectory."""
ALL = {"clone": True, "checkpoint": True, "kill": True, "give_up": True, "retry": True}
COSTS = {"checkpoint_cost": 30 * SECOND, "restore_cost": 20 * SECOND}
RECORDED = {"restarts": "limit", "task_value": None}
Fields = dict[str, Any]


def variants(small: Fields, **more: Fields) -> dict[str, Fields]:
    """Fields of variants: the small one, and it with more changed."""
    return {"small": small, **{name: {**small, **changed} for name, changed in more.items()}}


VARIANTS: dict[str, dict[str, Fields]] = {
    "Cloning-v1": variants(
        {"slice_tasks": 8, "jobs": 1_500},
        by_time={"order": "time"},
        all_measures={**ALL, **COSTS, "max_extra": 3, "max_clones": 2},
        limited={"restarts": "limit", "restart_limit": 3},
        paper={**RECORDED, "beyond_record": "paper", "forecast": "none"},
        validation={"split": "validation", "trace_seed": 3},
    ),
    "GracePeriod-v1": variants(
        {"slice_tasks": 8, "jobs": 800},
        by_time={"order": "time"},
        every={"decide": "every", "every": 7, "forecast": "none"},
        all_measures={**ALL, **COSTS},
        no_grace={"grace": False, "decide": "alarm"},
    ),
    "Checkpoint-v1": variants(
        {"slice_tasks": 1, "jobs": 2_000, "every": 5},
        geometric={"decide": "geometric", "every": 1, "slice_tasks": 8},
        all_measures={**ALL, "every": 1, "decide": "geometric", "slice_tasks": 8, "order": "time"},
        fit={"split": "fit", "forecast": "none", "every": 10},
    ),
    "Lineage-v1": variants(
        {"jobs": 20},
        early={"failed_at": 0.2, "detection_delay": 0},
        kept={"outputs": "kept", "save_outputs": False, "unpersist": False},
    ),
    "Workflow-v1": variants(
        {"slice_jobs": 2, "jobs": 120},
        exact={"node_forecast": "exact"},
        by_arrival={"rank_by": "arrival", "node_forecast": "none"},
        replaced={"replace": True, "detection_delay": 90 * SECOND},
    ),
    "Mitigation-v1": variants(
        {"slice_tasks": 8, "warmup": 32, "followers": 64},
        backfilling={"scheduler": "easy_backfill", "estimator": "average", "preemption": False},
        outages={"outages": "weibull", "machine_mtbf": 86_400 * SECOND, "forecast": "none"},
        streams={"storage_streams": 1, "decide": "every", "every": 30},
    ),
}
FEW = ("random", "replay", "all_measures", "retry_cap", "checkpoint_all")
"""Baselines that are scored on the variants; as registered all of them are."""
AGENTS = Path(failgym.__file__).parent / "agents" / "zoo"


class Digest:
    """SHA-256 of arrays and numbers, with their names, types and shapes."""

    def __init__(self) -> None:
        self._content = hashlib.sha256()
        self.steps, self.ends = 0, 0

    def add(self, name: str, value: Any) -> None:
        """Add a value: an array, a mapping, or what numpy makes an array of."""
        if isinstance(value, Mapping):
            for key in sorted(value):  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
                self.add(f"{name}.{key}", value[key])
            return
        array: npt.NDArray[Any] = np.asarray(value)
        self._content.update(f"{name} {array.dtype} {array.shape}\n".encode())
        if array.dtype != object:
            self._content.update(np.ascontiguousarray(array).tobytes())
            return
        for at, one in enumerate(array.ravel()):
            if one is None or isinstance(one, str):
                self._content.update(f"{at} {one!r}\n".encode())
            else:
                assert isinstance(one, Mapping | np.ndarray), f"{name}: cannot digest {one!r}"
                self.add(f"{name}[{at}]", one)

    def step(self, content: Mapping[str, Any], ends: int) -> None:
        """Add a step, or one of several episodes."""
        self.add("step", content)
        self.steps += 1
        self.ends += ends

    def __str__(self) -> str:
        return f"{self._content.hexdigest()} {self.steps} steps, {self.ends} ends"


def random_actions(rng: np.random.Generator, masks: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Random actions for the masks [..., actions], most of them legal."""
    wanted = masks | (rng.random(masks.shape[:-1]) < ILLEGAL)[..., None]
    return (rng.random(masks.shape) * wanted).argmax(axis=-1)


def one_by_one(env_id: str, changed: Fields, rule: str | None, large: bool) -> Digest:
    """Episodes of the single environment, at random or by a rule."""
    env, found = gym.make(env_id, **changed), Digest()
    found.add("spaces", [repr(env.observation_space), repr(env.action_space)])
    policy = None if rule is None else REGISTRY[rule]()
    for seed in range(LARGE_SEEDS if large else SEEDS):
        rng = np.random.default_rng(seed)
        observation, info = env.reset(seed=seed)
        found.add("reset", {"o": observation, "i": info})
        for _ in range(LARGE_STEPS if large else MOST_STEPS):
            mask = info["action_mask"]
            if policy is None:
                action = int(random_actions(rng, mask))
            else:
                action = int(policy.predict(observation, action_masks=mask)[0])
            observation, reward, ended, cut, info = env.step(action)
            content = {"o": observation, "r": reward, "e": ended, "c": cut, "i": info}
            found.step(content, int(ended or cut))
            if ended or cut:
                break
    env.close()
    return found


def batched(env_id: str, changed: Fields, mode: AutoresetMode, most: int) -> Digest:
    """Episodes side by side, at random."""
    env = gym.make_vec(env_id, num_envs=SLOTS, autoreset_mode=mode, **changed)
    found, rng = Digest(), np.random.default_rng(0)
    observations, infos = env.reset(seed=0)
    found.add("reset", {"o": observations, "i": infos})
    while found.steps < BATCHED_STEPS or (found.ends < SLOTS // 4 and found.steps < most):
        steps = env.step(random_actions(rng, infos["action_mask"]))
        ended = np.asarray(steps[2]) | np.asarray(steps[3])
        found.step(dict(zip("oreci", steps, strict=True)), int(ended.sum()))
        infos: Any = steps[-1]
        if mode == AutoresetMode.DISABLED and ended.any():
            observations, infos = env.reset(options={"reset_mask": ended})
            found.add("reset", {"o": observations, "i": infos})
    env.close()
    return found


def agents(env_id: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The shipped agents of an environment."""
    for file in sorted((AGENTS / env_id.removeprefix("failgym/")).glob("*.safetensors")):
        yield f"agent {file.name}", lambda file=file: load_agent(file)


def scored(env_id: str, changed: Fields, everybody: bool) -> Iterator[tuple[str, str]]:
    """What policies do on some slices, and the bound."""
    anchors = Anchors.of(
        resolve(env_id, changed), episodes=SLICES, split=changed.get("split", "test")
    )
    found = Digest()
    found.add("replay", {"costs": anchors.replay.costs, "outcomes": anchors.replay.outcomes})
    found.add("bound", anchors.bound)
    yield "replay and bound", str(found)
    made: list[tuple[str, Callable[[], Any]]] = [
        (name, REGISTRY[name]) for name in REGISTRY if everybody or name in FEW
    ]
    for name, make in (*made, *(agents(env_id) if everybody else ())):
        try:
            run = anchors.run(make(), lanes=LANES)
        except ValueError as error:
            yield name, f"refused: {error}"
            continue
        found = Digest()
        for part in ("costs", "outcomes", "decisions", "illegal"):
            found.add(part, getattr(run, part))
        measured: Any = anchors.measure(run)
        for field in fields(measured):
            if field.name not in LEAVE_OUT:
                found.add(field.name, told(getattr(measured, field.name)))
        yield name, str(found)


def told(value: Any) -> Any:
    """What an evaluation says, to twelve digits: sums may be taken in another order."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        array = np.vectorize("{:.12g}".format, otypes=[str])(array)
    return array.astype(str)


Made = Digest | dict[str, str]


def played(env_id: str, changed: Fields, large: bool) -> Iterator[tuple[str, Callable[[], Made]]]:
    """What makes the digests of an environment with some fields changed."""
    rule = RULES[env_id.removeprefix("failgym/")][0]
    for name, who in {"one by one": None, f"one by one, {rule}": rule}.items():
        yield name, lambda w=who: one_by_one(env_id, changed, w, large)
    most = BATCHED_STEPS if large else MOST_STEPS
    for mode in AutoresetMode:
        yield f"batched, {mode.value}", lambda m=mode: batched(env_id, changed, m, most)
    yield "scored", lambda: dict(scored(env_id, changed, large))


def everything(traces: Mapping[str, Path]) -> Iterator[tuple[str, bool, Callable[[], Made]]]:
    """What there are digests of: a name, whether episodes must end, and what makes it."""
    for short in failgym.ENVIRONMENTS:
        places: dict[str, tuple[Fields, bool]] = {"as registered": ({}, True)}
        places |= {name: (changed, False) for name, changed in VARIANTS[short].items()}
        for name, folder in traces.items():
            kept = {k: v for k, v in VARIANTS[short]["small"].items() if k.startswith("slice")}
            places[f"on {name}"] = ({**kept, "trace": str(folder)}, False)
        for place, (changed, large) in places.items():
            for how, make in played(f"failgym/{short}", changed, large):
                must_end = how != "scored" and not large and place in VARIANTS[short]
                yield f"{short}, {place}, {how}", must_end, make


def digests(traces: Mapping[str, Path], only: list[str], file: Path) -> dict[str, str]:
    """All of them, or those whose names hold one of the texts; the file is written as it grows."""
    found: dict[str, str] = {}
    for name, must_end, make in everything(traces):
        if only and not any(text in name for text in only):
            continue
        try:
            made = make()
        except ValueError as error:
            found[name] = f"refused: {error}"
        else:
            if isinstance(made, Digest):
                if must_end and not made.ends:
                    raise RuntimeError(f"{name}: no episode came to its end")
                found[name] = str(made)
            else:
                found |= {f"{name}, {who}": told for who, told in made.items()}
        print_line(f"{name}: {found.get(name, 'done')}")
        with replacing(file) as new:
            new.write_text(json.dumps(found, indent=1) + "\n")
    if not found:
        raise ValueError(f"--only: nothing is called {' or '.join(only)}")
    return found


def differences(found: Mapping[str, str], before: Mapping[str, str]) -> Iterator[str]:
    """What differs, a line each."""
    for name in sorted(found.keys() | before.keys()):
        one, other = (digests.get(name, "not there") for digests in (before, found))
        if one != other:
            yield f"differs: {name}: {one} -> {other}"


def main(
    file: Annotated[Path, typer.Argument(help="Where the digests go.")],
    trace: Annotated[list[str] | None, typer.Option(help="NAME=FOLDER of a stored trace.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only what is called so.")] = None,
    against: Annotated[Path | None, typer.Option(help="Digests to compare with.")] = None,
) -> None:
    """Play, digest, compare."""
    before: dict[str, str] = {} if against is None else json.loads(against.read_text())
    if against is not None and file.exists() and file.samefile(against):
        raise typer.BadParameter(f"{file} is what it is compared with")
    traces = {name: Path(folder) for name, _, folder in (one.partition("=") for one in trace or [])}
    found = digests(traces, only or [], file)
    if against is None:
        return
    before = {k: v for k, v in before.items() if not only or any(text in k for text in only)}
    unlike = list(differences(found, before))
    for line in unlike:
        print_line(line)
    print_line(f"{len(found)} digests, {len(unlike)} differ from those of {against}")
    raise SystemExit(bool(unlike))


if __name__ == "__main__":
    typer.run(main)

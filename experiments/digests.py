"""Digests of what the environments and the baselines do: has a change changed anything?

    python -m experiments.digests FILE [--trace NAME=FOLDER ...] [--only TEXT ...]
    python -m experiments.digests FILE --against BEFORE [...]

Writes a file of digests, one a line, each with what it is of. With ``--against`` it names those
that differ from a file that another version wrote, and ends with status 1 if there are any. Every
environment is played as registered and in variants of it, on its generated trace and on each
``--trace`` (a stored one) that it can be played on:

- one by one: `SEEDS` episodes, random and by a rule: all observations, masks, rewards, infos;
- batched: as many episodes side by side, in two autoreset modes;
- scored: every baseline and every shipped agent that was made for it, on slices of the test split:
  costs by term, outcomes of all tasks, numbers of decisions; and the bound.

It uses what users use, and so stays as it is when what lies behind is changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import typer

import failgym
from experiments.determinism import RULES
from failgym.agents import load_agent
from failgym.baselines import REGISTRY
from failgym.cli.output import print_line
from failgym.evaluation import Anchors
from failgym.files import replacing

SEEDS = 40
MOST_STEPS = 300
"""Of an episode that is played one by one."""
BATCHED_STEPS = 150
SLICES = 12
"""Slices of the test split that are scored."""
VARIANTS: dict[str, dict[str, Any]] = {
    "as registered": {},
    "without forecast": {"forecast": "none"},
    "another trace": {"trace_seed": 11},
    "by time": {"order": "time"},
    "by task": {"order": "task"},
}
AGENTS = Path(failgym.__file__).parent / "agents" / "zoo"


class Digest:
    """SHA-256 of arrays and numbers, with their names, types and shapes."""

    def __init__(self) -> None:
        self._content = hashlib.sha256()

    def add(self, name: str, value: Any) -> None:
        """Add a value: an array, a mapping, or what numpy makes an array of."""
        if isinstance(value, Mapping):
            for key in sorted(value):  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
                self.add(f"{name}.{key}", value[key])
            return
        array = np.asarray(value)
        self._content.update(f"{name} {array.dtype} {array.shape}\n".encode())
        self._content.update(np.ascontiguousarray(array).tobytes())

    def __str__(self) -> str:
        return self._content.hexdigest()


def legal(rng: np.random.Generator, masks: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Random actions that the masks [..., actions] allow."""
    return (rng.random(masks.shape) * masks).argmax(axis=-1)


def one_by_one(env_id: str, fields: dict[str, Any], rule: str | None) -> str:
    """Episodes of the single environment, at random or by a rule."""
    env, found = gym.make(env_id, **fields), Digest()
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        observation, info = env.reset(seed=seed)
        found.add("reset", observation)
        found.add("reset", info)
        for _ in range(MOST_STEPS):
            mask = info["action_mask"]
            if rule is None:
                action = int(legal(rng, mask))
            else:
                action, _ = REGISTRY[rule]().predict(observation, action_masks=mask)
            observation, reward, ended, cut, info = env.step(int(action))
            found.add("step", {"o": observation, "r": reward, "e": ended, "c": cut, "i": info})
            if ended or cut:
                break
    env.close()
    return str(found)


def batched(env_id: str, fields: dict[str, Any], mode: str) -> str:
    """Episodes side by side, at random."""
    fields = {**fields, "autoreset_mode": gym.vector.AutoresetMode(mode)}
    env, found = gym.make_vec(env_id, num_envs=SEEDS, **fields), Digest()
    rng = np.random.default_rng(0)
    observations, infos = env.reset(seed=0)
    found.add("reset", observations)
    for _ in range(BATCHED_STEPS):
        steps = env.step(legal(rng, infos["action_mask"]))
        found.add("step", dict(zip("oreci", steps, strict=True)))
        infos: Any = steps[-1]
    env.close()
    return str(found)


def players(env_id: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Whoever may have been made for an environment."""
    yield from REGISTRY.items()
    for file in sorted((AGENTS / env_id.removeprefix("failgym/")).glob("*.safetensors")):
        yield f"agent {file.name}", lambda file=file: load_agent(file)


def scored(env_id: str, fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What everybody does on some slices, and the bound."""
    from failgym.envs import resolve

    anchors = Anchors.of(resolve(env_id, fields), episodes=SLICES)
    found = Digest()
    for name in ("costs", "outcomes"):
        found.add(name, getattr(anchors.replay, name))
    found.add("bound", anchors.bound)
    yield "replay and bound", str(found)
    for name, make in players(env_id):
        try:
            run = anchors.run(make())
        except ValueError as error:
            yield name, f"refused: {error}"
            continue
        found = Digest()
        for part in ("costs", "outcomes", "decisions", "illegal"):
            found.add(part, getattr(run, part))
        found.add("score", anchors.measure(run).score)
        yield name, str(found)


def everything(
    traces: Mapping[str, Path],
) -> Iterator[tuple[str, Callable[[], str | dict[str, str]]]]:
    """What there are digests of: a name, and what makes the digest or several."""
    places = {"": VARIANTS}
    places |= {f" on {name}": {"as registered": {"trace": str(traces[name])}} for name in traces}
    for short in failgym.ENVIRONMENTS:
        env_id, rule = f"failgym/{short}", RULES[short][0]
        for place, variants in places.items():
            for variant, fields in variants.items():
                name = f"{short}{place}, {variant}"
                single = {"one by one": None, f"one by one, {rule}": rule}
                for how, who in single.items():
                    yield f"{name}, {how}", lambda e=env_id, f=fields, w=who: one_by_one(e, f, w)
                for mode in ("NextStep", "SameStep"):
                    yield (
                        f"{name}, batched, {mode}",
                        lambda e=env_id, f=fields, m=mode: batched(e, f, m),
                    )
                yield f"{name}, scored", lambda e=env_id, f=fields: dict(scored(e, f))


def digests(traces: Mapping[str, Path], only: list[str]) -> dict[str, str]:
    """All of them, or those whose names hold one of the texts."""
    found: dict[str, str] = {}
    for name, make in everything(traces):
        if only and not any(text in name for text in only):
            continue
        try:
            made = make()
        except ValueError as error:
            made = f"refused: {error}"
        found |= (
            {f"{name}, {k}": v for k, v in made.items()} if isinstance(made, dict) else {name: made}
        )
        print_line(name)
    return found


def main(
    file: Annotated[Path, typer.Argument(help="Where the digests go.")],
    trace: Annotated[list[str] | None, typer.Option(help="NAME=FOLDER of a stored trace.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only what is called so.")] = None,
    against: Annotated[Path | None, typer.Option(help="Digests to compare with.")] = None,
) -> None:
    """Play, digest, compare."""
    traces = {name: Path(folder) for name, _, folder in (one.partition("=") for one in trace or [])}
    found = digests(traces, only or [])
    with replacing(file) as new:
        new.write_text(json.dumps(found, indent=1) + "\n")
    if against is None:
        return
    before: dict[str, str] = json.loads(against.read_text())
    same = [name for name in found if found[name] == before.get(name)]
    for name in sorted(found.keys() - set(same)):
        print_line(f"differs: {name}: {before.get(name, 'not there')} -> {found[name]}")
    print_line(f"{len(same)} of {len(found)} are equal; {len(before)} were written before")
    raise SystemExit(len(same) < len(found))


if __name__ == "__main__":
    typer.run(main)

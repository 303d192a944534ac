"""Minari: data sets of any policy, with what every action would have cost beside each decision.

`record` plays a policy, mostly as it is and with a stated chance otherwise, and writes a data set
in Minari's own format. Beside the usual entries each step's info holds the chances of the five
actions, and for every *target* that is named what it would have done, and the exact return of each
legal action if that target answers all that follows (`failgym.counterfactual`). So the data set is
a benchmark of off-policy evaluation whose answers are known: `decisions_of` reads it for the
estimators of `failgym.contrib.off_policy`, and `exact_value` is what they estimate.

It needs Minari: ``pip install 'minari[create,hdf5]'``. A folder of data sets is chosen as ever, by
``MINARI_DATASETS_PATH``.
"""

# Minari annotates what it returns incompletely.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
import os
import re
import shutil
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from failgym.contrib.off_policy import Decisions
from failgym.counterfactual import branch
from failgym.envs import MitigationVectorEnv
from failgym.envs.keywords import scenario_of_call
from failgym.evaluation import run_policy
from failgym.evaluation.arguments import MOST_SEED, check_count
from failgym.evaluation.caller import Caller, Predicts, check_playable, playing_by, policy_name
from failgym.evaluation.progress import Advance, silent
from failgym.files import marked
from failgym.vocabulary import ACTIONS
from failgym.worlds.batches import lanes_that_fit
from failgym.worlds.build import build_world
from failgym.worlds.scenario import Scenario

__all__ = ["CHANCES", "TARGETS", "decisions_of", "exact_value", "record"]

CHANCES, TARGETS = "action_chances", "targets"
"""Entries of an info: chances of the actions, float64 [5], and for each target, by name, its
``action`` and the ``returns`` of all actions, float64 [5]."""
FOLDER = "MINARI_DATASETS_PATH"
"""Of the process: where Minari keeps data sets."""
HELD, ASIDE = ".failgym-*.held", ".failgym-*.data"
"""What names look like, in that folder, of the mark of who records, and of where it is written."""
LANES = 256
"""Episodes that are played side by side."""
NAME = re.compile(r"[a-z0-9_.+-]+", re.IGNORECASE)
"""What a target may be called: its name is that of a group in the file."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass
class Played:
    """An episode that is being recorded: a row for each decision, and one for its end."""

    seed: int
    observations: list[Any] = field(default_factory=list[Any])
    infos: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    actions: list[int] = field(default_factory=list[int])
    rewards: list[float] = field(default_factory=list[float])

    def buffer(self, episode_buffer: Any) -> Any:
        """The same as Minari's buffer."""
        ends = np.zeros(len(self.rewards), dtype=np.bool_)
        ends[-1] = True
        return episode_buffer(
            seed=self.seed,
            observations=np.stack(self.observations),
            actions=np.array(self.actions, dtype=np.int64),
            rewards=np.array(self.rewards),
            terminations=ends,
            truncations=np.zeros_like(ends),
            infos=_stacked(self.infos),
        )


def record(
    dataset_id: str,
    policy: Predicts,
    env: str = "failgym/Cloning-v1",
    *,
    episodes: int,
    otherwise: float = 0.1,
    targets: Mapping[str, Predicts] | None = None,
    seed: int = 0,
    progress: Advance = silent,
    description: str | None = None,
    author: str | None = None,
    **overrides: Any,
) -> Any:
    """Play episodes and write them to a data set, whole or not at all.

    The episode of a seed is the one that ``env.reset(seed=seed)`` begins.

    Args:
        dataset_id: of Minari's, such as ``failgym/cloning/algorithm-1-v0``.
        policy: is followed, but with the chance ``otherwise``.
        env: id of the environment.
        episodes: how many.
        otherwise: chance that a legal action is drawn instead, all alike. With 0 what the policy
            never does has no chance, and says nothing of other policies.
        targets: policies that are to be evaluated, by name; without a state, and not sampling.
        seed: of the first episode, the others counting up, and of what is drawn.
        progress: called with the number of episodes that ended.
        description: for people.
        author: likewise.
        overrides: fields of the scenario that are changed; plain values, which the data set keeps,
            so that it can make the environment again.

    Returns:
        The data set, a ``minari.MinariDataset``.

    Raises:
        ImportError: without Minari.
        TypeError: for an unknown field of a scenario, naming the nearest.
        ValueError: for counts or chances out of range, a name that is none, a policy that was made
            for another environment, an id that is none, a data set that is there already, or a
            field that the data set cannot keep.
    """
    minari = _minari()
    check_count("episodes", episodes, 1)
    check_count("seed", seed, 0, MOST_SEED - episodes)
    if not 0.0 <= otherwise <= 1.0:
        raise ValueError(f"otherwise: expected a chance from 0 to 1, got {otherwise}")
    scenario, wanted = scenario_of_call(record, env, overrides), dict(targets or {})
    for name in wanted:
        if not NAME.fullmatch(name):
            raise ValueError(
                f"targets: expected a name of letters, digits, ., _, +, -, got {name!r}"
            )
    made_again = _made_again(minari, dataset_id, env, overrides)
    for one in (policy, *wanted.values()):
        check_playable(one, scenario)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    made: list[Any] = []
    lanes = lanes_that_fit(build_world(scenario), scenario, LANES, scenario.order)
    for first in range(0, episodes, lanes):
        seeds = [seed + i for i in range(first, min(first + lanes, episodes))]
        played = _played(scenario, policy, wanted, otherwise, seeds, rng)
        made += [one.buffer(minari.data_collector.EpisodeBuffer) for one in played]
        progress(len(seeds))
    return _written(
        minari,
        dataset_id,
        made,
        made_again,
        algorithm_name=f"{policy_name(policy)}, {otherwise:g} otherwise",
        description=description,
        author=author,
    )


def _made_again(
    minari: ModuleType, dataset_id: str, env: str, overrides: Mapping[str, Any]
) -> gym.Env[Any, Any]:
    """The environment that a data set keeps. Raises ValueError, before anything is played."""
    try:
        minari.dataset.minari_dataset.parse_dataset_id(dataset_id)
    except (TypeError, ValueError) as error:  # the first one where no version is named
        raise ValueError(
            f"dataset_id: expected name-v0, or namespace/name-v0, got {dataset_id!r}"
        ) from error
    if dataset_id in minari.list_local_datasets():
        raise ValueError(f"{dataset_id}: there is such a data set already; delete it first")
    made: Any = gym.make(env, **overrides)
    try:
        made.spec.to_json()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"overrides: expected plain values, which a data set can keep ({error})"
        ) from error
    return made


def _played(
    scenario: Scenario,
    policy: Predicts,
    targets: Mapping[str, Predicts],
    otherwise: float,
    seeds: list[int],
    rng: np.random.Generator,
) -> list[Played]:
    """Episodes of these seeds."""
    env = MitigationVectorEnv(scenario, len(seeds))
    env.reset(seed=list(seeds))
    batch, follow = env.batch, playing_by(policy, scenario)
    caller = Caller(follow, len(seeds), True, policy_name(policy))
    answers = {name: playing_by(one, scenario) for name, one in targets.items()}
    played, returned = [Played(one) for one in seeds], np.zeros(len(seeds))
    while (live := ~batch.state.episodes["done"]).any():
        rows = np.flatnonzero(live)
        out = batch.output
        observed, masks = out.obs[rows].copy(), out.mask[rows] > 0
        wanted = caller.act(out, live)[rows]
        chances = softened(wanted, masks, otherwise)
        infos = _infos(out, rows) | {CHANCES: chances}
        if targets:
            infos[TARGETS] = {
                name: _told(env, name, one, rows, observed, masks, returned)
                for name, one in answers.items()
            }
        drawn = drawn_by(chances, rng)
        actions = np.zeros(len(seeds), dtype=np.int64)
        actions[rows] = drawn
        after = batch.step(actions)
        returned[rows] += after.reward[rows]
        for k, row in enumerate(rows.tolist()):
            one = played[row]
            one.observations.append(observed[k])
            one.infos.append(_row(infos, k))
            one.actions.append(int(drawn[k]))
            one.rewards.append(float(after.reward[row]))
        ended = rows[batch.state.episodes["done"][rows]]
        last = _infos(after, ended) | {CHANCES: np.eye(1, ACTIONS).repeat(len(ended), axis=0)}
        if targets:
            last[TARGETS] = {name: _nothing(len(ended)) for name in targets}
        for k, row in enumerate(ended.tolist()):
            played[row].observations.append(after.obs[row].copy())
            played[row].infos.append(_row(last, k))
    return played


def softened(wanted: Ints, masks: npt.NDArray[np.bool_], otherwise: float) -> Floats:
    """Chances of actions, [N, 5]: all of what is wanted, but for a share that is drawn alike."""
    chances = otherwise * masks / masks.sum(axis=1, keepdims=True)
    legal = masks[np.arange(len(wanted)), wanted]
    chances[np.arange(len(wanted)), np.where(legal, wanted, 0)] += 1.0 - otherwise
    return chances


def drawn_by(chances: Floats, rng: np.random.Generator) -> Ints:
    """An action for each row of chances, [N]; never one that has none."""
    bounds = chances.cumsum(axis=1)
    drawn = rng.random(len(chances))[:, np.newaxis] * bounds[:, -1:]
    return (drawn >= bounds).sum(axis=1).astype(np.int64)


def _told(
    env: MitigationVectorEnv,
    name: str,
    target: Predicts,
    rows: Ints,
    observed: npt.NDArray[np.float32],
    masks: npt.NDArray[np.bool_],
    returned: Floats,
) -> dict[str, Any]:
    """What a target would do in the open decisions, and the returns of all actions from there."""
    caller = Caller(target, len(rows), True, name)
    out = env.batch.output
    shown: Any = out._replace(obs=observed, mask=masks.astype(np.int8))
    chosen = caller.act(shown, np.ones(len(rows), dtype=np.bool_)).copy()
    legal = masks[np.arange(len(rows)), chosen]
    costs = branch(env, target).costs.sum(axis=2)[rows]
    return {
        "action": np.where(legal, chosen, 0),
        "returns": 0.0 - costs - returned[rows, np.newaxis],
    }


def _nothing(count: int) -> dict[str, Any]:
    """What targets have to say of ends."""
    return {
        "action": np.zeros(count, dtype=np.int64),
        "returns": np.full((count, ACTIONS), math.nan),
    }


def _infos(out: Any, rows: Ints) -> dict[str, Any]:
    """What the environment's own info says of open decisions, but for units and totals."""
    return {
        "action_mask": out.mask[rows].copy(),
        "task": out.task[rows].copy(),
        "slice": out.slice[rows].copy(),
        "elapsed": out.elapsed[rows].copy(),
        "reward_terms": out.terms[rows].copy(),
    }


def _row(infos: dict[str, Any], row: int) -> dict[str, Any]:
    """One row of infos."""
    return {n: _row(v, row) if isinstance(v, dict) else v[row] for n, v in infos.items()}


def _stacked(infos: list[dict[str, Any]]) -> dict[str, Any]:
    """Infos of the steps of an episode as arrays [steps, ...]."""
    return {
        name: _stacked([info[name] for info in infos])
        if isinstance(value, dict)
        else np.stack([info[name] for info in infos])
        for name, value in infos[0].items()
    }


def _written(
    minari: ModuleType, dataset_id: str, made: list[Any], env: gym.Env[Any, Any], **told: Any
) -> Any:
    """The data set of some buffers, made in a hidden folder and then moved to its place."""
    root = Path(minari.storage.datasets_root_dir.get_dataset_path())
    with _aside(root) as aside:
        with _data_sets_in(str(aside)), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of what nobody said
            minari.create_dataset_from_buffers(
                dataset_id, made, env=env, data_format="hdf5", **told
            )
        namespace = dataset_id.rpartition("/")[0]
        if namespace and namespace not in minari.namespace.list_local_namespaces():
            minari.namespace.create_namespace(namespace)
        (root / dataset_id).parent.mkdir(parents=True, exist_ok=True)
        try:
            (aside / dataset_id).rename(root / dataset_id)
        except OSError as error:
            if not (root / dataset_id).exists():
                raise
            raise ValueError(f"{dataset_id}: was made by somebody else meanwhile") from error
    return minari.load_dataset(dataset_id)


@contextmanager
def _aside(root: Path) -> Generator[Path]:
    """A hidden folder that goes at the end; those that killed processes have left go at once."""
    with marked(root, HELD) as mark:
        for left in root.glob(ASIDE):
            if not left.with_suffix(Path(HELD).suffix).exists():
                shutil.rmtree(left, ignore_errors=True)
        folder = mark.with_suffix(Path(ASIDE).suffix)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _data_sets_in(folder: str) -> Generator[None]:
    """Let Minari write elsewhere for a while: it asks the environment each time."""
    before = os.environ.get(FOLDER)
    os.environ[FOLDER] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ[FOLDER]
        else:
            os.environ[FOLDER] = before


def decisions_of(dataset: Any, target: str) -> Decisions:
    """The decisions of a data set, with what one of its targets would have done.

    Args:
        dataset: a ``minari.MinariDataset`` that `record` made, or a part of one.
        target: name of the target.

    Raises:
        ValueError: for a data set without chances, or without this target, naming those it has.
    """
    parts: dict[str, list[Any]] = {}
    for episode in dataset.iterate_episodes():
        infos = episode.infos or {}
        known = infos.get(TARGETS, {})
        if CHANCES not in infos or target not in known:
            expected = ", ".join(sorted(known)) or "none: record it with targets"
            raise ValueError(f"target {target!r}: the data set has {expected}")
        count, actions = len(episode.rewards), np.asarray(episode.actions, dtype=np.int64)
        told = known[target]
        row = {
            "observations": episode.observations[:count],
            "masks": infos["action_mask"][:count] > 0,
            "actions": actions,
            "chances": infos[CHANCES][np.arange(count), actions],
            "rewards": episode.rewards,
            "last": episode.terminations | episode.truncations,
            "target": told["action"][:count],
            "returns": told["returns"][:count],
        }
        for name, values in row.items():
            parts.setdefault(name, []).append(values)
    if not parts:
        raise ValueError("dataset: expected one episode at least")
    return Decisions(**{name: np.concatenate(values) for name, values in parts.items()})


def exact_value(policy: Predicts, env: str | Scenario, **overrides: Any) -> float:
    """What a policy's episodes return in the mean, exactly: every slice is played once.

    Fates are those of the slices, and episodes draw slices alike: nothing is left to chance.

    Args:
        policy: the policy, not sampling.
        env: an id, or a scenario.
        overrides: fields of the scenario that are changed.

    Raises:
        TypeError, ValueError: as `record` does.
    """
    scenario = scenario_of_call(exact_value, env, overrides)
    run = run_policy(build_world(scenario), scenario, policy, order=scenario.order)
    return 0.0 - float(run.costs.sum(axis=1).mean())


def _minari() -> ModuleType:
    """Minari. Raises ImportError, saying how to install it."""
    try:
        import minari
        import minari.data_collector  # pyright: ignore[reportUnusedImport]
        import minari.dataset.minari_dataset  # pyright: ignore[reportUnusedImport]
        import minari.namespace  # pyright: ignore[reportUnusedImport]
        import minari.storage.datasets_root_dir  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise ImportError(
            "failgym.contrib.minari needs other packages: pip install"
            f" 'minari[create,hdf5]' ({error})"
        ) from error
    return minari

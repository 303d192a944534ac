"""Writing policy files: agents of stable-baselines3, networks of other libraries, and ensembles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from safetensors.numpy import save

from failgym import __version__
from failgym.agents.algorithms.learner import COUNTERFACTUAL
from failgym.agents.ensembles.decider import Decider
from failgym.agents.ensembles.described import described
from failgym.agents.ensembles.stored import stored_arrays
from failgym.agents.files.manifest import (
    Environment,
    Manifest,
    Scaling,
    TrainedIn,
    actions,
    observation_fields,
)
from failgym.agents.files.policy_file import (
    KEY,
    MEAN,
    SUFFIX,
    VARIANCE,
    Arrays,
    load_agent,
    read_content,
)
from failgym.agents.files.trained_policy import Moments
from failgym.agents.networks.architectures import (
    ARCHITECTURES,
    algorithm_of,
    build,
    describe,
    kept_weights,
    load_weights,
    shown_fields,
)
from failgym.agents.networks.sizes import Network
from failgym.envs import resolve
from failgym.files import replacing
from failgym.known_names import check_known
from failgym.worlds.scenario import Scenario
from failgym.worlds.source import whole_trace

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

__all__ = ["save_anew", "save_ensemble", "save_policy", "save_weights"]

LEARNED_BY = {"Forest": "xgboost-cpu", "Perceptrons": "torch"}
"""The library that learns an ensemble, whose version its file records."""
LIBRARIES = ("gymnasium", "numpy", "sb3-contrib", "stable-baselines3", "torch")
"""Whose versions a file of a model of stable-baselines3 records, beside failgym's own."""


def save_policy(
    model: BaseAlgorithm,
    path: str | Path,
    *,
    env: str | Scenario,
    command: str,
    name: str | None = None,
    scores: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    critic: bool = True,
) -> None:
    """Write the policy of a model to a file, whole or not at all.

    Args:
        model: a model of one of the algorithms of `ARCHITECTURES`, its policy an MLP or an LSTM
            (`MlpPolicy`, `MlpLstmPolicy`). The names of the fields that it was shown are kept, and
            the normalisation of its environment.
        path: the file, `NAME.safetensors`.
        env: the environment that the model was trained in: an id, or the scenario. Its fields say
            how often the agent decides (`failgym.agents.files.decision_interval`).
        command: what trained it, for people.
        name: what tables call the agent; the algorithm's name by default.
        scores: numbers worth knowing, by name; JSON values.
        settings: hyper-parameters, by name; JSON values.
        critic: keep the value function too, which only further training needs.

    Raises:
        ValueError: for a model that cannot be built again from its sizes or was shown something
            else than fields, weights that are not finite, scores that are no JSON values, or
            another suffix.
        OSError: if the file cannot be written.
    """
    algorithm = algorithm_of(model)
    architecture, known = ARCHITECTURES[algorithm], cast(Any, model)
    _write(
        path,
        _weights(model, critic),
        _moments(model),
        env,
        name=name or algorithm,
        observation=observation_fields(shown_fields(known.observation_space)),
        algorithm=algorithm,
        policy=architecture.policy.__name__,
        network=describe(model.policy, architecture),
        critic=critic,
        versions=_versions(LIBRARIES),
        command=command,
        settings=dict(settings or {}),
        steps=model.num_timesteps,
        seed=model.seed,
        scores=dict(scores or {}),
    )


def save_weights(
    weights: Mapping[str, torch.Tensor],
    path: str | Path,
    *,
    network: Network,
    algorithm: str,
    env: str | Scenario,
    fields: Sequence[str],
    moments: Moments | None,
    command: str,
    steps: int,
    seed: int | None,
    libraries: Sequence[str],
    name: str | None = None,
    scores: Mapping[str, Any] | None = None,
) -> None:
    """Write a network that another library trained to a file, whole or not at all.

    Args:
        weights: actor and critic, by the names that stable-baselines3 gives them.
        path: the file, `NAME.safetensors`.
        network: its sizes.
        algorithm: one of `ARCHITECTURES`, whose policies are like it.
        env: the environment that it was trained in: an id, or the scenario.
        fields: names of the fields that it is shown, in order.
        moments: how these are normalised; None: not at all.
        command: what trained it, for people.
        steps: decisions that it has learned from.
        seed: of all that was drawn.
        libraries: packages whose versions are recorded, beside failgym's own.
        name: what tables call the agent; the algorithm's name by default.
        scores: numbers worth knowing, by name; JSON values.

    Raises:
        ValueError: for an unknown algorithm, weights that do not fit the sizes or are not finite,
            scores that are no JSON values, or another suffix.
        OSError: if the file cannot be written.
    """
    architecture = ARCHITECTURES[check_known("algorithm", algorithm, ARCHITECTURES)]
    load_weights(build(network, architecture, fields), weights)
    _write(
        path,
        {name: np.ascontiguousarray(tensor.numpy()) for name, tensor in weights.items()},
        moments,
        env,
        name=name or algorithm,
        observation=observation_fields(fields),
        algorithm=algorithm,
        policy=architecture.policy.__name__,
        network=network,
        critic=True,
        versions=_versions(libraries),
        command=command,
        steps=steps,
        seed=seed,
        scores=dict(scores or {}),
    )


def save_ensemble(
    decider: Decider,
    path: str | Path,
    *,
    env: str | Scenario,
    fields: Sequence[str],
    command: str,
    steps: int,
    seed: int,
    name: str | None = None,
    scores: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    environments: Sequence[TrainedIn] = (),
) -> None:
    """Write an ensemble that decides to a file, whole or not at all; `load_agent` reads it.

    Args:
        decider: the ensemble, and how cautious it is.
        path: the file, `NAME.safetensors`.
        env: the environment that it was trained in: an id, or the scenario.
        fields: names of the columns that it is shown, in order.
        command: what trained it, for people.
        steps: decisions that it has learned from.
        seed: of all that was drawn.
        name: what tables call the agent; "counterfactual" by default.
        scores: numbers worth knowing, by name; JSON values.
        settings: hyper-parameters, by name; JSON values.
        environments: where several, all that it was trained in, ``env`` among them.

    Raises:
        ValueError: for an ensemble over other columns, or another suffix.
        OSError: if the file cannot be written.
    """
    decider.check(len(fields))
    kind = type(decider.ensemble).__name__
    _write(
        path,
        stored_arrays(decider.ensemble),
        None,
        env,
        name=name or COUNTERFACTUAL,
        environments=tuple(environments),
        observation=observation_fields(fields),
        algorithm=COUNTERFACTUAL,
        policy=kind,
        network=described(decider),
        critic=False,
        versions=_versions(("numpy", LEARNED_BY[kind])),
        command=command,
        settings=dict(settings or {}),
        steps=steps,
        seed=seed,
        scores=dict(scores or {}),
    )


def save_anew(source: str | Path, path: str | Path, *, critic: bool = True) -> None:
    """Write the agent of a policy file in the layout of now, whole or not at all.

    It decides as before, has the same `digest`, and says the same of itself to the letter.

    Args:
        source: the file, which may be ``path``.
        path: the new one, `NAME.safetensors`.
        critic: keep the value function, if it is there; a manifest without says so.

    Raises:
        ValueError: as `load_agent` does, or for another suffix.
        OSError: if the file cannot be written.
    """
    agent = load_agent(source)
    text, arrays = read_content(Path(source))
    if isinstance(agent.network, Decider):
        arrays = stored_arrays(agent.network.ensemble)
    elif agent.manifest.critic and not critic:
        kept = {*kept_weights(agent.network, critic=False), MEAN, VARIANCE}
        arrays = {name: array for name, array in arrays.items() if name in kept}
        text = agent.manifest.model_copy(update={"critic": False}).model_dump_json()
    _write_content(_named(path), arrays, text)


def _write(
    path: str | Path, arrays: Arrays, moments: Moments | None, env: str | Scenario, **stated: Any
) -> None:
    """Write arrays and a manifest: what is ``stated``, and what follows from the rest.

    Raises:
        ValueError: for another suffix, or values that are none of a manifest's.
    """
    path, scenario = _named(path), resolve(env)
    manifest = Manifest(
        environment=Environment.of(scenario),
        scaling=moments and Scaling(epsilon=moments.epsilon, clip=moments.clip),
        actions=actions(),
        trace_hash=whole_trace(scenario).content_hash,
        **stated,
    )
    if moments is not None:
        arrays = {**arrays, MEAN: moments.mean, VARIANCE: moments.variance}
    _write_content(path, arrays, manifest.model_dump_json())


def _named(path: str | Path) -> Path:
    """The path of a policy file. Raises ValueError for another suffix."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise ValueError(f"{path}: expected a name that ends in {SUFFIX}")
    return path


def _write_content(path: Path, arrays: Arrays, manifest: str) -> None:
    with replacing(path) as partial:
        partial.write_bytes(save(arrays, {KEY: manifest}))


def _versions(libraries: Iterable[str]) -> dict[str, str]:
    """Versions of failgym and of these packages."""
    return {"failgym": __version__, **{name: _version(name) for name in libraries}}


def _version(library: str) -> str:
    """The version of a library; of XGBoost under whichever name it is installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        pass
    try:
        return version(library.removesuffix("-cpu"))
    except PackageNotFoundError:
        return "not installed"


def _weights(model: BaseAlgorithm, critic: bool) -> Arrays:
    """The weights of a model as arrays. Raises ValueError if one is not finite."""
    arrays = {n: np.ascontiguousarray(t) for n, t in kept_weights(model.policy, critic).items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"model: {name} has a value that is not finite: training diverged")
    return arrays


def _moments(model: BaseAlgorithm) -> Moments | None:
    """How the environment of a model normalises observations, if it does."""
    normalize = model.get_vec_normalize_env()
    if normalize is None or not normalize.norm_obs:
        return None
    running: Any = normalize.obs_rms
    return Moments(
        mean=np.asarray(running.mean, dtype=np.float64),
        variance=np.asarray(running.var, dtype=np.float64),
        epsilon=float(normalize.epsilon),
        clip=float(normalize.clip_obs),
    )

"""Policy files: one `.safetensors` file with the weights of an agent and a manifest as JSON.

The manifest is a text in the header, under the key "failgym". There is nothing in such a file that
could execute, and a file of another kind (a zip archive, a pickle) is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from failgym import __version__
from failgym.agents.algorithms.learner import COUNTERFACTUAL
from failgym.agents.ensembles.decider import Decider
from failgym.agents.ensembles.described import decider_of, described
from failgym.agents.ensembles.sizes import EnsembleSizes
from failgym.agents.ensembles.stored import KINDS, stored_arrays, stored_ensemble
from failgym.agents.files.decision_interval import Cadence
from failgym.agents.files.manifest import (
    Environment,
    Manifest,
    Scaling,
    actions,
    observation_fields,
    parse_manifest,
)
from failgym.agents.files.trained_policy import Moments, TrainedPolicy
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

__all__ = [
    "SUFFIX",
    "load_agent",
    "read_manifest",
    "save_ensemble",
    "save_policy",
    "save_weights",
]

LEARNED_BY = {"Forest": "xgboost-cpu", "Perceptrons": "torch"}
"""The library that learns an ensemble, whose version its file records."""

SUFFIX = ".safetensors"
"""How the name of a policy file ends."""
KEY = "failgym"
"""The manifest's key in the header of the file."""
MEAN, VARIANCE = "observation.mean", "observation.variance"
"""Tensors of the normalisation of observations, if there is one."""
MOST_BYTES = 1 << 28
"""A policy file that is read has at most so many."""
PICKLE_PROTOCOLS = 5
"""The protocols of pickle up to now; its files begin with a mark and the protocol."""
LIBRARIES = ("gymnasium", "numpy", "sb3-contrib", "stable-baselines3", "torch")
"""Whose versions a file records, beside failgym's own."""

Arrays = dict[str, npt.NDArray[Any]]


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
    path = Path(path)
    if path.suffix != SUFFIX:
        raise ValueError(f"{path}: expected a name that ends in {SUFFIX}")
    algorithm = algorithm_of(model)
    architecture, scenario = ARCHITECTURES[algorithm], resolve(env)
    moments, known = _moments(model), cast(Any, model)
    manifest = Manifest(
        name=name or algorithm,
        environment=Environment.of(scenario),
        observation=observation_fields(shown_fields(known.observation_space)),
        scaling=moments and Scaling(epsilon=moments.epsilon, clip=moments.clip),
        actions=actions(),
        algorithm=algorithm,
        policy=architecture.policy.__name__,
        network=describe(model.policy, architecture),
        critic=critic,
        versions={"failgym": __version__, **{name: version(name) for name in LIBRARIES}},
        command=command,
        settings=dict(settings or {}),
        trace_hash=whole_trace(scenario).content_hash,
        steps=model.num_timesteps,
        seed=model.seed,
        scores=dict(scores or {}),
    )
    arrays = _weights(model, critic)
    if moments is not None:
        arrays |= {MEAN: moments.mean, VARIANCE: moments.variance}
    with replacing(path) as partial:
        partial.write_bytes(save(arrays, {KEY: manifest.model_dump_json()}))


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
    path = Path(path)
    if path.suffix != SUFFIX:
        raise ValueError(f"{path}: expected a name that ends in {SUFFIX}")
    architecture = ARCHITECTURES[check_known("algorithm", algorithm, ARCHITECTURES)]
    load_weights(build(network, architecture, fields), weights)
    scenario = resolve(env)
    manifest = Manifest(
        name=name or algorithm,
        environment=Environment.of(scenario),
        observation=observation_fields(fields),
        scaling=moments and Scaling(epsilon=moments.epsilon, clip=moments.clip),
        actions=actions(),
        algorithm=algorithm,
        policy=architecture.policy.__name__,
        network=network,
        critic=True,
        versions={"failgym": __version__, **{name: _version(name) for name in libraries}},
        command=command,
        trace_hash=whole_trace(scenario).content_hash,
        steps=steps,
        seed=seed,
        scores=dict(scores or {}),
    )
    arrays: Arrays = {n: np.ascontiguousarray(t.numpy()) for n, t in weights.items()}
    if moments is not None:
        arrays |= {MEAN: moments.mean, VARIANCE: moments.variance}
    with replacing(path) as partial:
        partial.write_bytes(save(arrays, {KEY: manifest.model_dump_json()}))


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
) -> None:
    """Write an ensemble that decides to a file, whole or not at all; `load_agent` reads it.

    Args:
        decider: the ensemble, and how cautious it is.
        path: the file, `NAME.safetensors`.
        env: the environment that they were trained in: an id, or the scenario.
        fields: names of the columns that it is shown, in order.
        command: what trained it, for people.
        steps: decisions that it has learned from.
        seed: of all that was drawn.
        name: what tables call the agent; "counterfactual" by default.
        scores: numbers worth knowing, by name; JSON values.
        settings: hyper-parameters, by name; JSON values.

    Raises:
        ValueError: for an ensemble over other columns, or another suffix.
        OSError: if the file cannot be written.
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        raise ValueError(f"{path}: expected a name that ends in {SUFFIX}")
    decider.check(len(fields))
    scenario, kind = resolve(env), type(decider.ensemble).__name__
    manifest = Manifest(
        name=name or COUNTERFACTUAL,
        environment=Environment.of(scenario),
        observation=observation_fields(fields),
        scaling=None,
        actions=actions(),
        algorithm=COUNTERFACTUAL,
        policy=kind,
        network=described(decider),
        critic=False,
        versions={
            "failgym": __version__,
            **{name: _version(name) for name in ("numpy", LEARNED_BY[kind])},
        },
        command=command,
        settings=dict(settings or {}),
        trace_hash=whole_trace(scenario).content_hash,
        steps=steps,
        seed=seed,
        scores=dict(scores or {}),
    )
    with replacing(path) as partial:
        partial.write_bytes(
            save(stored_arrays(decider.ensemble), {KEY: manifest.model_dump_json()})
        )


def load_agent(path: str | Path, *, anywhere: bool = False) -> TrainedPolicy:
    """Read the agent that `save_policy` wrote. Nothing in the file is executed.

    Asked more often than in training it answers as often as there (`files.decision_interval`). It
    takes its environment to be as registered: where you step one yourself that asks at other times,
    take ``load_agent(path).playing_by(scenario)``. It finds its fields by name in whole
    observations; for an environment that shows you some of them take
    ``load_agent(path).reading(env.fields)``.

    Args:
        path: the file.
        anywhere: allow it to be asked in other environments than the one it was trained in. Their
            observations have its fields, but what it learned may mean nothing there.

    Raises:
        ValueError: in one line: no such file, no safetensors, no manifest or one that says
            something else, an unknown algorithm, or weights of wrong names, shapes or types.
    """
    path = Path(path)
    try:
        text, arrays = _read(path)
        return _agent(parse_manifest(text), arrays, anywhere)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error


def read_manifest(path: str | Path) -> Manifest:
    """What a policy file says of itself; its weights are not read.

    Raises:
        ValueError: in one line: no such file, no safetensors, no manifest or one that says
            something else.
    """
    path = Path(path)
    try:
        _check_size(path)
        opened: Any = safe_open
        with opened(path, framework="np") as content:
            return parse_manifest(_text(content))
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{path}: {_kind(path)}: expected a safetensors file ({error})") from error
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error


def _agent(manifest: Manifest, arrays: Arrays, anywhere: bool) -> TrainedPolicy:
    if manifest.algorithm == COUNTERFACTUAL:
        decider = _decider(manifest, arrays)
        return TrainedPolicy(manifest, decider, None, anywhere, _cadence(manifest.environment))
    if manifest.algorithm not in ARCHITECTURES:
        known = ", ".join((*ARCHITECTURES, COUNTERFACTUAL))
        raise ValueError(f"unknown algorithm {manifest.algorithm!r}, known: {known}")
    architecture = ARCHITECTURES[manifest.algorithm]
    if manifest.policy != architecture.policy.__name__:
        raise ValueError(
            f"policy {manifest.policy!r}: expected {architecture.policy.__name__!r}"
            f" for {manifest.algorithm}"
        )
    if not isinstance(manifest.network, Network):
        raise ValueError(
            "manifest: network: expected the sizes of a network, got those of an ensemble"
        )
    moments = _stored_moments(manifest.scaling, arrays, len(manifest.fields))
    network = build(manifest.network, architecture, manifest.fields)
    weights = {name: torch.as_tensor(array) for name, array in arrays.items()}
    load_weights(network, weights, manifest.critic)
    return TrainedPolicy(manifest, network, moments, anywhere, _cadence(manifest.environment))


def _decider(manifest: Manifest, arrays: Arrays) -> Decider:
    """The ensemble of a file. Raises ValueError for what is none, or not as the manifest says."""
    sizes, kind = manifest.network, manifest.policy
    if not isinstance(sizes, EnsembleSizes) or kind not in KINDS or manifest.scaling:
        expected = " or ".join(KINDS)
        raise ValueError(f"manifest: expected a {expected} and its sizes for {COUNTERFACTUAL}")
    return decider_of(sizes, stored_ensemble(kind, arrays), len(manifest.fields))


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


def _cadence(trained: Environment) -> Cadence | None:
    """When an agent is due, asked as its environment is registered. Raises ValueError."""
    try:
        return Cadence.of(trained.asked(), trained.registered())
    except ValueError as error:
        raise ValueError(f"manifest: environment.fields: {error}") from error


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


def _stored_moments(scaling: Scaling | None, arrays: Arrays, fields: int) -> Moments | None:
    """Take the normalisation out of the arrays of a file. Raises ValueError if it is unsound."""
    if scaling is None:
        return None
    for name in (MEAN, VARIANCE):
        values = arrays.get(name)
        sound = values is not None and values.shape == (fields,) and values.dtype == np.float64
        if values is None or not sound or not np.isfinite(values).all():
            raise ValueError(f"{name}: expected {fields} finite numbers")
    if (arrays[VARIANCE] < 0).any():
        raise ValueError(f"{VARIANCE}: expected no negative numbers")
    return Moments(arrays.pop(MEAN), arrays.pop(VARIANCE), scaling.epsilon, scaling.clip)


def _read(path: Path) -> tuple[str, Arrays]:
    """The manifest's text and the arrays of a file. Raises ValueError."""
    _check_size(path)
    opened: Any = safe_open
    try:
        with opened(path, framework="np") as content:
            manifest = _text(content)
            names: list[str] = list(content.keys())
            return manifest, {name: _array(content, name) for name in names}
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{_kind(path)}: expected a safetensors file ({error})") from error


def _check_size(path: Path) -> None:
    if not path.is_file():
        raise ValueError("no such file: expected a policy file")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"not a policy file: expected at most {MOST_BYTES} bytes")


def _text(opened: Any) -> str:
    """The manifest's text in a file that was opened. Raises ValueError."""
    metadata: dict[str, str] = opened.metadata() or {}
    if KEY not in metadata:
        raise ValueError(f"not a policy file: no {KEY!r} in its metadata")
    return metadata[KEY]


def _kind(path: Path) -> str:
    """What a file is that is no safetensors file."""
    with path.open("rb") as file:
        begin = file.read(4)
    if begin == b"PK\x03\x04":
        return "a zip archive, which may hold code"
    pickled = begin[:1] == b"\x80" and begin[1:2] <= bytes([PICKLE_PROTOCOLS])
    return "a pickle, which may hold code" if pickled else "not a policy file"


def _array(content: Any, name: str) -> npt.NDArray[Any]:
    kind: str = content.get_slice(name).get_dtype()
    if kind not in ("F16", "F32", "F64", "I32", "U8"):
        raise ValueError(f"weights: {name} is {kind}, expected F32")
    return np.array(content.get_tensor(name))

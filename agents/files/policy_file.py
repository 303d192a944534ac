"""Policy files, and reading them: one `.safetensors` with the weights of an agent and a manifest.

The manifest is JSON, a text in the header under the key "failgym". There is nothing in such a file
that could execute, and a file of another kind (a zip archive, a pickle) is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open

from failgym.agents.algorithms.learner import COUNTERFACTUAL
from failgym.agents.ensembles.decider import Decider
from failgym.agents.ensembles.described import decider_of
from failgym.agents.ensembles.sizes import EnsembleSizes
from failgym.agents.ensembles.stored import KINDS, stored_ensemble
from failgym.agents.files.decision_interval import Cadence
from failgym.agents.files.manifest import (
    Manifest,
    Scaling,
    parse_manifest,
)
from failgym.agents.files.trained_policy import Moments, TrainedPolicy
from failgym.agents.networks.architectures import (
    ARCHITECTURES,
    build,
    load_weights,
)
from failgym.agents.networks.sizes import Network

__all__ = [
    "KEY",
    "MEAN",
    "SUFFIX",
    "VARIANCE",
    "Arrays",
    "load_agent",
    "read_content",
    "read_manifest",
]

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

Arrays = dict[str, npt.NDArray[Any]]


def load_agent(path: str | Path, *, anywhere: bool = False) -> TrainedPolicy:
    """Read the agent that `save_policy` wrote. Nothing in the file is executed.

    Asked more often than in training it answers as often as there (`files.decision_interval`). It
    takes its environment to be as registered: where you step one yourself that asks at other times,
    take ``load_agent(path).playing_by(scenario)``. So do for an agent that was trained in several
    environments (``manifest.environments``), which has to be told in which it plays. It finds its
    fields by name in whole observations; for an environment that shows you some of them take
    ``load_agent(path).reading(env.fields)``.

    Args:
        path: the file.
        anywhere: allow it to be asked in other environments than those it was trained in. Their
            observations have its fields, but what it learned may mean nothing there.

    Raises:
        ValueError: in one line: no such file, no safetensors, no manifest or one that says
            something else, an unknown algorithm, or weights of wrong names, shapes or types.
    """
    path = Path(path)
    try:
        text, arrays = read_content(path)
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
        return TrainedPolicy(manifest, decider, None, anywhere, _cadence(manifest))
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
    return TrainedPolicy(manifest, network, moments, anywhere, _cadence(manifest))


def _decider(manifest: Manifest, arrays: Arrays) -> Decider:
    """The ensemble of a file. Raises ValueError for what is none, or not as the manifest says."""
    sizes, kind = manifest.network, manifest.policy
    if not isinstance(sizes, EnsembleSizes) or kind not in KINDS or manifest.scaling:
        expected = " or ".join(KINDS)
        raise ValueError(f"manifest: expected a {expected} and its sizes for {COUNTERFACTUAL}")
    for place in manifest.environments:
        if max(place.hears, default=-1) >= len(sizes.advice):
            raise ValueError(f"manifest: environments: hears: got {len(sizes.advice)} rules")
    return decider_of(sizes, stored_ensemble(kind, arrays), len(manifest.fields))


def _cadence(manifest: Manifest) -> Cadence | None:
    """When an agent is due, asked as its environment is registered; of several, not before it is
    told which. Raises ValueError.
    """
    found: list[Cadence | None] = []
    for trained in manifest.environments or (manifest.environment,):
        try:
            found.append(Cadence.of(trained.asked(), trained.registered()))
        except ValueError as error:
            raise ValueError(f"manifest: environment.fields: {error}") from error
    return found[0] if len(found) == 1 else None


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


def read_content(path: Path) -> tuple[str, Arrays]:
    """The manifest's text and the arrays of a file, neither of which is checked.

    Raises:
        ValueError: in one line that does not name the file: no such file, no safetensors, or an
            array of another type.
    """
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
    if kind not in ("F16", "F32", "F64", "I32", "U16", "U8"):
        raise ValueError(f"weights: {name} is {kind}, expected F32")
    return np.array(content.get_tensor(name))

"""Hyper-parameters in files: one YAML for each environment and algorithm, read as typed records.

The files that come with failgym lie in `settings/<environment>/<algorithm>.yaml`; where an
environment has none, `settings/default/<algorithm>.yaml` serves. `settings/generalist` is about
several environments at once, and used where it is named. What a file leaves out has the
default of `failgym.agents.algorithms.hyperparameters`. Values are checked, nothing in a file is
evaluated.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import yaml
from pydantic import BaseModel, ValidationError

from failgym.agents.algorithms.hyperparameters import ALTERNATIVES, Settings
from failgym.agents.algorithms.learner import Hyper, Learner
from failgym.agents.algorithms.registry import algorithm_named
from failgym.agents.algorithms.training_options import SCENARIO_FIELDS, SURROGATE_FIELDS
from failgym.agents.algorithms.yaml_text import read_yaml
from failgym.evaluation.arguments import shown
from failgym.files import replacing
from failgym.known_names import nearest

__all__ = [
    "GENERALIST",
    "load_settings",
    "read_values",
    "save_settings",
    "settings_for",
    "settings_of",
    "shipped_file",
]

S = TypeVar("S", bound=Hyper)

MEMBERS = {"env": SCENARIO_FIELDS, "surrogate": SURROGATE_FIELDS}
"""Names in groups that are mappings, not records."""
FOLDER = Path(__file__).parents[1] / "settings"
"""Where the files lie that come with failgym."""
GENERALIST = "generalist"
"""What stands for the file that comes with failgym for all environments at once."""
HYPER = "--hyper"
"""What errors call values that were given one by one."""


def shipped_file(algorithm: str, env: str) -> Path:
    """The file that comes with failgym for an algorithm in an environment.

    Args:
        algorithm: a name of `failgym.agents.algorithms.registry.ALGORITHMS`.
        env: the name of a scenario, with or without ``failgym/``.
    """
    own = FOLDER / env.removeprefix("failgym/") / f"{algorithm}.yaml"
    return own if own.is_file() else FOLDER / "default" / f"{algorithm}.yaml"


def settings_for(
    algorithm: str,
    env: str,
    *,
    file: str | Path | None = None,
    hyper: Mapping[str, Any] | None = None,
    n_envs: int | None = None,
) -> Settings:
    """The hyper-parameters of an algorithm in an environment.

    Args:
        algorithm: a name of `failgym.agents.algorithms.registry.ALGORITHMS`.
        env: the name of a scenario, with or without ``failgym/``.
        file: a YAML file; by default the one that comes with failgym. "generalist" stands for the
            one that comes with failgym for all environments at once.
        hyper: values that replace those of the file; a dot leads into a group
            (``policy.net_arch``).
        n_envs: episodes at once; replaces the file's.

    Raises:
        ValueError: in one line, naming the file and the key: an unknown algorithm or
            hyper-parameter, with the nearest known one, a value of the wrong type or range, or
            values that do not go together.
    """
    changes = {} if n_envs is None else {"n_envs": n_envs}
    kind = algorithm_named(algorithm)
    return settings_of(kind, env, file=file, hyper=hyper, changes=changes)


def settings_of(
    kind: Learner[S],
    env: str,
    *,
    file: str | Path | None = None,
    hyper: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> S:
    """The hyper-parameters of whatever learns; arguments and errors are those of `settings_for`."""
    _check_types(env, file, hyper)
    path = _file(kind.name, env, file)
    read = _read(path)
    _validated(kind, read, str(path))
    changes = {**(hyper or {}), **(changes or {})}
    changed = _changed(kind, read, changes)
    settings = _validated(kind, changed, HYPER if changes else str(path))
    try:
        settings.check()
    except ValueError as error:
        raise ValueError(f"{kind.name}: {error}") from error
    return settings


def _file(algorithm: str, env: str, file: str | Path | None) -> Path:
    """The file of hyper-parameters. Raises ValueError for a generalist that there is none of."""
    if file is None:
        return shipped_file(algorithm, env)
    if str(file) != GENERALIST or Path(file).exists():
        return Path(file)
    found = FOLDER / GENERALIST / f"{algorithm}.yaml"
    if not found.is_file():
        known = ", ".join(sorted(one.stem for one in found.parent.glob("*.yaml")))
        raise ValueError(f"config: no {GENERALIST} of {algorithm} comes with failgym, but {known}")
    return found


def _check_types(env: object, file: object, hyper: object) -> None:
    """Raise ValueError, naming the argument, unless they are a name, a path and values by name."""
    if not isinstance(env, str):
        raise ValueError(f"env: expected the name of an environment, got {shown(env)}")
    if not isinstance(file, str | Path | None):
        raise ValueError(f"config: expected the path of a file, got {shown(file)}")
    if hyper is not None and not _by_name(hyper):
        raise ValueError(f"hyper: expected values by name, got {shown(hyper)}")


def _by_name(values: Any) -> bool:
    names: Any = values
    return isinstance(values, Mapping) and all(isinstance(name, str) for name in names)


def load_settings(algorithm: str, values: Any, where: str) -> Settings:
    """Hyper-parameters from plain values, all of them. Raises ValueError, naming ``where``."""
    return _validated(algorithm_named(algorithm), values, where)


def save_settings(settings: BaseModel, path: Path) -> None:
    """Write all hyper-parameters as YAML, which `settings_for` reads. Raises OSError."""
    text = yaml.safe_dump(settings.model_dump(), sort_keys=False, default_flow_style=None)
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def read_values(texts: Mapping[str, str]) -> dict[str, Any]:
    """Hyper-parameters written in YAML, by name. Raises ValueError for one that is no YAML."""
    return {name: read_yaml(text, f"{HYPER} {name}") for name, text in texts.items()}


def _read(path: Path) -> dict[str, Any]:
    """The mapping that a file holds. Raises ValueError, naming the file."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file: expected hyper-parameters in YAML")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected a text in UTF-8") from error
    read = read_yaml(text, str(path))
    if not isinstance(read, dict):
        raise ValueError(f"{path}: expected names and values, got {reprlib.repr(read)}")
    return cast("dict[str, Any]", read)


def _changed(kind: Learner[S], read: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping with some values replaced. Raises ValueError for an unknown name."""
    known = _names(kind.settings)
    changed = dict(read)
    for name, value in changes.items():
        if name not in known and not _of_schedule(name, read):
            raise ValueError(f"{HYPER}: {_unknown(kind, name, known)}")
        group, dot, member = name.partition(".")
        if dot and not isinstance(changed.get(group) or {}, Mapping):
            raise ValueError(f"{HYPER}: {name}: {group} is {reprlib.repr(changed[group])}")
        changed[group] = {**(changed.get(group) or {}), member: value} if dot else value
    return changed


def _of_schedule(name: str, read: Mapping[str, Any]) -> bool:
    """Is it the start or the end of something that the file gives a schedule?"""
    group, _, member = name.partition(".")
    value = read.get(group)
    if not isinstance(value, Mapping) or member not in ("start", "end"):
        return False
    return set(cast("Mapping[str, Any]", value)) == {"start", "end"}


def _names(record: type[BaseModel]) -> list[str]:
    """Names of all hyper-parameters, those of groups with the group's name and a dot."""
    names: list[str] = []
    for name, field in record.model_fields.items():
        names.append(name)
        names += [f"{name}.{member}" for member in MEMBERS.get(name, ())]
        for kind in get_args(field.annotation) or (field.annotation,):  # a group may be optional
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                names += [f"{name}.{member}" for member in _names(kind)]
    return names


def _validated(kind: Learner[S], values: Any, where: str) -> S:
    """The record of plain values. Raises ValueError with one line about the first that is wrong."""
    try:
        return kind.settings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"] if part not in ALTERNATIVES)
    if first["type"] == "extra_forbidden":
        raise ValueError(f"{where}: {_unknown(kind, name, _names(kind.settings))}")
    if first["type"] == "value_error":  # what a record says of a name
        raise ValueError(f"{where}: {name}: {first.get('ctx', {})['error']}")
    reason = first["msg"][0].lower() + first["msg"][1:]
    raise ValueError(f"{where}: {name}: {reason}, got {reprlib.repr(first['input'])}")


def _unknown(kind: Learner[S], name: str, known: list[str]) -> str:
    members = [n for n in known if n.rpartition(".")[2] == name]
    hint = members[0] if members else nearest(name, known)
    return f"unknown hyper-parameter {name!r} of {kind.name}" + (
        f", did you mean {hint}?"
        if hint
        else f"; known: {', '.join(n for n in known if '.' not in n)}"
    )

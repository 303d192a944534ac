"""No text takes more than linear time: every pattern of the readers and of the command line."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import failgym.cli
import failgym.traces.readers
from tests.traces.readers.ambiguity import is_linear

AT_A_PLACE = {"match", "fullmatch", "pattern", "groups"}
"""What a pattern is used for where it is not looked for anywhere in a text."""


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def patterns() -> dict[str, tuple[re.Pattern[Any], bool]]:
    """Patterns by module and name, and whether each may be looked for anywhere."""
    every = [*modules(failgym.traces.readers), *modules(failgym.cli)]
    sources = {module.__name__: inspect.getsource(module) for module in every}
    found: dict[str, tuple[re.Pattern[Any], bool]] = {}
    for module in every:
        for name, value in vars(module).items():
            if not isinstance(value, re.Pattern) or f"{name} = " not in sources[module.__name__]:
                continue
            used = [s for at, s in sources.items() if at == module.__name__ or name[0] != "_"]
            uses = {use for s in used for use in re.findall(rf"\b{name}\.([a-z]+)", s)}
            found[f"{module.__name__}.{name}"] = value, not uses or bool(uses - AT_A_PLACE)
    return found


FOUND = patterns()


def test_there_are_patterns() -> None:
    assert len(FOUND) > 30
    assert FOUND["failgym.traces.readers.json_objects._CONTENT"][1]
    assert not FOUND["failgym.traces.readers.job_log._MEMORY"][1]


@pytest.mark.parametrize("name", FOUND)
def test_a_pattern_takes_linear_time(name: str) -> None:
    pattern, anywhere = FOUND[name]
    assert is_linear(pattern, anywhere=anywhere), pattern.pattern


def test_no_pattern_is_made_while_it_is_used() -> None:
    calls = re.compile(r"\bre\.(match|fullmatch|search|sub|subn|split|findall|finditer)\(")
    sources = {m.__name__: inspect.getsource(m) for m in modules(failgym.traces.readers)}
    assert not [name for name, source in sources.items() if calls.search(source)]


@pytest.mark.parametrize(
    ("text", "anywhere", "linear"),
    [
        ("[0-9]+", False, True),
        ("[0-9]+", True, False),  # what follows the digits is not said, so that it may fail
        (r"[0-9]+\.?[0-9]*", False, False),
        (r"[0-9]+(\.[0-9]*)?", False, True),
        (r"\s+\(", True, False),
        (r"\s+\(", False, True),
        (r"(?:a+)+b", False, False),
        (r"(?:a|ab)*c", False, True),
        (r"(?:[ab]c|[ad]c)*e", False, False),
        (r"(?:a*)*c", False, False),
        (r"(a?){50}b", False, True),
        (r"([^ =]+)=", True, False),
        (r"_([0-9]{1,9})$", True, True),
        (r"a.{0,500}b.{0,500}c", False, False),
    ],
)
def test_what_is_called_linear(text: str, anywhere: bool, linear: bool) -> None:
    assert is_linear(re.compile(text), anywhere=anywhere) is linear

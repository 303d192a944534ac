"""The class docstring is the specification of the environments: it has to hold together."""

from __future__ import annotations

import inspect
import re

from failgym.envs import FIELDS, MitigationEnv
from failgym.envs.spaces import TERMS
from tests.envs.worlds import make

TEXT = inspect.getdoc(MitigationEnv) or ""
SECTIONS = (
    *("Description", "Action Space", "Observation Space", "Rewards", "Starting State"),
    *("Episode End", "Info", "Arguments", "Rendering", "Fidelity", "Version History"),
)


def section(title: str) -> str:
    """The text below a heading."""
    return TEXT.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def first_cells(title: str) -> set[str]:
    """The words of the first column of the table in a section."""
    rows = re.findall(r"^\| ([^|]+?) \|", section(title), re.MULTILINE)[1:]
    return {word for row in rows for word in row.split(", ")}


def listed(head: str) -> set[str]:
    """The keys of the table of infos whose first heading this is."""
    table = section("Info").split(f"| {head} |", 1)[1].split("\n\n", 1)[0]
    return set(re.findall(r"^\| (\w+) \|", table, re.MULTILINE))


def test_headings_stand_alone_and_in_order() -> None:
    headings = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    assert tuple(headings) == SECTIONS


def test_reward_terms_are_those_of_the_space() -> None:
    assert first_cells("Rewards") == set(TERMS)


def test_render_modes_are_those_of_the_metadata() -> None:
    assert first_cells("Rendering") == set(MitigationEnv.metadata["render_modes"])


def test_groups_are_those_of_the_fields() -> None:
    assert first_cells("Observation Space") == {field.group for field in FIELDS}


def test_info_has_what_is_promised() -> None:
    _, info = MitigationEnv("GracePeriod-v1", jobs=200, slice_tasks=1).reset(seed=0)
    assert set(info) == listed("key")


def test_scheduled_info_has_units_besides() -> None:
    _, info = make("failgym/Mitigation-v1").reset(seed=0)
    assert set(info) == listed("key") | listed("scheduled key")

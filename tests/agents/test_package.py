"""`failgym.agents` can be imported everywhere, and says what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import failgym.agents

WITHOUT = """
import sys
sys.modules["stable_baselines3"] = None
import failgym.agents
try:
    from failgym.agents import {name}
except ImportError as error:
    print(error)
"""


def test_every_public_name_is_there() -> None:
    pytest.importorskip("sb3_contrib", reason="needs the agents extra")
    for name in failgym.agents.__all__:
        assert getattr(failgym.agents, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = failgym.agents.nothing  # pyright: ignore[reportAttributeAccessIssue]


def test_without_the_extra_one_line_says_what_to_install() -> None:
    command = [sys.executable, "-c", WITHOUT.format(name="make_sb3_env")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith(
        "failgym.agents.make_sb3_env needs other packages: pip install 'failgym[agents]'"
    )
    assert said.count("\n") == 1


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, failgym.agents; print('torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"

"""The hash of the code: linked folders count, and so do settings; what decides nothing does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import failgym
from failgym.sources import code_hash


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a folder of its own, and one that is a link, as `agents` is in a checkout."""
    top, linked = tmp_path / "package", tmp_path / "linked"
    for folder in (top / "inner", linked / "settings"):
        folder.mkdir(parents=True)
    (top / "__init__.py").write_text("")
    (top / "inner" / "code.py").write_text("1")
    (linked / "rule.py").write_text("2")
    (linked / "settings" / "how.yaml").write_text("a: 1")
    (top / "agents").symlink_to(linked)
    monkeypatch.setattr(failgym, "__file__", str(top / "__init__.py"))
    return top


@pytest.mark.parametrize(
    "name", ["__init__.py", "inner/code.py", "agents/rule.py", "agents/settings/how.yaml"]
)
def test_a_change_of_anything_changes_it(package: Path, name: str) -> None:
    before = code_hash()
    assert before == code_hash()
    (package / name).write_text("3")
    assert code_hash() != before


def test_a_name_counts_and_a_picture_does_not(package: Path) -> None:
    before = code_hash()
    (package / "inner" / "picture.png").write_bytes(b"1")
    assert code_hash() == before
    (package / "inner" / "code.py").rename(package / "inner" / "other.py")
    assert code_hash() != before


def test_nothing_to_read_is_no_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failgym, "__file__", str(tmp_path / "gone" / "__init__.py"))
    assert code_hash() == ""


def test_the_rules_and_the_settings_of_agents_are_in_ours() -> None:
    package = Path(failgym.__file__).parent
    assert (package / "baselines" / "young.py").is_file()
    assert list((package / "agents" / "settings").rglob("*.yaml"))

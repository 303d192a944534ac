"""A format is a folder of readers: it is found, and says itself what it reads and which options."""

from __future__ import annotations

from pathlib import Path

import pytest

from failgym.traces import FORMATS, formats, readers
from failgym.traces.formats import Format

READER = '''
"""Logs of the newest batch system.

More is said here.
"""

from failgym.traces import Trace, generate


def read_newest_log(path, *, timezone="UTC", merge_clusters=False, progress=False) -> Trace:
    """Read a log."""
    return generate("lanl-20", jobs=5)
'''


@pytest.fixture
def newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Format:
    """A reader in a folder beside the others."""
    folder = tmp_path / "newest_log"
    folder.mkdir()
    (folder / "__init__.py").write_text(READER)
    (tmp_path / "helper.py").write_text("")
    monkeypatch.setattr(formats, "_READERS", tmp_path)
    monkeypatch.setattr(readers, "__path__", [*readers.__path__, str(tmp_path)])
    (name,) = formats.found()
    return Format(name)


def test_a_new_folder_is_a_format_with_its_options(newest: Format) -> None:
    assert (newest.name, newest.module) == ("newest-log", "newest_log")
    assert newest.about == "Logs of the newest batch system"
    assert newest.options == ("timezone", "merge_clusters")
    assert newest.importer is None
    assert not newest.in_steps
    assert newest.reader("log").rows("jobs") == 5


def test_every_format_says_what_it_reads() -> None:
    assert len(FORMATS) >= 13
    assert all(form.about and form.name == name for name, form in FORMATS.items())
    assert FORMATS["swf"].options == ("infer_attempts", "merge_clusters")
    assert [name for name, form in FORMATS.items() if form.in_steps] == ["google-2019"]

"""A text that is far too long is named with its file, line and field, in every format."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from failgym.traces import FORMATS, TraceError
from failgym.traces.readers.sources import LONGEST_TEXT
from tests.traces.real_data import REPOSITORY

DATA = REPOSITORY / "tests" / "data"
LONG = "a" * 100_000

CASES: dict[str, tuple[str, str, str, str]] = {
    # file, what is there, what is put there, how the field is called
    "sacct": ("sacct/duplicates.txt", r"\bann\b", LONG, "'user'"),
    "table": ("table/runs.csv", r"\bann\b", LONG, "'user'"),
    "torque": ("torque/daily/20140826", r"\buser=dbeer", f"user={LONG}", "'user'"),
    "swf": ("swf/ugly.swf", r"(?m)^( *[0-9]+ +)[0-9]+", rf"\g<1>{'1' * 100_000}", "'submit time'"),
    "wfformat": ("wfformat/diamond.json", r'"name": "[^"]*"', f'"name": "{LONG}"', "'name'"),
    "dax": ("dax/diamond.xml", r'id="ID0"', f'id="{LONG}"', "'job.id'"),
    "rumen": ("rumen/old.json", r'"user" ?: ?"[^"]*"', f'"user": "{LONG}"', "'user'"),
    "philly": ("philly/one_by_one.json", r'"user": ?"[^"]*"', f'"user": "{LONG}"', "user'"),
    "google-2019": (
        "google-2019/json/collection_events-000000000000.json",
        r'"user": ?"[^"]*"',
        f'"user": "{LONG}"',
        "'user'",
    ),
}


@pytest.mark.parametrize("form", CASES)
def test_a_text_that_is_too_long_is_named(form: str, tmp_path: Path) -> None:
    name, pattern, long, field = CASES[form]
    text, found = re.subn(pattern, long, (DATA / name).read_text("utf-8"), count=1)
    assert found, "the fixture has changed"
    source = tmp_path
    if form == "google-2019":
        for beside in (DATA / name).parent.iterdir():
            (tmp_path / beside.name).write_bytes(beside.read_bytes())
    else:
        source = tmp_path / Path(name).name
    (tmp_path / Path(name).name).write_text(text)
    with pytest.raises(TraceError) as raised:
        FORMATS[form].reader(source)
    said = str(raised.value)
    assert said.startswith(str(tmp_path / Path(name).name))
    assert re.search(r", line \d+: ", said)
    assert field in said
    assert str(LONGEST_TEXT) in said or form == "swf"
    assert len(said) < len(str(tmp_path)) + 400


def test_a_long_text_of_google_2011_is_named(tmp_path: Path) -> None:
    row = f"600000000,0,1,0,71,1,{LONG},1,9,0.1,0.1,0.1,0\n"
    part = tmp_path / "task_events" / "part-00000-of-00500.csv.gz"
    part.parent.mkdir()
    part.write_bytes(gzip.compress(row.encode()))
    with pytest.raises(TraceError, match=rf"line 1: column 'user' .* at most {LONGEST_TEXT}"):
        FORMATS["google-2011"].reader(tmp_path)

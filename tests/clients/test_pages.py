"""What pages show with other libraries runs, in smaller."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.installed import client
from tests.pages import PAGES, clients_of, run_as_printed

pytestmark = pytest.mark.filterwarnings("default")

SHOWN = "what pages show"
CODE = [code for page in PAGES for code in page.blocks("python") if clients_of(code)]
SHORTER = {
    "600_000": "2_000",
    "jobs=60_000, ": "jobs=600, ",
    "jobs=60_000,": "jobs=600,",
    "jobs=20_000": "jobs=2_000",
    "jobs=5_000": "jobs=600",
    "episodes=200": "episodes=20",
    "env_runners=2)": "env_runners=2, batch=512, minibatch=64)",
}
"""What the test changes in the lines of the pages."""


@pytest.mark.parametrize("code", CODE, ids=lambda code: " ".join(clients_of(code)))
def test_python_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in clients_of(code):
        client(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data"))
    for shown, quick in SHORTER.items():
        code = code.replace(shown, quick)
    names = run_as_printed(code)
    if "theirs" in names:
        theirs, ours = names["theirs"], names["ours"]
        returned = -theirs["episode_return_mean"] * theirs["num_episodes"]
        assert returned == pytest.approx(ours.cost)


def test_pages_show_every_client() -> None:
    assert {name for code in CODE for name in clients_of(code)} == {"minari", "mo_gymnasium", "ray"}

"""A leaderboard's site in a real browser, served by a plain web server and opened from a disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from failgym.cli.policy_facts import policy_facts
from failgym.leaderboard.site import find_submissions, write_site
from failgym.leaderboard.site.submissions import address_of
from tests.conftest import PATIENCE
from tests.leaderboard.test_site import EVIL, QUICK, board

HOSTILE = "Team <svg onload=alert(3)>"
PHONE = 390
"""Width of a telephone's screen [CSS pixels]."""


class Silent(SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("served")
    board(top / "board" / "team-a", "young", "ppo")
    board(top / "board" / HOSTILE, EVIL)
    folders = find_submissions(top / "board")
    write_site(folders, top / "www" / "deep" / "site", policy_facts, bootstrap=QUICK)
    return top / "www" / "deep" / "site"


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """Address of the site below that of a server, as a host's often is."""
    handler = partial(Silent, directory=str(site.parents[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/deep/site"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def tab(browser: Any, served: str, site: Path) -> Iterator[Any]:
    """A tab in which nothing may go wrong, and that asks nobody else for anything."""
    context = browser.new_context(viewport={"width": PHONE, "height": 800})
    context.set_default_timeout(PATIENCE)
    page, wrong, asked = context.new_page(), list[str](), list[str]()
    heard: dict[str, Callable[[Any], None]] = {
        "console": lambda said: wrong.append(f"{said.type}: {said.text}"),
        "pageerror": lambda error: wrong.append(str(error)),
        "dialog": lambda dialog: wrong.append(f"dialog: {dialog.message}"),
        "request": lambda request: asked.append(request.url),
    }
    for event, listener in heard.items():
        page.on(event, listener)
    yield page
    ours = (f"{served}/", f"{site.as_uri()}/", "data:", "blob:")
    icon = f"{served.removesuffix('/deep/site')}/favicon.ico"  # browsers ask for it unasked
    assert [url for url in asked if not url.startswith(ours) and url != icon] == []
    context.close()
    assert [line for line in wrong if "favicon" not in line and "404" not in line] == []


def fits(tab: Any) -> bool:
    return tab.evaluate("document.documentElement.scrollWidth") <= PHONE


@pytest.mark.parametrize("how", ["served", "from a disk"])
def test_a_reader_goes_to_a_card_and_back(tab: Any, served: str, site: Path, how: str) -> None:
    tab.goto(f"{served}/index.html" if how == "served" else f"{site.as_uri()}/index.html")
    tab.wait_for_selector("html[data-ready]")
    tab.locator("nav a", has_text="team-a").click()
    tab.wait_for_selector("section.card")
    assert tab.url.endswith("/submissions/team-a.html")
    assert tab.locator("section.card h2").all_inner_texts() == ["young claimed", "ppo claimed"]
    tab.locator("#contents + .scroll a", has_text="ppo").click()
    assert tab.url.endswith("#policy-2")
    assert tab.locator("#policy-2").is_visible()
    tab.get_by_role("link", name="← Leaderboard").click()
    tab.wait_for_selector("html[data-ready]")
    assert tab.url.endswith("/index.html")


def test_details_of_a_policy_lead_to_its_submission(tab: Any, served: str) -> None:
    tab.goto(f"{served}/")
    tab.wait_for_selector("html[data-ready]")
    tab.get_by_role("button", name="young", exact=True).click()
    tab.locator(".details a", has_text="team-a").click()
    tab.wait_for_selector("section.card")
    assert tab.url.endswith("/submissions/team-a.html")


def test_hostile_names_stay_text_on_every_page(tab: Any, served: str) -> None:
    tab.goto(f"{served}/index.html")
    tab.wait_for_selector("html[data-ready]")
    assert tab.locator("nav a", has_text=HOSTILE).count() == 1
    assert tab.locator("svg[onload]").count() == 0
    tab.locator("nav a", has_text=HOSTILE).click()
    tab.wait_for_selector("section.card")
    assert tab.url.endswith(f"/{address_of(HOSTILE)}")
    assert tab.locator("h1").inner_text() == HOSTILE
    assert tab.locator("section.card h2 bdi").inner_text() == EVIL
    assert tab.locator("img, svg, script").count() == 0


def test_pages_are_as_wide_as_a_telephone(tab: Any, served: str) -> None:
    for address in ("submissions/team-a.html", address_of(HOSTILE)):
        tab.goto(f"{served}/{address}")
        assert fits(tab), address
    tab.goto(f"{served}/index.html")
    tab.wait_for_selector("html[data-ready]")
    assert fits(tab)


def test_a_page_is_styled_although_its_policy_forbids_what_is_not_its_own(
    tab: Any, served: str
) -> None:
    tab.goto(f"{served}/submissions/team-a.html")
    radius = tab.evaluate("getComputedStyle(document.querySelector('section')).borderRadius")
    assert radius == "10px"

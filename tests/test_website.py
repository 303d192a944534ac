"""The site is whole: it builds without a warning, has no dead link, and needs no network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from docs.website import environments, interface, rules
from docs.website.links import HOMES, place_of, translated
from docs.website.timeline import drawn, read_log
from experiments.readme import question
from failgym.envs import FIELDS, SCENARIOS, varying_fields
from failgym.leaderboard.suite.suites import RELEASED
from tests.pages import LONGEST_SENTENCE, PAGES, TOP, sentences

BUILDS = pytest.mark.skipif(
    find_spec("mkdocs") is None or find_spec("material") is None, reason="needs the docs extra"
)
LOADED = {"script": "src", "img": "src", "link": "href", "video": "poster", "source": "src"}
"""Elements that a browser loads something for, and the attribute that says what."""


class Elements(HTMLParser):
    """What a page links to and loads, and the ids that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") != "canonical":
            self.loaded.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does, apart from the place."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def elements(site: Path) -> dict[Path, Elements]:
    """Of every page."""
    pages = (path for path in site.rglob("*.html") if path.name != "404.html")
    return {path: Elements(path.read_text("utf-8")) for path in pages}


@BUILDS
def test_no_link_is_dead(site: Path, elements: dict[Path, Elements]) -> None:
    dead: list[str] = []
    for path, found in elements.items():
        for link in (*found.links, *found.loaded):
            name, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = (path.parent / unquote(name)).resolve() if name else path
            there = target.is_file() and target.is_relative_to(site.resolve() if name else site)
            other = elements.get(target)
            if not there or (anchor and other and unquote(anchor) not in other.ids):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert dead == []


@BUILDS
def test_nothing_is_loaded_from_elsewhere(site: Path, elements: dict[Path, Elements]) -> None:
    outside = {link for found in elements.values() for link in found.loaded if ":" in link}
    assert {link for link in outside if not link.startswith("data:")} == set()


@BUILDS
def test_every_page_of_the_documentation_is_on_the_site(site: Path) -> None:
    for page in PAGES:
        place = place_of(page.name)
        assert place is not None
        name = re.sub(r"README\.md$", "index.md", place)
        assert (site / name).with_suffix(".html").is_file(), page.name


@BUILDS
def test_no_line_ends_within_an_option(site: Path) -> None:
    shown = (site / "hosting.html").read_text("utf-8")
    assert '<code class="short">--policy-command</code>' in shown
    assert "<code>--policy-command</code>" not in shown
    assert re.search(r"code\.short \{ white-space: nowrap", (site / "assets/site.css").read_text())


@BUILDS
def test_the_search_knows_environments_fields_and_names(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    text = " ".join(f"{entry['title']} {entry['text']}" for entry in index["docs"])
    for word in (*SCENARIOS, "confidence_finish", "make_sb3_env", "read_swf", "forfeited"):
        assert word in text
    assert (site / "search" / "search_index.js").is_file()  # for pages that no server sends


def complaints(shown: Any) -> list[str]:
    """What a browser's page will say on its console, and errors of its code."""
    said: list[str] = []

    def hear(one: Any) -> None:
        said.append(getattr(one, "text", str(one)))

    shown.on("console", hear)
    shown.on("pageerror", hear)
    return said


SEEN_AS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
"""Widths of a desk and of a phone [pixels], and the schemes of colours."""
FAULTS = """() => {
    const scrolls = (e) => ['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX);
    const inside = (e) => e !== null && (scrolls(e) || inside(e.parentElement));
    const past = (e) => e.getBoundingClientRect().right > innerWidth + 1;
    const within = [...document.querySelectorAll('.md-content *')];
    const wide = within.filter((e) => past(e) && !inside(e.parentElement));
    const lost = [...document.images].filter((e) => e.complete && e.naturalWidth === 0);
    return [...wide.map((e) => 'too wide: ' + e.outerHTML.slice(0, 80)),
            ...lost.map((e) => 'not loaded: ' + e.src)];
}"""
"""In a browser: what sticks out of the page and cannot be scrolled to, and pictures that fail."""


def faults(site: Path, browser: Any, names: list[str]) -> list[str]:
    """What is wrong with pages, opened from the disk on a desk and on a phone, light and dark."""
    found: list[str] = []
    for width, scheme in SEEN_AS:
        shown = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        said = complaints(shown)
        for name in names:
            shown.goto((site / name).as_uri())
            found += [f"{name}, {width}, {scheme}: {e}" for e in (*shown.evaluate(FAULTS), *said)]
            said.clear()
        shown.close()
    return found


@BUILDS
def test_a_browser_opens_pages_without_a_complaint(site: Path, browser: Any) -> None:
    names = ["index.html", "start.html", "environments/cloning_v1.html", "rules/pinned.html"]
    assert faults(site, browser, names) == []


@BUILDS
@pytest.mark.campaign
def test_a_browser_opens_every_page_without_a_complaint(site: Path, browser: Any) -> None:
    names = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    assert len(names) > 100
    assert faults(site, browser, [name for name in names if name != "404.html"]) == []


@BUILDS
@pytest.mark.parametrize(
    ("typed", "first"), [("confidence_finish", ""), ("leaderboard", "leaderboards.html")]
)
def test_the_search_finds_a_field_and_a_guide_without_a_network(
    site: Path, browser: Any, typed: str, first: str
) -> None:
    """The guide before results, rules and the interface, which have the word too."""
    shown = browser.new_page()
    shown.goto((site / "index.html").as_uri())
    shown.click("input.md-search__input")
    shown.wait_for_timeout(1_000)  # as who types later than a script
    shown.keyboard.type(typed)
    # What is marked in the page that is found: an earlier keystroke has found others.
    whole = f'.md-search-result__item a[href*="h={typed}"]'
    found = shown.wait_for_selector(whole, state="attached", timeout=60_000).get_attribute("href")
    shown.close()
    assert first in found


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_page_of_an_environment_says_all_of_it(name: str) -> None:
    text = environments.environment_page(name)
    assert question(name) in text
    docstring = environments.sections(environments.docstring(name))
    assert {"Description", "Decisions", "Rewards", "Fidelity", "Version History"} <= set(docstring)
    for head, content in docstring.items():
        told = content if head != "Version History" else content.partition(": ")[2]
        assert " ".join(told.split())[:60] in " ".join(text.split())
    varying = set(varying_fields(name))
    rows = set(re.findall(r"^\| `(\w+)` \| \w+ \|", text, re.MULTILINE))
    assert varying <= rows
    assert all(f"`{field.name}`" in text for field in FIELDS)


@pytest.mark.parametrize("name", RELEASED)
def test_the_page_of_a_released_environment_has_scores_and_a_film(name: str) -> None:
    text = environments.environment_page(name)
    assert re.search(r"^\| `replay` \| 1 \| 0\.0", text, re.MULTILINE), "scores of the suite"
    assert (TOP / "docs" / "pictures" / f"{name}.png").is_file()
    assert (TOP / "docs" / "pictures" / f"{name}.mp4").is_file()


@pytest.mark.parametrize("name", SCENARIOS)
def test_sentences_about_an_environment_are_short(name: str) -> None:
    for said in environments.sections(environments.docstring(name)).values():
        assert [words for words in sentences(said) if len(words.split()) > LONGEST_SENTENCE] == []


def test_actions_on_the_page_are_those_that_are_ever_legal() -> None:
    for name, asked, none in (
        ("GracePeriod-v1", ["0 CONTINUE", "3 KILL"], "FAILED"),
        ("Cloning-v1", ["0 CONTINUE", "1 CLONE", "3 KILL", "4 RETRY"], "OUTPUT"),
        ("Workflow-v1", ["0 CONTINUE", "4 RETRY"], "WINDOW"),
    ):
        part = environments.environment_page(name).partition("## Actions")[2].partition("## ")[0]
        assert re.findall(r"^\| `(.+?)` \|", part, re.MULTILINE) == asked
        assert f"| {none}" not in part


def test_the_rules_are_on_their_pages_word_for_word() -> None:
    for place, package in rules.REFERENCES.items():
        shown = re.sub(r"[\s*]+", " ", rules.rules_page(place))
        for line in filter(None, map(str.strip, (package.__doc__ or "").splitlines())):
            if set(line) != {"-"}:
                assert re.sub(r"[\s*]+", " ", line) in shown, line


def test_every_worked_example_has_a_picture() -> None:
    pages = rules.example_pages()
    assert len(pages) == len(list(rules.EXAMPLES.rglob("*.toml")))
    for text in pages.values():
        assert text.count("<svg") == text.count("\n## ") > 0


def test_a_timeline_shows_attempts_outages_and_decisions() -> None:
    log = """
    0 QUEUED t0/0
    5 START t0/0 m0
    20 DECISION t0/0 CHECKPOINT
    25 DURABLE t0/0
    40 MACHINE_DOWN m0
    40 END t0/0 LOST      # with its machine
    60 MACHINE_UP m0
    60 START t0/1 m0
    100 END t0/1 FINISH
    """
    made = read_log(log)
    assert [bar[:2] for bar in made.bars["t0/0"]] == [(5, 40)]
    assert [bar[:2] for bar in made.bars["t0/1"]] == [(60, 100)]
    assert [bar[:2] for bar in made.bars["m0"]] == [(40, 60)]
    assert made.waits == {"t0/0": [(0, 5)]}
    assert [mark[:2] for mark in made.marks["t0/0"]] == [(20, "S"), (25, "|")]
    assert made.end == 100
    picture = drawn(made, "a < b")
    assert picture.count("<rect") == 3
    assert 'aria-label="a &lt; b"' in picture


def test_links_lead_to_the_same_thing_on_the_site() -> None:
    text = "[a](../README.md#environments) `[b](x.md)` [c](../baselines/late.py) [d](https://e.org)"
    assert translated(text, "docs/extending.md", "extending.md") == (
        "[a](index.md#environments) `[b](x.md)` [c](source/baselines/late.py.md) [d](https://e.org)"
    )
    assert translated("[a](docs/traces.md)", "README.md", HOMES["README.md"]) == "[a](traces.md)"


def test_every_public_name_of_a_package_stands_on_one_page() -> None:
    shown = [
        home
        for package in interface.PACKAGES
        for home in re.findall(r"^::: (\S+)$", interface.interface_page(package), re.MULTILINE)
    ]
    assert len(shown) == len(set(shown)) > 100
    assert "failgym.evaluation.anchors.evaluate" in shown

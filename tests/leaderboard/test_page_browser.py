"""The leaderboard's page in a real browser: sorting, filtering, pairs, keyboard, errors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from failgym.leaderboard.page import write_page
from failgym.leaderboard.page.beside import beside, ranks_of
from failgym.leaderboard.page.cells import Field, fields_of
from failgym.leaderboard.page.prices import prices_of, ranks_at_prices
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.statistics.estimators import Runs
from failgym.leaderboard.submission.proofs import Proof, Row
from failgym.leaderboard.submission.tables import ANCHOR_BLOCKS, ANCHORS
from failgym.leaderboard.suite.account import REPLAY_ACCOUNT
from failgym.leaderboard.suite.suites import SUITES
from tests.conftest import PATIENCE
from tests.leaderboard.made_up import ENVS, entry, results, submission, with_bound

EVIL = "lab:<img src=x onerror=alert(1)></script><script>alert(2)</script>"
SKILLS: dict[tuple[str, int | None], float] = {
    ("replay", None): 0.0,
    ("young", None): 0.5,
    ("algorithm_1:clones=2", None): 0.62,
    ("blind_kill", None): -0.4,
    ("ppo", 0): 0.7,
    ("ppo", 1): 0.75,
    ("ppo", 2): 0.8,
    (EVIL, None): 0.3,
}
CHARTS = {"tradeoff": 7, "prices": 1, "profiles": 1, "slices": 1, "pair": 2}
"""Sections, and how many charts each has."""
KINDS = {"ppo": "agent", EVIL: "code"}
REASON = "no answer <b>in time</b>"


@pytest.fixture(scope="module")
def fields() -> list[Field]:
    return fields_of([made()])


def made() -> Any:
    rows = results(SKILLS, slices=16)
    failed = (rows["policy"] == EVIL) & (rows["env"] == "Lineage-v1") & (rows["slice"] < 2)
    rows.loc[failed, ["status", "reason"]] = ["timeout", REASON]
    entries = [entry(name, KINDS.get(name, "baseline"), seed) for name, seed in SKILLS]
    proofs: dict[Row, Proof] = {
        ("young", None, ENVS[0], "drawn"): "verified",
        ("replay", None, ENVS[0], "drawn"): "replayed",
        ("ppo", 1, ENVS[0], "drawn"): "verified",  # one training run of three
    }
    return replace(submission(rows, entries, "from-the-lab"), proofs=proofs)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("page") / "page.html"
    write_page([made()], path)
    return path.as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    yield from opened(browser, address)


def opened(browser: Any, address: str, **options: Any) -> Iterator[Any]:
    """A page that was opened; at the end nothing may have gone wrong in it."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(PATIENCE)
    tab, wrong, asked = context.new_page(), list[str](), list[str]()
    heard: dict[str, Callable[[Any], None]] = {
        "console": lambda said: wrong.append(f"{said.type}: {said.text}"),
        "pageerror": lambda error: wrong.append(str(error)),
        "dialog": lambda dialog: wrong.append(f"dialog: {dialog.message}"),
        "request": lambda request: asked.append(request.url),
    }
    for event, listener in heard.items():
        tab.on(event, listener)
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]")
    yield tab
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()
    assert wrong == []


def names(page: Any) -> list[str]:
    return page.locator("#table tbody th.name bdi").all_text_contents()


def column(page: Any, label: str, line: int = 0) -> list[str]:
    """First lines of the cells under a heading, or others."""
    heads = page.locator("#table > table > thead th button").all_text_contents()
    cells = page.locator(f"#table tbody tr[data-policy] > :nth-child({heads.index(label) + 1})")
    return [re.split(r"\n+", text)[line] for text in cells.all_inner_texts()]


def number(text: str) -> float:
    return float(text.replace("−", "-").removesuffix("%"))


def numbers(texts: list[str]) -> list[float]:
    return [number(text) for text in texts if text != "–"]


def interval(text: str) -> tuple[float, float, float]:
    """Of a cell with a number above its interval, and perhaps how few units that is of."""
    value, low, high = re.split(r"\n| to ", re.sub(r" \(\d+ units?\)$", "", text.strip()))
    return number(value), number(low), number(high)


def cells_of(fields: list[Field], policy: str, forecast: str = "drawn") -> list[Runs]:
    chosen = [field.cell(policy) for field in fields if field.forecast == forecast]
    return [cell.runs for cell in chosen if cell is not None]


def test_it_opens_with_the_best_policy_first(page: Any, fields: list[Field]) -> None:
    assert names(page)[0] == "ppo"
    shown = numbers(column(page, "IQM"))
    assert shown == sorted(shown, reverse=True)
    assert names(page)[-1] == EVIL, "a policy without a score in one environment comes last"
    first = page.locator("#table tbody tr[data-policy] td").first.inner_text()
    expected = Bootstrap().aggregates(cells_of(fields, "ppo"))["iqm"]
    assert interval(first) == pytest.approx(expected, abs=0.051)
    assert page.locator("#notice").is_hidden()


def test_a_click_on_a_heading_sorts_and_another_turns_the_order(page: Any) -> None:
    for label, ascending in (("Mean", False), ("Gap", True), ("Cloning-v1", False)):
        head = page.locator("#table thead th", has=page.get_by_role("button", name=label))
        for up in (ascending, not ascending):
            head.get_by_role("button").click()
            shown = numbers(column(page, label))
            assert shown == sorted(shown, reverse=not up)
            assert head.get_attribute("aria-sort") == ("ascending" if up else "descending")
    page.locator("#table thead").get_by_role("button", name="Policy").click()
    assert names(page) == sorted(names(page), key=str.lower)
    assert page.locator('th[aria-sort="ascending"], th[aria-sort="descending"]').count() == 1


def test_the_filter_finds_names_specs_and_kinds(page: Any) -> None:
    search = page.get_by_role("searchbox")
    search.fill("clones")
    assert names(page) == ["algorithm_1:clones=2"]
    assert page.locator("#count").inner_text() == "1 of 6 policies"
    search.fill("nothing like this")
    assert names(page) == []
    assert page.get_by_text("No policy to show.").is_visible()
    search.fill("")
    page.get_by_label("Kind").select_option("code")
    assert names(page) == [EVIL]
    assert page.locator("#table").get_by_text("code, unverified for foresight").is_visible()


def test_forecasts_and_environments_are_chosen(page: Any, fields: list[Field]) -> None:
    page.get_by_role("radio", name="none").check(force=True)
    [ppo] = [at for at, name in enumerate(names(page)) if name == "ppo"]
    expected = Bootstrap().aggregates(cells_of(fields, "ppo", "none"))["mean"].value
    assert numbers(column(page, "Mean"))[ppo] == pytest.approx(expected, abs=0.051)
    page.locator("#environment").select_option("Checkpoint-v1")
    score = Bootstrap().score(cells_of(fields, "ppo", "none")[2], 2)
    [at] = [at for at, name in enumerate(names(page)) if name == "ppo"]
    assert numbers(column(page, "Score"))[at] == pytest.approx(score.value, abs=0.051)
    [field] = [each for each in fields if (each.env, each.forecast) == ("Checkpoint-v1", "none")]
    cell = field.cell("ppo")
    assert cell is not None
    page.locator("#view").select_option("costs")
    share = 100.0 * cell.costs / field.replay.sum()
    shown = [number(column(page, label)[at]) for label in ("Wasted", "Completion")]
    assert shown == pytest.approx([share[0], share[2]], abs=0.051)


def field_of(fields: list[Field], env: str, forecast: str = "drawn") -> Field:
    [field] = [each for each in fields if (each.env, each.forecast) == (env, forecast)]
    return field


def test_ranks_stand_with_those_that_are_possible(page: Any, fields: list[Field]) -> None:
    drawn = [each for each in fields if each.forecast == "drawn"]
    known = [name for name, _ in SKILLS if name != EVIL]  # of which there is a score everywhere
    known = list(dict.fromkeys(known))
    wanted = dict(zip(known, ranks_of(drawn, known, Bootstrap()).astype(int), strict=True))
    shown = dict(zip(names(page), column(page, "Rank"), strict=True))
    assert {name: number(shown[name]) for name in known} == {n: wanted[n][0] for n in known}
    assert shown[EVIL] == "–"
    possible = dict(zip(names(page), page_lines(page, "Rank"), strict=True))
    for name in known:
        _, low, high = wanted[name]
        assert possible[name] == ("surely" if low == high else f"{low} to {high}")


def page_lines(page: Any, label: str) -> list[str]:
    """Second lines of the cells under a heading; "" where there is none."""
    heads = page.locator("#table > table > thead th button").all_text_contents()
    cells = page.locator(f"#table tbody tr[data-policy] > :nth-child({heads.index(label) + 1})")
    return [[*re.split(r"\n+", text), ""][1] for text in cells.all_inner_texts()]


def test_hours_tasks_and_robust_figures_are_those_of_the_rows(
    page: Any, fields: list[Field]
) -> None:
    field = field_of(fields, "Checkpoint-v1")
    page.locator("#environment").select_option("Checkpoint-v1")
    [at] = [at for at, name in enumerate(names(page)) if name == "young"]
    cell = field.cell("young")
    assert cell is not None
    saved = (field.replay.sum() - cell.costs.sum()) / 4.0  # a unit of cost is a quarter of an hour
    labels = "Machine-hours saved", "Hours saved", "Forfeited / 1,000", "Drawn"
    hours, completion, forfeited, drawn = (number(column(page, name)[at]) for name in labels)
    assert hours == pytest.approx(saved, abs=0.051)
    assert completion == pytest.approx(80.0 * saved, abs=0.51)
    per_thousand = cell.account["forfeits"] / (16 * 50) * 1000
    assert forfeited == pytest.approx(per_thousand, abs=0.051)
    assert drawn == pytest.approx(25.0)
    page.locator("#view").select_option("robust")
    assert column(page, "Winsorised")[at] == "–"
    heading = page.locator("#table thead button").get_by_text("Winsorised")
    assert "fewer than 100 blocks" in heading.get_attribute("title")
    ratio = np.log(cell.runs.by_unit().saved[0] * -1.0 / field.blocks.replay + 1.0).mean()
    assert number(column(page, "Log cost")[at]) == pytest.approx(ratio, abs=0.00051)
    scenario = SUITES["v2"].course("Checkpoint-v1").scenario()
    players = [name for name in field.outcomes if field.cell(name)]
    ranks = ranks_at_prices(field, players, scenario)[players.index("young")].astype(int)
    low, high = ranks.min(), ranks.max()
    assert column(page, "Rank at prices")[at].startswith(str(low) if low == high else f"{low} to")


def test_what_there_is_to_gain_stands_in_a_table(page: Any, fields: list[Field]) -> None:
    rows = page.locator("#room-table tbody tr")
    assert rows.count() == len(ENVS)
    page.locator("#environment").select_option("Lineage-v1")
    [row] = [each.inner_text().split("\t") for each in rows.all()]
    field = field_of(fields, "Lineage-v1")
    share = 100.0 * field.possible.sum() / field.replay.sum()
    assert row[0] == "Lineage-v1"
    assert number(row[1].removesuffix(" %")) == pytest.approx(share, abs=0.051)
    assert number(row[2].removesuffix(" %")) == pytest.approx(share / 2.0, abs=0.051)
    assert number(row[3]) == pytest.approx(field.possible.sum() / 2.0, abs=0.051)
    assert row[4:] == ["1", "800", "10.0 %", "20.0 %"]


def test_the_line_of_a_tradeoff_is_of_policies_that_none_beats_in_both(
    page: Any, fields: list[Field]
) -> None:
    page.locator("#environment").select_option("Checkpoint-v1")
    page.locator("#tradeoff").scroll_into_view_if_needed()
    page.wait_for_selector("#tradeoff .plot:nth-child(7) .main-svg")
    line = page.evaluate(
        "[...['x', 'y'].map((of) => [...document.querySelector('#tradeoff .plot').data[0][of]])]"
    )
    field = field_of(fields, "Checkpoint-v1")
    points = beside(field, list(field.outcomes))[:, [2, 0]]
    beaten = [
        any((other[0] <= x and other[1] >= y) and (other != (x, y)).any() for other in points)
        for x, y in points
    ]
    front = points[~np.array(beaten)]
    order = np.argsort(front[:, 0])
    np.testing.assert_allclose(np.transpose(line), front[order], rtol=1e-5)


def test_ranks_at_other_prices_are_drawn(page: Any, fields: list[Field]) -> None:
    page.locator("#environment").select_option("Checkpoint-v1")
    page.locator("#prices").scroll_into_view_if_needed()
    page.wait_for_selector("#prices .plot .main-svg")
    drawn = page.evaluate(
        "document.querySelector('#prices .plot').data.map(({ name, x, y }) => [name, x, [...y]])"
    )
    field = field_of(fields, "Checkpoint-v1")
    scenario = SUITES["v2"].course("Checkpoint-v1").scenario()
    players = [name for name in field.outcomes if field.cell(name)]
    ranks = ranks_at_prices(field, players, scenario)
    assert {name for name, _, _ in drawn} >= {"ppo", "young", "algorithm_1:clones=2"}
    for name, prices, places in drawn:
        assert prices == prices_of(scenario)
        assert places == ranks[players.index(name.removesuffix("†"))].tolist()


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_ranks_are_whole_numbers_and_prices_can_be_read_on_a_phone(
    browser: Any, tmp_path: Path, width: int
) -> None:
    """Of few policies the axis had 0.5 and 1.5, and prices were written askew across each other."""
    policies = ("replay", "young", "daly")
    skills: dict[tuple[str, int | None], float] = {
        (name, None): 0.3 * at for at, name in enumerate(policies)
    }
    made_of = [entry(name) for name in policies]
    write_page([submission(results(skills, slices=6), made_of)], tmp_path / "page.html")
    viewport = {"viewport": {"width": width, "height": 800}}
    for page in opened(browser, (tmp_path / "page.html").as_uri(), **viewport):
        page.locator("#environment").select_option("Checkpoint-v1")
        page.locator("#prices").scroll_into_view_if_needed()
        page.wait_for_selector("#prices .plot .main-svg")
        ranks = page.locator("#prices .ytick text").all()
        top = sorted((one.bounding_box()["y"], one.inner_html()) for one in ranks)
        assert [text for _, text in top] == ["1", "2", "3"], "the best on top"
        prices = page.locator("#prices .xtick text").all()
        lines = [one.locator("tspan").all_text_contents() or [one.inner_html()] for one in prices]
        read = [" ".join(words).replace("\u00a0", " ") for words in lines]
        assert read == prices_of(SUITES["v2"].course("Checkpoint-v1").scenario())
        boxes = [one.bounding_box() for one in prices]
        for left, right in itertools.pairwise(boxes):
            assert left["x"] + left["width"] < right["x"]
        assert boxes[0]["x"] >= 0.0
        assert boxes[-1]["x"] + boxes[-1]["width"] <= width


def test_provenance_and_failures_are_shown_as_text(page: Any) -> None:
    page.get_by_role("button", name=EVIL, exact=True).click()
    details = page.locator(".details")
    assert details.get_by_text(entry(EVIL).command, exact=True).first.is_visible()
    for text in (
        "from-the-lab",
        "as stated by the submitter",
        "numpy 2.4.6",
        "00" * 32,
        SUITES["v2"].digest,
        REASON,
    ):
        assert text in details.inner_text()
    assert page.locator("#table span.failed").inner_text() == "timeout"
    assert page.locator("img, b b, #table script").count() == 0
    assert page.locator("script").count() == 3


def test_what_is_proven_is_shown_beside_each_policy(page: Any) -> None:
    """What the verdict says, the weakest of what is in view; nothing where it says nothing."""

    def proof(policy: str) -> str:
        row = page.locator("#table tbody tr[data-policy]", has=page.get_by_text(policy, exact=True))
        return row.locator(".proof").inner_text()

    assert [proof(name) for name in ("young", "replay", "ppo")] == ["claimed", "claimed", "claimed"]
    page.locator("#environment").select_option(ENVS[0])
    assert [proof(name) for name in ("young", "replay", "ppo")] == [
        "verified",
        "replayed",
        "claimed",
    ]
    page.get_by_role("button", name="young", exact=True).click()
    said = page.locator(".details").inner_text()
    assert (
        f"verified (the policy was asked again, and every action is its own): {ENVS[0]} dr" in said
    )


def test_charts_show_the_names_of_policies_as_text(page: Any) -> None:
    page.get_by_label(f"Show {EVIL} in the charts").check()
    page.locator("#slices").scroll_into_view_if_needed()
    page.wait_for_selector("#slices .main-svg")
    labels = page.locator("#slices .ytick").all_text_contents()
    assert any(label.startswith("lab:<img src=x") for label in labels)
    assert page.locator("img[src=x]").count() == 0


def test_the_page_can_be_used_with_the_keyboard_alone(page: Any) -> None:
    focus = "document.activeElement"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate(f"{focus}.id") == "filter":
            break
    page.keyboard.type("o")
    count = len(names(page))
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate(f"{focus}.textContent") == "Mean":
            break
    page.keyboard.press("Enter")
    assert page.evaluate(f"{focus}.closest('th').ariaSort") == "descending"
    page.keyboard.press("Space")
    assert page.evaluate(f"{focus}.closest('th').ariaSort") == "ascending"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate(f"{focus}.type") == "checkbox":
            break
    before = page.evaluate(f"{focus}.checked")
    page.keyboard.press("Space")
    assert page.evaluate(f"{focus}.checked") is not before
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate(f"{focus}.ariaExpanded") == "true"
    assert page.locator(".details").count() == 1
    assert len(names(page)) == count


def pair(page: Any, a: str, b: str) -> dict[str, list[str]]:
    """Rows of the pairwise view."""
    page.locator("#pair-a").select_option(label=a)
    page.locator("#pair-b").select_option(label=b)
    page.locator("#pair").scroll_into_view_if_needed()
    page.wait_for_selector("#pair .main-svg")
    rows: dict[str, list[str]] = {}
    for row in page.locator("#pair-table tbody tr").all():
        name, *texts = [cell.inner_text() for cell in row.locator("th, td").all()]
        rows[name] = texts
    return rows


def test_one_policy_against_another(page: Any, fields: list[Field]) -> None:
    rows = pair(page, "ppo", "young")
    x, y = cells_of(fields, "ppo"), cells_of(fields, "young")
    assert list(rows) == ["Mean of 6", *ENVS]
    expected = Bootstrap().difference(x, y)
    found = interval(rows["Mean of 6"][2])
    assert found[0] == pytest.approx(expected.value, abs=0.051)
    wide = expected.high - expected.low
    assert found[1:] == pytest.approx(expected[1:], abs=0.15 * wide)
    better = Bootstrap().probability_of_improvement(x, y)
    shown = interval(rows["Mean of 6"][3].replace(" %", ""))
    assert shown[0] == pytest.approx(100 * better.value, abs=0.051)
    assert shown[1:] == pytest.approx([100 * better.low, 100 * better.high], abs=4.0)
    one = Bootstrap().difference(x[1:2], y[1:2], first=1)
    assert interval(rows["GracePeriod-v1"][2])[0] == pytest.approx(one.value, abs=0.051)
    assert "A, ppo, scores more than B, young," in page.locator("#verdict").inner_text()


def test_a_pair_is_swapped_and_a_policy_meets_itself(page: Any) -> None:
    forth = pair(page, "ppo", "young")
    page.get_by_role("button", name="Swap A and B").click()
    back = page.locator("#pair-table tbody tr").first.locator("td").nth(2).inner_text()
    assert interval(back)[0] == -interval(forth["Mean of 6"][2])[0]
    same = pair(page, "replay", "replay")
    assert interval(same["Mean of 6"][2]) == (0.0, 0.0, 0.0)
    assert same["Mean of 6"][3].startswith("50.0 %")
    assert list(pair(page, "young", EVIL)) == [
        "Mean of 5",
        *(env for env in ENVS if env != "Lineage-v1"),
    ]


def test_profiles_are_those_of_the_estimators(page: Any, fields: list[Field]) -> None:
    page.locator("#profiles").scroll_into_view_if_needed()
    page.wait_for_selector("#profiles .main-svg")
    drawn = page.evaluate(
        "document.querySelector('#profiles .plot').data.map(({x, y, name}) => ({x, y, name}))"
    )
    low, high, value = [each for each in drawn if each["name"] == "ppo"]
    expected = Bootstrap().profile(cells_of(fields, "ppo"), np.array(value["x"], dtype=float))
    assert value["y"] == pytest.approx(expected.value, abs=1e-6)
    assert low["y"] == pytest.approx(expected.low, abs=0.05)
    assert high["y"] == pytest.approx(expected.high, abs=0.05)


def test_traces_are_drawn_before_their_slices(browser: Any, tmp_path: Path) -> None:
    parts: list[pd.DataFrame] = []
    for at in range(5):
        worse = {key: skill - 0.15 * at * (key[0] == "ppo") for key, skill in SKILLS.items()}
        parts.append(results(worse, slices=8, seed=at).assign(seed=at))
    rows = pd.concat(parts, ignore_index=True)
    entries = [entry(name, KINDS.get(name, "baseline"), seed) for name, seed in SKILLS]
    source = submission(rows, entries)
    fields = fields_of([source])
    assert fields[0].blocks.trace.tolist() == np.repeat(np.arange(5), 7).tolist()
    assert fields[0].units.trace.tolist() == np.repeat(np.arange(5), 4).tolist()
    x, y = cells_of(fields, "ppo"), cells_of(fields, "young")
    expected = Bootstrap().difference(x, y)
    width = expected.high - expected.low
    each = [runs._replace(units=None, blocks=None) for runs in x]
    other = [runs._replace(units=None, blocks=None) for runs in y]
    alone = Bootstrap().difference(each, other)
    assert width > 1.5 * (alone.high - alone.low)
    write_page([source], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        shown = pair(page, "ppo", "young")["Mean of 6"]
        assert interval(shown[2]) == pytest.approx(expected, abs=0.12 * width)
        better, chance = Bootstrap().probability_of_improvement(x, y), interval(shown[3])
        assert chance == pytest.approx([100 * number for number in better], abs=4.0)
        test_profiles_are_those_of_the_estimators(page, fields)


def test_every_chart_is_drawn_and_follows_the_choice(page: Any) -> None:
    for name, plots in CHARTS.items():
        page.locator(f"#{name}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#{name} .plot:nth-child({plots}) .main-svg")
    buttons = page.locator("#tradeoff .plot").first.locator(".modebar-btn").all()
    titles = [button.get_attribute("data-title") for button in buttons]
    assert len(titles) == 4, "the chart library's own, but for those that send data elsewhere"
    page.get_by_role("button", name="Remove ppo from the charts").click()
    page.locator("#slices").scroll_into_view_if_needed()
    label = page.locator("#slices .ytick").get_by_text("ppo", exact=True)
    label.wait_for(state="detached")
    assert not page.get_by_label("Show ppo in the charts").is_checked()


def test_the_theme_is_the_systems_until_it_is_chosen(browser: Any, address: str) -> None:
    for page in opened(browser, address, color_scheme="dark"):
        paper = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(paper)
        page.get_by_role("button", name="Theme").click()
        light = page.evaluate(paper)
        assert light != dark
        page.get_by_role("button", name="Theme").click()
        assert page.evaluate(paper) == dark
        page.emulate_media(color_scheme="light")
        page.get_by_role("button", name="Theme").click()
        assert page.evaluate(paper) == light


def test_a_phone_shows_it_without_scrolling_sideways(browser: Any, address: str) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
    for page in opened(browser, address, **phone):
        for name in CHARTS:
            page.locator(f"#{name}").scroll_into_view_if_needed()
            page.wait_for_selector(f"#{name} .main-svg")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360
        page.get_by_role("button", name="ppo", exact=True).first.tap()
        assert page.locator(".details").is_visible()


def test_policies_made_for_one_environment_are_ranked_there(browser: Any, tmp_path: Path) -> None:
    everywhere = results({("replay", None): 0.0}, slices=4)
    here = results({("young", None): 0.5, ("daly", None): 0.4}, envs=ENVS[2:3], slices=4)
    anchors = ["env", "forecast", "slice", *ANCHORS, *ANCHOR_BLOCKS, *REPLAY_ACCOUNT]
    here = here.drop(columns=anchors[3:]).merge(everywhere[anchors], on=anchors[:3])
    made_for_one = [entry(name) for name in ("replay", "young", "daly")]
    both = pd.concat([everywhere, here], ignore_index=True)
    write_page([submission(both, made_for_one)], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        assert page.locator("#environment").input_value() == ENVS[2]
        assert len(names(page)) == 3
        page.locator("#environment").select_option(ENVS[0])
        assert names(page) == ["replay"], "the others were not played here"
        page.locator("#environment").select_option("")
        assert column(page, "IQM") == ["0.0", "–", "–"]
        assert page_lines(page, "Rank")[1:] == ["no score in 5 of 6"] * 2
        why = page.locator("#table tbody small", has_text="no score").first.get_attribute("title")
        assert why.startswith(f"No rank over all: not played in {ENVS[0]}, not played in {ENVS[1]}")
        assert "2 policies have no rank" in page.locator("#meaning").inner_text()


def test_a_policy_without_a_rank_over_all_says_why(browser: Any, tmp_path: Path) -> None:
    rows = results({("replay", None): 0.0, ("young", None): 0.5, ("daly", None): 0.4}, slices=12)
    failed = (rows["policy"] == "daly") & (rows["env"] == ENVS[3]) & (rows["slice"] == 2)
    rows.loc[failed, ["status", "reason"]] = ["timeout", REASON]
    rows = rows[(rows["env"] != ENVS[4]) | (rows["policy"] != "young")].reset_index(drop=True)
    made_of = [entry(name) for name in ("replay", "young", "daly")]
    write_page([submission(rows, made_of)], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        page.locator("#environment").select_option("")
        said = dict(zip(names(page), page_lines(page, "Rank"), strict=True))
        assert said["young"] == f"not played in {ENVS[4]}"
        assert said["daly"] == f"timeout in {ENVS[3]}"
        assert "in" not in said["replay"].split()
        assert "2 policies have no rank" in page.locator("#meaning").inner_text()
        page.locator("#filter").fill("young")
        assert "1 policy has no rank" in page.locator("#meaning").inner_text()
        page.locator("#filter").fill("replay")
        assert "no rank" not in page.locator("#meaning").inner_text()


def barren(*envs: str, slices: int = 3, room: float = 1e-3) -> Any:
    """A submission of replay and a policy that harms, with next to nothing to gain in some."""
    rows = results({("replay", None): 0.0, ("young", None): 0.5}, slices=slices)
    rows = rows[rows["forecast"] == "none"]
    least = rows["replay_cost"] - room * rows["replay_spent"]
    rows = with_bound(rows, rows["bound_cost"].where(~rows["env"].isin(envs), least))
    return submission(rows, [entry("replay"), entry("young")])


def test_where_there_is_nothing_to_gain_it_says_so_instead_of_a_score(
    browser: Any, tmp_path: Path
) -> None:
    write_page([barren(ENVS[0], slices=16)], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        assert set(column(page, ENVS[0])) == {"nothing to gain here"}
        meaning = page.locator("#meaning").inner_text()
        assert re.search(f"{ENVS[0]}: nothing to gain here: the bound saves .*0.10 %", meaning)
        assert "over 5 environments" in meaning
        assert ENVS[0] not in pair(page, "young", "replay")
        page.get_by_role("button", name="young", exact=True).first.click()
        assert "nothing to gain here" in page.locator(".details").inner_text()


def test_scores_over_little_room_are_marked(browser: Any, tmp_path: Path) -> None:
    write_page([barren(ENVS[0], slices=16, room=0.03)], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        assert all(text.endswith("*") for text in column(page, ENVS[0]))
        assert not any("*" in text for text in column(page, ENVS[1]))
        meaning = page.locator("#meaning").inner_text()
        assert f"* {ENVS[0]}: the bound saves 3.0 % of what replay spends, less than 5 %" in meaning
        assert f"* {ENVS[1]}" not in meaning
        assert f"* IQM, mean, median, gap and rank hold {ENVS[0]}, too. " in meaning
        heads = page.locator("#table thead th button").all_inner_texts()
        over_all = ["IQM*", "Mean*", "Median*", "Gap*", "Rank*"]
        assert [re.sub(r"[ ↓↑\n]", "", text) for text in heads] == ["Policy", *over_all, *ENVS]
        title = page.locator("#table thead button", has_text="Mean").get_attribute("title")
        assert title.endswith(f"It holds {ENVS[0]}, where there is little to gain")
        page.locator("#environment").select_option(ENVS[0])
        assert "Score" in page.locator("#table thead th button").all_inner_texts()[1]
        assert "hold" not in page.locator("#meaning").inner_text()
        page.locator("#environment").select_option("")
        both = pair(page, "young", "replay")
        assert [text.endswith("*") for text in both[ENVS[0]][:2]] == [True, True]
        assert not any("*" in text for text in (*both[ENVS[1]], *both["Mean of 6"]))


def test_an_interval_of_few_units_is_marked(browser: Any, tmp_path: Path) -> None:
    write_page([barren(slices=2)], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        for label in (ENVS[1], "IQM", "Gap"):
            assert all(text.endswith("(2 units)") for text in column(page, label, line=1))
        rows = pair(page, "young", "replay")
        better = {name: texts[3] for name, texts in rows.items()}
        assert any(text.startswith("100.0 %") for text in better.values())
        assert all(text.endswith("(2 units)") for text in better.values())
        for text in better.values():
            value, low, high, _ = re.split(r" %\n| to | \(", text)
            assert float(value) not in (0.0, 100.0) or float(low) < float(high)
        assert "fewer than 10 units" in page.locator("#meaning").inner_text()


def test_nothing_on_the_page_is_above_the_bound(browser: Any, tmp_path: Path) -> None:
    """Two slices of unequal room: stretched, the interval of a good score would end above 100."""
    rows = results({("young", None): 0.9, ("daly", None): 0.1}, slices=2)
    write_page([submission(rows, [entry("young"), entry("daly")])], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        for label in ("IQM", "Mean", "Median", *ENVS):
            for text in column(page, label, line=1):
                assert number(re.split(r" to | \(", text)[1]) <= 100.0


def test_where_nothing_can_be_saved_anywhere_the_page_still_opens(
    browser: Any, tmp_path: Path
) -> None:
    rows = results({("replay", None): 0.0}, envs=ENVS[:1], slices=3)
    rows = with_bound(rows, rows["replay_cost"])
    write_page([submission(rows, [entry("replay")])], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        assert names(page) == ["replay"]
        assert set(column(page, "Score")) == {"nothing to gain here"}
        page.get_by_label("Show replay in the charts").check()
        for name in CHARTS:
            page.locator(f"#{name}").scroll_into_view_if_needed()
            page.wait_for_selector(f"#{name} .main-svg")


def test_a_page_that_is_broken_says_so(browser: Any, address: str, tmp_path: Path) -> None:
    whole = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(re.sub(r'(id="content">.{2000})[^<]*', r"\1", whole), encoding="utf-8")
    tab = browser.new_page()
    tab.goto(broken.as_uri())
    tab.wait_for_function(
        "document.getElementById('notice').textContent.includes('cannot be read')"
    )
    tab.close()


def test_all_charts_are_there_without_being_scrolled_to(page: Any) -> None:
    """So a picture of the whole page has them."""
    assert page.evaluate("scrollY") == 0
    for name, plots in CHARTS.items():
        assert page.locator(f"#{name} .plot:has(.main-svg)").count() == plots
    page.get_by_role("button", name="Remove ppo from the charts").click()
    label = page.locator("#slices .ytick").get_by_text("ppo", exact=True)
    label.wait_for(state="detached")


def test_the_table_of_an_environment_is_printed_with_all_columns(page: Any) -> None:
    """On paper nobody can scroll: what does not fit would be lost."""
    page.locator("#environment").select_option("Checkpoint-v1")
    page.set_viewport_size({"width": 660, "height": 1000})  # as narrow as paper is
    widths = "(e => [e.clientWidth, e.scrollWidth])(document.querySelector('#table'))"
    within, needed = page.evaluate(widths)
    assert needed > within, "on a screen it is scrolled sideways"
    page.emulate_media(media="print")
    within, needed = page.evaluate(widths)
    assert 0 < needed <= within


def test_charts_fit_the_paper_while_it_is_printed(page: Any) -> None:
    widths = "[...document.querySelectorAll('.plot .main-svg')].map((svg) => svg.clientWidth)"
    body = "document.body.clientWidth"
    page.evaluate(f"addEventListener('beforeprint', () => (window.printed = [{widths}, {body}]))")
    before = page.evaluate(widths)
    page.pdf()
    printed, paper = page.evaluate("printed")
    assert 0 < min(printed) <= max(printed) <= paper < 1_000
    assert page.evaluate(widths) == before, "afterwards they fit the window again"


def test_what_is_chosen_stands_in_the_address(browser: Any, page: Any, address: str) -> None:
    assert page.url == address, "as it opens there is nothing to say"
    page.get_by_label("none", exact=True).check(force=True)
    page.locator("#environment").select_option(ENVS[1])
    page.locator("#view").select_option("robust")
    page.locator("#filter").fill("o")
    page.locator("#table thead").get_by_role("button", name="Policy").click()
    page.get_by_role("button", name="Remove ppo from the charts").click()
    page.locator("#pair-a").select_option(label="young")
    chips = page.locator("#chosen button").all_inner_texts()
    assert page.url.startswith(f"{address}#")
    for other in opened(browser, page.url):
        assert names(other) == names(page)
        assert other.locator("#chosen button").all_inner_texts() == chips
        assert other.get_by_label("none", exact=True).is_checked()
        for control in ("environment", "view", "filter", "pair-a", "pair-b"):
            there, here = (tab.locator(f"#{control}").input_value() for tab in (other, page))
            assert there == here
        heads = [tab.locator("#table thead th[aria-sort=ascending]") for tab in (other, page)]
        assert heads[0].inner_text() == heads[1].inner_text()
        assert other.locator("#verdict").inner_text() == page.locator("#verdict").inner_text()


def test_an_address_that_is_pasted_is_followed_and_nonsense_in_it_is_left_out(page: Any) -> None:
    page.evaluate(f"location.hash = 'env={ENVS[2]}&find=young'")
    page.wait_for_function("document.querySelector('#filter').value === 'young'")
    assert names(page) == ["young"]
    assert page.locator("#environment").input_value() == ENVS[2]
    nonsense = "env=Nowhere-v9&forecast=x&view=constructor&pair=1+99&charts=0+a+-1&sort=%3C"
    page.evaluate(f"location.hash = '{nonsense}'")
    page.wait_for_function("document.querySelector('#filter').value === ''")
    assert page.locator("#environment").input_value() == ""
    assert len(names(page)) == len({name for name, _ in SKILLS})
    page.evaluate("location.hash = 'table'")
    assert page.locator("#filter").input_value() == ""


def test_it_opens_where_one_policy_is_surely_first(browser: Any, tmp_path: Path) -> None:
    """Each of two is far ahead in one environment; of all together nobody knows which is first."""
    skills: dict[tuple[str, int | None], float] = dict.fromkeys(
        [("replay", None), ("young", None), ("daly", None)], 0.5
    )
    skills["replay", None] = 0.0
    parts: list[pd.DataFrame] = []
    for seed in range(5):  # of one trace there are fewer than ten blocks, which say little
        for env in ENVS:
            ahead = {ENVS[1]: {("young", None): 0.9}, ENVS[2]: {("daly", None): 0.9}}.get(env, {})
            there = results({**skills, **ahead}, slices=30, seed=seed)
            parts.append(there[there["env"] == env].assign(seed=seed))
    rows = pd.concat(parts)
    rows = rows.reset_index(drop=True)
    write_page([submission(rows, [entry(name) for name, _ in skills])], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        assert page.locator("#environment").input_value() == ENVS[1]
        assert (names(page)[0], column(page, "Rank", line=1)[0]) == ("young", "surely")
        assert "where one policy is surely first" in page.locator("#meaning").inner_text()
        page.locator("#environment").select_option("")
        assert "surely first" not in page.locator("#meaning").inner_text()
        assert column(page, "Rank", line=1)[0] == "1 to 2"


def test_all_says_of_how_many_environments_it_is(browser: Any, tmp_path: Path) -> None:
    rows = results({("replay", None): 0.0, ("young", None): 0.5}, slices=12)
    rows = rows[(rows["env"] != ENVS[0]) | (rows["forecast"] != "drawn")].reset_index(drop=True)
    write_page([submission(rows, [entry("replay"), entry("young")])], tmp_path / "page.html")
    for page in opened(browser, (tmp_path / "page.html").as_uri()):
        label = page.locator("#environment option").first
        page.get_by_label("drawn", exact=True).check(force=True)
        page.locator("#environment").select_option("")
        assert label.inner_text() == "5 of 6: all with these forecasts"
        assert f"Without {ENVS[0]}: not played" in page.locator("#meaning").inner_text()
        page.get_by_label("none", exact=True).check(force=True)
        assert label.inner_text() == "All 6"
        assert "Without" not in page.locator("#meaning").inner_text()

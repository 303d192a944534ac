"""`compare` on outages: counted in another way, with jobs beside them or without."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from failgym.cli import run
from failgym.comparison import Comparison, compare
from failgym.comparison.outage_rows import ROWS
from failgym.comparison.outages import BURST, Observed, observed
from failgym.traces import Meta, Trace, TraceError, twin, with_outages
from failgym.traces.describe.fits import fit_weibull
from failgym.vocabulary import DAY, HOUR, MINUTE
from tests.traces.outage_logs import MACHINES, WEEKS, outage_log
from tests.traces.recurring import recurring

APART = "told apart: outages by gaps of machine and cluster, repair, hour, day"


@pytest.fixture(scope="module")
def log() -> Trace:
    return outage_log()


@pytest.fixture(scope="module")
def found(log: Trace) -> Comparison:
    return compare(log, log, twin(log, seed=1, part="all"), outage_log(9, bursts=False))


def value(found: Comparison, what: str, of: int = 0) -> float:
    row = found.row(f"outages: {what}")
    return (row.reference, *row.others)[of].value


def few(times: list[tuple[int, float, float]], machines: int = 4) -> Trace:
    """Outages of (machine, down, up) [min], in a log of 100 minutes."""
    machine, down, up = zip(*times, strict=True)
    return Trace.of(
        Meta("few", end=100 * MINUTE),
        machines={"original_id": [str(at) for at in range(machines)], "speed": 1.0},
        outages={
            "machine": list(machine),
            "down": [int(time * MINUTE) for time in down],
            "up": [int(time * MINUTE) for time in up],
        },
    )


def test_what_is_seen_of_a_few_outages() -> None:
    seen = Observed.of(few([(0, 10, 12), (1, 14, 20), (2, 19, 30), (0, 40, 41), (0, 44, 50)]))
    assert (seen.begin, seen.end, seen.machines) == (10 * MINUTE, 100 * MINUTE, 4)
    assert (seen.since_last(True) // MINUTE).tolist() == [-1, -1, -1, 30, 4]
    assert (seen.since_last(False) // MINUTE).tolist() == [-1, 4, 5, 21, 4]
    chain, several = seen.bursts()
    assert chain.tolist() == [0, 0, 0, 1, 1]
    assert several.tolist() == [True, True, True, False, False]  # one machine twice is no burst
    assert seen.bursts(BURST - MINUTE)[1].tolist() == [True, True, False, False, False]
    assert seen.repair.tolist() == [time * MINUTE for time in (2, 6, 11, 1, 6)]
    short = seen.during(15 * MINUTE)
    assert (short.down // MINUTE).tolist() == [10, 14, 19]
    assert short.ended.tolist() == [True, True, False]  # that one ends after what is looked at


def test_rows_are_those_of_a_loop(log: Trace, found: Comparison) -> None:
    of: dict[int, list[int]] = {}
    down = log.column("outages", "down").tolist()
    up = log.column("outages", "up", missing=-1).tolist()
    machine = log.column("outages", "machine").tolist()
    for one, time in sorted(zip(machine, down, strict=True), key=lambda pair: pair[1]):
        of.setdefault(one, []).append(time)
    gaps = [b - a for times in of.values() for a, b in pairwise(times)]
    span = log.meta.end - min(down)  # type: ignore[operator]
    repairs = [b - a for a, b in zip(down, up, strict=True) if b > a]
    most = sorted((len(times) for times in of.values()), reverse=True)[: MACHINES // 10]
    assert found.days == pytest.approx(span / DAY, abs=0.02)  # that of the shortest
    assert value(found, "of a machine in a year") == pytest.approx(
        len(down) / MACHINES / (span / (365.25 * DAY)), rel=0.001
    )
    assert value(found, "share of the tenth of the machines that fail most") == pytest.approx(
        sum(most) / len(down)
    )
    assert value(found, "median gap between two of a machine [days]") == pytest.approx(
        float(np.median(gaps)) / DAY, rel=0.01
    )
    assert value(found, "gaps between two of a machine, coefficient of variation") == pytest.approx(
        float(np.std(gaps) / np.mean(gaps))
    )
    fit = fit_weibull(gaps)
    assert fit is not None
    assert value(found, "gaps between two of a machine, Weibull shape") == pytest.approx(fit.shape)
    assert value(found, "median repair [min]") == pytest.approx(
        np.median(repairs) / MINUTE, rel=0.02
    )
    assert value(found, "standard deviation of log repair") == pytest.approx(
        np.std(np.log(repairs))
    )


def test_bursts_are_seen_where_there_are_some(found: Comparison) -> None:
    with_bursts, without = (
        value(found, "share in bursts of several machines", at) for at in (0, 3)
    )
    assert with_bursts > 0.55
    assert without < 0.05
    assert value(found, "machines hit by a burst, mean") == pytest.approx(5.0, abs=0.3)


def test_successive_weeks_are_alike_where_failures_grow_fewer(found: Comparison) -> None:
    assert value(found, "log number in successive weeks, correlation") > 0.2


def test_outages_are_not_told_apart_from_themselves(found: Comparison) -> None:
    same, like, other = found.row(APART).others
    assert same.value < 0.55
    assert like.value < 0.75
    assert other.value > 0.7


def test_values_lie_in_their_intervals(found: Comparison) -> None:
    every = [one for row in found.rows for one in (row.reference, *row.others)]
    known = [one for one in every if not np.isnan(one.low)]
    assert len(known) > 40
    assert all(one.low <= one.value <= one.high for one in known)


def test_times_and_numbers_are_compared_by_their_ratio(found: Comparison) -> None:
    by_ratio = {row.what for row in found.rows if row.by_ratio}
    assert {what for what in ROWS if "[" in what} < by_ratio
    assert not any("share" in what or "correlation" in what for what in by_ratio)


def test_equal_lengths_of_time_are_compared(log: Trace) -> None:
    short = outage_log(2, weeks=20)
    one, other = observed([log, short])
    assert one is not None
    assert other is not None
    assert one.length == other.length <= 20 * 7 * DAY
    assert compare(log, short).days == one.length / DAY


def test_jobs_are_left_out_where_there_are_none_and_it_says_why(found: Comparison) -> None:
    assert found.jobs == 0
    assert all("outages" in row.what for row in found.rows)
    [why] = found.left_out
    assert "outages by rule: 0 jobs came after its data began, expected at least 100" in why


def test_a_trace_without_outages_beside_one_that_has_some(log: Trace) -> None:
    jobs = recurring(400, days=60)
    both = with_outages(jobs, log, align="start")
    for first, second in ((both, jobs), (jobs, both)):
        made = compare(first, second)
        assert made.jobs > 300
        assert made.days > 50
        row = made.row("outages: median repair [min]")
        values = {first.meta.source: row.reference.value, second.meta.source: row.others[0].value}
        assert values[both.meta.source] > 10
        assert np.isnan(values[jobs.meta.source])
        assert np.isnan(made.row(APART).others[0].value)
        assert made.left_out == (
            "by rule: fewer than 100 outages to compare: no values on outages",
        )


def test_without_outages_nothing_is_said_of_them() -> None:
    made = compare(recurring(300), recurring(300, 1))
    assert made.days == 0
    assert not made.left_out
    assert not any("outages" in row.what for row in made.rows)


def test_jobs_alone_and_outages_alone_have_nothing_in_common(log: Trace) -> None:
    said = r"0 jobs came after its data began.*; by rule: fewer than 100 outages to compare"
    with pytest.raises(TraceError, match=said):
        compare(log, recurring(300))


def test_rules_are_not_ranked_on_outages_alone(log: Trace) -> None:
    with pytest.raises(TraceError, match="0 jobs came after its data began"):
        compare(log, log, environments=["failgym/GracePeriod-v1"])


def test_boosted_trees_run_one_thread(log: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_info

    seen: list[int] = []
    fit = HistGradientBoostingClassifier.fit

    def counted(*given: object, **named: object) -> object:
        seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp")
        return fit(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", counted)
    compare(log, log)
    assert seen
    assert set(seen) == {1}


def test_the_commands_make_and_compare(
    log: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log.save(tmp_path / "log")
    folders = [str(tmp_path / "log"), str(tmp_path / "twin")]
    made = ["--whole", "--days", "300", "--seed", "4", "--out", folders[1]]
    assert run(["trace", "twin", folders[0], *made]) == 0
    assert (
        Trace.load(folders[1]).content_hash == twin(log, days=300, seed=4, part="all").content_hash
    )
    file = tmp_path / "found.json"
    capsys.readouterr()
    assert run(["trace", "compare", *folders, "--json", str(file)]) == 0
    text = capsys.readouterr().out
    assert "days of outages of each" in text
    assert "left out: outages by rule: 0 jobs came after its data began" in text
    document = json.loads(file.read_text("utf-8"))
    assert document["jobs"] == 0
    assert 290 < document["days_of_outages"] <= 300
    assert len(document["left_out"]) == 1
    assert [row["what"] for row in document["rows"]] == [*ROWS, APART]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--jobs", "5"], "jobs is 5: outages by rule has outages alone, so say how many days"),
        (["--days", "-1"], "days is -1, expected more than 0"),
    ],
)
def test_bad_lengths_are_one_line(
    log: Trace, tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log.save(tmp_path / "log")
    assert run(["trace", "twin", str(tmp_path / "log"), "--out", str(tmp_path / "t"), *more]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.strip().splitlines()) == 1


def test_hours_are_those_of_the_calendar(log: Trace) -> None:
    frame = Observed.of(log).frame()
    assert frame["hour"].between(8.0, 18.0).all()  # time 0 is a midnight
    assert frame["weekday"].between(0.0, 7.0, inclusive="left").all()
    assert (Observed.of(log).end - 7 * WEEKS * DAY) < HOUR

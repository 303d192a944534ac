"""The report as one HTML file: no program, nothing from elsewhere, printable."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from importlib.resources import files

from failgym.assessment.advice import (
    a_period,
    few_folds,
    later_half,
    shown_hours,
    surely,
    worth_advising,
)
from failgym.assessment.assess import Assessment
from failgym.assessment.happened import Group, Happened
from failgym.assessment.judging import VALUES, Judged

__all__ = ["page"]

OTHER_VALUES = tuple(f"{factor:g}" for factor in VALUES if factor != 1.0)
"""Factors of the value of a task that savings are shown at beside."""
WIDE = 5
"""Columns from above which each row of a table is a list of its own on a phone."""
MONEY = 6
"""Column of the table of rooms that needs a price."""
OWN = 3
"""Column of the table of groups that says how much of their own machine-time they wasted."""
LONG = 48
"""Letters of a name that are shown; some sites give hashes for names."""
MUCH = 0.1
"""Share of the machine-time of tasks that the data cuts off from which on it is told first."""
BEYOND = 1.0
"""How far lines are drawn beyond what bars span, as a multiple of that."""
MARGIN = 0.02
"""What is left free above and below, likewise."""
MANY = 100
"""Stretches of time from which on there is no room between them."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_WORDS = {
    "FINISH": "finished",
    "FAIL": "failed",
    "KILL": "killed",
    "EVICT": "evicted",
    "LOST": "fate not recorded",
    "CENSORED": "cut off by the end of the data",
}


def page(found: Assessment) -> str:
    """The report, as the text of an HTML file."""
    style = (files("failgym.assessment") / "web" / "report.css").read_text(encoding="utf-8")
    parts = (
        _header(found),
        _advice(found),
        _tiles(found),
        _happened(found.happened),
        _rooms(found),
        _policies(found),
        _limits(found),
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Assessment of {escape(found.trace)}</title>\n<style>\n{style}</style>\n</head>\n"
        "<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _header(found: Assessment) -> str:
    what = found.happened
    when = _span(what)
    return (
        f"<header><h1>What could have been saved on {escape(found.trace)}</h1>"
        f'<p class="muted">{what.size}, {when}. '
        f"Read from {escape(what.source)}.</p></header>"
    )


def _span(what: Happened) -> str:
    begin = _date(what, 0)
    return what.length if begin is None else f"{what.length} from {begin:%Y-%m-%d} (UTC)"


def _date(what: Happened, number: int) -> datetime | None:
    """When a stretch of time begins; None where nobody knows, or no calendar reaches."""
    if what.unix_origin is None:
        return None
    try:
        moment = timedelta(milliseconds=what.unix_origin + what.periods[number].start)
        return datetime.fromtimestamp(0, UTC) + moment
    except OverflowError:
        return None


def _moment(what: Happened, number: int) -> str:
    """When a stretch of time begins: its date if that is known, else its number."""
    date = _date(what, number)
    if date is None:
        return f"{what.period} {number + 1}"
    return f"{date:%Y-%m-%d}" if what.period != "hour" else f"{date:%Y-%m-%d %H:%M}"


def _advice(found: Assessment) -> str:
    advice = found.advice
    assert advice is not None, "an assessment that is shown has been judged"
    evidence = _list(escape(each) for each in advice.evidence)
    return f'<section class="advice"><strong>{escape(advice.text)}</strong>{evidence}</section>'


def _tiles(found: Assessment) -> str:
    what = found.happened
    tiles = [
        (shown_hours(what.hours), "machine-hours recorded"),
        (
            _percent(what.wasted_share),
            "of the machine-time of tasks whose end is known was wasted" + _cut_off(what),
        ),
    ]
    if found.rooms:
        most = max(found.rooms, key=lambda room: room.hours)
        tiles.append(
            (
                f"{shown_hours(most.hours)} h",
                f"or {_percent(most.of_whole)} of the machine-time of tasks whose end is known"
                f" could have been saved at most, net, on {later_half(most.folds)}, by somebody who"
                f" knew how every task ends{_more_than_all(found, most.of_whole)}"
                f"{_worth(found, most.machine_hours)}",
            )
        )
    best = _best(found)
    if best is not None:
        which = "which is advised" if _is_advised(found, best) else "the best in hindsight"
        gains = best.saved > 0.0
        value = f"{shown_hours(best.saved)} h" if gains else "no rule"
        what_of = (
            f"or {_percent(best.share)} of what its tasks used: so much would the rule"
            f" {best.policy}, {which}, have saved on {later_half(best.folds)}, net"
            f"{_worth(found, best.machine_hours)}"
        )
        none = "that was tried would have saved anything with a measure that is worth looking at"
        tiles.append((value, what_of if gains else none))
    shown = "".join(f'<div class="tile"><b>{a}</b>{escape(b)}</div>' for a, b in tiles)
    net = _NET.format(value=f"{found.task_value:g}")
    note = f'<p class="muted note">{net}</p>' if found.rooms else ""
    return f'<div class="tiles">{shown}</div>{note}'


def _more_than_all(found: Assessment, share: float) -> str:
    """Why more can be saved than there is, for a tile; "" where it cannot."""
    if share <= 1.0:
        return ""
    return (
        f"; it is more than all of that, since a task that finishes only then counts"
        f" {found.task_value:g} times its machine-time"
    )


def _best(found: Assessment) -> Judged | None:
    """The policy that is advised, else the one that saves most under the measures it could be of.

    None where no policy acts under one of these.
    """
    worth = worth_advising(found.rooms)
    acting = [each for each in found.judged if each.acts and each.kind != "chosen"]
    advised = [each for each in acting if _is_advised(found, each)]
    rest = [each for each in acting if each.measure in worth]
    return max(advised or rest, key=lambda each: each.saved, default=None)


def _is_advised(found: Assessment, each: Judged) -> bool:
    return found.advice is not None and found.advice.is_of(each)


def _cut_off(what: Happened) -> str:
    """Of how much machine-time the end is not known, for a tile; "" of little."""
    share = what.unknown / what.hours if what.hours > 0.0 else 0.0
    return f"; of {_percent(share)} of all nobody knows the end" if share >= MUCH else ""


def _happened(what: Happened) -> str:
    parts = [("useful", what.useful), ("wasted", what.wasted), ("unknown", what.unknown)]
    return (
        "<section><h2>What happened</h2>"
        f"<p>{_outcomes(what)}</p>"
        f"{_bar(parts)}{_key(parts)}{_gpus(what)}"
        f"<h3>Machine-time by {what.period}</h3>{_weeks(what)}"
        f"{_burst(what)}"
        "<h3>Why machine-time was wasted</h3>"
        f"{_groups(what.causes, 'attempts ended because', causes=True)}"
        f"{_tops(what)}</section>"
    )


def _gpus(what: Happened) -> str:
    if what.gpu_hours is None:
        return ""
    used = {name: shown_hours(value) for name, value in what.gpu_hours.items()}
    return (
        f"<p>GPU-hours requested: {used['useful']} useful, {used['wasted']} wasted,"
        f" {used['unknown']} of unknown fate.</p>"
    )


def _outcomes(what: Happened) -> str:
    shares = [
        f"{_percent(count / what.tasks)} {_WORDS[name]}"
        for name, count in what.outcomes.items()
        if count
    ]
    again = f"Tasks were started again {what.restarts:,} times." if what.restarts else ""
    tasks = "1 task" if what.tasks == 1 else f"{what.tasks:,} tasks"
    return f"Of {tasks} {', '.join(shares)}. {again}"


def _bar(parts: Sequence[tuple[str, float]]) -> str:
    total = sum(value for _, value in parts) or 1.0
    inner = "".join(
        f'<i class="{name}" style="width:{100 * value / total:.2f}%"></i>' for name, value in parts
    )
    return f'<div class="bar" aria-hidden="true">{inner}</div>'


_MEANING = {
    "useful": "of attempts that finished their task",
    "wasted": "led to nothing",
    "unknown": "of tasks that the end of the data cuts off",
}


def _key(parts: Sequence[tuple[str, float]]) -> str:
    total = sum(value for _, value in parts) or 1.0
    return '<div class="key">' + (
        "".join(
            f'<span><i class="{name}"></i>{shown_hours(value)} h ({_percent(value / total)})'
            f" {_MEANING[name]}</span>"
            for name, value in parts
            if value > 0.0
        )
        + "</div>"
    )


def _weeks(what: Happened) -> str:
    most = max((each.useful + each.wasted + each.unknown for each in what.periods), default=0.0)
    most = most or 1.0
    columns = "".join(
        f'<div title="{_moment(what, i)}: {shown_hours(each.wasted)} h wasted of'
        f' {shown_hours(each.useful + each.wasted + each.unknown)}">'
        + "".join(
            f'<i class="{name}" style="height:{100 * getattr(each, name) / most:.2f}%"></i>'
            for name in ("wasted", "useful", "unknown")
        )
        + "</div>"
        for i, each in enumerate(what.periods)
    )
    last = len(what.periods)
    dense = " dense" if last > MANY else ""
    return (
        f'<div class="weeks{dense}" role="img" aria-label="machine-time by {what.period}">'
        f"{columns}</div>"
        f'<div class="axis"><span>{_moment(what, 0)}</span><span>up to {shown_hours(most)} h'
        f" {a_period(what.period)}</span><span>{_moment(what, last - 1)}</span></div>"
    )


def _burst(what: Happened) -> str:
    if what.burst is None:
        return ""
    share = _percent(what.burst)
    return f"<p>The busiest hour holds {share} of all attempts that failed or were evicted.</p>"


def _groups(groups: Sequence[Group], title: str, *, causes: bool = False) -> str:
    """What groups of attempts wasted; of a cause all is waste."""
    if not groups:
        return '<p class="muted">Nothing was wasted.</p>'
    rows = [
        (
            _name(each.name),
            shown_hours(each.hours),
            _percent(each.share),
            _percent(each.hours / each.used) if each.used else "",
            f"{each.jobs:,}",
        )
        for each in groups
    ]
    head = (title, "wasted [h]", "of all waste", "of its own machine-time", "jobs")
    kept = [i for i in range(len(head)) if not causes or i != OWN]
    return _table([head[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _name(name: str) -> str:
    """A name of a job, a user or an application: the first letters of a long one."""
    if len(name) <= LONG:
        return escape(name)
    return f'<span title="{escape(name)}">{escape(name[:LONG])}…</span>'


def _tops(what: Happened) -> str:
    shown = (
        ("Jobs that wasted most", "job", what.top_jobs),
        ("Users", "user", what.top_users),
        ("Applications", "application", what.top_applications),
    )
    return "".join(
        f"<details><summary>{title}</summary>{_groups(groups, name)}</details>"
        for title, name, groups in shown
        if groups
    )


def _rooms(found: Assessment) -> str:
    if not found.rooms:
        return ""
    rows = [
        (
            escape(room.title) + _few_folds(room.folds),
            shown_hours(room.spent),
            shown_hours(room.hours),
            _percent(room.share),
            _percent(room.of_whole),
            shown_hours(room.machine_hours),
            _money(found, room.machine_hours),
            _signed(room.completion_hours),
            _percent(room.largest),
            f"{room.half:,} of {room.units:,}",
            room.says,
        )
        for room in found.rooms
    ]
    head = (
        *("measure", "machine-time of these tasks [h]", "net [h]", "of that machine-time"),
        "of all whose end is known",
        *("machine-time alone [h]", _in_money(found), "sooner done [h]"),
        *("in the largest job", "jobs that hold half", "in short"),
    )
    kept = [i for i in range(len(head)) if found.price is not None or i != MONEY]
    return (
        "<section><h2>What could have been saved at most</h2>"
        "<p>By somebody who knew how every task ends, on the tasks of the later half of the record"
        f" that the measure is about. No rule can save more than this{_unproven(found)}, and none"
        " knows as much.</p>"
        + _table([head[i] for i in kept], [[row[i] for i in kept] for row in rows])
        + "</section>"
    )


def _few_folds(folds: Sequence[int]) -> str:
    """How many were judged, where it is not all."""
    return f" <small>{few}</small>" if (few := few_folds(folds)) else ""


def _unproven(found: Assessment) -> str:
    """For how many tasks that is not proven; "" for none."""
    most = max(room.unproven for room in found.rooms)
    return f" (but for {most:,} tasks of which the search was cut short)" if most else ""


_NET = (
    "A machine-hour is one machine, or one core where the record counts cores, for an hour. Net is"
    " machine-time saved, less {value} times its machine-time for every task that no longer"
    " finishes, since somebody wanted it, and plus as much for every one that finishes only now."
)


def _policies(found: Assessment) -> str:
    if not found.judged:
        return ""
    parts: list[str] = []
    titles = {room.measure: room.title for room in found.rooms}
    for measure in titles:
        rows = [each for each in found.judged if each.measure == measure]
        if not rows:
            continue
        parts.append(f"<h3>{escape(titles[measure].capitalize())}</h3>{_of(found, rows, measure)}")
    return (
        "<section><h2>What rules would have saved</h2>"
        "<p>Each rule was played on the later half of the record, in five parts by time; all of"
        " these measures at once are those that the record tells of before a part. Intervals are of"
        " 95 % for all ways to use a rule at once: blocks of jobs are resampled. One that lies"
        " above 0 is evidence; one that holds 0 is none. Net is not cash: it counts what tasks are"
        " worth. Tasks lost are those that finished in the record and would not have, less those"
        " that would have finished only then.</p>"
        f"{_by_period(found)}{''.join(parts)}{_abouts(found)}</section>"
    )


def _by_period(found: Assessment) -> str:
    """What the best policy saves in each stretch of time, as a picture."""
    best, what = _best(found), found.happened
    if best is None or len(best.by_period) == 1:
        return ""
    if not any(best.by_period):
        return ""
    up, down = max(0.0, *best.by_period), min(0.0, *best.by_period)
    ranges = list(zip(best.by_period_low, best.by_period_high, strict=True))
    ends = [end for both in ranges for end in both if end is not None]
    highest, lowest, span = max([up, *ends]), min([down, *ends]), up - down
    top = min(highest + MARGIN * span, up + BEYOND * span)
    bottom = max(lowest - MARGIN * span, down - BEYOND * span)
    cut = highest > top or lowest < bottom

    def height(value: float) -> str:
        """Where a value is drawn, from the top down; at the edge what lies beyond."""
        return f"{100 * (top - min(max(value, bottom), top)) / (top - bottom):.2f}"

    parts: list[str] = []
    for i, (value, (low, high)) in enumerate(zip(best.by_period, ranges, strict=True)):
        kind, between = "up" if value >= 0.0 else "down", ""
        parts.append(
            f'<rect class="{kind}" x="{i}" width="0.9" y="{height(max(value, 0.0))}"'
            f' height="{100 * abs(value) / (top - bottom):.2f}"/>'
        )
        if low is not None and high is not None:
            between = f", between {shown_hours(low)} and {shown_hours(high)} h"
            parts.append(
                f'<line class="range" x1="{i + 0.45}" x2="{i + 0.45}" y1="{height(high)}"'
                f' y2="{height(low)}"/>'
            )
        moment = _moment(what, best.first_period + i)
        parts.append(
            f'<rect class="whole" x="{i}" width="1" y="0" height="100">'
            f"<title>{moment}: {shown_hours(value)} h{between}</title></rect>"
        )
    many = len(best.by_period)
    which = "the rule that is advised" if _is_advised(found, best) else "the best in hindsight"
    moments = [_moment(what, best.first_period + i) for i in (0, many - 1)]
    least, most = (f"{shown_hours(end)} h" if end else "0" for end in (down, up))
    said = f"from {least} to {most} {a_period(what.period)}"
    return (
        f"<h3>Saved net, by {what.period} of submission, with {which}: {_named(found, best)}</h3>"
        f'<svg class="net" viewBox="0 0 {many} 100" preserveAspectRatio="none" role="img"'
        f' aria-label="net saving by {what.period}: {said}; loses in {_losing(best)}">'
        f'{"".join(parts)}<line x1="0" x2="{many}" y1="{height(0.0)}" y2="{height(0.0)}"/></svg>'
        f'<div class="axis"><span>{moments[0]}</span><span>{said}</span>'
        f'<span>{moments[1]}</span></div><p class="muted">{_lines(best, what.period, cut=cut)}</p>'
    )


def _lines(best: Judged, period: str, *, cut: bool) -> str:
    """What the lines in the picture of periods are, and whether some are cut at its edge."""
    known = sum(low is not None for low in best.by_period_low)
    if not known:
        return f"How sure that is of a single {period} is not known."
    text = (
        f"Lines: where the saving of as many jobs like those of the {period} lies, with 95 %"
        f" confidence for all {period}s and all ways to use a rule at once."
    )
    if cut:
        text += " What reaches the edge goes on beyond it."
    return text if known == best.periods else f"{text} Where there is no line, it is not known."


def _abouts(found: Assessment) -> str:
    """What each rule does."""
    about = {each.policy: _about(each) for each in found.judged if each.about or each.parameters}
    items = (f"<b>{escape(name)}</b>: {escape(text)}" for name, text in sorted(about.items()))
    inner = _list(items)
    return f"<details><summary>What these rules do</summary>{inner}</details>" if inner else ""


def _named(found: Assessment, each: Judged) -> str:
    """A policy, its measure, and whether it is shown forecasts."""
    title = next(room.title for room in found.rooms if room.measure == each.measure)
    shown = "" if each.forecast == "none" else ", with learned forecasts"
    return f"{escape(each.policy)} ({escape(title)}{shown})"


def _about(each: Judged) -> str:
    """What a rule does, and its parameters."""
    given = f"Its parameters: {each.parameters}." if each.parameters else ""
    return f"{each.about} {given}".strip()


def _of(found: Assessment, rows: Sequence[Judged], measure: str) -> str:
    acting = sorted((each for each in rows if each.acts), key=lambda each: -each.saved)
    idle = dict.fromkeys(each.policy for each in rows if not each.acts)
    period = found.happened.period
    head = (
        *(
            "rule",
            "saves net [h]",
            "between (95 %)",
            "of what these tasks used",
            "chance of harm, by itself",
        ),
        f"worst {period} [h] (loses in so many {period}s)",
        f"net if a task is worth {' or '.join(OTHER_VALUES)} times as much [h]",
        *("machine-time alone [h]", _in_money(found), "sooner done [h]"),
        *("tasks lost (killed in error) of 1,000", "rests on drawn attempts"),
    )
    kept = [i for i, each in enumerate(head) if each != _in_money(found) or found.price is not None]
    rows_of = [_row(found, each) for each in acting]
    classes = ["adopt" if _is_advised(found, each) else "" for each in acting]
    cells = [[row[i] for i in kept] for row in rows_of]
    table = _table([head[i] for i in kept], cells, classes) if cells else ""
    never = f'<p class="muted">Never act here: {escape(", ".join(idle))}.</p>' if idle else ""
    return table + never


def _row(found: Assessment, each: Judged) -> list[str]:
    low, high = each.low, each.high
    interval = (
        "too few jobs"
        if low is None or high is None
        else f"{shown_hours(low)}, {shown_hours(high)}"
    )
    name = escape(each.policy)
    if each.forecast != "none":
        name += " <small>with learned forecasts</small>"
    name += _few_folds(each.folds)
    return [
        name,
        _signed(each.saved),
        interval,
        _percent(each.share),
        _chance(each.harm),
        f"{_signed(each.worst)} ({_losing(each)})",
        ", ".join(_signed(each.at_values[factor]) for factor in OTHER_VALUES),
        _signed(each.machine_hours),
        _money(found, each.machine_hours),
        _signed(each.completion_hours),
        f"{each.forfeited_per_thousand:,.1f} ({each.false_kills_per_thousand:,.1f})",
        "" if each.drawn is None else _percent(each.drawn),
    ]


def _losing(each: Judged) -> str:
    """In how many periods it loses, and in how many surely."""
    text = f"{each.losing} of {each.periods}"
    return f"{text}, {surely(each.surely_losing)}" if each.losing else text


def _chance(harm: float | None) -> str:
    """The chance of harm: that none of 2,000 samples loses says that it is below 0.15 %."""
    if harm is None:
        return "too few jobs"
    return _percent(harm) if harm >= 0.002 else "below 0.2 %"


def _limits(found: Assessment) -> str:
    silent = [escape(each) for each in (*found.happened.silent, *found.left_out)]
    always = [
        "Whether somebody wanted what a task did that ran into its time limit or was cancelled: it"
        " counts as one that led to nothing.",
        "In the tables everything else stays as recorded: that others would start earlier on"
        " machines that become free is not counted, nor that users would behave otherwise.",
        "What a task would have met in attempts that the record does not hold is drawn once, after"
        " attempts like it.",
    ]
    content = f"<code>{escape(found.happened.content)}</code>"
    return (
        f"<section><h2>What this cannot say</h2>{_list([*silent, *always])}"
        f'<p class="muted">Content hash of the record: {content}</p></section>'
    )


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str] | None = None
) -> str:
    top = "".join(f'<th scope="col">{each}</th>' for each in head)
    names = classes or [""] * len(rows)
    labels = [f' data-label="{each}"' if i else "" for i, each in enumerate(head)]
    body = "".join(
        f"<tr{f' class={name!r}' if name else ''}>"
        + "".join(
            f"<td{label}><span>{cell}</span></td>" for label, cell in zip(labels, row, strict=True)
        )
        + "</tr>"
        for name, row in zip(names, rows, strict=True)
    )
    inner = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    wide = ' class="wide"' if len(head) > WIDE else ""
    return f'<div class="scroll"><table{wide}>{inner}</table></div>'


def _list(items: Iterable[str]) -> str:
    inner = "".join(f"<li>{each}</li>" for each in items)
    return f"<ul>{inner}</ul>" if inner else ""


def _signed(value: float) -> str:
    text = shown_hours(value)
    return f'<span class="loss">{text}</span>' if value < 0.0 and text != "0" else text


def _in_money(found: Assessment) -> str:
    """Head of a column."""
    return f"the same [{escape(found.currency or 'money')}]"


def _worth(found: Assessment, hours: float) -> str:
    """What the machine-time alone of a saving costs, for a tile; "" without a price."""
    if found.price is None:
        return ""
    verb = "is worth" if hours >= 0.0 else "costs"
    money = f"{_money(found, abs(hours))} {found.currency}".strip()
    return f"; the machine-time alone {verb} {money}"


def _money(found: Assessment, hours: float) -> str:
    return "" if found.price is None else f"{round(found.price * hours):,}"


def _percent(share: float) -> str:
    if math.isnan(share):
        return "-"
    return f"{100 * share:.{2 if abs(share) < 0.01 and share else 1}f} %"

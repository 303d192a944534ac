"""`failgym assess`: what would have been saved on a cluster, and may a rule be used there?"""

from __future__ import annotations

import math
import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from failgym.cli import reading as readers
from failgym.cli.folders import check_name, holds_trace
from failgym.cli.options import RayAddress, WorkersOption, read_workers
from failgym.cli.output import JsonFile, interactive, print_line
from failgym.files import held, json_text, replacing

if TYPE_CHECKING:
    from failgym.assessment import Assessment, Candidate
    from failgym.assessment.room import MeasureRoom
    from failgym.cli.imports import Reading
    from failgym.traces import Trace

__all__ = ["assess"]

PUBLISHED, TUNED, LEARNED = "published", "tuned", "learned"
PAGE, CONTENT, WORK, IMPORTED = "report.html", "report.json", ".work", "trace"
POLICY = "policy"
ENDINGS = (".json", ".safetensors")
"""Of files that hold a policy."""
HIGHEST_VALUE = 1e6
"""Of a task, as a multiple of its machine-time."""
HIGHEST_PRICE = 1e9
"""Of a machine-hour."""
SAID = 3
"""Sentences of evidence that are printed."""
NEEDED = {TUNED: ("optuna", "tuning"), LEARNED: ("xgboost", "boosting")}
"""Package, and the extra that brings it."""

Source = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRACE",
        help="The folder of a trace, as `failgym trace import` stores it; with --format, a log.",
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="DIR", help=f"The folder to write: {PAGE}, {CONTENT}, and the rule to adopt."
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="Read a log of this format first."),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick", help="Say only what happened and what could be saved at most; try no rules."
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policies",
        metavar="SPEC",
        help=f"The policies to try: {PUBLISHED} or all-baselines (all rules with the parameters of"
        f" their papers, the default), {TUNED} (rules with parameters found on the past), {LEARNED}"
        " (an agent trained on the past), a folder of policies, or a policy as for evaluate."
        " Repeatable.",
    ),
]
Measures = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...", help="Try only these measures: some of kill, retry, clone, checkpoint."
    ),
]
Price = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT[CURRENCY]",
        help="Price of a machine-hour, such as 0.9EUR: of one processor, where a log counts these.",
    ),
]
TaskValue = Annotated[
    float,
    typer.Option(min=0.0, help="Value of a task that finishes, as a multiple of its machine-time."),
]
Forecasts = Annotated[
    bool,
    typer.Option("--forecasts/--no-forecasts", help="Also try rules with learned forecasts."),
]


def assess(
    source: Source,
    out: Out = Path("report"),
    form: Format = None,
    quick: Quick = False,
    policies: Policies = None,
    measures: Measures = None,
    price: Price = None,
    task_value: TaskValue = 4.0,
    forecasts: Forecasts = True,
    outages: readers.Outages = None,
    align: readers.Align = None,
    system: readers.System = None,
    nodes: readers.Nodes = None,
    since: readers.Since = None,
    until: readers.Until = None,
    topology: readers.Topology = None,
    infer_attempts: readers.InferAttempts = False,
    timezone: readers.Timezone = None,
    columns: readers.Columns = None,
    outcomes: readers.Outcomes = None,
    unit: readers.Unit = None,
    merge_clusters: readers.MergeClusters = False,
    unit_ms: readers.UnitMs = None,
    workers: WorkersOption = "1",
    ray_address: RayAddress = None,
) -> None:
    """Say what would have been saved on a cluster, and whether a rule may be used there."""
    from failgym.assessment import MEASURES
    from failgym.assessment import assess as assessed

    crew = read_workers(workers, ray_address)
    amount, currency = _price(price)
    if not task_value <= HIGHEST_VALUE:
        raise ValueError(
            f"--task-value: expected a number of at most {HIGHEST_VALUE:g}, got {task_value:g}"
        )
    wanted = tuple(MEASURES) if measures is None else _measures(measures)
    if quick and policies:
        raise ValueError("--policies: none is tried with --quick; leave out one of the two")
    _check_kept(out, policies or [])
    candidates = {} if quick else _candidates(policies or [PUBLISHED])
    _check_out(out)
    log = _log(
        form,
        source,
        outages,
        align,
        system=system,
        nodes=nodes,
        since=since,
        until=until,
        topology=topology,
        infer_attempts=infer_attempts or None,
        timezone=timezone,
        columns=columns,
        outcomes=outcomes,
        unit=unit,
        merge_clusters=merge_clusters or None,
        unit_ms=unit_ms,
    )
    # Absolute: the plain name of a folder may be that of a profile too, which would be generated.
    folder = (source[0] if log is None else out / IMPORTED).absolute()
    trace = None if log is not None else _loaded(folder)
    _begin(out)
    with _alone(out):
        if log is not None:
            log.save(folder, crew, progress=interactive())
        if trace is None:
            trace = _loaded(folder)
        with _steps() as step:
            found = assessed(
                trace,
                str(folder),
                candidates,
                name=_called(source),
                measures=wanted,
                forecasts=("none", "trained") if forecasts else ("none",),
                task_value=task_value,
                price=amount,
                currency=currency,
                work=out / WORK,
                workers=crew,
                step=step,
            )
        _tell(found, candidates, folder, out)


def _tell(found: Assessment, candidates: dict[str, Candidate], folder: Path, out: Path) -> None:
    """Write all, and then print: what is written stays if nobody can read that.

    Raises:
        ValueError: if the policy that is advised cannot be made of the whole record.
    """
    _write(found, out)
    try:
        file = _adopted(found, candidates, folder, out)
    finally:
        _print(found)
        for name in (CONTENT, PAGE):
            print_line(f"written to {out / name}")
    _print_adopted(found, folder, file)


def _loaded(folder: Path) -> Trace:
    """The trace of a folder. Raises ValueError."""
    from failgym.evaluation.progress import working
    from failgym.worlds.source import stored_trace

    with working("loading", interactive()):
        return stored_trace(folder)


def _adopted(
    found: Assessment, candidates: dict[str, Candidate], folder: Path, out: Path
) -> Path | None:
    """Write the policy that is advised, if it has a file of its own. Raises ValueError."""
    from failgym.assessment import save_adopted
    from failgym.evaluation.progress import working

    with working("making the policy to adopt", interactive()):
        return save_adopted(found, candidates, str(folder), out / POLICY, out / WORK)


def _print_adopted(found: Assessment, folder: Path, file: Path | None) -> None:
    """Say how to use the policy that is advised."""
    if file is not None:
        print_line(f"written to {file}")
        _print_check(found, folder, file)
    elif found.advice is not None and found.advice.policy is not None:
        print_line(f"{found.advice.policy}: no file is written; use it as you have named it")


def _called(source: list[Path]) -> str:
    """What the report calls the record."""
    first, more = source[0].name or str(source[0]), len(source) - 1
    return f"{first} and {more} more" if more else first


def _print_check(found: Assessment, folder: Path, file: Path) -> None:
    """How to see the same of a fold as the report; what is made of all of a record is another."""
    from failgym.assessment import judged_on
    from failgym.assessment.advice import MADE
    from failgym.envs import resolve

    assert found.advice is not None, "a policy is advised"
    best = next(each for each in found.judged if found.advice.is_of(each))
    scenario = judged_on(found, str(folder))
    if scenario is None or best.kind in MADE:
        return
    registered = resolve(scenario.name)
    changed = {
        each.name: getattr(scenario, each.name)
        for each in fields(scenario)
        if each.init and getattr(scenario, each.name) != getattr(registered, each.name)
    }
    del changed["slice_tasks"]  # tasks are on their own: how many are in a slice changes nothing
    words = [
        *("failgym", "evaluate", "--env", f"failgym/{scenario.name}", "--policy", str(file)),
        *(word for name, value in changed.items() for word in ("--set", f"{name}={_text(value)}")),
    ]
    print_line(f"fold {scenario.fold} again: {shlex.join(words)}")


def _text(value: object) -> str:
    """A value of a field as it is typed."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _write(found: Assessment, out: Path) -> None:
    """The report's files; none is left of an earlier policy, which this report does not advise."""
    from failgym.assessment.page import page

    texts = {CONTENT: json_text(found.to_json()), PAGE: page(found)}
    for ending in ENDINGS:
        (out / POLICY).with_suffix(ending).unlink(missing_ok=True)
    for name, text in texts.items():
        with replacing(Path(os.path.realpath(out / name))) as partial:
            partial.write_text(text, encoding="utf-8")


def _price(text: str | None) -> tuple[float | None, str]:
    """A price and its currency: "0.9", "0.9EUR", "0.9 EUR/machine-hour". Raises ValueError."""
    if text is None:
        return None, ""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([^\s/0-9]*)\s*(?:/\S+)?\s*", text)
    of_money = found is not None and all(map(_is_of_money, found[2]))
    if found is None or not of_money or not math.isfinite(float(found[1])):
        raise ValueError(f"--price: expected an amount, such as 0.9 or 0.9EUR, got {text!r}")
    if float(found[1]) > HIGHEST_PRICE:
        raise ValueError(f"--price: expected at most {HIGHEST_PRICE:g}, got {text!r}")
    return float(found[1]), found[2]


def _is_of_money(character: str) -> bool:
    """Is it a letter, or a sign like that of the euro?"""
    return character.isalpha() or unicodedata.category(character) == "Sc"


def _measures(text: str) -> tuple[str, ...]:
    """Names of measures, each once. Raises ValueError."""
    from failgym.assessment import MEASURES

    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in MEASURES:
            raise ValueError(f"--measures: expected some of {', '.join(MEASURES)}, got {name!r}")
    return names


def _candidates(specs: list[str]) -> dict[str, Candidate]:
    """Who is tried, by name. Raises ValueError."""
    from failgym.assessment import Candidate
    from failgym.assessment.makers import Learned
    from failgym.cli.specs import ALL_BASELINES, load_policy

    found: dict[str, Candidate] = {}
    for spec in specs:
        package, extra = NEEDED.get(spec, ("", ""))
        if package and find_spec(package) is None:
            needed = f"pip install 'failgym[{extra}]'"
            raise ValueError(f"--policies {spec}: {package} is not installed: {needed}")
        if spec in (PUBLISHED, ALL_BASELINES):
            more = _published()
        elif spec == TUNED:
            more = _tuned()
        elif spec == LEARNED:
            more = {LEARNED: Candidate(Learned(), LEARNED, LEARNED)}
        elif Path(spec).is_dir():
            more = _of_folder(Path(spec))
        else:
            words = (PUBLISHED, ALL_BASELINES, TUNED, LEARNED)
            more = {spec: Candidate(load_policy(spec, words), "given", _key(spec))}
        for name, one in more.items():
            if name in found and (one.key is None or found[name].key != one.key):
                raise _same_name(spec, name)
        found |= more
    return found


def _same_name(spec: str | Path, name: str) -> ValueError:
    rename = "; rename its file" if Path(spec).exists() else ""
    return ValueError(f"--policies {spec}: another policy is called {name} already{rename}")


def _of_folder(folder: Path) -> dict[str, Candidate]:
    """The policies in the files of a folder, by where they lie in it. Raises ValueError."""
    from failgym.assessment import Candidate
    from failgym.cli.specs import load_policy

    files = sorted(file for ending in ENDINGS for file in folder.rglob(f"*{ending}"))
    files = [file for file in files if not _of_something_else(file)]
    if not files:
        raise ValueError(f"--policies {folder}: expected files {' or '.join(ENDINGS)} in it")
    found: dict[str, Candidate] = {}
    for file in files:
        name = file.relative_to(folder).with_suffix("").as_posix()
        if name in found:
            raise _same_name(folder, name)
        found[name] = Candidate(load_policy(str(file)), "given", _key(str(file)))
    return found


def _of_something_else(file: Path) -> bool:
    """Does a file lie in a folder of policies without being one of its own?

    So it is with JSON that says so, and with all that a training run keeps but its best agent,
    such as the runs on its folds. What cannot be read may have been a policy.
    """
    from failgym.agents.training.run_names import BEST, holds_run
    from failgym.baselines.stored import says_otherwise

    if holds_run(file.parent):
        return file.name != BEST or holds_run(file.parent.parent)
    return file.suffix == ENDINGS[0] and says_otherwise(file)


def _key(spec: str) -> list[Any] | None:
    """What tells a policy from others; None of code that may change under the same name."""
    from failgym.baselines import REGISTRY
    from failgym.baselines.stored import parameters
    from failgym.leaderboard.submission.records import file_sha256

    if spec in REGISTRY:
        return [spec, parameters(REGISTRY[spec]())]  # as in `_published`
    if spec.partition(":")[0] in REGISTRY:
        return [spec]
    return [spec, file_sha256(Path(spec))] if Path(spec).is_file() else None


def _published() -> dict[str, Candidate]:
    """All rules as their papers have them."""
    from failgym.assessment import Candidate
    from failgym.baselines import REGISTRY
    from failgym.baselines.stored import parameters

    rules = {name: kind() for name, kind in REGISTRY.items() if name not in ("replay", "random")}
    return {
        name: Candidate(rule, PUBLISHED, [name, parameters(rule)]) for name, rule in rules.items()
    }


def _tuned() -> dict[str, Candidate]:
    """Those that have parameters to tune."""
    from failgym.assessment import Candidate
    from failgym.assessment.makers import Tuned
    from failgym.baselines.base import Heuristic

    found: dict[str, Candidate] = {}
    for name, one in _published().items():
        if isinstance(one.who, Heuristic) and Tuned(one.who).tunable:
            key = [TUNED, one.key]
            found[f"{name} {TUNED}"] = Candidate(Tuned(one.who), TUNED, key, one.who)
    return found


def _check_out(out: Path) -> None:
    check_name("--out", out)
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out}: exists and is not a folder")
    if holds_trace(out):
        raise ValueError(f"--out {out}: holds a trace; use another folder")
    if any(holds_trace(above) for above in Path(os.path.realpath(out)).parents):
        raise ValueError(f"--out {out}: lies in the folder of a saved trace; use another folder")
    there = next(each for each in (out.absolute(), *out.absolute().parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise ValueError(f"--out {out}: {there} is not a folder that can be written to")
    if not _is_ours(out):
        for name in (PAGE, CONTENT, IMPORTED, *(POLICY + ending for ending in ENDINGS)):
            if (out / name).exists():
                raise ValueError(
                    f"--out {out}: holds {name}, which assess would replace and did not write; use"
                    " another folder"
                )
    for name in (PAGE, CONTENT):
        if JsonFile.at(out / name if (out / name).exists() else None, "--out").streams:
            raise ValueError(f"--out {out / name}: is not a file, and would be replaced")


def _check_kept(out: Path, specs: list[str]) -> None:
    """A policy that is tried must not be the one of an earlier report, which goes. ValueError."""
    from failgym.cli.specs import ALL_BASELINES

    for file in ((out / POLICY).with_suffix(ending) for ending in ENDINGS):
        for spec in specs if file.exists() else ():
            if spec in (PUBLISHED, ALL_BASELINES, TUNED, LEARNED):
                continue  # words, whatever folders there are
            if file.resolve().is_relative_to(Path(spec).resolve()):
                raise ValueError(
                    f"--policies {spec}: {file} would be replaced by this report's; use another"
                    " --out"
                )


def _is_ours(out: Path) -> bool:
    """Did assess begin or write what is in a folder?"""
    return (out / WORK).is_dir() or all((out / name).is_file() for name in (PAGE, CONTENT))


def _begin(out: Path) -> None:
    """From now on the folder is ours, whatever becomes of us."""
    (out / WORK).mkdir(parents=True, exist_ok=True)


@contextmanager
def _alone(out: Path) -> Generator[None]:
    """Nobody else assesses into the folder meanwhile. Raises ValueError if somebody does."""
    with held(out / WORK / "lock") as ours:
        if not ours:
            raise ValueError(f"--out {out}: another assessment is at work in it")
        yield


def _log(
    form: str | None,
    source: list[Path],
    outages: tuple[str, Path] | None,
    align: str | None,
    **options: Any,
) -> Reading | None:
    """A log that is to be read first; None for the folder of a trace. Raises ValueError."""
    if form is None:
        asked = [outages, align, *options.values()]
        if len(source) > 1 or any(each is not None for each in asked):
            raise ValueError("assess: several sources, and options of readers, need --format")
        check_name("TRACE", source[0])
        if source[0].is_file():
            raise ValueError(
                f"{source[0]}: expected the folder of a saved trace; a log is read with --format,"
                " such as --format sacct"
            )
        return None
    from failgym.cli.imports import Reading

    return Reading.of(form, source, outages, align, **options)


@contextmanager
def _steps() -> Generator[Callable[[str], None]]:
    """Shows on standard error what is being worked on, if somebody is looking."""
    if not interactive():
        yield _silent
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update


def _silent(text: str) -> None:
    """Say nothing."""


def _where(room: MeasureRoom) -> str:
    """On how many folds, if not on all."""
    from failgym.assessment.advice import few_folds

    return f" {few}" if (few := few_folds(room.folds)) else ""


def _print(found: Assessment) -> None:
    """The report in ten lines at most, with hours as the page shows them."""
    from failgym.assessment.advice import shown_hours

    what, advice = found.happened, found.advice
    assert advice is not None
    dropped = f"; {what.dropped:,} rows of the log were dropped" if what.dropped else ""
    print_line(f"{found.trace}: {what.size}, {what.length}{dropped}")
    share = what.wasted_share
    of_known = "" if math.isnan(share) else f" ({100 * share:.1f} % of what is known)"
    print_line(
        f"machine-time: {shown_hours(what.hours)} h, of which {shown_hours(what.useful)} useful,"
        f" {shown_hours(what.wasted)} wasted{of_known},"
        f" {shown_hours(what.unknown)} cut off by the end of the data"
    )
    if what.causes:
        cause = what.causes[0]
        print_line(f"wasted most because {cause.name}: {shown_hours(cause.hours)} h")
    rooms = sorted(found.rooms, key=lambda room: -room.hours)
    for room in rooms[:1]:
        money = ""
        if found.price is not None:
            worth = f"{round(found.price * room.machine_hours):,} {found.currency}".strip()
            money = f"; {shown_hours(room.machine_hours)} h of machine-time alone, {worth}"
        print_line(
            f"{room.measure}: could have saved {shown_hours(room.hours)} h net at most"
            f"{_where(room)} ({100 * room.of_whole:.1f} % of what is known{money}): {room.says}"
        )
    others = [f"{room.measure} {shown_hours(room.hours)} h{_where(room)}" for room in rooms[1:]]
    if others:
        print_line(f"with other measures: {', '.join(others)}")
    for line in (advice.text, *advice.evidence[:SAID]):
        print_line(line)
    for line in found.left_out[:1]:
        more = len(found.left_out) - 1
        rest = f", and {more} more" if more else ""
        print_line(f"left out: {line.rstrip('.')}{rest} ({CONTENT})")

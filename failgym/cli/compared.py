"""How `failgym replay` prints a run over a whole trace beside the record, each word explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.cli.output import Cell, print_line, print_table
from failgym.vocabulary import HOUR

if TYPE_CHECKING:
    from failgym.evaluation import Comparison

__all__ = ["print_comparison"]

ACCOUNTS = {
    "useful": "work that finished a task, saved work that it resumed from included",
    "lost": "work of attempts that ended without finishing their task, and was not saved",
    "redundant": "work of attempts beside or after the one that finished the task",
    "ghost": "work of attempts beyond the record, which fare as the last recorded one",
    "checkpoint": "time in which attempts stopped to be saved",
    "restore": "time in which attempts resumed from what was saved",
    "transfer": "time in which attempts waited for their inputs",
}
"""What machine-time is divided among."""
FORFEITED = (
    "tasks that the record finishes and this run did not; with task_value, those that have a value"
    " and did not finish"
)


def print_comparison(c: Comparison, compiled: float, *, asked: bool, simulated: bool) -> None:
    """Print what a run made of each task.

    Args:
        c: the run beside the record.
        compiled: how long compiling took [s].
        asked: was a policy asked?
        simulated: did the cluster come from the simulator instead of the record?
    """
    print_table(
        f"{c.policy}, against the record",
        ("", "value", "what it is"),
        [*_of_tasks(c, asked, simulated), *_of_machine_time(c)],
        texts=frozenset({"what it is"}),
    )
    _print_parts(c)
    speed = f"{c.tasks_per_second:,.0f} tasks/s"
    if c.decisions:
        speed += f", {c.decisions_per_second:,.0f} decisions/s"
    print_line(f"compiled in {compiled:.1f} s, run in {c.seconds:.1f} s: {speed}")


def _of_tasks(c: Comparison, asked: bool, simulated: bool) -> list[tuple[Cell, ...]]:
    name, what = "mismatches", "tasks that the replay got wrong: there should be none"
    if asked or simulated:
        by = [*(["the policy"] if asked else []), *(["the simulated cluster"] if simulated else [])]
        name, what = "changed", f"tasks that {' or '.join(by)} changed"
    covered = f"those {'that ran, ' if simulated else ''}of known fate" if asked else "all"
    return [
        ("tasks", c.tasks, f"of the trace, {covered}"),
        ("of unknown fate", c.unknown_fate, "cut off by the end of the data; nobody is asked"),
        (name, c.mismatches, what),
        ("different end", c.different_end, "of these, tasks that end at another time"),
        ("different outcome", c.different_outcome, "that end in another way"),
        ("different machine-time", c.different_machine_time, "that take more or less of it"),
        ("forfeited", c.forfeited, FORFEITED),
        ("rescued", c.rescued, "tasks that this run finished and the record did not"),
        ("completion ratio", c.completion_ratio, "median of completion time over the recorded"),
        ("decisions", c.decisions, "that the policy was asked for"),
    ]


def _of_machine_time(c: Comparison) -> list[tuple[Cell, ...]]:
    whole = sum(c.work.values())
    return [
        ("recorded machine-time [h]", c.recorded_work / HOUR, f"of these {c.tasks:,} tasks"),
        ("machine-time here [h]", whole / HOUR, "of the same tasks; divided among:"),
        *(
            (f"- {name} [h]", c.work[name] / HOUR, ACCOUNTS[name])
            for name in c.work
            if c.work[name]
        ),
    ]


def _print_parts(c: Comparison) -> None:
    """How the recorded machine-time of these tasks goes with that of the trace."""
    known, ended, running = (c.trace_work[name] / HOUR for name in ("known", "ended", "running"))
    print_line(
        f"machine-time of the trace: {known + ended + running:,.0f} h = {known:,.0f} h of tasks of"
        f" known fate + {ended:,.0f} h of attempts that had ended, of tasks cut off by the end of"
        f" the data + {running:,.0f} h of those that still ran, which nobody replays"
    )

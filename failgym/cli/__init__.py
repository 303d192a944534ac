"""The command `failgym`. Each command is a module; what it needs is imported when it runs.

`imports` and `forecast` are what `trace import` and `trace forecast` do, `watch` is what `replay`
shows.
"""

from __future__ import annotations

import inspect
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
import typer.main

from failgym.cli.assess import assess
from failgym.cli.cache import cache
from failgym.cli.demo import demo
from failgym.cli.doctor import doctor
from failgym.cli.envs import envs
from failgym.cli.evaluate import evaluate
from failgym.cli.leaderboard import leaderboard
from failgym.cli.replay import replay
from failgym.cli.trace import trace
from failgym.cli.train import train
from failgym.cli.tune import tune
from failgym.interrupted import STATUS, end_by_signal, raise_again

__all__ = ["app", "main", "run"]

BAD_INPUT = 2
INTERRUPTED = STATUS
"""Exit statuses; 0 is success."""

_USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]
"""What Typer raises for a command line that it cannot parse: click's UsageError. Typer depends on
click or bundles it, according to its version."""

app = typer.Typer(name="failgym", pretty_exceptions_enable=False)
app.command()(demo)
app.command()(assess)
app.command()(doctor)
app.command()(envs)
app.command()(evaluate)
app.command()(replay)
app.command()(train)
app.command()(tune)
app.add_typer(cache, name="cache")
app.add_typer(leaderboard, name="leaderboard")
app.add_typer(trace, name="trace")


def _flow(group: typer.Typer) -> None:
    """Make docstrings help texts by paragraph: Typer keeps the line breaks of the code."""
    for command in (*group.registered_commands, group.registered_callback):
        if command is not None and command.callback is not None:
            paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
            command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    for below in group.registered_groups:
        if below.typer_instance is not None:
            _flow(below.typer_instance)


_flow(app)


def _command() -> Any:
    """The command line that is parsed: its flags take no value, and their help names none."""
    command: Any = typer.main.get_command(app)
    _name_no_value(command)
    return command


def _name_no_value(command: Any) -> None:
    """Empty what stands for the value of a flag, here and in the commands below.

    Typer shows `--oracle <bool>`, and whoever types `--oracle true` is refused.
    """
    for option in (*command.params, command.get_help_option(typer.Context(command))):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for below in getattr(command, "commands", {}).values():
        _name_no_value(below)


def _show_version(wanted: bool) -> None:
    if wanted:
        from failgym import __version__

        print(f"failgym {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
    ),
]


@app.callback()
def describe(version: Version = False) -> None:
    """Replay cluster traces and compare policies that clone, checkpoint, kill and retry tasks."""


def main() -> None:
    """Run the command on the arguments of the process and exit with its status."""
    out: object = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="replace")  # what the terminal has no sign for becomes "?"
    raise_again()
    warnings.formatwarning = _line_of
    try:
        status = run(sys.argv[1:])
    except KeyboardInterrupt:  # once more, while it was said
        status = INTERRUPTED
    end_by_signal()
    sys.exit(_flushed(status))


def _line_of(message: Warning | str, *_: object, **__: object) -> str:
    """What is shown of a warning: no file, no line of code."""
    return f"failgym: {message}\n"


def _flushed(status: int) -> int:
    """The exit status when all that was printed has arrived, or has nowhere to arrive."""
    try:
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - it may be closed
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python tries again, and complains
        if not isinstance(error, BrokenPipeError):
            status = status or _complain(f"standard output: {error.strerror}", BAD_INPUT)
    return status


def run(arguments: Sequence[str]) -> int:
    """Run the command; return 0, 2 after a line on standard error for bad input, 130 interrupted.

    Bad input is what the user typed and the files that they gave: it reaches this function as a
    ValueError or OSError, whose message is the line; or as a MemoryError, if it asks for too much.
    """
    try:
        status = _command()(
            args=list(arguments) or ["--help"], prog_name="failgym", standalone_mode=False
        )
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except Exception as error:
        if not _is_interrupt(error):
            line = _line(error)
            if line is None:
                raise
            return _complain(line, BAD_INPUT)
        status = INTERRUPTED
    if status == INTERRUPTED:
        return _complain("interrupted", INTERRUPTED)
    return status if isinstance(status, int) else 0


def _is_interrupt(error: BaseException | None) -> bool:
    """Does an error come of an interrupt? A class that was just being made raises another one."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _line(error: Exception) -> str | None:
    """The line that says what is wrong with what the user gave; None for what nobody foresaw."""
    if isinstance(error, _USAGE_ERROR):
        return _usage(error)
    if isinstance(error, MemoryError):
        return ": ".join(filter(None, ("not enough memory", str(error))))
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error) if isinstance(error, ValueError) else None


_EXPECTED = {
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "greater_than_equal": "at least {ge:g}",
}
"""What pydantic, which reads values for Typer, calls a problem -> what it expected."""
_OF_CLICK = {
    r": ('.*') is not a valid integer": _EXPECTED["int_parsing"],
    r": ('.*') is not a valid float": _EXPECTED["float_parsing"],
    r": (\S+) is not in the range x>=(\S+)\.$": "at least {}",
}
"""The same of Click, which did so for older versions of Typer: the words, with what was got."""


def _usage(error: Any) -> str:
    """What is wrong with a command line: the option, what was expected and what was found."""
    line: str = error.format_message()
    option: Any = getattr(error, "param", None)
    meant: str = getattr(option, "help", None) or ""
    if line.startswith("Missing") and meant:
        return f"{line.rstrip('.')}: {meant.removesuffix(' Repeatable.')}"
    cause: Any = error.__cause__
    problems: list[dict[str, Any]] = cause.errors() if hasattr(cause, "errors") else []
    if option is None:
        return line
    for found in problems[:1]:
        if found["type"] in _EXPECTED:
            expected = _EXPECTED[found["type"]].format(**found.get("ctx", {}))
            return f"{option.opts[0]}: expected {expected}, got {found['input']!r}"
    for wording, expected in _OF_CLICK.items():
        if matched := re.search(wording, line):
            got, *least = matched.groups()
            return f"{option.opts[0]}: expected {expected.format(*least)}, got {got}"
    return line


def _complain(message: str, status: int) -> int:
    """Say in one line on standard error what is wrong."""
    from failgym.cli.output import printable

    print("failgym:", " ".join(printable(message).split()), file=sys.stderr)
    return status

"""The command `failgym`. Each command is a module; what it needs is imported when it runs."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import typer

from failgym.cli.demo import demo
from failgym.cli.envs import envs
from failgym.cli.evaluate import evaluate
from failgym.cli.leaderboard import leaderboard
from failgym.cli.replay import replay
from failgym.cli.trace import trace
from failgym.cli.train import train
from failgym.cli.tune import tune

__all__ = ["app", "main", "run"]

BAD_INPUT = 2
INTERRUPTED = 130
"""Exit statuses; 0 is success."""

_USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]
"""What Typer raises for a command line that it cannot parse: click's UsageError. Typer depends on
click or bundles it, according to its version."""

app = typer.Typer(name="failgym", add_completion=False, pretty_exceptions_enable=False)
app.command()(demo)
app.command()(envs)
app.command()(evaluate)
app.command()(replay)
app.command()(train)
app.command()(tune)
app.add_typer(leaderboard, name="leaderboard")
app.add_typer(trace, name="trace")


@app.callback()
def describe() -> None:
    """Replay cluster traces and compare policies that clone, checkpoint, kill and retry."""


def main() -> None:
    """Run the command on the arguments of the process and exit with its status."""
    out: object = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="replace")  # what the terminal has no sign for becomes "?"
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the command; return 0, 2 after a line on standard error for bad input, 130 interrupted.

    Bad input is what the user typed and the files that they gave: it reaches this function as a
    ValueError or OSError, whose message is the line; or as a MemoryError, if it asks for too much.
    """
    try:
        status = app(args=list(arguments) or ["--help"], prog_name="failgym", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", INTERRUPTED)
    except _USAGE_ERROR as error:
        return _complain(error.format_message(), BAD_INPUT)  # type: ignore[attr-defined]
    except MemoryError as error:
        return _complain(": ".join(filter(None, ("not enough memory", str(error)))), BAD_INPUT)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}", BAD_INPUT)
    except ValueError as error:
        return _complain(str(error), BAD_INPUT)
    if status == INTERRUPTED:
        return _complain("interrupted", INTERRUPTED)
    return status if isinstance(status, int) else 0


def _complain(message: str, status: int) -> int:
    """Say in one line on standard error what is wrong."""
    from failgym.cli.output import printable

    print("failgym:", " ".join(printable(message).split()), file=sys.stderr)
    return status

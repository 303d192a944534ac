"""Experiments that tests make up, in packages of their own."""

from __future__ import annotations

from pathlib import Path

from experiments.reproduction.catalogue import Catalogue
from experiments.reproduction.report_entries import Entry
from experiments.reproduction.stored_results import Store, Task
from experiments.run_all import run_all
from failgym.workers import ALONE, Workers

__all__ = ["BAD", "GOOD", "KILLED", "SILENT", "add", "run", "task_for", "write"]

HEAD = '''"""{claim}

Claim
    A claim that goes
    over two lines.
"""
from pathlib import Path

import numpy as np

from experiments.reproduction import Experiment, Kind, Measured, Row
from made_up.shared import FACTOR


def measure(options, advance):
    with (Path(__file__).parent / "{name}.runs").open("a") as file:
        file.write("x")
'''
TAIL = """

def draw(measured, figure):
    figure.subplots().plot(measured.series["values"])


EXPERIMENT = Experiment(
    "Paper 2000", "{item}", "a title", Kind.{kind}, measure, {draw}, seeds={seeds}
)
"""
GOOD = """    seeds = range(options.seeds)
    values = [FACTOR * np.random.default_rng(seed).random() for seed in seeds]
    rows = (
        Row.over("in <b>", values, paper=0.5, band=(0.0, 1.0)),
        Row.over("fit", values, 0.5, (0.0, 1.0), fitted=True),
        Row.over("told", values, 0.5, (2.0, 3.0), note="since a | b"),
        Row.over("free", values),
        Row("none", None, float("nan")),
    )
    advance(1)
    return Measured(rows, {"values": values})
"""
BAD = '    raise RuntimeError("no such luck")\n'
KILLED = "    import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)\n"
SILENT = '    return Measured((Row("astray", 1.0, 2.0, band=(0.9, 1.1)),))\n'


def write(
    folder: Path, name: str, body: str, item: str, kind: str = "EXACT", seeds: int = 0
) -> None:
    """Write the module of an experiment that does what `body` says."""
    draw = "draw" if "series" in body or "values" in body else "None"
    text = HEAD.format(claim=f"What {name} shows.", name=name) + body
    text += TAIL.format(item=item, kind=kind, seeds=seeds, draw=draw)
    (folder / f"{name}.py").write_text(text, "utf-8")


def task_for(catalogue: Catalogue, out: Path, options: str = "") -> Task:
    """What runs the experiments of a package, with results in a folder."""
    names = catalogue.names()
    keys = {name: catalogue.key(name, options) for name in names}
    return Task(catalogue, Store(out), keys)


def run(
    catalogue: Catalogue,
    out: Path,
    *names: str,
    limit: float = 600.0,
    workers: Workers = ALONE,
) -> list[Entry]:
    """Run experiments, all if none is named, none longer than that [s]."""
    task = task_for(catalogue, out)
    with task.store.locked():
        return run_all(task, names or catalogue.names(), workers, limit=limit)


def add(catalogue: Catalogue, name: str, body: str, kind: str = "EXACT", seeds: int = 0) -> None:
    """Write an experiment that shares nothing with others."""
    write(catalogue.folder, name, body.replace("FACTOR * ", ""), "Table I", kind, seeds)
    file = catalogue.folder / f"{name}.py"
    own = file.read_text("utf-8").replace("from made_up.shared import FACTOR\n", "")
    file.write_text(own, "utf-8")

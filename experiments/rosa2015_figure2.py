"""How jobs and tasks end: four types, and eight classes.

Claim
    More than 40 % of the jobs fail; finish and kill are the two dominant types of jobs and of
    tasks. Of the eight classes of tasks (job succeeds or fails, task finishes, is evicted, fails or
    is killed) (s, fi), (f, fi) and (f, kl) account for almost 99 %; 25 % of the tasks of failed
    jobs do not finish (Rosà, Chen and Binder, IWQoS 2015, sections I and II, Fig. 2).

Kind and band
    Approximate: +-2 points; for "more than 40 %" at least 38 %.

Choices
    - On the profile google-2011, where the share of tasks of failed jobs that do not finish was
      chosen after the paper, and on the trace itself where it is there (printed and not judged:
      its first half day).
    - A job fails if it does not finish. Jobs and tasks whose end is not known do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from experiments.rosa2015_figure1 import known_tasks, traced
from failgym.evaluation.progress import Advance
from failgym.traces import Outcome, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TYPES = {
    "fi": Outcome.FINISH,
    "ev": Outcome.EVICT,
    "fl": Outcome.FAIL,
    "kl": Outcome.KILL,
}
DOMINANT = ("(s,fi)", "(f,fi)", "(f,kl)")
FAILING, UNFINISHED, DOMINATED = "jobs that fail", "unfinished / tasks of failed jobs", "dominant"
PAPER = {FAILING: 0.4, UNFINISHED: 0.25, DOMINATED: 0.99}
BAND = 0.02
BANDS = {FAILING: (0.38, 1.0), UNFINISHED: within(0.25, BAND), DOMINATED: (0.97, 1.0)}
WHY = {
    FAILING: "the profile has the mix of El-Sayed et al. (2017, Table I: 36.8 % of the jobs that"
    " they keep of the same trace fail or are killed); in its first half day 34.6 % do"
}


def found_in(trace: Trace) -> dict[str, dict[str, float]]:
    """Types of jobs and tasks, classes of tasks, and the shares that the text names."""
    jobs: Any = trace.column("jobs", "outcome")
    ended: Any = jobs[jobs != Outcome.CENSORED]
    known = known_tasks(trace)
    task: Any = trace.task_outcome[known]
    fails: Any = jobs[trace.column("tasks", "job")][known] != Outcome.FINISH
    classes = {
        f"({job},{name})": float(np.mean(where & (task == outcome)))
        for job, where in (("s", ~fails), ("f", fails))
        for name, outcome in TYPES.items()
    }
    return {
        "jobs": {name: float(np.mean(ended == outcome)) for name, outcome in TYPES.items()},
        "tasks": {name: float(np.mean(task == outcome)) for name, outcome in TYPES.items()},
        "classes": classes,
        "text": {
            FAILING: float(np.mean(ended != Outcome.FINISH)),
            UNFINISHED: float(np.mean(task[fails] != Outcome.FINISH)),
            DOMINATED: sum(classes[name] for name in DOMINANT),
        },
    }


def measure(options: Options, advance: Advance) -> Measured:
    """Shares on the profile and, where it is there, on the trace."""
    each: list[dict[str, dict[str, float]]] = []
    for seed in range(options.seeds):
        each.append(found_in(traced(seed, options.quick)))
        advance(1)
    rows = [
        Row.over(
            name if name != DOMINATED else " + ".join(DOMINANT),
            [one["text"][name] for one in each],
            paper,
            BANDS[name],
            fitted=name == UNFINISHED,
        ).because(WHY.get(name, ""))
        for name, paper in PAPER.items()
    ]
    means = {
        part: {name: float(np.mean([one[part][name] for one in each])) for name in each[0][part]}
        for part in each[0]
    }
    for part in ("jobs", "tasks", "classes"):
        rows += [Row(f"{part}: {name}", None, share) for name, share in means[part].items()]
    series = {"profile": means}
    record = options.trace("google-2011")
    if record is not None:
        series["trace"] = found_in(record)
        rows += [
            Row(f"{name}, trace", paper, series["trace"]["text"][name])
            for name, paper in PAPER.items()
        ]
    return Measured(tuple(rows), series)


def draw(measured: Measured, figure: Figure) -> None:
    """Types of jobs and tasks; classes of tasks."""
    panels: Any = figure.subplots(1, 2)
    types, classes = panels
    ours = measured.series["profile"]
    for number, part in enumerate(("jobs", "tasks")):
        at = [place + 0.4 * number - 0.2 for place in range(len(TYPES))]
        types.bar(at, list(ours[part].values()), 0.4, label=part)
    types.set_xticks(range(len(TYPES)), list(TYPES))
    types.set_title("(a) types")
    types.set_ylabel("share")
    types.legend()
    classes.bar(range(len(ours["classes"])), list(ours["classes"].values()))
    classes.set_xticks(range(len(ours["classes"])), list(ours["classes"]), rotation=60)
    classes.set_title("(b) classes of tasks")


EXPERIMENT = Experiment(
    paper="Rosà et al. 2015",
    item="Figure 2",
    title="how jobs and tasks end",
    kind=Kind.APPROXIMATE,
    measure=measure,
    draw=draw,
)

if __name__ == "__main__":
    EXPERIMENT.command()

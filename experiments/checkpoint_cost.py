"""The cost of a checkpoint against the mean time between failures: what is wasted, and by whom.

Claim
    Kumar et al. (DSN 2020, Table VIII) show four cells of MTBF M and checkpoint time C, and find
    predictions worth more the more reliable the system is. Nothing but the ratio C/M matters for
    long tasks: Young's interval (CACM 1974) wastes sqrt(2 C/M) of the time to first order, and
    checkpoints on predictions at the right interval (Aupy et al., JPDC 74(2), 2014) leave of that
    sqrt(1 - R) + R/P sqrt(C/(2 M)). So predictions gain 1 - sqrt(1 - R) where checkpoints are
    cheap, less the dearer these are, and to first order nothing where C/M exceeds
    2 (P/R)^2 (1 - sqrt(1 - R))^2. They lose nothing beyond: a checkpoint on an alarm, false or not,
    takes the place of a periodic one, which the formula leaves out.

Kind and band
    New: simulated; printed, not judged. Beside Young's waste stands what it is
    expected to be under exponential failures, 1 - T / (M (exp((T + C)/M) - 1)), T his interval;
    beside what predictions gain, the first-order formulas. Daly's interval is of FGCS 22(3), 2006.

Choices
    - Tasks of 60 of Young's intervals are struck from outside at exponential times and restored for
      nothing; the model is that of `experiments.prediction_aware`, with C = 60 s and windows of a
      twentieth of Young's interval. Waste is the share of machine-time that is of no use.
    - Working points: recall .76 at precision .26, as ML+Periodic of shared single jobs in Table
      VIII, and .9 at .9. A predicted failure is announced at the last window that leaves time for a
      checkpoint: half a window is lost on average.
    - ML+Periodic is the published combination, at Young's interval; the prediction-aware policy
      lengthens it and ignores alarms that are not worth a checkpoint.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.kumar2020 import label
from experiments.prediction_aware import THRESHOLD, Model, waste
from experiments.reproduction import BEYOND, Experiment, Kind, Measured, Options, Row
from failgym import metrics
from failgym.baselines import Daly, Heuristic, MLPeriodic, PredictionAware, Young
from failgym.evaluation.progress import Advance
from failgym.vocabulary import SECOND

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COST = 60.0
"""C [s]."""
RATIOS = (6e-5, 6e-4, 6e-3, 3e-2, 1e-1)
"""C/M; the first three are those of Table VIII's cells with T_s = 60 s."""
INTERVALS = 60
"""Of Young's, in a task."""
WINDOWS = 20
"""Decisions in one of Young's intervals."""
STRIKES, QUICK_STRIKES = 160, 10
"""Failures that the tasks of a seed meet, about."""


class Point(NamedTuple):
    """A predictor's working point."""

    precision: float
    recall: float

    @property
    def name(self) -> str:
        """As rows have it."""
        return f"P {self.precision:g}, R {self.recall:g}"

    def aware(self, ratio: float) -> float:
        """Waste over Young's, to first order, at the prediction-aware interval."""
        return math.sqrt(1.0 - self.recall) + self.alarms(ratio)

    def combined(self, ratio: float) -> float:
        """The same at Young's own interval."""
        return 1.0 - self.recall / 2 + self.alarms(ratio)

    def alarms(self, ratio: float) -> float:
        """What checkpoints on predictions cost, over Young's waste."""
        return self.recall / self.precision * math.sqrt(ratio / 2)

    @property
    def break_even(self) -> float:
        """C/M from which predictions are of no use."""
        gain = 1.0 - math.sqrt(1.0 - self.recall)
        return 2.0 * (self.precision / self.recall * gain) ** 2


POINTS = (Point(0.26, 0.76), Point(0.9, 0.9))


def model(ratio: float) -> Model:
    """The machine and its tasks at a ratio of C to M."""
    mtbf = COST / ratio
    young = metrics.young_interval(COST, mtbf)
    window = int(young * SECOND / WINDOWS)
    length = int(INTERVALS * young * SECOND)
    strikes = 30 + 4 * math.ceil(length / (mtbf * SECOND))
    cost = int(COST * SECOND)
    just_in_time = cost + 1
    return Model(cost, round(mtbf * SECOND), window, just_in_time, length, strikes)


def expected(ratio: float) -> float:
    """The waste at Young's interval under exponential failures."""
    interval = math.sqrt(2.0 / ratio)  # in units of C
    return 1.0 - interval * ratio / math.expm1((interval + 1.0) * ratio)


def policies() -> dict[str, tuple[Heuristic, Point | None]]:
    """Who decides, and on which predictions."""
    found: dict[str, tuple[Heuristic, Point | None]] = {
        "Young": (Young(), None),
        "Daly": (Daly(), None),
    }
    for point in POINTS:
        aware = PredictionAware(THRESHOLD, point.recall, point.precision, window=0.0)
        found[f"ML+Periodic, {point.name}"] = (MLPeriodic(THRESHOLD), point)
        found[f"prediction-aware, {point.name}"] = (aware, point)
    return found


def wastes(ratio: float, seed: int, strikes: int) -> dict[str, float]:
    """The waste of every policy on one trace."""
    machine = model(ratio)
    tasks = max(4, round(strikes * machine.mtbf / machine.length))
    trace = machine.trace(tasks, np.random.default_rng([seed, 0]))
    found: dict[str, float] = {}
    for name, (policy, point) in policies().items():
        told: Any = "none"
        if point is not None:
            rng = np.random.default_rng([seed, 1])
            told = machine.forecast(trace, point.recall, point.precision, rng)
        found[name] = waste(machine.scenario(trace, told), trace, policy)
    return found


def measure(options: Options, advance: Advance) -> Measured:
    """The wastes at every ratio."""
    strikes = QUICK_STRIKES if options.quick else STRIKES
    found: dict[float, dict[str, list[float]]] = {}
    for ratio in RATIOS:
        by_policy: dict[str, list[float]] = {name: [] for name in policies()}
        for seed in range(options.seeds):
            for name, value in wastes(ratio, seed, strikes).items():
                by_policy[name].append(value)
            advance(1)
        found[ratio] = by_policy
    rows = [row for ratio, by_policy in found.items() for row in at_ratio(ratio, by_policy)]
    rows += [
        Row(f"C/M from which {point.name} gains nothing", None, point.break_even)
        for point in POINTS
    ]
    means = {name: [float(np.mean(found[x][name])) for x in RATIOS] for name in policies()}
    series = {
        "ratio": list(RATIOS),
        "waste": means,
        "first order": [math.sqrt(2.0 * ratio) for ratio in RATIOS],
        "expected": [expected(ratio) for ratio in RATIOS],
    }
    return Measured(tuple(rows), series)


def at_ratio(ratio: float, by_policy: dict[str, list[float]]) -> list[Row]:
    """The rows of a ratio."""
    at, young = f"C/M={ratio:g}", np.array(by_policy["Young"])
    note = f"first order {math.sqrt(2.0 * ratio):.4f}, expected {expected(ratio):.4f}"
    rows = [Row.over(f"{at}, waste of Young", young.tolist(), note=note)]
    over = (np.array(by_policy["Daly"]) / young).tolist()
    rows.append(Row.over(f"{at}, Daly over Young", over))
    for name, (policy, point) in policies().items():
        if point is not None:
            aware = isinstance(policy, PredictionAware)
            gain = 1.0 - (point.aware(ratio) if aware else point.combined(ratio))
            saved = (1.0 - np.array(by_policy[name]) / young).tolist()
            said = f"first order {gain:.3f}"
            rows.append(Row.over(f"{at}, {name}, saved of Young's waste", saved, note=said))
    return rows


def draw(measured: Measured, figure: Figure) -> None:
    """Waste against C/M, and what predictions save of it."""
    left: Any = figure.add_subplot(1, 2, 1)
    right: Any = figure.add_subplot(1, 2, 2)
    shown = measured.series
    left.plot(shown["ratio"], shown["first order"], color="#b8c0c8", label="sqrt(2 C/M)")
    left.plot(
        shown["ratio"], shown["expected"], color="#2f3e4e", linestyle=":", label="Young, exact"
    )
    colours = ("#2f3e4e", "#8a6aa0", "#d0743c", "#2f6690", "#dd9f40", "#5579ac")
    young = np.array(shown["waste"]["Young"])
    for (name, values), colour in zip(shown["waste"].items(), colours, strict=True):
        left.plot(shown["ratio"], values, "o-", color=colour, label=name, markersize=3, linewidth=1)
        if "," in name:
            saved = 1.0 - np.array(values) / young
            right.plot(shown["ratio"], saved, "o-", color=colour, label=name, markersize=3)
    right.axhline(0.0, color="#2f3e4e", linewidth=0.8)
    left.set_xscale("log")
    left.set_yscale("log")
    right.set_xscale("log")
    label(left, "wasted machine-time", "C/M", "share")
    label(right, "saved of Young's waste by predictions", "C/M", "share")
    left.legend(fontsize=6)
    right.legend(fontsize=6)


EXPERIMENT = Experiment(
    paper=BEYOND,
    item="checkpoint cost against MTBF",
    title="what checkpoints and predictions waste, by C/M",
    kind=Kind.NEW,
    measure=measure,
    draw=draw,
    steps=lambda options: len(RATIOS) * max(1, options.seeds),
)

if __name__ == "__main__":
    EXPERIMENT.command()

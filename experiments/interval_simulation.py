"""How often do 95 % intervals hold a truth that is known, where few traces hold much of the stake?

    python -m experiments.interval_simulation [--trials 1000] [--json FILE]

Traces are drawn from a law. What can be gained on a unit of a trace, its room, has one of three
(`TAILS`): a gamma law, which scatters from trace to trace as in Cloning-v1 (the standard deviation
of the log of the room is .95 over six traces of `experiments.power`; in GracePeriod-v1 it is .2), a
lognormal law of sigma 1.5, and a Pareto law of exponent 1.3 that ends at a thousand times its least
value. Of each unit a policy saves a share of the room: its own number, more or less by what all
policies have in common (standard deviation `SHARED` points) and by what is lost on few units
(`OWN`, exponential). Scores of traces in Cloning-v1 scatter by about 25 points, and the differences
of two rules by 10 to 15. In rows *with room* shares are larger by `WITH_ROOM` points for each
standard deviation of the log of the room, too: what is not seen then differs from what is. The
truth is the ratio of expectations: by quadrature over the law, not by drawing.

Judged are, as on leaderboards (`failgym.leaderboard.statistics`), the score of the policy in the
middle of `POLICIES`, its difference to the next, and its set of ranks, whose numbers are `CLOSE` or
`FAR` points apart. A trace is one unit, or 15 blocks; then traces differ by a share of their own,
too, whose variance is that of the mean of their blocks.

With *by stake*, each trace has `SLICES` slices of which `DRAWN` are drawn by what is at stake on
them (`failgym.leaderboard.suite.by_stake`), and the truth is that of the law.

The brackets are Clopper and Pearson's interval of the share, 95 %.
"""

# scipy has no types for its distributions.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import typer
from scipy.stats import beta, gamma, norm

from failgym.cli.output import JsonFile, interactive, print_table
from failgym.evaluation.progress import progress_bar
from failgym.evaluation.statistics.sampling_units import TracesUnits
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.statistics.estimators import Runs
from failgym.leaderboard.statistics.ranks import ranks
from failgym.leaderboard.suite.by_stake import draw_by_stake

__all__ = ["DESIGNS", "TAILS", "Design", "Held", "Law", "bracket", "simulated"]

Floats = npt.NDArray[np.float64]

POLICIES = 8
CLOSE, FAR = 1.0, 8.0
"""Points from each policy to the next."""
MIDDLE = 40.0
"""Score of the policy that is judged, where shares do not grow with the room."""
SHARED, OWN, WITH_ROOM = 20.0, 10.0, 5.0
"""Points that scores of units scatter by."""
SHAPE, SIGMA, EXPONENT, CAP = 1.2, 1.5, 1.3, 1_000.0
"""Of the gamma, the lognormal and the Pareto law."""
GRID = 1 << 20
"""Points of the quadrature."""
RESAMPLES = 400
"""Bootstrap samples of an interval, fewer than leaderboards take: there are many intervals."""
SEEDS = 16
"""Of bootstraps, in turn: so the draws of one do not decide."""
SLICES, DRAWN = 200, 20


class Design(NamedTuple):
    """How many traces there are, and how many units of each."""

    traces: int
    blocks: int
    by_stake: bool = False


DESIGNS = (
    *(Design(5, 15), Design(30, 1), Design(60, 1), Design(100, 1), Design(200, 1)),
    *(Design(5, 15, by_stake=True), Design(60, 1, by_stake=True)),
)
WITH_ROOM_TOO = (Design(5, 15), Design(60, 1), Design(200, 1), Design(60, 1, by_stake=True))
"""Where shares grow with the room too."""


def _pareto(share: Floats) -> Floats:
    """Quantiles of the Pareto law from 1 to `CAP`."""
    return np.power(1.0 - share * (1.0 - CAP**-EXPONENT), -1.0 / EXPONENT).astype(np.float64)


TAILS: dict[str, Callable[[Floats], Floats]] = {
    "gamma": lambda share: np.asarray(gamma.ppf(share, SHAPE), dtype=np.float64),
    "lognormal": lambda share: np.exp(SIGMA * np.asarray(norm.ppf(share), dtype=np.float64)),
    "Pareto": _pareto,
}
"""Quantiles of the room."""


def _grid(points: int) -> Floats:
    """The middles of so many equal parts of 0 to 1."""
    return (np.arange(points) + 0.5) / points


@lru_cache
def _logs(tail: str) -> tuple[float, float]:
    """Mean and standard deviation of the log of rooms."""
    logs = np.log(TAILS[tail](_grid(GRID)))
    return float(logs.mean()), float(logs.std())


@dataclass(frozen=True)
class Law:
    """What traces are drawn from."""

    tail: str
    apart: float
    """points from each policy to the next"""
    with_room: float = 0.0
    """points by which scores grow with each standard deviation of the log of the room"""

    @property
    def numbers(self) -> Floats:
        """[policies] what each saves of a unit whose room is the middle one, on the mean [points];
        the best first.
        """
        return MIDDLE + self.apart * (POLICIES // 2 - np.arange(POLICIES, dtype=np.float64))

    def standard(self, room: Floats) -> Floats:
        """How large rooms are, in standard deviations of their log from its mean."""
        middle, deviation = _logs(self.tail)
        found: Floats = np.asarray((np.log(room) - middle) / deviation, dtype=np.float64)
        return found

    def truth(self) -> Floats:
        """[policies] the ratio of expectations [points]."""
        room = TAILS[self.tail](_grid(GRID))
        return self.numbers + self.with_room * float(
            (room * self.standard(room)).sum() / room.sum()
        )

    def units(self, traces: int, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw so many units of each trace: saved [policies, all] and room [all]."""
        room = TAILS[self.tail](rng.random((traces, count)))
        shared = SHARED * rng.standard_normal((traces, count))
        own = OWN * (1.0 - rng.standard_exponential((POLICIES, traces, count)))
        if count > 1:
            each = math.sqrt(float((room.sum(axis=1) ** -2 * (room**2).sum(axis=1)).mean()))
            shared = shared + each * SHARED * rng.standard_normal((traces, 1))
            own = own + each * OWN * rng.standard_normal((POLICIES, traces, 1))
        share = self.numbers[:, None, None] + shared + own + self.with_room * self.standard(room)
        return (share / 100.0 * room).reshape(POLICIES, -1), room.reshape(-1)

    def drawn(self, design: Design, rng: np.random.Generator) -> list[Runs]:
        """[policies] what they save of drawn traces."""
        if not design.by_stake:
            saved, room = self.units(design.traces, design.blocks, rng)
            trace = np.repeat(np.arange(design.traces), design.blocks)
            units = TracesUnits(np.arange(len(trace)), trace)
            return [Runs(each[None], room, room, units) for each in saved]
        saved, room = self.units(design.traces, SLICES, rng)
        chosen, weights = list[npt.NDArray[np.int64]](), list[Floats]()
        for at in range(design.traces):
            of = room[at * SLICES : (at + 1) * SLICES]
            found = draw_by_stake(of, of, DRAWN, int(rng.integers(1 << 31)))
            chosen.append(found.slices + at * SLICES)
            weights.append(found.weights)
        at, weight = np.concatenate(chosen), np.concatenate(weights)
        block = np.tile(np.arange(DRAWN) * design.blocks // DRAWN, design.traces)
        of_row = np.repeat(np.arange(design.traces), DRAWN) * design.blocks + block
        trace = np.repeat(np.arange(design.traces), design.blocks)
        units, stake = TracesUnits(of_row, trace), room[at] * weight
        return [Runs((each[at] * weight)[None], stake, stake, units) for each in saved]


@dataclass(frozen=True)
class Held:
    """How often intervals held the truth."""

    tail: str
    apart: float
    with_room: float
    traces: int
    blocks: int
    by_stake: bool
    trials: int
    score: int
    """intervals of a policy's score that held it"""
    difference: int
    """intervals of its difference to the next that held it"""
    rank: int
    """sets of its ranks that held it"""
    width_score: float
    """median [points]"""
    width_difference: float
    size: float
    """mean number of ranks in a set"""


def simulated(law: Law, design: Design, trials: int) -> Held:
    """Draw traces so often, and count."""
    truth, at = law.truth(), POLICIES // 2
    key = (sorted(TAILS).index(law.tail), int(law.apart), int(law.with_room), *map(int, design))
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))
    held, widths = np.zeros((trials, 3), dtype=np.bool_), np.zeros((trials, 3))
    for trial in range(trials):
        cells = [[runs] for runs in law.drawn(design, rng)]
        bootstrap = Bootstrap(trial % SEEDS, RESAMPLES)
        judged = (
            (bootstrap.score(cells[at][0]), truth[at]),
            (bootstrap.difference(cells[at], cells[at + 1]), truth[at] - truth[at + 1]),
            (ranks(cells, bootstrap, only=[at])[0], at + 1),
        )
        for column, (found, true) in enumerate(judged):
            held[trial, column] = found.low <= true <= found.high
            widths[trial, column] = found.high - found.low
    score, difference, rank = held.sum(axis=0).tolist()
    return Held(
        **asdict(law),
        **design._asdict(),
        trials=trials,
        score=score,
        difference=difference,
        rank=rank,
        width_score=float(np.median(widths[:, 0])),
        width_difference=float(np.median(widths[:, 1])),
        size=float(widths[:, 2].mean()) + 1.0,
    )


def bracket(held: float, trials: int) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share [%]."""
    low = float(beta.ppf(0.025, held, trials - held + 1)) if held else 0.0
    high = float(beta.ppf(0.975, held + 1, trials - held)) if held < trials else 1.0
    return 100.0 * low, 100.0 * high


def cells(row: Held) -> list[str]:
    """What a table shows of a row."""

    def share(held: int) -> str:
        low, high = bracket(held, row.trials)
        return f"{100.0 * held / row.trials:.1f} [{low:.1f}, {high:.1f}]"

    units = f"{row.traces} x {row.blocks}" + (", by stake" if row.by_stake else "")
    return [
        *(row.tail + (", with room" if row.with_room else ""), units, f"{row.apart:g}"),
        *(share(row.score), share(row.difference), share(row.rank)),
        *(f"{row.width_score:.1f}", f"{row.width_difference:.1f}"),
        f"{row.size:.1f}",
    ]


TITLES = (
    *("room", "traces x units", "points apart", "score", "difference", "rank set"),
    *("width of score", "of difference", "ranks in a set"),
)


def _cases() -> Iterator[tuple[Law, Design]]:
    for design in DESIGNS:
        for tail in TAILS:
            for apart in (CLOSE, FAR):
                yield Law(tail, apart), design
    for design in WITH_ROOM_TOO:
        for tail in TAILS:
            yield Law(tail, CLOSE, WITH_ROOM), design


def main(
    trials: Annotated[int, typer.Option(min=1, help="Of each row.")] = 1_000,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Count how often intervals hold the truth."""
    file, rows, cases = JsonFile.at(json_file), list[Held](), list(_cases())
    with progress_bar("simulating", len(cases), interactive()) as advance:
        for law, design in cases:
            rows.append(simulated(law, design, trials))
            advance(1)
    file.write({"resamples": RESAMPLES, "rows": [asdict(row) for row in rows]})
    print_table("Coverage of 95 % intervals [%]", TITLES, [tuple(cells(row)) for row in rows])


if __name__ == "__main__":
    typer.run(main)

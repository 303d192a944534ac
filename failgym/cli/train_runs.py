"""The agents that one `failgym train` trains: every environment with every seed and settings file.

One agent lies in ``--out`` itself. Several lie each in a folder of its own within it, named after
what is named: ``Cloning-v1/seed-3``, or ``Cloning-v1/wide/seed-3`` with several settings files.
"""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from failgym.cli.options import override
from failgym.cli.output import Cell, print_line, print_table
from failgym.cli.values import assignments

if TYPE_CHECKING:
    from failgym.agents.training.many import AgentRun, Outcome
    from failgym.agents.training.result import TrainingResult
    from failgym.agents.training.training_settings import TrainingSettings
    from failgym.envs import Scenario

__all__ = ["Named", "command_of", "print_outcomes", "runs_of"]

LEFT_OUT = ("--out", "--workers", "--ray-address")
"""Options whose value changes nothing of an agent."""


@dataclass(frozen=True)
class Named:
    """What a command line names."""

    envs: Sequence[str]
    seeds: Sequence[int]
    configs: Sequence[Path]
    changes: Sequence[str]
    """FIELD=VALUE of every scenario"""

    @property
    def several(self) -> bool:
        """Are several agents named?"""
        return max(len(self.envs), len(self.seeds), len(self.configs)) > 1

    def scenarios(self) -> dict[str, Scenario]:
        """Of each environment, as it is named.

        Raises:
            ValueError: for an unknown one, a field that there is not, or what is named twice.
        """
        from failgym.envs import resolve

        found: dict[str, Scenario] = {}
        for env in self.envs:
            wanted = resolve(env)
            if any(wanted.name == other.name for other in found.values()):
                raise ValueError(f"--env: {env} is given twice")
            free = {field.name for field in dataclasses.fields(wanted)} - {"split"}  # has an option
            found[env] = override(wanted, list(self.changes), free)
        for seed in self.seeds:
            if self.seeds.count(seed) > 1:
                raise ValueError(f"--seed: {seed} is given twice")
        stems = [file.stem for file in self.configs]
        for stem in stems:
            if stems.count(stem) > 1:
                raise ValueError(
                    f"--config: two files are called {stem}: expected names that differ, since"
                    " folders are named after them"
                )
        return found


def runs_of(
    named: Named, out: Path, settings: Callable[[int, Path | None], TrainingSettings]
) -> list[AgentRun]:
    """The agents that are named: by environment, then settings file, then seed.

    Args:
        named: what a command line names.
        out: the folder that it names.
        settings: makes what else it says, of a seed and a settings file.

    Raises:
        ValueError: as `Named.scenarios`, and for a folder on the way that is one of a run.
    """
    from failgym.agents.training.many import AgentRun

    scenarios, asked = named.scenarios(), tuple(assignments(list(named.changes), "--set"))
    runs: list[AgentRun] = []
    for env, config, seed in product(named.envs, named.configs or [None], named.seeds):
        folders = [scenarios[env].name]
        if config is not None and len(named.configs) > 1:
            folders.append(config.stem)
        kept = {"--env": env, "--seed": str(seed), "--config": str(config)}
        runs.append(
            AgentRun(
                name=", ".join([*folders, f"seed {seed}"]),
                scenario=scenarios[env],
                out=out.joinpath(*folders, f"seed-{seed}") if named.several else out,
                settings=settings(seed, config),
                command=command_of(sys.argv[1:], kept),
                asked_for=asked,
            )
        )
    for run in runs if named.several else ():
        _check_between(out, run.out)
    return runs


def _check_between(out: Path, folder: Path) -> None:
    """Raise ValueError for a run in a folder that others are to lie in."""
    from failgym.agents.training.run_folder import RunFolder

    for above in (out, *(one for one in folder.parents if out in one.parents)):
        if RunFolder(above).begun:
            raise ValueError(f"{above}: holds a training run: expected a folder for several")


def command_of(words: Sequence[str], kept: Mapping[str, str]) -> str:
    """The command that trains one agent alone, without where, by whom and whether it went on.

    Args:
        words: that were typed.
        kept: of an option that may be given several times, the value of this agent.
    """
    given, left = ["failgym"], iter(words)
    for word in left:
        option, equals, value = word.partition("=")
        if option in LEFT_OUT or option in kept:
            text = value if equals else next(left, "")
            if option in kept and _same(text, kept[option]):
                given += [word] if equals else [word, text]
        elif word != "--resume":
            given.append(word)
    return shlex.join(given)


def _same(text: str, value: str) -> bool:
    """Is it the same value? A seed may be written in several ways, and a path."""
    try:
        return int(text) == int(value)
    except ValueError:
        return text == value or str(Path(text)) == value


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print what came of several agents.

    Raises:
        ValueError: in one line, if some could not be trained; it names all of them.
    """
    done = [(one.run, one.result) for one in outcomes if one.result is not None]
    if done:
        rows: list[tuple[Cell, ...]] = []
        for run, result in done:
            best = result.best
            interval = "-" if best.low is None else f"{best.low:.1f} to {best.high:.1f}"
            drawn = "-" if best.stochastic is None else f"{best.stochastic:.1f}"
            rows.append((run.name, f"{best.score:.1f}", interval, drawn, _answers(result)))
        print_line(f"{done[0][1].algo}: score of the best agent on the validation split")
        columns = ("agent", "best\naction", "95 %\ninterval", "drawn\naction", "verdict")
        print_table("", columns, rows)
        print_line("intervals are over jobs, in blocks where something joins them, or slices")
    for run, result in done:
        print_line(f"{run.name}: written to {result.policy}")
        for env, verdict in (result.verdicts or {}).items():
            print_line(f"{run.name}: {env}: {verdict.text}")
    failed = [one for one in outcomes if one.result is None]
    if failed:
        reasons = "; ".join(f"{one.run.name}: {one.problem}" for one in failed)
        raise ValueError(f"{len(failed)} of {len(outcomes)} agents were not trained: {reasons}")


def _answers(result: TrainingResult) -> str:
    """What the verdict is; of several environments, how many say that the agent may be used."""
    if result.verdicts is not None:
        adopted = sum(one.answer == "adopt" for one in result.verdicts.values())
        return f"adopt in {adopted} of {len(result.verdicts)}"
    return "-" if result.verdict is None else result.verdict.answer

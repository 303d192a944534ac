"""Checks a submission by playing all of it again, one environment and seed at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from failgym.leaderboard.submission.checks import cells_of
from failgym.leaderboard.submission.layout import files_of
from failgym.leaderboard.submission.proofs import RowProof
from failgym.leaderboard.submission.records import PolicyRecord, Submission
from failgym.leaderboard.submission.same_predictor import same_predictor
from failgym.leaderboard.suite.reference import Reference
from failgym.leaderboard.suite.suite_worlds import SuiteWorlds
from failgym.leaderboard.suite.suites import Cell
from failgym.leaderboard.verification.asking_again import Asked, Asking, ask
from failgym.leaderboard.verification.cell_check import CellCheck, Record
from failgym.leaderboard.verification.findings import Findings, Place
from failgym.leaderboard.verification.kept_findings import KeptFindings

__all__ = ["SubmissionCheck"]


@dataclass(frozen=True)
class SubmissionCheck:
    """A submission whose tables can be read, and the worlds that it was played on."""

    folder: Path
    submission: Submission
    worlds: SuiteWorlds
    """with the predictors of the submission"""
    results: Any
    """the table of results"""
    changed: frozenset[str]
    """files whose hash is another one by now"""
    learned: Path
    """the folder of the predictors that are trained anew"""
    asking: Asking | None = None
    """None: no policy is asked again"""
    forged: frozenset[str] = frozenset()
    """environments whose predictor is not what is learned: with its forecasts nothing is played"""
    refitted: bool = True
    """were predictors trained anew?"""
    kept: KeptFindings | None = None
    """what was found before; None: nothing is kept"""

    def examine(self, place: Place) -> Findings:
        """Play all that is claimed of a place again, unless what was found there is kept.

        Raises:
            ValueError: if it cannot be played.
            OSError: if what is found cannot be written.
        """
        known = None if self.kept is None else self.kept.read(place)
        if known is not None:
            return known
        env, seed = place
        found = self.learn(env) if seed is None else self.play_again(env, seed)
        if self.kept is not None:
            self.kept.write(place, found)
        return found

    def play_again(self, env: str, seed: int) -> Findings:
        """Play everything in an environment under a seed again.

        Where nobody plays there is nothing but the trace, if it is stated.

        Raises:
            ValueError: if it cannot be played.
        """
        blind, players = Cell(env, "none", seed), self._players(env)
        if not players:
            return Findings(problems=self._other_trace(blind, self.worlds.trace_hash(blind)))
        reference = self.worlds.reference(blind)
        found = Findings(reference.rows.tolist(), engine_seconds=reference.seconds)
        found.problems += self._other_trace(blind, reference.trace_hash)
        if found.problems:
            return found
        references = self._references(blind, reference, found)
        for policy in players:  # one after the other, so that its process is kept
            for cell, meant in references.items():
                self._compare(policy, cell, meant, found)
        return found

    def _references(
        self, blind: Cell, reference: Reference, found: Findings
    ) -> dict[Cell, Reference]:
        """The cells that can be played beside a blind one, with what replay and the bound cost."""
        alike, kept = {blind: reference}, dict[Cell, Reference]()
        for cell in cells_of(self.submission, self.worlds.suite):
            if (cell.env, cell.seed) != (blind.env, blind.seed):
                continue
            if cell.forecast == "trained" and cell.env in self.forged:
                continue
            same = self.worlds.alike(cell)
            try:
                if same not in alike:
                    alike[same] = self.worlds.reference(same)
                    found.engine_seconds += alike[same].seconds
            except ValueError as error:
                found.problems.append(f"{cell}: cannot be played: {error}")
                continue
            kept[cell] = alike[same]
        return kept

    def _players(self, env: str) -> list[PolicyRecord]:
        return [policy for policy in self.submission.policies if env in policy.specs]

    def _other_trace(self, blind: Cell, found: str) -> list[str]:
        """What is wrong with the trace that is stated, if anything.

        Args:
            blind: the cell of the trace.
            found: the content hash that it has here.
        """
        place = blind.env, blind.seed
        stated = {(one.env, one.seed): one.content_hash for one in self.submission.traces}
        if stated.get(place) == found:
            return []
        return [
            f"trace of {blind.env}, seed {blind.seed}: the submission was made on"
            f" {str(stated.get(place))[:16]}, this is {found[:16]}: another trace"
        ]

    def _compare(
        self, policy: PolicyRecord, cell: Cell, reference: Reference, found: Findings
    ) -> None:
        """Compare what is claimed of a policy in a cell, and add what was found."""
        record = Record(self.folder, self.results, self.changed, self.worlds)
        asked = partial(self._ask, policy, cell, reference)
        claim = CellCheck(record, policy, cell, reference, asked, self._exact(cell))
        found.problems += claim.problems()
        proof, why = claim.proof, claim.why
        if self._taken_on_trust(cell):
            proof, why = "claimed", "its predictor was not trained anew"
        found.proofs.append(RowProof.of(policy, cell.env, cell.forecast, proof, why))
        found.rows += claim.rows
        found.engine_seconds += claim.engine_seconds
        found.policy_seconds += claim.policy_seconds

    def _ask(self, policy: PolicyRecord, cell: Cell, reference: Reference) -> Asked | str:
        """Ask a policy again, or say why not."""
        if self.asking is None:
            return "was not asked again"
        why = self.asking.excused.get((policy.key, cell.env))
        worlds = self.worlds if self._exact(cell) else replace(self.worlds, predictors=self.learned)
        if (
            why is None
            and not self._exact(cell)
            and not worlds.predictor_file(cell.env, cell.seed).is_file()
        ):
            why = "its forecasts were not learned anew"
        if why is not None:
            return why
        return ask(self.asking.players, policy, worlds, cell, reference)

    def _exact(self, cell: Cell) -> bool:
        """Are the forecasts at hand that were shown in the run, to the last bit?"""
        return cell.forecast != "trained" or self.worlds.alike(cell) == cell

    def _taken_on_trust(self, cell: Cell) -> bool:
        """Does what happens follow from a predictor that nobody has trained anew?"""
        return cell.forecast == "trained" and self._exact(cell) and not self.refitted

    def learn(self, env: str) -> Findings:
        """Train the predictors of an environment anew; are they the submission's, if any?"""
        names = files_of(self.worlds.suite.course(env))
        left_out = any(one.env == env for one in self.submission.left_out)
        mine = replace(self.worlds, predictors=self.learned)
        try:
            mine.train_predictor(env)
        except ImportError:
            raise
        except ValueError as error:
            return Findings(
                problems=[] if left_out else [f"{names[0]}: cannot be trained: {error}"]
            )
        if left_out:
            problem = f"{env}, forecast trained: was left out, and yet it can be trained"
            return Findings(problems=[problem])
        others = [
            name
            for name in names
            if name in self.submission.files
            and not same_predictor(self.learned / Path(name).name, self.folder / name)
        ]
        return Findings(
            problems=[f"{name}: is not what the train split teaches" for name in others]
        )

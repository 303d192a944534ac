"""What a forger may try, and what `verify` must make of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from failgym.leaderboard.submission.records import file_sha256
from tests.leaderboard.boards import rewrite
from tests.leaderboard.forged import (
    AGENT,
    CODE,
    ENV,
    NAMES,
    RANDOM,
    REPLAY,
    TUNED,
    Forger,
    agent,
)

HASH = "0" * 64


@dataclass(frozen=True)
class Forgery:
    """What is changed, and what `verify` makes of it."""

    change: Callable[[Forger], Any]
    named: str = ""
    """in a problem"""
    unproven: tuple[int, str] | None = None
    """a policy, and what is proven of its rows at most"""
    stated: str = ""
    """what is shown as stated by the submitter"""


def extend(name: str, value: Any) -> Callable[[Forger], None]:
    return lambda forger: forger.say(lambda about: about[name].append(value))


def said(**values: Any) -> Callable[[Forger], None]:
    return lambda forger: forger.say(lambda about: about.update(values))


def of_policy(number: int, **values: Any) -> Callable[[Forger], None]:
    return lambda forger: forger.policy(number, **values)


def of_row(number: int, **values: Any) -> Callable[[Forger], None]:
    return lambda forger: forger.row(number, **values)


def text(forger: Forger, old: str, new: str) -> None:
    file = forger.folder / "submission.json"
    content = file.read_text()
    assert old in content
    file.write_text(content.replace(old, new, 1))


def garbage(name: str) -> Callable[[Forger], Path]:
    def write(forger: Forger) -> Path:
        file = forger.file(name)
        file.write_text("no policy")
        return file

    return write


def swap_actions(forger: Forger) -> None:
    """The random policy's play as that of the one that does nothing."""
    forger.spec(RANDOM, "optimal_stopping", name="optimal_stopping")


def twice_in_json(forger: Forger) -> None:
    text(forger, '"secret": null', '"secret": "' + HASH + '", "secret": null')


def cut_off(forger: Forger) -> None:
    file = forger.folder / "results.parquet"
    file.write_bytes(file.read_bytes()[:-20])


def hard_link(forger: Forger) -> None:
    os.link(forger.folder / "results.parquet", forger.file("another"))


def other_agent(forger: Forger) -> None:
    other = forger.file("other.safetensors")
    forger.spec(AGENT, str(other), other)


def no_agent(forger: Forger) -> None:
    file = garbage("no.safetensors")(forger)
    forger.spec(AGENT, str(file), file)


def no_parameters(forger: Forger) -> None:
    file = garbage("no.json")(forger)
    forger.spec(TUNED, str(file), file)


def other_parameters(forger: Forger) -> None:
    file = forger.file("random.json")
    forger.spec(TUNED, str(file), file)


def other_run(forger: Forger) -> None:
    """One more training run, which states another seed than its file."""
    file = agent(forger.file("run-1.safetensors"), "random:seed=5", seed=1)
    files = {ENV: {"name": file.name, "sha256": file_sha256(file)}}
    forger.double(AGENT, training_seed=2, specs={ENV: str(file)}, files=files)


def same_weights(forger: Forger) -> None:
    """One more training run, whose file says another seed and holds the weights of the first."""
    file = agent(forger.file("run-2.safetensors"), _does(forger.file("mine.safetensors")), seed=2)
    files = {ENV: {"name": file.name, "sha256": file_sha256(file)}}
    forger.double(AGENT, training_seed=2, specs={ENV: str(file)}, files=files)


def _does(file: Path) -> str:
    return json.loads(file.read_text())["does"]


def same_parameters(forger: Forger) -> None:
    """A tuned rule in a file that has one space more."""
    file = forger.file("again.json")
    file.write_text(forger.file("blind_kill.json").read_text() + " ")
    files = {ENV: {"name": file.name, "sha256": file_sha256(file)}}
    forger.double(TUNED, name="cunning", specs={ENV: str(file)}, files=files)


def swapped_terms(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        row["wasted"], row["completion"] = row["completion"], row["wasted"] + 0.5


BASELINE = "is the name of a baseline"
OTHERWISE = "answers otherwise: these are not its actions"
ANSWERS = "asked again, it answers every question"
FORGERIES: dict[str, Forgery] = {
    # Who played
    "another's actions": Forgery(swap_actions, OTHERWISE),
    "a baseline's name": Forgery(of_policy(RANDOM, name="blind_kill"), BASELINE),
    "its name in capitals": Forgery(of_policy(RANDOM, name="Blind-Kill"), BASELINE),
    "its name in Cyrillic": Forgery(of_policy(RANDOM, name="bl\u0456nd_kill"), BASELINE),
    "its name with a sign unseen": Forgery(of_policy(RANDOM, name="blind_kill\u3164"), BASELINE),
    "code by its name": Forgery(of_policy(CODE, name="blind_kill"), BASELINE),
    "a variant of a baseline": Forgery(
        of_policy(RANDOM, name="blind_kill, better"), "reads like a variant of blind_kill"
    ),
    "an agent as a variant": Forgery(
        of_policy(AGENT, name="replay, tuned"), "reads like a variant of replay"
    ),
    "a colour": Forgery(of_policy(RANDOM, name="mine\x1b[31m"), "expected printable characters"),
    "written backwards": Forgery(
        of_policy(RANDOM, name="\u202emine"), "expected printable characters"
    ),
    "another SPEC as a name": Forgery(of_policy(RANDOM, name="random:seed=4"), "reads like a SPEC"),
    "another file as a name": Forgery(
        of_policy(AGENT, name="zoo/best.safetensors"), "reads like a SPEC"
    ),
    "another's name in capitals": Forgery(
        of_policy(CODE, name="Mine"), "'mine' and 'Mine' read alike"
    ),
    "another's name in Greek": Forgery(
        of_policy(CODE, name="min\u03b5"), "'mine' and 'min\u03b5' read alike"
    ),
    "another's name": Forgery(
        lambda f: f.say(lambda c: c["policies"][CODE].update(name="mine", training_seed=0)),
        "'mine' is there twice",
    ),
    "another's name and a point": Forgery(
        lambda f: f.double(CODE, name=f"{NAMES[AGENT]}."), "read alike"
    ),
    "a name that vouches": Forgery(of_policy(CODE, name="theirs (verified)"), "says 'verified'"),
    # What was asked
    "a baseline as code": Forgery(
        lambda f: f.spec(RANDOM, "super:Policy", kind="code", name="super"),
        unproven=(RANDOM, "replayed"),
    ),
    "code as a baseline": Forgery(of_policy(CODE, kind="baseline"), "is not of kind 'baseline'"),
    "an agent as code": Forgery(of_policy(AGENT, kind="code"), "is not of kind 'code'"),
    "code as an agent": Forgery(
        lambda f: f.spec(CODE, "super.safetensors", HASH, kind="agent"), unproven=(CODE, "replayed")
    ),
    "no number": Forgery(
        lambda f: f.spec(RANDOM, "random:seed=x", name="random:seed=x"), "cannot have been asked"
    ),
    "an unknown parameter": Forgery(
        lambda f: f.spec(RANDOM, "random:luck=9", name="random:luck=9"), "cannot have been asked"
    ),
    "an impossible parameter": Forgery(
        lambda f: f.spec(RANDOM, "blind_kill:limit=0.5", name="kills"), "limit: expected 1 to"
    ),
    "another parameter": Forgery(
        lambda f: f.spec(RANDOM, "random:seed=4", name="random:seed=4"), OTHERWISE
    ),
    "an unknown baseline": Forgery(lambda f: f.spec(RANDOM, "retry_cup"), "is not of kind"),
    "a baseline of elsewhere": Forgery(
        lambda f: f.spec(RANDOM, "young", name="young"), f"was not made for {ENV}"
    ),
    "an unknown environment": Forgery(
        lambda f: f.say(lambda c: c["policies"][REPLAY]["specs"].update({"Odd-v0": "replay"})),
        "'Odd-v0' is no environment",
    ),
    # Files
    "a file that is not there": Forgery(
        lambda f: f.spec(AGENT, str(f.file("gone.safetensors")), HASH), unproven=(AGENT, "replayed")
    ),
    "a file of no name": Forgery(
        lambda f: f.spec(AGENT, "x" * 900 + ".safetensors", HASH), unproven=(AGENT, "replayed")
    ),
    "parameters that are not there": Forgery(
        lambda f: f.spec(TUNED, str(f.file("gone.json")), HASH), unproven=(TUNED, "replayed")
    ),
    "another agent": Forgery(other_agent, unproven=(AGENT, "replayed")),
    "a file that is no agent": Forgery(no_agent, unproven=(AGENT, "replayed")),
    "a file of no parameters": Forgery(no_parameters, "cannot have been asked"),
    "another's parameters": Forgery(other_parameters, "random.json is random"),
    "the hash of a file": Forgery(
        lambda f: f.spec(AGENT, str(f.file("mine.safetensors")), HASH), "was changed: its hash"
    ),
    "the name of a file": Forgery(
        lambda f: f.say(lambda c: c["policies"][AGENT]["files"][ENV].update(name="x.safetensors")),
        "its file is stated as 'x.safetensors'",
    ),
    "a file without hash": Forgery(of_policy(AGENT, files={}), "its file is stated as None"),
    "a file of a baseline": Forgery(
        of_policy(REPLAY, files={ENV: {"name": "replay", "sha256": HASH}}), "its file is stated as"
    ),
    # Crashes
    "a rival's crash": Forgery(lambda f: f.fail(RANDOM, "crashed"), ANSWERS),
    "a rival's nonsense": Forgery(lambda f: f.fail(TUNED, "nonsense"), ANSWERS),
    "a baseline out of time": Forgery(lambda f: f.fail(REPLAY, "timeout"), ANSWERS),
    "an agent's crash": Forgery(lambda f: f.fail(AGENT, "crashed"), unproven=(AGENT, "claimed")),
    "an agent out of time": Forgery(
        lambda f: f.fail(AGENT, "timeout"), unproven=(AGENT, "claimed")
    ),
    "a stranger's crash": Forgery(lambda f: f.fail(CODE, "crashed"), unproven=(CODE, "claimed")),
    # Seeds and repetitions
    "a training seed": Forgery(of_policy(AGENT, training_seed=7), "was trained with seed 0, it"),
    "a baseline's training seed": Forgery(
        of_policy(RANDOM, training_seed=7), "of kind 'baseline' has no training seed"
    ),
    "one run as two": Forgery(
        lambda f: f.double(AGENT, training_seed=1), "'mine', training seed 1 are the same one"
    ),
    "another run's seed": Forgery(other_run, "was trained with seed 1, it states 2"),
    "one policy as two": Forgery(lambda f: f.double(RANDOM, name="dice"), "are the same one"),
    "one policy in other words": Forgery(
        lambda f: f.double(RANDOM, name="dice", specs={ENV: "random:seed=03"}), "are the same one"
    ),
    "one tuned rule as two": Forgery(same_parameters, "are the same one"),
    "one run's weights as two runs": Forgery(same_weights, "are the same one"),
    "half a seed": Forgery(lambda f: text(f, '"seed": 0', '"seed": 0.0'), "traces.0.seed: Input"),
    "one seed more": Forgery(
        extend("traces", {"env": ENV, "seed": 9, "content_hash": HASH}), "does not belong to the"
    ),
    "a row's seed": Forgery(of_row(RANDOM, seed=1), "seed is 1, expected 0"),
    # Where
    "another trace": Forgery(
        lambda f: f.say(lambda c: c["traces"][0].update(content_hash=HASH)), "another trace"
    ),
    "another suite": Forgery(
        lambda f: f.say(lambda c: c["suite"].update(digest=HASH)), "suite small: the submission is"
    ),
    "another version of the suite": Forgery(
        lambda f: f.say(lambda c: c["suite"].update(version=2)), "is of version 2"
    ),
    "a secret that was none": Forgery(said(secret=HASH), "secret seed: the submission was made"),
    "another version of failgym": Forgery(said(failgym="99.0"), "the submission is of 99.0"),
    "a forecast left out": Forgery(
        extend("left_out", {"env": ENV, "forecast": "drawn", "reason": "x"}), "may be left out"
    ),
    "a predictor of its own": Forgery(
        lambda f: f.say(lambda c: c["files"].update({f"predictors/{ENV}.npz": HASH})),
        f"'predictors/{ENV}.npz': does not belong",
    ),
    # Tables
    "an action": Forgery(
        lambda f: (
            rewrite(f.actions(RANDOM), lambda r: r[0]["actions"].__setitem__(-1, 4)),
            f.results(lambda rows: None),
        ),
        "random:seed=3: ",
    ),
    "a score": Forgery(of_row(RANDOM, wasted=0.25), "wasted is 0.25, computed anew"),
    "terms": Forgery(lambda f: f.results(swapped_terms), "computed anew"),
    "no number for a cost": Forgery(of_row(RANDOM, wasted=float("nan")), "wasted is nan"),
    "no end of a cost": Forgery(of_row(RANDOM, wasted=float("-inf")), "wasted is -inf"),
    "what replay costs": Forgery(of_row(RANDOM, replay_cost=9.0), "replay_cost is 9"),
    "what replay spends": Forgery(of_row(RANDOM, replay_spent=9.0), "replay_spent is 9"),
    "whose costs they are": Forgery(
        of_row(RANDOM, cost_blocks=[0.0, 0.0]), "cost_blocks are others, computed anew"
    ),
    "how what replay costs is shared out": Forgery(
        of_row(RANDOM, replay_cost_blocks=[9.0]), "replay_cost_blocks are others"
    ),
    "too many blocks": Forgery(
        of_row(RANDOM, bound_cost_blocks=[1.0] * 16), "expected at most 15 numbers a row"
    ),
    "how often it was asked": Forgery(of_row(RANDOM, decisions=1), "decisions is 1"),
    "what was illegal": Forgery(of_row(RANDOM, illegal=1), "illegal is 1"),
    "a row less": Forgery(lambda f: f.results(lambda rows: rows.pop(3)), "row is missing"),
    "a row twice": Forgery(lambda f: f.results(lambda r: r.insert(3, r[3])), "is there twice"),
    "a row of nobody": Forgery(
        lambda f: f.results(lambda r: r.append({**r[0], "policy": "x"})), "row does not belong"
    ),
    "a column of another type": Forgery(
        lambda f: f.retype("decisions", pa.float64()), "column 'decisions' is double"
    ),
    "half a table": Forgery(cut_off, "it may be cut off"),
    # Files of the submission
    "results elsewhere": Forgery(lambda f: f.link("results.parquet"), "is a link"),
    "submission.json elsewhere": Forgery(lambda f: f.link("submission.json"), "is a link"),
    "actions elsewhere": Forgery(lambda f: f.link("actions"), "actions: is a link"),
    "a second name": Forgery(hard_link, "(hard link)"),
    "a file more": Forgery(
        lambda f: (f.folder / "actions" / "x").write_text(""), "'actions/x': does not belong"
    ),
    "a folder more": Forgery(
        lambda f: (f.folder / "actions" / "x").symlink_to("/"), "'actions/x': does not belong"
    ),
    "a file above": Forgery(
        lambda f: f.say(lambda c: c["files"].update({"../../x": HASH})), "'../../x': does not"
    ),
    "said twice": Forgery(twice_in_json, "'secret' is there twice"),
    "time gained": Forgery(
        lambda f: f.say(lambda c: c["seconds"].update(engine=-1.0)), "seconds.engine: Input"
    ),
    "no time": Forgery(
        lambda f: f.say(lambda c: c["seconds"].update(engine=float("nan"))), "seconds.engine: Input"
    ),
    # What nobody can check
    "a command": Forgery(of_policy(RANDOM, command="<b>honest</b>"), stated="command"),
    "versions": Forgery(
        lambda f: f.say(lambda c: c["policies"][RANDOM]["versions"].update(numpy="99")),
        stated="versions",
    ),
    "a quick policy": Forgery(of_row(RANDOM, seconds=1e-9), stated="seconds"),
    "a quick run": Forgery(
        lambda f: f.say(lambda c: c["seconds"].update(policy=1e-9)), stated="seconds"
    ),
}

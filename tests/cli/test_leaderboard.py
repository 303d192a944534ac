"""`failgym leaderboard`: run, verify, merge, commit; one line for bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from failgym.baselines import BlindKill, ImmediateKill, Young
from failgym.baselines.stored import save_heuristic
from failgym.cli import run
from failgym.cli.board import chosen
from failgym.leaderboard import read_submission
from failgym.leaderboard.page import read_source, rows_of
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.verification.verdict_file import read_verdicts
from failgym.traces import generate
from tests.leaderboard.boards import results

PLAIN = ("run", "--suite", "tiny", "--policy", "replay")
RUN = ("leaderboard", "run", "--suite", "tiny")


def invoke(*arguments: str | int | Path) -> int:
    return run([str(argument) for argument in arguments])


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str | int | Path) -> str:
    """The one line that a refused command says."""
    assert invoke(*arguments) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_a_submission_is_run_verified_and_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, both = (tmp_path / name for name in ("a", "b", "both"))
    assert invoke(*RUN, "--policy", "replay", "--policy", "Blind=blind_kill", "--out", a) == 0
    shown = capsys.readouterr().out
    assert f"written to {a}" in shown
    submission = read_submission(a)
    assert [policy.name for policy in submission.policies] == ["replay", "Blind"]
    assert submission.policies[1].spec == "blind_kill"
    assert str(tmp_path) not in (a / "submission.json").read_text()

    assert invoke("leaderboard", "verify", a, "--json", tmp_path / "v.json") == 0
    said = capsys.readouterr().out
    assert "16 episodes of 2 policies are those of their actions; rows: 4 verified, 0 rep" in said
    assert "stated by the submitter, checked by nobody: commands, versions of packages" in said
    verdict = json.loads((tmp_path / "v.json").read_text())
    assert verdict["problems"] == []
    assert {(one["policy"], one["proof"]) for one in verdict["proofs"]} == {
        ("replay", "verified"),
        ("Blind", "verified"),
    }

    assert invoke(*RUN, "--policy", "random", "--out", b) == 0
    capsys.readouterr()
    assert (
        invoke("leaderboard", "merge", a, b, "--out", both, "--verdict", tmp_path / "v.json") == 0
    )
    said = capsys.readouterr().out
    assert re.search(r"Blind +blind_kill +baseline +2 +0 +0 *\n", said)
    assert re.search(r"random +baseline +0 +0 +2 +no verdict says more *\n", said)
    assert len(results(both)) == 24

    shown = tmp_path / "page.html"
    assert (
        invoke("leaderboard", "page", both, "--out", shown, "--verdict", tmp_path / "v.json") == 0
    )
    assert "Content-Security-Policy" in shown.read_text()
    assert f"written to {shown}" in capsys.readouterr().out

    check_shown(both, tmp_path, capsys)

    (both / "results.parquet").write_bytes(b"PAR1")
    assert "results.parquet" in refusal(capsys, "leaderboard", "page", both, "--out", shown)
    capsys.readouterr()
    assert invoke("leaderboard", "verify", both) == 2
    out = capsys.readouterr()
    assert "results.parquet: cannot be read, it may be cut off" in out.out
    assert out.err == f"failgym: {both}: not verified: 2 problems\n"


def check_shown(both: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `show` prints and writes of the joined submission are the rows of its page."""
    file = tmp_path / "rows.json"
    show = "leaderboard", "show", both, "--verdict", tmp_path / "v.json"
    assert invoke(*show, "--forecast", "none", "--json", file) == 0
    said = capsys.readouterr().out
    assert "failgym/GracePeriod-v1, forecast none: 2 traces" in said
    assert "beside the scores" in said
    assert re.search(r"replay +verified +1 ", said)
    sources = [read_source(both, read_verdicts([tmp_path / "v.json"]))]
    rows = [row for row in rows_of(sources, Bootstrap()) if row["forecast"] == "none"]
    assert json.loads(file.read_text())["rows"] == rows
    assert {row["policy"] for row in rows} == {"replay", "Blind", "random"}
    for option, value in (("--env", "Grace-v1"), ("--forecast", "perfect")):
        assert f"{option}: unknown" in refusal(capsys, *show, option, value)
    assert invoke(*show, "--env", "failgym/GracePeriod-v1") == 0


def test_nobody_is_asked_again_if_so_wished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(*RUN, "--policy", "replay", "--out", tmp_path / "a") == 0
    capsys.readouterr()
    assert invoke("leaderboard", "verify", tmp_path / "a", "--no-ask") == 0
    said = capsys.readouterr().out
    assert re.search(r"replay +baseline +0 +2 +0 +was not asked again *\n", said)
    assert "rows: 0 verified, 2 replayed, 0 claimed" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        ("{}", "expected what `verify --json` wrote: format: Field required"),
        (
            '{"format": "failgym verdict", "format_version": 2, "problems": ["x"], "proofs": []}',
            "the submission has 1 problems",
        ),
    ],
)
def test_what_is_no_verdict_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, said: str
) -> None:
    file = tmp_path / "v.json"
    if content is not None:
        file.write_text(content)
    page = ("leaderboard", "page", tmp_path, "--out", tmp_path / "page.html", "--verdict", file)
    assert f"--verdict {file}: {said}" in refusal(capsys, *page)


def test_code_is_marked_and_runs_in_a_process_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = "failgym.baselines.blind_kill:BlindKill"
    assert invoke(*RUN, "--policy", spec, "--policy", "blind_kill", "--out", tmp_path / "a") == 0
    assert "code, unverified for foresight" in capsys.readouterr().out
    assert invoke("leaderboard", "verify", tmp_path / "a") == 0
    said = capsys.readouterr().out
    assert "rows: 2 verified, 2 replayed, 0 claimed" in said
    assert "code, unverified" in said
    assert read_submission(tmp_path / "a").policies[0].kind == "code"
    rows = results(tmp_path / "a")
    assert [row["wasted"] for row in rows[:8]] == [row["wasted"] for row in rows[8:]]


def test_a_commitment_is_the_one_in_the_submission(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "seed.txt"
    secret.write_text("0123456789abcdef\n")
    assert invoke("leaderboard", "commit", secret) == 0
    commitment = capsys.readouterr().out.strip()
    hidden = ("--secret-seed-file", secret)
    assert invoke(*RUN, "--policy", "replay", *hidden, "--out", tmp_path / "a") == 0
    assert read_submission(tmp_path / "a").secret == commitment
    assert invoke("leaderboard", "verify", tmp_path / "a", *hidden) == 0
    capsys.readouterr()
    assert "not verified" in refusal(capsys, "leaderboard", "verify", tmp_path / "a")


def test_users_own_traces_make_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "mine"
    generate("google-2011", jobs=300, seed=5).save(trace)
    entry = ("--policy", "replay", "--trace", f"GracePeriod-v1={trace}")
    real = ("leaderboard", "run", "--suite", "v2-real", *entry, "--out", tmp_path / "a")
    pytest.importorskip("xgboost", reason="needs failgym[predictors]")
    assert invoke(*real) == 0
    assert {row["env"] for row in results(tmp_path / "a")} == {"GracePeriod-v1"}
    verify = ("leaderboard", "verify", tmp_path / "a", "--no-refit")
    assert invoke(*verify, "--trace", f"GracePeriod-v1={trace}") == 0
    other = tmp_path / "other"
    generate("google-2011", jobs=300, seed=6).save(other)
    capsys.readouterr()
    assert invoke(*verify, "--trace", f"GracePeriod-v1={other}") == 2
    assert "trace of GracePeriod-v1, seed 1: the submission was made on" in capsys.readouterr().out


def test_each_fold_may_have_a_policy_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So a policy that was chosen on the past of each fold is one row."""
    pytest.importorskip("xgboost", reason="needs failgym[predictors]")
    trace, kinds = tmp_path / "mine", (BlindKill, ImmediateKill)
    generate("google-2011", jobs=300, seed=5).save(trace)
    own, pattern = tmp_path / "GracePeriod-v1", tmp_path / "{env}" / "{fold}.json"
    own.mkdir()
    for fold in range(1, 5):
        save_heuristic(kinds[fold % 2](), own / f"{fold}.json")
    mine = ("--policy", f"chosen={pattern}")
    real = ("leaderboard", "run", "--suite", "v2-real", "--trace", f"GracePeriod-v1={trace}")
    asked = (*real, *mine, "--policy", "blind_kill", "--policy", "immediate_kill")
    said = refusal(capsys, *asked, "--out", tmp_path / "a")
    assert f"expected a file for each fold, found no {own / '5.json'}" in said
    save_heuristic(kinds[1](), own / "5.json")
    assert invoke(*asked, "--out", tmp_path / "a") == 0
    rows = results(tmp_path / "a")
    of = {
        name: [
            [row["seed"], row["slice"], row["cost_blocks"]] for row in rows if row["policy"] == name
        ]
        for name in ("chosen", "blind_kill", "immediate_kill")
    }
    for place, played in enumerate(of["chosen"]):
        assert played == of[kinds[played[0] % 2].name][place]
    assert of["blind_kill"] != of["immediate_kill"]
    verify = ("leaderboard", "verify", tmp_path / "a", "--no-refit")
    verify = (*verify, "--trace", f"GracePeriod-v1={trace}")
    assert invoke(*verify, "--json", tmp_path / "verdict.json") == 0
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    proofs = {row["forecast"]: row["proof"] for row in verdict["proofs"]}
    assert proofs == {"drawn": "verified", "none": "verified", "trained": "claimed"}
    save_heuristic(kinds[0](), own / "5.json")
    capsys.readouterr()
    assert invoke(*verify) == 2
    assert f"{pattern}: was changed".replace("{env}", "GracePeriod-v1") in capsys.readouterr().out
    said = refusal(capsys, *RUN, *mine, "--out", tmp_path / "b")
    assert "{fold} is for suites that play folds, tiny has none" in said
    said = refusal(capsys, *real, "--policy", f"x={own}/{{seed}}/{{fold}}.json", "--out", "c")
    assert "is for trained agents" in said
    save_heuristic(Young(), own / "3.json")
    said = refusal(capsys, *real, *mine, "--out", tmp_path / "d")
    assert f"{own / '3.json'} was not made for GracePeriod-v1, as those of other folds" in said


def test_a_file_may_stand_for_one_per_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_heuristic(Young(), tmp_path / "Checkpoint-v1.json")
    pattern = tmp_path / "{env}.json"
    said = refusal(capsys, *RUN, "--policy", pattern, "--out", tmp_path / "a")
    assert "was made for no environment of the suite" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--suite", "v9", "--policy", "replay"), "suite: expected one of smoke"),
        (("run", "--suite", "tiny", "--policy", "repaly"), "did you mean replay?"),
        (("run", "--suite", "tiny", "--policy", "young"), "was made for no environment"),
        (("run", "--suite", "tiny", "--policy", "nowhere:Policy"), "cannot import 'nowhere'"),
        (("run", "--suite", "v2-real", "--policy", "replay"), "--trace: expected the folder"),
        (("run", "--suite", "v2-real", "--policy", "replay", "--trace", "X=."), "unknown environ"),
        (("run", "--suite", "v2-real", "--policy", "replay", "--trace", "."), "a stored trace"),
        (("run", "--suite", "tiny", "--policy", "replay", "--trace", "."), "generates its traces"),
        (
            ("run", "--suite", "tiny", "--policy", "replay", "--secret-seed-file", "missing"),
            "--secret-seed-file missing: No such file",
        ),
        (
            ("run", "--suite", "tiny", "--policy", "replay", "--policy", "replay"),
            "'replay' is given twice",
        ),
        ((*PLAIN, "--policy-command", "no-such-thing -x"), "there is no command 'no-such-thing'"),
        ((*PLAIN, "--policy-command", " "), "there is no command ''"),
        (
            (*PLAIN, "--policy-command", "env 'x"),
            '--policy-command "env \'x": No closing quotation',
        ),
        ((*PLAIN, "--memory-limit", "lots"), "--memory-limit: expected a whole number, got 'lots'"),
        ((*PLAIN, "--memory-limit", "0"), "--memory-limit: expected a whole number, 16 to"),
        ((*PLAIN, "--process-limit", "-1"), "--process-limit: expected a whole number, 1 to"),
        ((*PLAIN, "--time-limit", "nan"), "--time-limit: expected more than 0 s, got nan"),
        (("merge", "missing"), "expected at least two folders"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert said in refusal(capsys, "leaderboard", *arguments, "--out", tmp_path / "out")


@pytest.mark.parametrize("option", ["--memory-limit", "--process-limit"])
def test_verify_holds_agents_to_the_limits_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    said = refusal(capsys, "leaderboard", "verify", tmp_path, option, 0)
    assert f"{option}: expected" in said


def test_an_environment_without_such_a_forecast_is_said() -> None:
    rows = [{"env": "Lineage-v1", "forecast": "none"}, {"env": "Cloning-v1", "forecast": "drawn"}]
    assert chosen(rows, "failgym/Lineage-v1", None) == rows[:1]
    assert chosen(rows, "Lineage-v1", "none") == rows[:1]
    assert chosen(rows, None, None) == rows
    said = "--forecast drawn: Lineage-v1 is played with none"
    with pytest.raises(ValueError, match=said):
        chosen(rows, "Lineage-v1", "drawn")

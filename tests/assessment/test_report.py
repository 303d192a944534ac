"""`failgym assess`: its page, its JSON and what it says of bad input."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from failgym.assessment import Assessment, assess
from failgym.assessment.advice import shown_hours
from failgym.assessment.measures import MEASURES
from failgym.assessment.page import page
from failgym.baselines.optimal_stopping import OptimalStopping
from failgym.baselines.stored import load_heuristic, save_heuristic
from failgym.cli import run
from failgym.cli.assess import assess as assess_command
from failgym.cli.specs import load_policy
from failgym.cli.trace import import_trace
from failgym.files import held
from failgym.metrics import OVERHEAD, WASTED
from failgym.traces import FORMATS, Trace
from failgym.vocabulary import HOUR
from failgym.worlds.build import split_of
from tests.assessment.assessing import RULES
from tests.assessment.records import by_one_user, doomed, from_date
from tests.assessment.test_happened import of_censored_tasks
from tests.traces.readers.test_lanl import HEADER, row

QUICK = ("--no-forecasts", "--measures", "kill")


def invoke(*arguments: str | int | Path) -> int:
    return run([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("record") / "cluster"
    doomed(400, long_ones_finish=False).save(folder)
    return folder


@pytest.fixture(scope="module")
def found(record: Path) -> Assessment:
    options: dict[str, Any] = {"forecasts": ("none",), "price": 0.9, "currency": "EUR"}
    return assess(Trace.load(record), str(record), RULES, name="<b>&cluster", **options)


def test_the_command(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report"
    assert invoke("assess", record, "--out", out, "--price", ".9EUR/machine-hour", *QUICK) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) <= 13
    assert any("Adopt the rule optimal_stopping" in line for line in said)
    content = json.loads((out / "report.json").read_text("utf-8"))
    assert content["advice"]["policy"] == "optimal_stopping"
    assert (content["price"], content["currency"]) == (0.9, "EUR")
    assert load_heuristic(out / "policy.json").name == "optimal_stopping"
    best = max(content["judged"], key=lambda each: each["saved"])
    assert f"{best['saved']:,.0f} machine-hours net" in "\n".join(said)
    assert "optimal_stopping" in (out / "report.html").read_text("utf-8")


def test_the_rule_that_is_written_is_judged_as_the_one_that_was_advised(
    record: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert invoke("assess", record, "--out", first, *QUICK) == 0
    rule = first / "policy.json"
    assert invoke("assess", record, "--out", second, "--policies", rule, *QUICK) == 0
    [one, other] = [
        max(json.loads((out / "report.json").read_text())["judged"], key=lambda each: each["saved"])
        for out in (first, second)
    ]
    assert (one["saved"], one["machine_hours"]) == (other["saved"], other["machine_hours"])


def test_the_command_that_is_printed_says_the_same_of_a_fold(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, file = tmp_path / "a report", tmp_path / "fold.json"
    assert invoke("assess", record, "--out", out, "--task-value", "2.5", *QUICK) == 0
    (line,) = [
        one for one in capsys.readouterr().out.splitlines() if one.startswith("fold 5 again: ")
    ]
    called, *words = shlex.split(line.partition(": ")[2])
    assert called == "failgym"
    assert invoke(*words, "--json", file) == 0
    content = json.loads((out / "report.json").read_text("utf-8"))
    (advised,) = [
        one
        for one in content["judged"]
        if all(one[name] == content["advice"][name] for name in ("policy", "measure", "forecast"))
    ]
    (found,) = json.loads(file.read_text("utf-8"))["policies"]
    net = found["score"] / 100.0 * found["room_hours"]
    assert advised["by_fold"][-1] == pytest.approx(net, rel=1e-12)
    assert net > 0.0


@pytest.mark.parametrize(
    ("kind", "package", "name", "file"),
    [
        ("tuned", "optuna", "blind_kill tuned", "policy.json"),
        ("learned", "xgboost", "learned", "policy.safetensors"),
    ],
)
def test_what_is_made_of_the_past_is_made_of_the_record_to_be_used(
    record: Path, tmp_path: Path, kind: str, package: str, name: str, file: str
) -> None:
    pytest.importorskip(package, reason=f"no {package}")
    out = tmp_path / "report"
    assert invoke("assess", record, "--out", out, "--policies", kind, *QUICK) == 0
    content = json.loads((out / "report.json").read_text("utf-8"))
    assert content["left_out"] == []
    assert name in {each["policy"] for each in content["judged"]}
    adopted = content["advice"]["policy"]
    assert (out / file).is_file() == (adopted is not None)
    if adopted is not None:
        assert load_policy(str(out / file)) is not None


def test_savings_are_those_of_replay_to_the_millisecond(
    record: Path, found: Assessment, tmp_path: Path
) -> None:
    """Each fold by itself is replayed, with the rule and without."""

    def charged(folder: Path, policy: str) -> int:
        rules = ("--env", "GracePeriod-v1", "--set", "forecast=none")
        file = tmp_path / "replay.json"
        assert invoke("replay", folder, "--policy", policy, *rules, "--json", file) == 0
        work = json.loads(file.read_text("utf-8"))["work"]
        return sum(work[account] for account in (*WASTED, *OVERHEAD))

    saved = dict.fromkeys(("blind_kill", "optimal_stopping"), 0)
    for fold in range(1, 6):
        scenario = MEASURES["kill"].scenario(str(record), fold=fold, forecast="none")
        folder = tmp_path / f"fold-{fold}"
        split_of(scenario, "test").save(folder)
        before = charged(folder, "replay")
        for name in saved:
            saved[name] += before - charged(folder, name)
    for name, replayed in saved.items():
        [judged] = [each for each in found.judged if each.policy == name]
        assert judged.machine_hours * HOUR == pytest.approx(replayed, abs=0.4)
        assert replayed != 0


def test_advice_of_an_earlier_run_does_not_stay(record: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    assert invoke("assess", record, "--out", out, *QUICK) == 0
    assert (out / "policy.json").is_file()
    assert invoke("assess", record, "--out", out, "--quick") == 0
    assert not (out / "policy.json").exists()


def test_a_record_is_read_once_and_each_step_gives_its_memory_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record of its own: others read it anew."""
    doomed(100, long_ones_finish=False).save(tmp_path / "once")
    read: list[Any] = []
    given: list[bool] = []
    load = Trace.load

    def noted(folder: str | Path) -> Trace:
        read.append(folder)
        return load(folder)

    monkeypatch.setattr(Trace, "load", noted)
    steps = import_module("failgym.assessment.assess")  # the package has a function of this name
    monkeypatch.setattr(steps, "give_back", lambda: given.append(True))
    out = tmp_path / "report"
    assert invoke("assess", tmp_path / "once", "--out", out, "--quick") == 0
    assert len(read) == 1
    assert len(given) == len(json.loads((out / "report.json").read_text())["seconds"])


def test_a_policy_that_is_tried_is_not_replaced(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an earlier report advised may be tried on another record, and has to stay."""
    out = tmp_path / "out"
    assert invoke("assess", record, "--out", out, *QUICK) == 0
    kept = (out / "policy.json").read_bytes()
    for spec in (out / "policy.json", out, tmp_path):
        assert invoke("assess", record, "--out", out, "--policies", spec) == 2
        assert "would be replaced by this report's" in capsys.readouterr().err
    assert (out / "policy.json").read_bytes() == kept


def test_a_folder_with_the_name_of_a_profile_is_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    doomed(100, long_ones_finish=False).save(Path("google-2011"))
    assert invoke("assess", "google-2011", "--out", "report", "--quick", *QUICK) == 0
    content = json.loads(Path("report/report.json").read_text("utf-8"))
    assert content["rooms"][0]["tasks"] <= content["happened"]["tasks"] == 100


def test_a_record_of_unknown_fates_has_no_share_that_is_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_censored_tasks().save(tmp_path / "cut")
    assert invoke("assess", tmp_path / "cut", "--out", tmp_path / "report", "--quick", *QUICK) == 0
    assert "nan" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("trace", "answers"),
    [
        pytest.param(lambda: doomed(1, long_ones_finish=False), {"cannot tell"}, id="one job"),
        pytest.param(of_censored_tasks, {"cannot tell"}, id="only censored tasks"),
        pytest.param(
            lambda: by_one_user(doomed(400, long_ones_finish=False)), {"adopt"}, id="one user"
        ),
        pytest.param(
            lambda: doomed(400, long_ones_finish=False, apart=24 * 60), {"adopt"}, id="a year"
        ),
    ],
)
def test_records_of_every_shape_give_a_report(
    trace: Callable[[], Trace],
    answers: set[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace().save(tmp_path / "record")
    out = tmp_path / "report"
    rules = ("--policies", "optimal_stopping", "--policies", "blind_kill")
    assert invoke("assess", tmp_path / "record", "--out", out, *rules, *QUICK) == 0
    assert "nan" not in capsys.readouterr().out
    content = json.loads((out / "report.json").read_text("utf-8"))
    assert content["advice"]["answer"] in answers
    text = re.sub(r"<style>.*</style>|<[^>]*>", " ", (out / "report.html").read_text(), flags=re.S)
    assert "nan" not in text.split()
    for foreign in ("split", "asked about", "fold", "--", "Of 1 tasks", "a hour"):
        assert foreign not in text


def test_a_folder_of_policies(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "policies"
    (folder / "mine").mkdir(parents=True)
    save_heuristic(OptimalStopping(), folder / "mine" / "rule.json", about={})
    out = tmp_path / "report"
    assert invoke("assess", record, "--out", out, "--policies", folder, *QUICK) == 0
    content = json.loads((out / "report.json").read_text("utf-8"))
    assert content["advice"]["policy"] == "mine/rule"
    assert load_heuristic(out / "policy.json").name == "optimal_stopping"
    (folder / "mine" / "rule.json").unlink()
    capsys.readouterr()
    assert invoke("assess", record, "--out", out, "--policies", folder, *QUICK) == 2
    assert "expected files .json or .safetensors in it" in capsys.readouterr().err


def test_a_folder_may_hold_other_files_than_policies(record: Path, tmp_path: Path) -> None:
    """Reports, scores, and what a training run goes on with: its best agent is the policy."""
    folder, out = tmp_path / "policies", tmp_path / "report"
    (folder / "run").mkdir(parents=True)
    save_heuristic(OptimalStopping(), folder / "rule.json", about={})
    (folder / "report.json").write_text('{"trace": "of another command"}')
    (folder / "evaluations.json").write_text("[]")
    (folder / "run.json").write_text('{"traceEvents": []}')  # no training run
    for name in ("round-1.json", "round-1.safetensors", "settings.json"):
        (folder / "run" / name).write_text("{}")
    (folder / "run" / "fold-1").mkdir()
    (folder / "run" / "fold-1" / "best.safetensors").write_text("of a fold")
    for run_folder in (folder / "run", folder / "run" / "fold-1"):
        (run_folder / "run.json").write_text('{"format": "failgym training"}')
    assert invoke("assess", record, "--out", out, "--policies", folder, *QUICK) == 0
    content = json.loads((out / "report.json").read_text("utf-8"))
    assert {each["policy"] for each in content["judged"] if each["kind"] == "given"} == {"rule"}


@pytest.mark.parametrize("name", ["rule.json", "run/best.safetensors"])
def test_a_damaged_policy_in_a_folder_is_not_left_out(
    record: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "policies"
    (folder / "run").mkdir(parents=True)
    (folder / "run" / "run.json").write_text('{"format": "failgym training"}')
    save_heuristic(OptimalStopping(), folder / "another.json", about={})
    (folder / name).write_text('{"format": "failgym pol')
    options = ("--out", tmp_path / "report", "--policies", folder)
    assert invoke("assess", record, *options, *QUICK) == 2
    assert Path(name).name in capsys.readouterr().err


def test_one_folder_after_the_other_advice(record: Path, tmp_path: Path) -> None:
    """What was made to be used is not taken for what another command would have made."""
    pytest.importorskip("optuna", reason="no optuna")
    out, rule = tmp_path / "report", "blind_kill"
    for value in ("4", "2"):
        options = ("--policies", "tuned", "--task-value", value, *QUICK)
        assert invoke("assess", record, "--out", out, *options) == 0
        advice = json.loads((out / "report.json").read_text("utf-8"))["advice"]
        assert advice["answer"] == "adopt"
        assert load_heuristic(out / "policy.json").name == advice["policy"].split()[0]
    assert invoke("assess", record, "--out", out, "--policies", rule, *QUICK) == 0
    assert load_heuristic(out / "policy.json").name == rule


def test_a_log_is_read_first(tmp_path: Path) -> None:
    log = tmp_path / "jobs.txt"
    states = ("COMPLETED", "FAILED", "CANCELLED by 7", "TIMEOUT")
    lines = ["JobID|User|JobName|Submit|Start|End|State|NCPUS"]
    for i in range(40):
        times = (f"2024-05-{1 + i // 2:02d}T{hour:02d}:00:00" for hour in (1, 2, 3 + i % 4))
        lines.append(f"{i}|ann|sim|{'|'.join(times)}|{states[i % 4]}|2")
    log.write_text("\n".join(lines) + "\n")
    out = tmp_path / "report"
    assert invoke("assess", "--format", "sacct", log, "--out", out, "--quick") == 0
    content = json.loads((out / "report.json").read_text("utf-8"))
    assert content["happened"]["tasks"] == 40
    assert content["happened"]["users"] == 1
    assert "ran into its time limit" in (out / "report.html").read_text("utf-8")
    log.write_text("\n".join(lines[:-4]) + "\n")
    assert invoke("assess", "--format", "sacct", log, "--out", out, "--quick") == 0
    again = json.loads((out / "report.json").read_text("utf-8"))
    assert again["happened"]["tasks"] == 36


def test_it_takes_every_option_of_the_readers() -> None:
    """Those of `trace import` and of `assess` are the same."""
    taken = [set(signature(each).parameters) for each in (assess_command, import_trace)]
    assert taken[1] - taken[0] == {"sources"}
    used = {name for form in FORMATS.values() for name in form.options}
    assert used | {"outages", "align"} <= taken[0]


def test_a_log_is_joined_with_outages(tmp_path: Path) -> None:
    swf, failures = tmp_path / "log.swf", tmp_path / "failures.csv"
    lines = ["; UnixStartTime: 1054425600", "; MaxNodes: 8"]
    lines += [f"{i} {3600 * i} 0 1800 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1" for i in range(60)]
    swf.write_text("\n".join(lines) + "\n")
    failures.write_text("\n".join([HEADER, row(), row(nodenum=1)]) + "\n")
    arguments = ("assess", "--format", "swf", swf, "--quick", "--out", tmp_path / "report")
    assert invoke(*arguments, "--outages", "lanl", failures, "--align", "start") == 0
    joined = Trace.load(tmp_path / "report" / "trace")
    assert joined.rows("outages") == 2
    assert invoke(*arguments, "--outages", "lanl", failures, "--since", "soon") == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--price", "cheap"], "--price: expected an amount, such as 0.9 or 0.9EUR, got 'cheap'"),
        (["--measures", "kill,pray"], "--measures: expected some of kill, retry, .*, got 'pray'"),
        (["--quick", "--policies", "young"], "--policies: none is tried with --quick"),
        (["--policies", "optimal_stoping"], "did you mean optimal_stopping"),
        (["--timezone", "UTC"], "options of readers, need --format"),
        (["--since", "2002-01-01"], "options of readers, need --format"),
        (["--outages", "lanl", "x"], "options of readers, need --format"),
        (["--task-value", "-1"], "--task-value"),
        (["--task-value", "inf"], r"--task-value: expected a number of at most 1e\+06, got inf"),
        (["--price", "1" + 308 * "0"], r"--price: expected at most 1e\+09, got '1000"),
        (["--price", "1,"], "--price: expected an amount, such as 0.9 or 0.9EUR, got '1,'"),
    ],
)
def test_bad_options(
    record: Path,
    tmp_path: Path,
    arguments: list[str],
    line: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "report"
    assert invoke("assess", record, "--out", out, *arguments) == 2
    said = capsys.readouterr().err.strip()
    assert re.search(line, said), said
    assert "\n" not in said
    assert not out.exists()


def test_parts_of_a_short_log_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`2 h, of which 1 useful, 0 wasted` was said of an hour and a half."""
    log = tmp_path / "jobs.txt"
    rows = ["17|2024-03-04T10:00:00|2024-03-04T10:00:05|2024-03-04T10:40:00|COMPLETED"]
    rows += ["18|2024-03-04T10:02:00|2024-03-04T10:02:30|2024-03-04T10:12:00|FAILED"]
    rows += ["19|2024-03-04T10:12:00|2024-03-04T10:12:20|2024-03-04T10:59:00|COMPLETED"]
    log.write_text("\n".join(["JobID|Submit|Start|End|State", *rows]) + "\n")
    arguments = ("assess", "--format", "sacct", log, "--quick", "--out", tmp_path / "report")
    assert invoke(*arguments) == 0
    said = capsys.readouterr().out
    assert "machine-time: 1.6 h, of which 1.4 useful, 0.16 wasted (9.9 % of what is known)" in said
    assert "were dropped" not in said


def test_rows_that_were_dropped_are_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    row = "2024-05-01T01:00:00,2024-05-01T01:30:00,2024-05-01T02:00:00,finished"
    rows = ["job,submit,start,end,outcome", f"1,{row}", f"2,{row}", "3,,,,failed", "4,,,,failed"]
    (tmp_path / "jobs.csv").write_text("\n".join(rows) + "\n")
    options = ("--format", "table", "jobs.csv", "--quick", "--out", "report")
    assert invoke("assess", *options) == 0
    said = capsys.readouterr().out
    assert re.search(r"2 jobs, .*; 2 rows of the log were dropped\n", said)
    assert "written to report/report.json" in said  # as it was typed


@pytest.mark.skipif(os.name != "posix", reason="no locks")
def test_two_assessments_do_not_share_a_folder(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    (out / ".work").mkdir(parents=True)
    with held(out / ".work" / "lock") as ours:
        assert ours
        assert invoke("assess", record, "--quick", "--out", out) == 2
    assert f"--out {out}: another assessment is at work in it" in capsys.readouterr().err
    assert invoke("assess", record, "--quick", "--out", out) == 0


@pytest.mark.skipif(os.name != "posix", reason="no locks")
def test_the_log_of_an_assessment_that_is_at_work_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, log = tmp_path / "report", tmp_path / "jobs.txt"
    head, times = "JobID|Submit|Start|End|State", "2024-05-01T01:00:00|" * 3
    log.write_text(f"{head}\n1|{times}COMPLETED\n")
    arguments = ("assess", "--format", "sacct", log, "--quick", "--out", out)
    assert invoke(*arguments) == 0
    first = Trace.load(out / "trace").content_hash
    log.write_text(f"{head}\n1|{times}COMPLETED\n2|{times}FAILED\n")
    with held(out / ".work" / "lock") as ours:
        assert ours
        assert invoke(*arguments) == 2
    assert "another assessment is at work in it" in capsys.readouterr().err
    assert Trace.load(out / "trace").content_hash == first
    assert invoke(*arguments) == 0
    assert Trace.load(out / "trace").content_hash != first


def test_a_report_that_nobody_can_read_in_the_terminal_is_written(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(text: str) -> None:
        raise OSError(28, "No space left on device")

    command = import_module("failgym.cli.assess")  # the package has a function of this name
    monkeypatch.setattr(command, "print_line", full)
    out = tmp_path / "report"
    assert invoke("assess", record, "--out", out, *QUICK) == 2
    assert load_heuristic(out / "policy.json").name == "optimal_stopping"
    assert json.loads((out / "report.json").read_text("utf-8"))["rooms"]
    assert (out / "report.html").read_text("utf-8").endswith("</html>\n")


def test_a_mistyped_word_of_policies(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    for typed, meant in (("tunde", "tuned"), ("learn", "learned"), ("publish", "published")):
        assert invoke("assess", record, "--policies", typed, "--out", out) == 2
        assert f"did you mean {meant}?" in capsys.readouterr().err


def test_bad_places(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(record.iterdir())
    assert invoke("assess", record, "--out", record) == 2
    assert "holds a trace" in capsys.readouterr().err
    assert sorted(record.iterdir()) == before
    assert invoke("assess", record, "--out", record / "report") == 2
    assert "lies in the folder of a saved trace" in capsys.readouterr().err
    assert sorted(record.iterdir()) == before
    assert invoke("assess", tmp_path / "nothing", "--out", tmp_path / "report") == 2
    assert "nothing" in capsys.readouterr().err
    taken = tmp_path / "file"
    taken.write_text("mine")
    assert invoke("assess", record, "--out", taken) == 2
    assert taken.read_text() == "mine"


@pytest.mark.parametrize("name", ["policy.json", "report.html", "trace"])
def test_what_assess_did_not_write_is_not_replaced(
    record: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, log = tmp_path / "mine", tmp_path / "jobs.txt"
    out.mkdir()
    if name == "trace":
        doomed(3, long_ones_finish=True).save(out / name)
    else:
        (out / name).write_text("mine")
    log.write_text("JobID|Submit|Start|End|State\n1|" + "2024-05-01T01:00:00|" * 3 + "COMPLETED\n")
    before = {file: file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()}
    for arguments in (["--format", "sacct", log], [record]):
        assert invoke("assess", *arguments, "--out", out, "--quick") == 2
        assert f"--out {out}: holds {name}, which assess" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()} == before


def test_where_nothing_can_be_written_no_work_is_done(
    record: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def load(path: Path) -> Trace:
        pytest.fail(f"{path} was loaded")

    monkeypatch.setattr(Trace, "load", load)
    (tmp_path / "file").write_text("mine")
    assert invoke("assess", record, "--out", tmp_path / "file" / "report", "--quick") == 2
    assert "file is not a folder that can be written to" in capsys.readouterr().err
    (tmp_path / "report" / ".work").mkdir(parents=True)
    (tmp_path / "report" / "report.json").mkdir()
    assert invoke("assess", record, "--out", tmp_path / "report", "--quick") == 2
    assert "report.json: is a folder, expected a file" in capsys.readouterr().err


def test_a_log_without_its_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "jobs.txt").write_text("JobID|State\n")
    assert invoke("assess", tmp_path / "jobs.txt", "--out", tmp_path / "report") == 2
    assert "a log is read with --format, such as --format sacct" in capsys.readouterr().err


def test_two_policies_of_one_name_are_refused(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else one of them would be left out without a word."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        save_heuristic(OptimalStopping(), tmp_path / folder / "rule.json", about={})
    folders = ("--policies", tmp_path / "one", "--policies", tmp_path / "two")
    assert invoke("assess", record, "--out", tmp_path / "report", *folders) == 2
    said = capsys.readouterr().err
    assert f"--policies {tmp_path / 'two'}: another policy is called rule already" in said


def test_a_published_rule_may_be_named_beside_all_of_them(record: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    named = ("--policies", "published", "--policies", "optimal_stopping")
    assert invoke("assess", record, "--out", out, *QUICK, *named) == 0
    content = json.loads((out / "report.json").read_text("utf-8"))
    names = [each["policy"] for each in content["judged"]]
    assert names.count("optimal_stopping") == 1
    assert len(names) > 2


def test_shares_of_the_page_are_in_the_json(found: Assessment) -> None:
    content, text = found.to_json(), page(found)
    assert content["happened"]["wasted_share"] == found.happened.wasted_share
    assert [room["of_whole"] for room in content["rooms"]] == [
        room.of_whole for room in found.rooms
    ]
    assert all(f"{100 * room['of_whole']:.1f} %" in text for room in content["rooms"])
    json.dumps(content)


def test_the_smaller_chance_of_harm_is_shown_as_the_smaller(found: Assessment) -> None:
    def shown(harm: float) -> str:
        rows = tuple(replace(each, harm=harm) for each in found.judged)
        return page(replace(found, judged=rows))

    assert "below 0.2 %" in shown(0.0)
    assert "below 0.2 %" in shown(0.0005)
    assert "0.25 %" in shown(0.0025)


def test_what_was_judged_on_some_folds_says_so(found: Assessment) -> None:
    assert "of 5 parts" not in page(found)
    few = tuple(replace(room, folds=(4, 5)) for room in found.rooms)
    rows = tuple(replace(each, folds=(4, 5)) for each in found.judged)
    text = page(replace(found, rooms=few, judged=rows))
    assert "on 2 of the 5 parts of the later half of the record" in text
    assert text.count("on 2 of 5 parts") == len(few) + sum(each.acts for each in rows)


def test_names_of_measures_may_have_spaces_between(record: Path, tmp_path: Path) -> None:
    arguments = ("--out", tmp_path / "report", "--quick", "--measures", "kill, kill")
    assert invoke("assess", record, *arguments) == 0


@pytest.mark.parametrize("origin", [10**15, -(10**15), 10**17])
def test_dates_that_no_calendar_has_are_not_shown(
    record: Path, tmp_path: Path, origin: int
) -> None:
    far = tmp_path / "far"
    from_date(Trace.load(record), origin).save(far)
    assert invoke("assess", far, "--out", tmp_path / "report", *QUICK, "--quick") == 0
    text = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert "day 1</span>" in text or "hour 1</span>" in text


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (24.0 * 40, "40 days"),
        (36.0, "36.0 hours"),
        (0.5, "30.0 minutes"),
        (1 / 3600, "1.0 seconds"),
    ],
)
def test_a_short_record_is_not_nought_days_long(found: Assessment, span: float, words: str) -> None:
    short = replace(found, happened=replace(found.happened, span=span, jobs=1))
    assert f"1 job, {found.happened.tasks} tasks, {words}." in page(short)


def test_money_stands_on_the_first_screen(found: Assessment) -> None:
    text = page(found)
    first = text[: text.index("<h2>What happened")]
    best = max(found.judged, key=lambda each: each.saved)
    assert found.price == 0.9
    assert f"the machine-time alone is worth {0.9 * best.machine_hours:,.0f} EUR" in first


def test_the_first_screen_has_the_saving_of_the_rule_that_is_advised(found: Assessment) -> None:
    """Another may have saved more by chance."""
    advised = next(each for each in found.judged if each.policy == "optimal_stopping")
    lucky = replace(advised, policy="lucky", saved=3.0 * advised.saved, low=None, high=None)
    text = page(replace(found, judged=(*found.judged, lucky)))
    first = text[: text.index("<h2>What happened")]
    assert "the rule optimal_stopping, which is advised, have saved" in first
    assert "lucky" not in first
    assert found.advice is not None
    kept = replace(found.advice, answer="keep", policy=None)
    text = page(replace(found, judged=(*found.judged, lucky), advice=kept))
    assert "the rule lucky, the best in hindsight, have saved" in text


def test_tiles_and_advice_are_of_the_same_measures(found: Assessment) -> None:
    """Where there is hardly any room nothing is advised, and nothing is the best in hindsight."""
    [room] = found.rooms
    little = replace(room, measure="retry", share=0.009)
    advised = next(each for each in found.judged if each.policy == "optimal_stopping")
    lucky = replace(advised, policy="lucky", measure="retry", saved=3.0 * advised.saved)
    assert found.advice is not None
    kept = replace(found.advice, answer="keep", policy=None)
    shown = replace(found, rooms=(room, little), judged=(*found.judged, lucky), advice=kept)
    assert "the rule optimal_stopping, the best in hindsight, have saved" in page(shown)
    alone = replace(shown, rooms=(little,), judged=(lucky,))
    assert "in hindsight" not in page(alone)


def test_more_than_all_machine_time_is_explained(found: Assessment) -> None:
    words = "it is more than all of that, since a task that finishes only then counts 4 times"
    assert words not in page(found)
    rooms = tuple(replace(room, hours=2.6 * room.whole) for room in found.rooms)
    text = page(replace(found, rooms=rooms))
    assert "260.0 %" in text
    assert words in text


def test_savings_by_period_are_drawn(found: Assessment) -> None:
    best = next(each for each in found.judged if each.policy == "optimal_stopping")
    text = page(found)
    picture = text[text.index('<svg class="net"') : text.index("</svg>")]
    assert picture.count('class="whole"') == picture.count("<title>") == len(best.by_period) > 1
    assert 'class="down"' not in picture
    assert f"hour: from 0 to {shown_hours(max(best.by_period))} h an hour; loses in 0 of" in picture
    loses = replace(best, by_period=(-2.0, 6.0, *best.by_period[2:]))
    others = tuple(each for each in found.judged if each is not best)
    text = page(replace(found, judged=(*others, loses)))
    assert text.count('class="down"') == 1
    assert "from -2.0 h to" in text
    once = replace(best, by_period=(1.0,), by_period_low=(None,), by_period_high=(None,))
    assert "<svg" not in page(replace(found, judged=(*others, once)))


def test_lines_of_periods_are_drawn_and_explained(found: Assessment) -> None:
    """A line that goes far beyond the bars is cut where as much again is drawn as they span."""
    best = next(each for each in found.judged if each.policy == "optimal_stopping")
    others = tuple(each for each in found.judged if each is not best)
    none = (None,) * len(best.by_period)
    few = replace(best, by_period_low=none, by_period_high=none)
    text = page(replace(found, judged=(*others, few)))
    assert 'class="range"' not in text
    assert "How sure that is of a single hour is not known." in text
    saved = (1.0, 4.0, *(0.0 for _ in none[2:]))
    low, high = (0.5, -900.0, *none[2:]), (1.5, 900.0, *none[2:])
    some = replace(best, by_period=saved, by_period_low=low, by_period_high=high)
    text = page(replace(found, judged=(*others, some)))
    lines = re.findall(
        r'<line class="range" x1="([^"]*)" x2="[^"]*" y1="([^"]*)" y2="([^"]*)"', text
    )
    scale = 100.0 / 12.0  # from -4 to 8
    assert [[float(each) for each in line] for line in lines] == [
        [0.45, pytest.approx(6.5 * scale, abs=0.01), pytest.approx(7.5 * scale, abs=0.01)],
        [1.45, 0.0, 100.0],
    ]
    assert ": 1.0 h, between 0.50 and 1.5 h</title>" in text
    assert ": 4.0 h, between -900 and 900 h</title>" in text
    assert "with 95 % confidence for all hours and all ways to use a rule at once" in text
    assert "Where there is no line, it is not known." in text
    assert "What reaches the edge goes on beyond it." in text
    low, high = (0.5, 3.0, *none[2:]), (1.5, 7.0, *none[2:])
    some = replace(some, by_period_low=low, by_period_high=high)
    assert "What reaches the edge" not in page(replace(found, judged=(*others, some)))
    low, high = (-900.0, 3.0, *none[2:]), (1.5, 6.0, *none[2:])
    some = replace(some, by_period_low=low, by_period_high=high)
    text = page(replace(found, judged=(*others, some)))
    assert "What reaches the edge goes on beyond it." in text
    tops = re.findall(r'<line class="range" x1="[^"]*" x2="[^"]*" y1="([^"]*)"', text)
    assert all(float(top) > 0.0 for top in tops), "what is not cut does not reach it"


@pytest.mark.parametrize(
    ("surely", "said"),
    [
        (1, "3 of 9, surely in 1)"),
        (0, "3 of 9, surely in none)"),
        (None, "3 of 9, how surely is not known)"),
    ],
)
def test_sure_losses_are_counted(found: Assessment, surely: int | None, said: str) -> None:
    best = next(each for each in found.judged if each.policy == "optimal_stopping")
    loses = replace(best, losing=3, surely_losing=surely, periods=9)
    others = tuple(each for each in found.judged if each is not best)
    assert said in page(replace(found, judged=(*others, loses)))


def test_the_first_screen_says_of_how_much_the_end_is_unknown(found: Assessment) -> None:
    """A share of what is known is a small part where most of a record is cut off."""
    what = found.happened
    text = "of 90.0 % of all nobody knows the end"
    cut = replace(what, unknown=9.0 * (what.useful + what.wasted))
    assert text in page(replace(found, happened=cut))
    assert "nobody knows the end" not in page(found)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_runs_nothing_and_asks_for_nothing(found: Assessment) -> None:
    text = page(found)
    parser = _Tags()
    parser.feed(text)
    assert "script" not in parser.tags
    assert parser.links == []
    assert "b" in parser.tags
    assert "<b>&cluster" not in text
    assert "&lt;b&gt;&amp;cluster" in text
    assert "default-src 'none'" in text


def test_on_paper_nothing_is_cut_off_or_folded_away(
    browser: Any, found: Assessment, tmp_path: Path
) -> None:
    """A sheet of A4 across, less its margins, is 1,032 points of a screen wide."""
    file = tmp_path / "report.html"
    file.write_text(page(found), encoding="utf-8")
    opened = browser.new_page(viewport={"width": 1032, "height": 700})
    opened.goto(file.as_uri())
    folded = opened.locator("details li, details td")
    assert not folded.first.is_visible()
    opened.emulate_media(media="print")
    assert folded.first.is_visible()
    assert opened.evaluate("document.documentElement.scrollWidth") <= 1032
    opened.close()


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)]
)
def test_the_page_in_a_browser(
    browser: Any, found: Assessment, tmp_path: Path, width: int, dark: bool
) -> None:
    file = tmp_path / "report.html"
    file.write_text(page(found), encoding="utf-8")
    scheme = "dark" if dark else "light"
    opened = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    problems: list[str] = []
    for event in ("console", "pageerror"):
        opened.on(event, lambda told: problems.append(str(told)))  # pyright: ignore[reportUnknownLambdaType]
    opened.goto(file.as_uri())
    assert problems == []
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    first = opened.locator(".advice strong")
    assert first.is_visible()
    assert first.bounding_box()["y"] < 800 / 2
    colours = opened.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    assert (sum(map(int, re.findall(r"\d+", colours[0]))) < 384) == dark
    opened.close()

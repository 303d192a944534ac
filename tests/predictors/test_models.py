"""Learned predictors by name, and on disk."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import failgym
from failgym import predictors
from failgym.predictors import LEARNED, Forecast, load_predictor, models, save_predictor, store
from failgym.predictors.store import array_names, read_arrays, write_arrays
from failgym.traces import Trace, generate
from tests.predictors.frequencies import Frequencies

HEAVY = ("sklearn", "torch", "xgboost", "optuna")


@pytest.fixture(autouse=True)
def small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Frequencies` is a predictor like the others."""
    kind = models._Kind("tests.predictors.frequencies", "Frequencies")
    monkeypatch.setitem(models._FORECASTING, "frequencies", kind)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return generate("google-2011", jobs=40, seed=2)


@pytest.fixture
def file(trace: Trace, tmp_path: Path) -> Path:
    path = tmp_path / "stored.npz"
    save_predictor(Frequencies(prior=0.5, levels=(1, 3), seed=7).fit(trace), path)
    return path


def same(one: Forecast, other: Forecast) -> bool:
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(Forecast)]
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def rewrite(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write the file again with another manifest."""
    content = read_arrays(file, "anything")
    manifest = json.loads(content["manifest"].tobytes())
    change(manifest)
    text = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
    write_arrays(file, {**content, "manifest": text})


def refuse(path: Path, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        load_predictor(path)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(str(path))


def test_a_stored_predictor_is_the_fitted_one(trace: Trace, file: Path) -> None:
    fitted = Frequencies(prior=0.5, levels=(1, 3), seed=7).fit(trace)
    loaded = load_predictor(file)
    assert isinstance(loaded, Frequencies)
    for name in ("window", "prior", "levels", "leak", "seed"):
        assert getattr(loaded, name) == getattr(fitted, name)
        assert type(getattr(loaded, name)) is type(getattr(fitted, name))
    assert same(loaded.predict(trace), fitted.predict(trace))


def test_the_file_says_what_it_is(file: Path) -> None:
    manifest = json.loads(read_arrays(file, "anything")["manifest"].tobytes())
    assert manifest["predictor"] == "frequencies"
    assert manifest["failgym"] == failgym.__version__
    assert manifest["parameters"]["levels"] == [1, 3]
    assert models.holds_predictor(file)
    assert [path.name for path in file.parent.iterdir()] == ["stored.npz"]


def test_storing_twice_writes_the_same_bytes(trace: Trace, file: Path) -> None:
    again = file.with_name("again.npz")
    save_predictor(load_predictor(file), again)
    assert again.read_bytes() == file.read_bytes()


def test_an_older_file_stays_where_storing_fails(trace: Trace, file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(ValueError, match="fit it first"):
        save_predictor(Frequencies(), file)
    broken = Frequencies().fit(trace)
    broken.users_ = np.array([{}], dtype=object)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValueError, match="learned/users: expected an array of numbers or texts"):
        save_predictor(broken, file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["stored.npz"]


def test_a_history_of_users_is_stored_too(tmp_path: Path) -> None:
    whole = generate("system-a", jobs=400, seed=2)
    fitted = predictors.UserHistory(method="median").fit(whole.split("train"))
    save_predictor(fitted, tmp_path / "history.npz")
    loaded = load_predictor(tmp_path / "history.npz")
    assert isinstance(loaded, predictors.UserHistory)
    assert loaded.method == "median"
    mine, theirs = (p.predict(whole.split("test")) for p in (fitted, loaded))
    for field in dataclasses.fields(mine):
        one, other = getattr(mine, field.name), getattr(theirs, field.name)
        assert np.array_equal(one, other, equal_nan=True)
    assert np.isfinite(mine.runtime).any()


class TestWhatCannotBeStored:
    def test_a_class_of_yours(self, trace: Trace, tmp_path: Path) -> None:
        class Mine(Frequencies):
            pass

        for stranger in (Mine().fit(trace), predictors.Perfect()):
            with pytest.raises(ValueError, match="cannot be stored, expected one of random_forest"):
                save_predictor(stranger, tmp_path / "mine.npz")  # type: ignore[arg-type]
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("value", [np.float64(0.5), "much", None, (0.5,)])
    def test_a_parameter_that_is_no_plain_value(
        self, value: Any, trace: Trace, tmp_path: Path
    ) -> None:
        fitted = Frequencies().fit(trace)
        fitted.prior = value
        with pytest.raises(ValueError, match=r"hyper-parameter prior is .*, expected float"):
            save_predictor(fitted, tmp_path / "mine.npz")
        assert not list(tmp_path.iterdir())


class TestRefusals:
    def test_no_file(self, tmp_path: Path) -> None:
        refuse(tmp_path / "absent.npz", "no such file: expected a stored predictor")
        refuse(tmp_path, "no such file")

    def test_no_archive(self, tmp_path: Path) -> None:
        text = tmp_path / "text.npz"
        text.write_text("not a predictor")
        refuse(text, "not readable as a stored predictor")
        assert not models.holds_predictor(text)

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
    def test_a_truncated_file(self, file: Path, share: float) -> None:
        content = file.read_bytes()
        file.write_bytes(content[: int(share * len(content))])
        refuse(file, "not readable as a stored predictor")

    def test_a_changed_byte(self, file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[len(content) // 3] ^= 0xFF
        file.write_bytes(content)
        refuse(file, "not readable as a stored predictor")

    def test_an_archive_that_unpacks_to_anything(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bomb = tmp_path / "bomb.npz"
        write_arrays(bomb, {"manifest": np.zeros(1_000_000, dtype=np.uint8)})
        assert bomb.stat().st_size < 2_000
        monkeypatch.setattr(store, "MOST_BYTES", 1_000_000)
        monkeypatch.setattr(store.np, "load", None)  # it is not even tried
        refuse(bomb, "not readable as a stored predictor: unpacks to 1 MB, expected at most 1 MB")
        monkeypatch.setattr(store, "available", lambda: 500)
        refuse(bomb, "not readable as a stored predictor: unpacks to 1 MB, expected at most 500 by")

    def test_a_forecast(self, trace: Trace, tmp_path: Path) -> None:
        path = tmp_path / "forecast.npz"
        predictors.save_forecast(predictors.Perfect().predict(trace), path)
        refuse(path, "not a stored predictor: manifest is missing")
        assert not models.holds_predictor(path)

    def test_code_is_never_run(self, file: Path) -> None:
        content = read_arrays(file, "anything")
        for name in ("manifest", "learned/users"):
            changed: dict[str, Any] = {**content, name: np.array([{"an": "object"}], dtype=object)}
            with file.open("wb") as stream:
                np.savez(stream, **changed)
            refuse(file, "not readable as a stored predictor")

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"format": "a cake"}, "the manifest is of something else"),
            ({"version": 2}, "format version 2, expected 1"),
            ({"version": None}, "format version None, expected 1"),
            ({"predictor": "os.system"}, "unknown predictor 'os.system', expected one of random"),
            ({"predictor": 5}, "predictor in the manifest: expected a str"),
            ({"parameters": []}, "parameters in the manifest: expected a dict"),
            ({"arrays": []}, "arrays in the manifest: expected a dict"),
            ({"arrays": {}}, "array 'users' is unknown"),
        ],
    )
    def test_another_manifest(self, file: Path, change: dict[str, Any], reason: str) -> None:
        rewrite(file, lambda manifest: manifest.update(change))
        refuse(file, reason)

    @pytest.mark.parametrize("text", [b"{", b"[1]", b"\xff\xfe", b'"failgym predictor"'])
    def test_a_manifest_that_is_none(self, file: Path, text: bytes) -> None:
        content = read_arrays(file, "anything")
        write_arrays(file, {**content, "manifest": np.frombuffer(text, dtype=np.uint8)})
        refuse(file, "not a stored predictor: the manifest is")
        write_arrays(file, {**content, "manifest": np.zeros(3)})
        refuse(file, "not a stored predictor: the manifest is not readable")

    @pytest.mark.parametrize(
        ("name", "value", "reason"),
        [
            ("prior", "1", "hyper-parameter prior is '1', expected float"),
            ("prior", True, "hyper-parameter prior is True, expected float"),
            ("window", 1.5, "hyper-parameter window is 1.5, expected int"),
            ("window", None, "hyper-parameter window is None, expected int"),
            ("levels", [1, "2"], r"hyper-parameter levels is \(1, '2'\), expected tuple"),
            ("levels", 3, "hyper-parameter levels is 3, expected tuple"),
            ("leak", "everything", "hyper-parameter leak is 'everything', expected"),
            ("colour", 1, "frequencies: hyper-parameter colour is unknown"),
            ("prior", -1.0, "prior: expected more than 0, got -1.0"),
        ],
    )
    def test_another_hyper_parameter(self, file: Path, name: str, value: Any, reason: str) -> None:
        rewrite(file, lambda manifest: manifest["parameters"].update({name: value}))
        refuse(file, reason)

    def test_a_hyper_parameter_too_few(self, file: Path) -> None:
        rewrite(file, lambda manifest: manifest["parameters"].pop("prior"))
        refuse(file, "hyper-parameter prior is missing")

    def test_arrays_that_do_not_fit(self, file: Path) -> None:
        content = read_arrays(file, "anything")
        write_arrays(file, {name: a for name, a in content.items() if name != "learned/failing"})
        refuse(file, "array 'failing' is missing")
        write_arrays(file, {**content, "learned/more": np.zeros(3)})
        refuse(file, "array 'more' is unknown")
        write_arrays(file, {**content, "learned/failing": np.zeros(9)})
        refuse(file, r"array 'failing' is <f8 \[9\], not <f8 \[3\]")
        rewrite(file, lambda manifest: manifest["arrays"].update(failing="<f8 [9]"))
        refuse(file, "the arrays do not fit frequencies: Frequencies: arrays of the wrong shape")


class TestNames:
    def test_every_name_has_its_class(self) -> None:
        assert list(LEARNED)[:3] == ["random_forest", "gradient_boosting", "two_level_network"]
        for name, kind in LEARNED.items():
            assert kind.name == name
            assert issubclass(kind, predictors.Learned)
            if name != "frequencies":
                assert getattr(predictors, kind.__name__) is kind
                assert kind.__name__ in predictors.__all__

    def test_all_that_is_public_is_there(self) -> None:
        for name in predictors.__all__:
            assert getattr(predictors, name) is not None
        with pytest.raises(AttributeError, match="has no attribute 'Forest'"):
            getattr(predictors, "Forest")  # noqa: B009

    def test_an_unknown_name(self) -> None:
        assert "oracle" not in LEARNED
        with pytest.raises(KeyError):
            LEARNED["oracle"]

    @pytest.mark.parametrize("statement", ["import failgym.predictors", "import failgym.envs"])
    def test_import_is_light(self, statement: str) -> None:
        probe = f"import sys\n{statement}\nprint([m for m in {HEAVY!r} if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
        assert done.stdout.strip() == "[]", done.stderr

    @pytest.mark.parametrize(
        ("name", "module", "package", "extra"),
        [
            ("random_forest", "sklearn", "scikit-learn", "predictors"),
            ("gradient_boosting", "xgboost", "xgboost", "boosting"),
            ("two_level_network", "torch", "torch", "predictors"),
        ],
    )
    def test_a_missing_package_is_named(
        self, name: str, module: str, package: str, extra: str, tmp_path: Path
    ) -> None:
        """Wherever the predictor imports it: with its module, or when it is fitted."""
        probe = f"""
import sys
sys.modules[{module!r}] = None
from failgym.cli import run
from failgym.traces import generate
generate("google-2011", jobs=40, seed=1).save(sys.argv[1] + "/t")
forecast = ["trace", "forecast", sys.argv[1] + "/t", "--out", sys.argv[1] + "/f.npz"]
sys.exit(run([*forecast, "--predictor", {name!r}]))
"""
        command = [sys.executable, "-c", probe, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2
        expected = f"{name} needs {package}: pip install 'failgym[{extra}]'"
        assert done.stderr == f"failgym: {expected}\n"


def test_names_of_arrays(file: Path, tmp_path: Path) -> None:
    assert {"manifest", "learned/users"} <= array_names(file)
    assert array_names(tmp_path / "absent") == frozenset()

"""Worlds that are kept on disk: the same as those that are built, and never stale or damaged."""

from __future__ import annotations

import copy
import errno
import hashlib
import os
import shutil
import signal
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import failgym
from failgym import world_cache
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.predictors import (
    Calibrated,
    Learned,
    Perfect,
    RandomForest,
    models,
    save_forecast,
    save_predictor,
)
from failgym.sim.shared.forecast import Forecast
from failgym.traces import Trace, generate
from failgym.world_cache import KeptPart, folder, kept_or_built, key, nothing_kept
from failgym.world_cache import file as world_file
from failgym.world_cache.folder import cache_folder, entries
from failgym.world_cache.key import ABOVE, key_of, sources_hash
from failgym.worlds import build
from failgym.worlds import forecast as forecasts
from failgym.worlds.build import build_world, split_of
from failgym.worlds.pinned import build as pinned_steps

SMALL: dict[str, dict[str, Any]] = {
    "Cloning-v1": {"jobs": 200},
    "Lineage-v1": {"jobs": 4},
    "Workflow-v1": {"jobs": 12},
    "Mitigation-v1": {"jobs": 200, "begin": 0},
}
"""Fields that make a world small; others take 60 jobs."""


class Inner(NamedTuple):
    """What is in `Outer`."""

    numbers: Any


class Outer(NamedTuple):
    """A world of a few arrays of all kinds."""

    records: Any
    inner: Inner
    columns: Any
    none: Any
    apart: Any


RECORD = np.dtype([("flag", "?"), ("time", "i8"), ("four", "4f4")], align=True)


def outer(seed: int = 0, size: int = 40) -> Outer:
    rng = np.random.default_rng(seed)
    records = np.zeros(size, dtype=RECORD)
    records["time"], records["four"] = rng.integers(0, 99, size), rng.random((size, 4))
    grid = rng.random((6, 4))
    return Outer(records, Inner(np.arange(3)), np.asfortranarray(grid), np.zeros((0, 3)), grid[::2])


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    generate("google-2011", jobs=60, seed=2).save(tmp_path / "trace")
    return tmp_path / "trace"


def anew(scenario: Scenario) -> Any:
    """The world of a scenario in a process that has built none."""
    build.RECENT.cache_clear()
    pinned_steps._UNITS.cache_clear()
    return build_world(scenario).tables


def arrays(world: Any) -> Iterator[tuple[str, Any]]:
    for name, value in world._asdict().items():
        if hasattr(value, "_asdict"):
            yield from ((f"{name}.{inner}", array) for inner, array in arrays(value))
        else:
            yield name, value


def assert_same(world: Any, other: Any) -> None:
    for (name, array), (_, twin) in zip(arrays(world), arrays(other), strict=True):
        assert (array.dtype, array.shape) == (twin.dtype, twin.shape), name
        assert array.tobytes() == twin.tobytes(), name


def is_mapped(world: Any) -> bool:
    return all(array.base is not None for _, array in arrays(world))


class Never(Exception):
    """Something was built that need not be."""


def never() -> Any:
    raise Never


# --- The same world -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_kept_world_is_the_one_that_was_built(name: str, kept_worlds: Path) -> None:
    scenario = resolve(name, SMALL.get(name, {"jobs": 60}))
    with nothing_kept():
        built = anew(scenario)
    assert not entries()
    kept, again = anew(scenario), anew(scenario)
    assert len(entries()) == 1
    assert is_mapped(kept), "who built it gives its room back, too"
    assert is_mapped(again)
    assert not is_mapped(built)
    assert_same(built, kept)
    assert_same(built, again)
    for (field, array), (_, twin) in zip(arrays(built), arrays(kept), strict=True):
        assert numba.typeof(array) == numba.typeof(twin), f"{field}: compiled a second time"


def test_arrays_of_every_layout(kept_worlds: Path) -> None:
    kept_or_built(resolve("Cloning-v1"), (), Outer, outer)
    kept = kept_or_built(resolve("Cloning-v1"), (), Outer, never)
    assert_same(outer(), kept)
    assert kept.columns.flags.f_contiguous
    assert kept.records.dtype.isalignedstruct


def test_a_part_is_kept_packed(kept_worlds: Path) -> None:
    def zeros() -> Outer:
        return outer()._replace(apart=np.zeros((500, 40), order="F"))

    scenario, part = resolve("Cloning-v1"), KeptPart("part")
    kept_or_built(scenario, (), Outer, zeros, part)
    kept = kept_or_built(scenario, (), Outer, never, part)
    assert_same(zeros(), kept)
    for (field, array), (_, twin) in zip(arrays(zeros()), arrays(kept), strict=True):
        assert numba.typeof(array) == numba.typeof(twin), f"{field}: compiled a second time"
    assert entries()[0].size < zeros().apart.nbytes / 20
    kept.records["time"] = -1  # it is this process's own
    assert_same(zeros(), kept_or_built(scenario, (), Outer, never, part))


def test_what_is_written_to_a_kept_world_stays_in_the_process(kept_worlds: Path) -> None:
    scenario = resolve("Cloning-v1")
    kept_or_built(scenario, (), Outer, outer)
    kept_or_built(scenario, (), Outer, never).records["time"] = -1
    assert_same(kept_or_built(scenario, (), Outer, never), outer())


def test_a_kept_world_needs_neither_its_trace_nor_its_compiler(
    kept_worlds: Path, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = resolve("Cloning-v1", {"trace": str(stored)})
    with nothing_kept():
        built = anew(scenario)
    anew(scenario)
    monkeypatch.setattr(Trace, "load", never)
    monkeypatch.setattr(pinned_steps, "_compiled", never)
    assert_same(built, anew(scenario))


def test_scenarios_that_differ_in_name_only_share_a_world(kept_worlds: Path) -> None:
    scenario = resolve("Cloning-v1")
    kept_or_built(scenario, (), Outer, outer)
    kept_or_built(replace(scenario, name="mine"), (), Outer, never)


def test_worlds_that_are_built_at_once_are_not_kept(
    kept_worlds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_cache, "LEAST_SECONDS", 1e9)
    kept_or_built(resolve("Cloning-v1"), (), Outer, outer)
    assert entries() == []


# --- Never a stale one ----------------------------------------------------------------------------


def changed(scenario: Scenario, **values: Any) -> Scenario:
    """A scenario with other values, whatever they mean."""
    other = copy.copy(scenario)
    for name, value in values.items():
        object.__setattr__(other, name, value)
    return other


def another(value: Any) -> Any:
    """A value like this one, but for something."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else (("job", 3),)


@pytest.mark.parametrize(
    "name", [f.name for f in fields(Scenario) if f.name not in ("name", "trace")]
)
def test_every_field_decides(name: str) -> None:
    scenario = resolve("Mitigation-v1")
    other = changed(scenario, **{name: another(getattr(scenario, name))})
    assert key_of(other) not in (None, key_of(scenario))


def test_values_that_look_alike_are_told_apart() -> None:
    scenario, said = resolve("Cloning-v1"), [1, 1.0, True, "1", ("1",), (("1",),), None, Path("1")]
    assert len({key_of(changed(scenario, every=value)) for value in said}) == len(said)


def test_the_content_of_a_stored_trace_decides(stored: Path, tmp_path: Path) -> None:
    scenario = resolve("Cloning-v1", {"trace": str(stored)})
    before = key_of(scenario)
    shutil.move(stored, tmp_path / "moved")
    assert key_of(scenario) is None
    generate("google-2011", jobs=60, seed=4).save(stored)
    other = key_of(scenario)
    assert key_of(changed(scenario, trace=tmp_path / "moved")) == before is not None
    assert other not in (None, before)


@pytest.mark.parametrize("name", ["meta.json", "attempts.parquet", "windows.parquet"])
def test_every_file_of_a_stored_trace_decides(name: str, stored: Path) -> None:
    scenario = resolve("Cloning-v1", {"trace": str(stored)})
    before = key_of(scenario)
    with (stored / name).open("ab") as file:
        file.write(b" ")
    assert key_of(scenario) not in (None, before)


def test_a_table_that_was_changed_later_is_noticed(kept_worlds: Path, stored: Path) -> None:
    scenario = resolve("Cloning-v1", {"trace": str(stored)})
    anew(scenario)
    shutil.copy(stored / "tasks.parquet", stored / "attempts.parquet")
    os.utime(stored / "meta.json")  # or this process would go on with what it has read
    with pytest.raises(ValueError, match=r"attempts\.parquet"):
        anew(scenario)


def test_the_content_of_a_trace_in_memory_decides() -> None:
    scenario = resolve("Cloning-v1")
    one, two = (generate("google-2011", jobs=30, seed=seed) for seed in (1, 2))
    same = generate("google-2011", jobs=30, seed=1)
    ended = replace(one, meta=replace(one.meta, end=10**12))
    keys = [key_of(changed(scenario, trace=trace)) for trace in (one, same, two, ended)]
    assert keys[0] == keys[1] is not None
    assert len(set(keys[1:])) == 3


def test_the_numbers_of_a_profile_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = resolve("GracePeriod-v1")
    named = str(scenario.trace)
    before, profile = key_of(scenario), key.PROFILES[named]
    monkeypatch.setitem(key.PROFILES, named, replace(profile, sampling=0.01))
    assert key_of(scenario) not in (None, before)


def test_what_a_forecast_says_decides(tmp_path: Path) -> None:
    scenario = resolve("Cloning-v1", {"jobs": 60})
    trace, file = split_of(scenario, "train"), tmp_path / "forecast.npz"
    said = Perfect(window=scenario.window).predict(trace)
    given: list[Any] = [Calibrated.elsayed(seed=1), Calibrated.elsayed(seed=2), said]
    given.append(replace(said, risk=said.risk + np.float32(0.01)))
    keys = [key_of(changed(scenario, forecast=each)) for each in given]
    for forecast in given[2:]:
        save_forecast(forecast, file)
        keys.append(key_of(changed(scenario, forecast=str(file))))
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_what_is_in_a_file_of_a_forecast_decides_and_not_its_name(tmp_path: Path) -> None:
    scenario = resolve("Cloning-v1", {"jobs": 60})
    said = Perfect(window=scenario.window).predict(split_of(scenario, "train"))
    learned = RandomForest(trees=2).fit(generate("google-2011", jobs=200, seed=1))
    keys: set[str | None] = set()
    for place in (tmp_path / "here", tmp_path / "there"):
        place.mkdir()
        save_forecast(said, place / "forecast.npz")
        save_predictor(learned, place / "predictor.npz")
        for name in ("forecast.npz", "predictor.npz"):
            keys.add(key_of(changed(scenario, forecast=str(place / name))))
    assert None not in keys
    assert len(keys) == 2


def test_what_a_predictor_has_learned_decides() -> None:
    scenario = resolve("Cloning-v1")
    one, two = RandomForest(trees=2), RandomForest(trees=2)
    before = key_of(changed(scenario, forecast=one))
    assert before == key_of(changed(scenario, forecast=two)) is not None
    assert before != key_of(changed(scenario, forecast=RandomForest(trees=3)))
    one.fit(generate("google-2011", jobs=200, seed=1))
    two.fit(generate("google-2011", jobs=200, seed=2))
    keys = {before, *(key_of(changed(scenario, forecast=each)) for each in (one, two))}
    assert None not in keys
    assert len(keys) == 3


class Mine(Learned):
    """A predictor from outside the package."""

    name = "mine"

    def fit(self, trace: Trace) -> Mine:
        return self

    def predict(self, trace: Trace) -> Forecast:
        return Perfect().predict(trace)

    def arrays(self) -> dict[str, Any]:
        return {}

    def restore(self, arrays: Any) -> Mine:
        return self


class OwnTrace(Trace):
    """A trace with code of its own."""


def made_here(window: int) -> Perfect:
    """What makes a predictor, of one's own."""
    return Perfect(window=window)


def test_code_from_elsewhere_has_no_key(monkeypatch: pytest.MonkeyPatch, kept_worlds: Path) -> None:
    scenario = resolve("Cloning-v1", SMALL["Cloning-v1"])
    own = OwnTrace(generate("google-2011", jobs=5).meta)
    assert key_of(changed(scenario, forecast=Mine())) is None
    assert key_of(changed(scenario, trace=own)) is None
    monkeypatch.setitem(forecasts.DRAWN, "mine", made_here)
    anew(scenario.override(forecast="mine"))
    monkeypatch.setitem(forecasts.DRAWN, "perfect", made_here)
    anew(scenario.override(forecast="perfect"))
    monkeypatch.setitem(forecasts.DRAWN, "elsayed_alarms", made_here)
    forecasts._made.cache_clear()
    anew(scenario.override(forecast="auto"))
    assert entries() == []
    forecasts._made.cache_clear()


def test_a_learned_predictor_from_elsewhere_has_no_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scenario, file = resolve("Cloning-v1"), tmp_path / "forest.npz"
    save_predictor(RandomForest(trees=2).fit(generate("google-2011", jobs=200)), file)
    given = [changed(scenario, forecast=name) for name in ("random_forest", str(file))]
    assert None not in (keys := [key_of(each) for each in given])
    assert len(set(keys)) == 2
    kind = models._Kind("theirs.forests", "RandomForest")
    monkeypatch.setitem(models._FORECASTING, "random_forest", kind)
    assert [key_of(each) for each in given] == [None, None]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package that is imported, without what uses worlds."""
    copied = tmp_path_factory.mktemp("package") / "failgym"
    ignored = shutil.ignore_patterns("__pycache__", *ABOVE)
    return shutil.copytree(Path(failgym.__file__).parent, copied, ignore=ignored)


@pytest.mark.parametrize(
    "name",
    [
        *("__init__.py", "compiled/ownership.py", "worlds/build.py", "predictors/forest/forest.py"),
        *("sim/scheduled/compile.py", "traces/synthetic/kumar.py", "world_cache/file.py"),
    ],
)
def test_every_source_file_decides(name: str, package: Path) -> None:
    before, file = sources_hash(package), package / name
    assert before == sources_hash(Path(failgym.__file__).parent)
    content = file.read_bytes()
    file.write_bytes(content + b"\n")
    assert sources_hash(package) != before
    file.unlink()
    assert sources_hash(package) != before
    file.with_name("renamed.py").write_bytes(content)
    assert sources_hash(package) != before
    file.with_name("renamed.py").rename(file)
    assert sources_hash(package) == before


def test_only_what_stands_above_worlds_is_left_out() -> None:
    with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
        contracts: Any = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = contracts[0]["layers"]
    built_in = build.__name__.split(".")[1]
    assert set(ABOVE) <= set(layers[: layers.index(built_in)])


def test_sources_that_cannot_be_read_make_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sources_hash(tmp_path) == sources_hash(tmp_path / "archive.zip") == ""
    monkeypatch.setattr(key, "_SOURCES", "")
    assert key_of(resolve("Cloning-v1")) is None


def test_what_changes_while_a_world_is_built_is_not_kept(
    kept_worlds: Path, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = resolve("Cloning-v1", {"trace": str(stored)})

    def replaced() -> Outer:
        generate("google-2011", jobs=60, seed=4).save(stored)
        return outer()

    kept_or_built(scenario, (), Outer, replaced)
    assert entries() == []
    monkeypatch.setattr(key, "_SOURCES", "what they were when this process began")
    kept_or_built(scenario, (), Outer, outer)
    assert entries() == []


# --- Never a damaged one --------------------------------------------------------------------------


def cut(content: bytes) -> bytes:
    return content[:-1]


def header(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """A change of the header, of the same length, with its hash: not an accident."""

    def change(content: bytes) -> bytes:
        assert old in content
        assert len(old) == len(new)
        rest = content[32:].replace(old, new)
        return hashlib.sha256(rest).digest() + rest

    return change


def flipped(at: int) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        place = at % len(content)
        return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]

    return change


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": cut,
    "longer": lambda content: content + b"\0",
    "zeros": lambda content: bytes(len(content)),
    "hash": flipped(3),
    "length of the header": flipped(33),
    "header": flipped(60),
    "first array": flipped(2000),
    "last": flipped(-1),
    "another format": header(b'"version": 2', b'"version": 9'),
    "another array": header(b'"none"', b'"nine"'),
    "objects": header(b'"<f8"', b'"|O" '),
    "another length": header(b'"shape": [40]', b'"shape": [41]'),
    "a negative one": header(b'"shape": [40]', b'"shape": [-4]'),
}


@pytest.mark.parametrize("part", [None, KeptPart("part")], ids=["whole", "packed"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_world_is_built_anew(
    damage: str, part: KeptPart | None, kept_worlds: Path
) -> None:
    scenario = resolve("Cloning-v1")
    kept_or_built(scenario, (), Outer, outer, part)
    file = entries()[0].file
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    assert_same(kept_or_built(scenario, (), Outer, outer, part), outer())
    assert file.read_bytes() == whole, "the sound one takes its place"


def test_a_world_under_another_name_is_not_taken(kept_worlds: Path) -> None:
    one, two = resolve("Cloning-v1"), resolve("GracePeriod-v1")
    kept_or_built(one, (), Outer, outer)
    theirs = key_of(two)
    assert theirs is not None
    shutil.copy(entries()[0].file, kept_worlds / folder.file_name(theirs))
    assert_same(kept_or_built(two, (), Outer, lambda: outer(seed=1)), outer(seed=1))


@pytest.mark.skipif(os.name != "posix", reason="files have no owners here")
def test_a_file_or_folder_that_others_could_have_written_is_not_taken(
    kept_worlds: Path, tmp_path: Path
) -> None:
    scenario = resolve("Cloning-v1")
    kept_or_built(scenario, (), Outer, outer)
    file = entries()[0].file
    file.chmod(0o666)
    with pytest.raises(Never):
        kept_or_built(scenario, (), Outer, never)
    kept_or_built(scenario, (), Outer, outer)
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    with pytest.raises(Never):
        kept_or_built(scenario, (), Outer, never)
    elsewhere.replace(file)
    kept_worlds.chmod(0o777)
    folder._warn.cache_clear()
    with pytest.warns(UserWarning, match="FAILGYM_CACHE_DIR"), pytest.raises(Never):
        kept_or_built(scenario, (), Outer, never)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_killed_writer_leaves_nothing_that_is_read(
    kept_worlds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = resolve("Cloning-v1")
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(Path, "replace", _be_killed)
        kept_or_built(scenario, (), Outer, outer)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert len(os.listdir(kept_worlds)) == 2, "a file that was being written, and its lock"
    assert entries() == []
    assert_same(kept_or_built(scenario, (), Outer, outer), outer())
    assert os.listdir(kept_worlds) == [entries()[0].file.name]


def _be_killed(file: Path, target: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# --- Room -----------------------------------------------------------------------------------------


def test_the_least_recently_used_go(kept_worlds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios = [resolve("Cloning-v1", {"seed": seed}) for seed in range(3)]
    size = world_file.blocks_of(outer(size=1000)).size
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", str(2 * size + 4000))
    for age, scenario in zip((300, 200), scenarios, strict=False):
        kept_or_built(scenario, (), Outer, lambda: outer(size=1000))
        file = kept_worlds / folder.file_name(str(key_of(scenario)))
        _last_used(file, age)
    kept_or_built(scenarios[0], (), Outer, never)  # used now
    kept_or_built(scenarios[2], (), Outer, lambda: outer(size=1000))
    assert {kept.file.stem for kept in entries()} == {key_of(scenarios[i]) for i in (0, 2)}
    kept_or_built(scenarios[1], (), Outer, lambda: outer(size=4000))
    assert len(entries()) == 2, "one that is larger than all the room is not kept"


def _last_used(file: Path, age: float) -> None:
    """Let a file have been used so long ago [s]."""
    moment = time.time() - age
    os.utime(file, (moment, moment))


def test_what_killed_processes_left_goes(kept_worlds: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="files cannot be locked here")
    kept_or_built(resolve("Cloning-v1"), (), Outer, outer)
    left, held = (kept_worlds / f".failgym-{name}.partial" for name in ("left", "held"))
    left.write_bytes(b"half")
    with held.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its writer does
        kept_or_built(resolve("GracePeriod-v1"), (), Outer, outer)
        assert not left.exists()
        assert held.exists()
    kept_or_built(resolve("Checkpoint-v1"), (), Outer, outer)
    assert not held.exists()
    assert len(entries()) == 3


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", folder.MOST_BYTES),
        ("0", 0),
        ("12", 12),
        ("500M", 500_000_000),
        ("1.5 gb", 1_500_000_000),
    ],
)
def test_sizes(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", text)
    assert folder.size_limit() == size


@pytest.mark.parametrize("text", ["much", "-1", "1e9", "4 GiB", "nan"])
def test_sizes_that_are_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", text)
    with pytest.raises(ValueError, match="FAILGYM_CACHE_SIZE: expected"):
        build_world(resolve("Cloning-v1", {"jobs": 61}))


def test_without_a_cache(kept_worlds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILGYM_CACHE_SIZE", "0")
    assert_same(kept_or_built(resolve("Cloning-v1"), (), Outer, outer), outer())
    assert not kept_worlds.exists()


@pytest.mark.parametrize("home", ["/nonexistent", "", "relative"])
def test_without_a_home(home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HOME": home, "XDG_CACHE_HOME": "", "FAILGYM_CACHE_DIR": ""}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(world_cache, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(folder, "make_private", _refuse)
    monkeypatch.chdir(tmp_path)
    assert_same(kept_or_built(resolve("Cloning-v1"), (), Outer, outer), outer())
    assert os.listdir(tmp_path) == []


def _refuse(place: Path) -> None:
    raise PermissionError(errno.EACCES, "no", str(place))


def test_on_a_disk_that_is_read_only(kept_worlds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, new = resolve("Cloning-v1"), resolve("GracePeriod-v1")
    kept_or_built(kept, (), Outer, outer)
    opened = os.open

    def read_only(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "read-only", str(path))
        return opened(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", read_only)
    assert_same(kept_or_built(kept, (), Outer, never), outer())
    assert_same(kept_or_built(new, (), Outer, outer), outer())
    assert len(os.listdir(kept_worlds)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_one_process_builds_while_others_wait(kept_worlds: Path, tmp_path: Path) -> None:
    scenario, built = resolve("Cloning-v1"), tmp_path / "built"

    def slowly() -> Outer:
        with built.open("a") as file:
            file.write("once\n")
        time.sleep(0.5)  # while the others come
        return outer()

    child = os.fork()
    if child == 0:
        kept_or_built(scenario, (), Outer, slowly)
        os._exit(0)
    while not built.exists():
        time.sleep(0.01)
    assert_same(kept_or_built(scenario, (), Outer, slowly), outer())
    assert os.waitpid(child, 0)[1] == 0
    assert built.read_text() == "once\n"
    assert [file.suffix for file in kept_worlds.iterdir()] == [".world"]


def test_the_folder_is_the_users_own(kept_worlds: Path) -> None:
    assert cache_folder() == kept_worlds
    if os.name == "posix":
        assert kept_worlds.stat().st_mode & 0o077 == 0
        kept_or_built(resolve("Cloning-v1"), (), Outer, outer)
        assert entries()[0].file.stat().st_mode & 0o077 == 0

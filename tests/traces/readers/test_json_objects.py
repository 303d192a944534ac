"""JSON objects come one by one with their lines; whatever is wrong is one line that says where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failgym.traces import TraceError
from failgym.traces.readers import json_objects as module
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.json_objects import json_objects

Json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=10,
)
Object = st.dictionaries(st.text(max_size=5), Json, max_size=4)


@given(st.lists(Object, max_size=6), st.booleans(), st.sampled_from([None, 1]), st.integers(1, 50))
def test_objects_are_read_back_with_their_lines(
    tmp_path_factory: pytest.TempPathFactory,
    objects: list[dict[str, Any]],
    array: bool,
    indent: int | None,
    chunk: int,
) -> None:
    texts = [json.dumps(value, indent=indent, ensure_ascii=False) for value in objects]
    text = "[" + ",\n".join(texts) + "]" if array else "\n".join(texts)
    file = tmp_path_factory.mktemp("json") / "x.json"
    file.write_bytes(text.encode("utf-8"))
    lines, line = list[int](), 1
    for one in texts:
        lines.append(line)
        line += one.count("\n") + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        assert list(json_objects(file)) == list(zip(lines, objects, strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a": 1}\n{"b": ', "line 2: not JSON: truncated"),
        (b'{"a": 1}\n{"b": "x', "line 2: not JSON: truncated"),
        (b'{"a":\n\n?}', "line 3: not JSON"),
        (b'[{"a": 1},\n{"b": 2}', "line 2: truncated: expected the end of the array"),
        (b'[{"a": 1}]\n[]', "line 2: expected the end of the file"),
        (b'{"a": 1}\n7', "line 2: expected a JSON object, not '7'"),
        (b"[[]]", "expected a JSON object"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": ' + b"9" * 9999 + b"}", "line 1: not JSON"),
        (b'{"a": ' + b"[" * 99_999, "line 1: nested too deeply"),
        (b'{"a": 1}\n{"b": "\xff"}', "line 2: not a text in UTF-8"),
        (b'{"a": "\x00"}', "line 1: not JSON"),
    ],
)
def test_what_is_not_json_is_named(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(TraceError) as caught:
        list(json_objects(tmp_path / "x.json"))
    assert f"{tmp_path / 'x.json'}, line" in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("limit", ["LARGEST_OBJECT", "MOST_CONTAINERS"])
def test_an_object_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(module, limit, 100)
    monkeypatch.setattr(module, "CHUNK", 64)
    (tmp_path / "x.json").write_text('{"a": 1}\n{"b": [' + ",".join(["{}"] * 1000) + "]}")
    with pytest.raises(TraceError, match=r"line 2: not JSON, or .* 100"):
        list(json_objects(tmp_path / "x.json"))


def placed(line: int, position: int, value: Any) -> Any:
    """What is taken of an element: its position and value."""
    assert line > 0
    return position, value


def lined(line: int, position: int, value: Any) -> Any:
    """What is taken of an element: its line."""
    assert position >= 0 or value is None
    return line


@given(st.lists(Object, max_size=4), st.sampled_from([None, 1]), st.integers(1, 50))
def test_arrays_that_are_taken_are_read_element_by_element(
    tmp_path_factory: pytest.TempPathFactory,
    objects: list[dict[str, Any]],
    indent: int | None,
    chunk: int,
) -> None:
    objects = [one | {"": [*one.values(), 7, -1.5e3, "x"], "n": 12.5e1} for one in objects]
    file = tmp_path_factory.mktemp("json") / "x.json"
    text = ",\n".join(json.dumps(one, indent=indent, ensure_ascii=False) for one in objects)
    file.write_bytes(text.encode("utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        found = list(json_objects(file, take={"": placed}))
        lines = [line for line, _ in found]
        assert [line for line, _ in json_objects(file)] == lines
    expected = [one | {"": list(enumerate(one[""]))} for one in objects]
    assert [values for _, values in found] == expected


def test_elements_that_are_taken_have_their_lines(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"b": {"a": [1]},\n"a": [\n{},\n[2]\n], "c": 3}\n{"a": 4}')
    found = list(json_objects(tmp_path / "x.json", take={"a": lined}))
    assert found == [(1, {"b": {"a": [1]}, "a": [3, 4], "c": 3}), (6, {"a": 4})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": [1,\n2', "line 2: not JSON: truncated"),
        ('{"a": [1,\n]}', "line 2: not JSON: expected a value after the comma"),
        ('{"a": [1\n2]}', "line 2: not JSON: expected , or ], not '2'"),
        ('{"a"\n[1]}', "line 2: not JSON: expected :, not '['"),
        ('{"a": [1]\n"b": 2}', "line 2: not JSON: expected , or }, not '\"'"),
        ('{"a": [1],\n}', "line 2: not JSON: expected \", not '}'"),
        ("{\n1: 2}", "line 2: not JSON: expected \" or }, not '1'"),
        ('{"a": [{\n"b": ?}]}', "line 2: not JSON"),
        ('{"a": ' + "[1" + ",1" * 200 + "]}", "more than 100 elements"),
        ('{"b": [' + "[]," * 60 + '0],\n"c": [' + "[]," * 60 + "0]}", "more than 100 arrays"),
        ('{"b": "' + "x" * 150 + '",\n"c": "' + "x" * 150 + '"}', "longer than 200"),
    ],
)
def test_what_is_wrong_with_an_object_that_is_read_by_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setattr(module, "MOST_ELEMENTS", 100)
    monkeypatch.setattr(module, "MOST_CONTAINERS", 100)
    monkeypatch.setattr(module, "LARGEST_OBJECT", 200 if "x" in text else 10_000)
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(TraceError) as caught:
        list(json_objects(tmp_path / "x.json", take={"a": lined}))
    assert f"{tmp_path / 'x.json'}, line" in str(caught.value)
    assert said in str(caught.value)


def test_commas_between_objects(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    for text in ('{"a": 1},\n{"a": 1}', '{"a": 1}\n,{"a": 1},\n', '[{"a": 1},{"a": 1}]'):
        file.write_text(text)
        assert [values for _, values in json_objects(file)] == [{"a": 1}] * 2
    for text in (',{"a": 1}', '{"a": 1},,{"a": 1}', "[,]", '[{"a": 1},]', '[{"a": 1}{"a": 1}]'):
        file.write_text(text)
        with pytest.raises(TraceError, match="line 1: expected a JSON object"):
            list(json_objects(file))


def fields(**values: Any) -> Fields:
    return Fields(Path("job.json"), 7, values)


def test_fields_are_read_as_what_they_are_meant_to_be() -> None:
    one = fields(a=3, b="12", c=4.0, d=None, e="x", f=True, g={"h": [{"i": 1}]}, j=2.5)
    assert [one.integer(name) for name in "abcd"] == [3, 12, 4, None]
    assert [one.number(name) for name in "abcdj"] == [3.0, 12.0, 4.0, None, 2.5]
    assert [one.text(name) for name in "aef"] == ["3", "x", "true"]
    assert (one.flag("f"), one.flag("d"), one.has("d")) == (True, None, False)
    inner = one.object("g")
    assert inner is not None
    assert [item.integer("i") for item in inner.objects("h")] == [1]
    assert list(one.objects("missing")) == []


@pytest.mark.parametrize(
    ("values", "method", "said"),
    [
        ({"a": -1}, "integer", "field 'a' is -1, expected an integer of at least 0"),
        ({"a": True}, "integer", "field 'a' is True"),
        ({"a": 10**40}, "integer", "expected an integer"),
        ({"a": "1" * 5000}, "integer", "expected an integer"),
        ({"a": 10**400}, "number", "expected a number"),
        ({"a": "nan"}, "number", "expected a number"),
        ({"a": float("inf")}, "number", "expected a number"),
        ({"a": [1]}, "text", "field 'a' is an array, expected a text"),
        ({"a": "\ud800"}, "text", "expected a text"),
        ({"a": 1}, "flag", "expected true or false"),
        ({"a": 1}, "object", "expected an object"),
        ({"a": 1}, "objects", "expected an array"),
        ({"a": [1]}, "objects", "field 'a[0]' is 1, expected an object"),
    ],
)
def test_a_field_that_is_not_is_named(values: dict[str, Any], method: str, said: str) -> None:
    with pytest.raises(TraceError) as caught:
        tuple(getattr(fields(**values), method)("a"))
    assert str(caught.value).startswith("job.json, line 7: field ")
    assert said in str(caught.value)


def test_a_nested_field_is_named_with_its_path() -> None:
    outer = fields(jobs=[{}, {"size": "x"}])
    with pytest.raises(TraceError, match=r"field 'jobs\[1\]\.size' is 'x'"):
        [item.integer("size") for item in outer.objects("jobs")]
    with pytest.raises(TraceError, match="field 'name' is missing, expected a name"):
        outer.need("name", "a name")

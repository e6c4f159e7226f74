"""What holds of every record there can be: the reader, the writer and both schemas say the same of it."""

import gc
import json
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from meridian.records import (
    Cell,
    Date,
    DateTime,
    DecimalKind,
    Integer,
    JsonObject,
    Mapping,
    Problem,
    Reading,
    RecordKind,
    Rows,
    Shape,
    Text,
    parse_path,
    read_form,
    read_json,
    read_query,
    read_value,
    schema,
    shape_of,
    write_value,
)
from strategies import as_form, as_json, fitting, form_can_say, json_values, record_classes, records, spoilt

MANY_CLASSES = settings(suppress_health_check=list(HealthCheck))
FEWER_CLASSES = settings(MANY_CLASSES, max_examples=max(settings().max_examples // 2, 5))


@st.composite
def any_records(draw: st.DrawFn) -> Any:
    return draw(records(draw(record_classes())))


def read(record: object) -> Reading[Any]:
    return Reading(record, ())


# ── Reading and writing ────────────────────────────────────────────────────


@MANY_CLASSES
@given(any_records())
def test_json_reads_back_to_an_equal_record(record):
    assert read_json(shape_of(type(record)), as_json(record)) == read(record)


@MANY_CLASSES
@given(any_records())
def test_json_values_are_those_of_the_json_text(record):
    assert write_value(record) == json.loads(as_json(record))
    assert read_value(shape_of(type(record)), write_value(record)) == read(record)


@MANY_CLASSES
@given(any_records())
def test_a_form_reads_back_to_an_equal_record_where_a_form_can_say_it(record):
    assume(form_can_say(record))
    assert read_form(shape_of(type(record)), as_form(record)) == read(record)


@MANY_CLASSES
@given(any_records())
def test_a_form_and_its_json_make_the_same_record(record):
    assume(form_can_say(record))
    shape = shape_of(type(record))
    body = urlencode(as_form(record)).encode()
    assert read_form(shape, body) == read_json(shape, as_json(record))


@MANY_CLASSES
@given(any_records())
def test_what_is_left_out_of_a_portable_answer_is_none(record):
    def without_none(shape: Shape[Any], value: dict[str, Any]) -> dict[str, Any]:
        return {name: inside(shape.field(name), each) for name, each in value.items() if each is not None}

    def inside(cell: Any, value: Any) -> Any:
        match cell.kind:
            case RecordKind(shape):
                return without_none(shape, value)
            case Rows(item):
                return [inside(item, each) for each in value if each is not None]
            case Mapping(item):
                return {key: inside(item, each) for key, each in value.items() if each is not None}
        return value

    assert write_value(record, portable=True) == without_none(shape_of(type(record)), write_value(record))


# ── The reader and the schema ──────────────────────────────────────────────


def can_not_be_said(cell: Cell | None, came: Any) -> bool:
    """Whether a schema cannot say what is wrong with `came`, by the list in the rules."""
    match cell.kind if cell else None:
        case Integer():
            return isinstance(came, float) or abs(came) >= 10**100
        case DecimalKind():
            assert cell is not None
            return cell.min is not None or cell.max is not None or sum(each.isdigit() for each in came) > 100
        case Date() | DateTime():
            return True  # its pattern holds, so it is the day that is in no calendar
        case Text():
            return "\r" in came
        case JsonObject():
            return True
    return False


def came_at(value: Any, path: str) -> Any:
    for step in parse_path(path):
        value = value[step]
    return value


def schema_says(shape: Shape[Any], value: Any) -> bool:
    return bool(Draft202012Validator(schema(shape)).is_valid(value))


def disagreements(shape: Shape[Any], value: Any) -> list[str]:
    problems = read_value(shape, value).problems
    if not schema_says(shape, value):
        return [] if problems else ["the schema refuses what is read"]
    return [
        f"the schema accepts what is not read: {each}"
        for each in problems
        if not can_not_be_said(shape.at(each.path), came_at(value, each.path))
    ]


@FEWER_CLASSES
@given(st.data())
def test_what_the_exact_schema_accepts_is_read(data):
    shape = shape_of(data.draw(record_classes(depth=1)))
    value = data.draw(fitting(schema(shape)))
    assert disagreements(shape, value) == []


@MANY_CLASSES
@given(st.data())
def test_reader_and_exact_schema_agree_on_what_is_nearly_right(data):
    record = data.draw(any_records())
    shape = shape_of(type(record))
    value = data.draw(spoilt(write_value(record)))
    assert disagreements(shape, value) == []


@MANY_CLASSES
@given(any_records())
def test_both_schemas_are_schemas_and_accept_what_is_written(record):
    shape = shape_of(type(record))
    for form in (schema(shape), schema(shape, portable=True), schema(shape, portable=True, answer=True)):
        Draft202012Validator.check_schema(form)
    assert schema_says(shape, write_value(record))
    assert Draft202012Validator(schema(shape, portable=True, answer=True)).is_valid(write_value(record, portable=True))


@MANY_CLASSES
@given(st.data())
def test_the_portable_schema_accepts_nothing_that_the_exact_one_refuses(data):
    record = data.draw(any_records())
    shape = shape_of(type(record))
    value = data.draw(spoilt(write_value(record, portable=True)))
    assume(not any(text.endswith("\n") for text in texts_in(value)))  # Python's $ alone takes a last line end for nothing
    if Draft202012Validator(schema(shape, portable=True)).is_valid(value):
        assert schema_says(shape, value)


def texts_in(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for each in value for text in texts_in(each)]
        case dict():
            return [text for each in value.values() for text in texts_in(each)]
    return []


@MANY_CLASSES
@given(record_classes())
def test_a_default_named_in_a_schema_reads(cls):
    shape = shape_of(cls)
    needed = {each.name: each for each in shape.fields if each.required}
    for form in (schema(shape), schema(shape, portable=True)):
        named = {name: each["default"] for name, each in form["properties"].items() if "default" in each}
        reading = read_value(shape, named)
        assert [each.path for each in reading.problems] == list(needed)
        assert needed or reading.record == cls()


# ── Whatever comes ─────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Lot:
    quantity: Decimal
    closed: bool = False


@dataclass(frozen=True)
class Balance:
    account: str
    lots: list[Lot]
    notes: dict[str, list[str]] | None = None
    extra: dict[str, Any] | None = None


BALANCE = shape_of(Balance)

WORDS = ["account", "lots", "notes", "extra", "quantity", "closed", "zone"]
ROWS = ["[0]", "[7]", "[]", "[00]", "[-1]", "[10000]", "[٣]", '["k"]', f"[{'9' * 30}]"]
MARKS = [".", "[", "]", '["', '"]', "%", "&", "=", ";", "\x00", "é", "\ud800"]
NAMES = st.lists(st.sampled_from([*WORDS, *ROWS, *MARKS]), max_size=5).map("".join)
FILES = st.sampled_from(["", "a.pdf"]).map(lambda name: type("File", (), {"filename": name})())


def encoded(pairs: list[tuple[str, str]]) -> bytes:
    return urlencode(pairs, errors="surrogatepass").encode()


def is_answer(reading: Reading[Any]) -> bool:
    """Whether a reading is a record, or problems that each say something."""
    if not reading.problems:
        return reading.record is not None
    return all(isinstance(each, Problem) and isinstance(each.path, str) and each.message.strip() for each in reading.problems)


@given(st.binary() | st.text() | json_values.map(json.dumps))
@example(b"\xff")
@example(b"\xef\xbb\xbf{}")
@example("[" * 100_000)
@example('{"a":' * 100_000)
@example('{"account": ' + "1" * 5_000 + "}")
@example('{"account": "\\ud800", "lots": []}')
@example('{"account": NaN, "lots": 1e999}')
def test_reading_json_never_raises(body):
    assert is_answer(read_json(BALANCE, body))


@given(st.binary() | st.lists(st.tuples(NAMES, st.text(max_size=8)), max_size=6).map(encoded))
def test_reading_a_form_never_raises(body):
    assert is_answer(read_form(BALANCE, body))


@given(st.lists(st.tuples(NAMES, st.text(st.characters(), max_size=8) | FILES), max_size=6))
def test_reading_form_pairs_never_raises(pairs):
    assert is_answer(read_form(BALANCE, pairs))


@given(st.lists(st.tuples(NAMES, st.text(max_size=8)), max_size=6))
def test_reading_a_query_never_raises(pairs):
    reading = read_query(BALANCE, pairs)
    assert is_answer(reading) or reading == Reading(None, ())


@MANY_CLASSES
@given(record_classes(), json_values | st.dictionaries(st.text(max_size=3), json_values))
def test_reading_any_json_as_any_record_never_raises(cls, value):
    assert is_answer(read_value(shape_of(cls), value))


# ── Growth ─────────────────────────────────────────────────────────────────


def rows_as_json(rows: int, amount: str = "1.5") -> bytes:
    return json.dumps({"account": "A-1", "lots": [{"quantity": amount}] * rows}).encode()


def rows_as_form(rows: int, amount: str = "1.5") -> bytes:
    return urlencode([("account", "A-1"), *((f"lots[{row}].quantity", amount) for row in range(rows))]).encode()


GROWING = [
    pytest.param(lambda rows: (read_json, rows_as_json(rows)), id="JSON"),
    pytest.param(lambda rows: (read_json, rows_as_json(rows, "1,5")), id="wrong JSON"),
    pytest.param(lambda rows: (read_form, rows_as_form(rows)), id="form"),
    pytest.param(lambda rows: (read_form, rows_as_form(rows, "1,5")), id="wrong form"),
    pytest.param(lambda rows: (read_form, b"&" * rows * 20), id="separators"),
    pytest.param(lambda rows: (read_form, b"account=" + b"%" * rows * 20), id="escapes"),
    pytest.param(lambda rows: (read_form, b"account" + b"[0]" * rows * 10 + b"=1"), id="steps"),
    pytest.param(lambda rows: (read_json, b'{"extra":' + b'{"a":' * rows), id="depth"),
]


@pytest.mark.parametrize("growing", GROWING)
def test_time_grows_in_proportion_to_what_was_sent(growing: Callable[[int], Any]):
    def seconds(rows: int) -> float:
        reader, body = growing(rows)
        spent = []
        for _ in range(5):
            gc.collect()
            began = time.process_time()
            reader(BALANCE, body)
            spent.append(time.process_time() - began)
        return min(spent)

    seconds(500)  # the reader is generated at its first use
    assert seconds(8_000) < 16 * max(seconds(500), 0.000_2) * 4


@pytest.mark.parametrize("growing", GROWING)
def test_memory_grows_in_proportion_to_what_was_sent(growing: Callable[[int], Any]):
    reader, body = growing(8_000)
    reader(BALANCE, body)
    tracemalloc.start()
    try:
        reader(BALANCE, body)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 40 * len(body) + 1_000_000

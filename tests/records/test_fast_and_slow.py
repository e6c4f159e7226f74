"""What the generated readers read, and the columns of long lists, is what the rules say: here they are once more, slowly.

The slow reader walks the shape, one cell after another, each by the function of `cells` that has its rule.
"""

import json
from dataclasses import MISSING, dataclass, fields, make_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meridian.errors import Unread
from meridian.records import Cell, Mapping, Reading, RecordKind, Rows, Shape, field, read_json, read_value, shape_of
from meridian.records import cells as rules
from meridian.records.cells import UNREAD, Found
from meridian.records.columns import LONG, column_of_record
from meridian.records.shape import MAX_ROWS
from strategies import as_json, json_values, record_classes, records, spoilt

MANY_CLASSES = settings(suppress_health_check=list(HealthCheck))


# ── The slow reader ────────────────────────────────────────────────────────


def read_slowly(shape: Shape[Any], came: dict[str, Any], *, lenient: bool = False) -> Reading[Any]:
    """`came`, of JSON, as the record that `shape` describes."""
    found = Found()
    found.lenient = lenient
    record = _record(shape, came, (), found)
    return Reading(None if record is UNREAD else record, found.all() if found.count else ())


def _record(shape: Shape[Any], came: dict[str, Any], at: Any, found: Found) -> Any:
    before = found.count
    values: list[Any] = []
    for each in shape.fields:
        if each.name in came:
            values.append(_value(each, came[each.name], (at, each.name), found))
        elif each.required:
            values.append(rules.missing(each, (at, each.name), found))
        else:
            values.append(each.make_default())
    rules.unknown(shape, came, at, found)
    if found.count != before:
        return rules.mended(shape, tuple(values))
    try:
        return shape.record(**{each.name: value for each, value in zip(shape.fields, values, strict=True)})
    except ValueError as wrong:
        return rules.refused(wrong, at, found)


def _value(cell: Cell, came: Any, at: Any, found: Found) -> Any:
    match cell.kind:
        case RecordKind(shape) if isinstance(came, dict):
            return _record(shape, came, at, found)
        case Rows(item, as_tuple) if isinstance(came, list):
            most = MAX_ROWS if cell.max_length is None else min(cell.max_length, MAX_ROWS)
            if not (cell.min_length or 0) <= len(came) <= most:
                return rules.wrong_length(cell, len(came), at, found)
            rows = [_value(item, row, (at, number), found) for number, row in enumerate(came)]
            return UNREAD if UNREAD in rows else tuple(rows) if as_tuple else rows
        case Mapping(item) if isinstance(came, dict):
            entries = {}
            for key, each in came.items():
                if rules.half_a_key(key):
                    found.add(at, "a name in it has half a character; write whole ones")
                else:
                    entries[key] = _value(item, each, (at, key), found)
            return UNREAD if UNREAD in entries.values() else entries
        case _:
            return rules.json_cell(cell, came, at, found)


def exact(reading: Reading[Any]) -> tuple[Reading[Any], str]:
    """What is compared: 1, True and Decimal("1.0") are equal, and not the same."""
    return reading, repr(reading)


# ── Classes as their authors write them ────────────────────────────────────


def _refuse_some(record: Any) -> None:
    """A `__post_init__` which says no now and then, of the record or of one of its cells."""
    first = fields(record)[0].name
    match len(repr(getattr(record, first))) % 4:
        case 0:
            raise ValueError("its parts do not fit together")
        case 1:
            raise Unread((first, "of these there is none"), ("nowhere[0]", "nor here"))


def _own_init(self: Any, /, **given: Any) -> None:
    for each in fields(self):
        default = each.default if each.default_factory is MISSING else each.default_factory()
        object.__setattr__(self, each.name, given.get(each.name, default))


@st.composite
def classes(draw: st.DrawFn) -> type:
    """A record class of `record_classes`, written in one of the ways there are to write one."""
    drawn = draw(record_classes())
    declared = [(each.name, each.type, _again(each)) for each in fields(drawn)]
    match draw(st.sampled_from(["by position", "slots", "inherited", "own init", "refuses"])):
        case "by position":
            in_order = sorted(declared, key=lambda each: _has_default(each[2]))
            return make_dataclass("InOrder", in_order, frozen=True)
        case "slots":
            return make_dataclass("Slots", declared, frozen=True, slots=True, kw_only=True)
        case "inherited":
            return make_dataclass("Inherited", [("more", int, field(default=1))], bases=(drawn,), frozen=True)
        case "own init":
            return make_dataclass("Own", declared, frozen=True, init=False, namespace={"__init__": _own_init})
        case _:
            return make_dataclass("Refusing", declared, frozen=True, kw_only=True, namespace={"__post_init__": _refuse_some})


def _again(declared: Any) -> Any:
    if declared.default_factory is not MISSING:
        return field(default_factory=declared.default_factory, **declared.metadata)
    return field(default=declared.default, **declared.metadata)


def _has_default(declared: Any) -> bool:
    return declared.default is not MISSING or declared.default_factory is not MISSING


# ── What is sent for them ──────────────────────────────────────────────────


@st.composite
def rows_of(draw: st.DrawFn, one: st.SearchStrategy[Any]) -> list[Any]:
    """Some rows, or as many as are read by column: a few different ones, over and over."""
    few = draw(st.lists(one, max_size=4))
    if not few or draw(st.booleans()):
        return few
    return [few[draw(st.integers(0, len(few) - 1))] for _ in range(draw(st.sampled_from([LONG - 1, LONG, 2 * LONG])))]


@st.composite
def sent(draw: st.DrawFn, cls: type) -> dict[str, Any]:
    """JSON for `cls`, some of its optional fields left out."""
    value = json.loads(as_json(draw(records(cls))))
    optional = [each.name for each in shape_of(cls).fields if not each.required]
    return {name: each for name, each in value.items() if name not in optional or draw(st.booleans())}


@st.composite
def readings(draw: st.DrawFn) -> tuple[Shape[Any], dict[str, Any]]:
    """A record with lists of lists of records, and JSON for it, with one thing in it wrong as often as not."""
    cls = draw(classes())
    middle = make_dataclass("Middle", [("rows", list[cls] | None, field(default=None)), ("n", int)], frozen=True, kw_only=True)
    outer = make_dataclass(
        "Outer", [("rows", tuple[middle, ...]), ("own", list[cls], field(default_factory=list))], frozen=True
    )
    of_middle = st.fixed_dictionaries({"n": st.integers()}, optional={"rows": rows_of(sent(cls)) | st.none()})
    value = draw(st.fixed_dictionaries({"rows": rows_of(of_middle)}, optional={"own": rows_of(sent(cls))}))
    return shape_of(outer), draw(spoilt(value)) if draw(st.booleans()) else value


@MANY_CLASSES
@given(readings(), st.booleans())
def test_parsed_json_is_read_as_the_rules_say(reading, lenient):
    shape, value = reading
    if isinstance(value, dict):
        assert exact(read_value(shape, value, lenient=lenient)) == exact(read_slowly(shape, value, lenient=lenient))


@MANY_CLASSES
@given(classes().flatmap(lambda cls: st.tuples(st.just(shape_of(cls)), records(cls))), st.data())
def test_the_text_of_json_is_read_as_the_rules_say(drawn, data):
    shape, record = drawn
    value = data.draw(spoilt(json.loads(as_json(record))) | json_values)
    if isinstance(value, dict):
        assert exact(read_json(shape, json.dumps(value))) == exact(read_slowly(shape, value))


# ── Every kind in a long list, and each of its wrong values in the last row ──


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


@dataclass(frozen=True)
class Part:
    name: str


@dataclass(frozen=True)
class Row:
    text: str
    code: str = field(min_length=2, max_length=4, pattern="[A-Z]+")
    word: str = field(choices=["a", "b"])
    count: int
    few: int = field(min=0, max=9, choices=[1, 2, 3])
    on: bool
    cost: Decimal
    price: Decimal = field(places=2, min="0", max="1000")
    day: date
    moment: datetime
    clock: time
    id: UUID
    side: Side
    scheme: Literal["X", "Y"]
    part: Part
    tags: list[str] = field(max_length=3)
    days: tuple[date, ...]
    grid: list[list[int]]
    maybe: Decimal | None
    left_out: str = "as it was"
    parts: list[Part] = field(default_factory=list)


@dataclass(frozen=True)
class Table:
    rows: list[Row]


ROW = {
    "text": "ä line\nand another",
    "code": "ABC",
    "word": "a",
    "count": 10**30,
    "few": 2,
    "on": False,
    "cost": "-0.50",
    "price": "12.3400",
    "day": "2024-02-29",
    "moment": "2024-11-05T16:30:00+01:00",
    "clock": "16:30",
    "id": "6F1E6BD0-6a0c-4b7e-9c3d-2f6c8d1a5b40",
    "side": "sell",
    "scheme": "Y",
    "part": {"name": "one"},
    "tags": ["x", "y"],
    "days": [],
    "grid": [[1], [], [2, 3]],
    "maybe": "7",
    "left_out": "given",
    "parts": [{"name": "two"}],
}
ODD: dict[str, list[Any]] = {
    "text": ["", "a\rb", "a\r\nb", "\x00", "\ud83d", "\u200b", 1, None],
    "code": ["A", "ABCDE", "ab", "AB\n", ""],
    "word": ["c", "", "a\n", ["a"]],
    "count": [True, 1.0, "1", 10**100, -(10**100), -(10**100) + 1, None],
    "few": [0, 4, 10, -1],
    "on": [0, 1, "true", None],
    "cost": ["-0", "-0.00", "1\n", "1\n2", "", ".5", "5.", "1e3", "1,5", "٣", "NaN", "1" * 100, "1" * 101, 1, 0.5, " 1"],
    "price": ["-1", "1000.01", "1000.00000000000000", "1.005", "0.000", "1.2500000000000000"],
    "day": ["2024-02-30", "20241105", "2024-W45-2", "2024-11-05\n", "2024-11-05\n2024-11-05", "", 20241105],
    "moment": ["2024-11-05T16:30:00", "2024-02-30T16:30Z", "2024-11-05T16:30Z", "2024-11-05 16:30Z"],
    "clock": ["24:00", "16:30:01.5", "16", "16:30Z"],
    "id": ["6f1e6bd06a0c4b7e9c3d2f6c8d1a5b40", "{6f1e6bd0-6a0c-4b7e-9c3d-2f6c8d1a5b40}"],
    "side": ["SELL", "", None, {}],
    "scheme": ["Z", 1],
    "part": [{}, {"name": 1}, {"name": "a", "other": 1}, [], None],
    "tags": [[], ["a", "b", "c", "d"], ["a", 1], ["a", None], "a", None],
    "days": [["2024-11-05"] * 20, ["2024-11-05", "2024-02-30"]],
    "grid": [[], [[]], [[1, "2"]], [[1], None], [1]],
    "maybe": [None, "", "null", "x"],
    "left_out": [None, "", 1],
    "parts": [[], None, [{}], [{"name": "a"}, None]],
}


@pytest.mark.parametrize(("name", "came"), [(name, came) for name, odd in ODD.items() for came in odd])
@pytest.mark.parametrize("lenient", [False, True])
def test_one_odd_cell_in_a_long_list_is_read_as_the_rules_say(name, came, lenient):
    value = {"rows": [ROW] * LONG + [{**ROW, name: came}]}
    fast = read_value(shape_of(Table), value, lenient=lenient)
    assert exact(fast) == exact(read_slowly(shape_of(Table), value, lenient=lenient))


@pytest.mark.parametrize("name", ROW)
def test_a_cell_left_out_of_some_rows_of_a_long_list_is_read_as_the_rules_say(name):
    without = {each: value for each, value in ROW.items() if each != name}
    for rows in ([ROW] * LONG + [without], [without] * LONG, [without] * LONG + [{**without, "other": 1}]):
        assert exact(read_value(shape_of(Table), {"rows": rows})) == exact(read_slowly(shape_of(Table), {"rows": rows}))


def test_a_long_list_of_good_rows_is_read_by_column():
    rows, found = [ROW] * LONG, Found()
    assert list(column_of_record(shape_of(Row))(rows, found)) == read_slowly(shape_of(Table), {"rows": rows}).record.rows
    assert found.members == LONG * (len(ROW) + 2)


def test_a_name_given_twice_in_a_long_list_is_told():
    row = '{"name": "a"}'
    twice = '{"name": "a", "name": "b"}'

    @dataclass(frozen=True)
    class Parts:
        parts: list[Part]

    reading = read_json(shape_of(Parts), f'{{"parts": [{", ".join([row] * LONG)}, {twice}]}}')
    assert [str(each) for each in reading.problems] == [
        f'parts[{LONG}].name: it is given twice, as "a" and as "b"; give it once'
    ]

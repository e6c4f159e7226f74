"""What the walk of a first reading reads, the generated readers, and the columns of long lists, is what the rules say: here
they are once more, slowly.

The slow readers walk the shape, one cell after another, each by the function of `cells` that has its rule; and the name of each
cell of a form is walked from its beginning.
"""

import json
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, make_dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from urllib.parse import urlencode
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meridian.errors import Unread
from meridian.records import (
    Boolean,
    Cell,
    FieldShape,
    Mapping,
    Reading,
    RecordKind,
    Rows,
    Shape,
    field,
    read_form,
    read_json,
    read_query,
    read_value,
    shape_of,
)
from meridian.records import cells as rules
from meridian.records import tree as trees
from meridian.records.cells import UNREAD, Found
from meridian.records.columns import LONG, column_of_record
from meridian.records.shape import MAX_ROWS
from strategies import as_form, as_json, json_values, record_classes, records, spoilt

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


def readings_of(read: Any, shape: Shape[Any], came: Any, **how: bool) -> Iterator[Reading[Any]]:
    """What `came` reads as by the walk, which is how a record is read first, and by what is then written for it."""
    unread = replace(shape, derived={})
    yield read(unread, came, **how)
    yield read(unread, came, **how)


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
        slowly = exact(read_slowly(shape, value, lenient=lenient))
        assert [exact(each) for each in readings_of(read_value, shape, value, lenient=lenient)] == [slowly, slowly]


@MANY_CLASSES
@given(classes().flatmap(lambda cls: st.tuples(st.just(shape_of(cls)), records(cls))), st.data())
def test_the_text_of_json_is_read_as_the_rules_say(drawn, data):
    shape, record = drawn
    value = data.draw(spoilt(json.loads(as_json(record))) | json_values)
    if isinstance(value, dict):
        slowly = exact(read_slowly(shape, value))
        assert [exact(each) for each in readings_of(read_json, shape, json.dumps(value))] == [slowly, slowly]


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


@pytest.mark.parametrize(("name", "came"), [(name, came) for name, odd in ODD.items() for came in odd])
@pytest.mark.parametrize("lenient", [False, True])
def test_one_odd_cell_is_read_as_the_rules_say(name, came, lenient):
    value = {**ROW, name: came}
    slowly = exact(read_slowly(shape_of(Row), value, lenient=lenient))
    assert [exact(each) for each in readings_of(read_value, shape_of(Row), value, lenient=lenient)] == [slowly, slowly]


@pytest.mark.parametrize("name", ROW)
def test_a_cell_left_out_of_some_rows_of_a_long_list_is_read_as_the_rules_say(name):
    without = {each: value for each, value in ROW.items() if each != name}
    for rows in ([ROW] * LONG + [without], [without] * LONG, [without] * LONG + [{**without, "other": 1}]):
        assert exact(read_value(shape_of(Table), {"rows": rows})) == exact(read_slowly(shape_of(Table), {"rows": rows}))


def test_a_long_list_of_good_rows_is_read_by_column():
    rows, found = [ROW] * LONG, Found()
    assert (
        list(column_of_record(shape_of(Row), form=False)(rows, found))
        == read_slowly(shape_of(Table), {"rows": rows}).record.rows
    )
    assert found.members == LONG * (len(ROW) + 2)


@dataclass(frozen=True)
class Looking:
    name: str

    def __post_init__(self) -> None:
        next(known for known in ("a", "b") if known == self.name)


@dataclass(frozen=True)
class Looked:
    rows: list[Looking]


@pytest.mark.parametrize("length", [LONG - 1, LONG, 2 * LONG])
def test_no_row_is_lost_where_the_record_s_own_code_lets_a_stop_iteration_through(length):
    rows = [{"name": "c" if number == 3 else "a"} for number in range(length)]
    with pytest.raises(StopIteration):
        read_json(shape_of(Looked), json.dumps({"rows": rows}))


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


# ── A form, slowly ─────────────────────────────────────────────────────────


def read_form_slowly(shape: Shape[Any], pairs: list[tuple[str, str]], *, query: bool = False) -> Reading[Any]:
    """`pairs`, of a form, as the record that `shape` describes."""
    put = trees.Tree(shape)
    for name, text in pairs:
        value = text.replace("\r\n", "\n").replace("\r", "\n").strip()
        if value:
            put.put(name, value)
        else:
            put.blanks.append((None, name))
    put.close()
    found = Found()
    found.query, found.zones = query, put.zones
    record = _form_record(shape, put.root, (), found)
    for name, why in put.wrong.items():
        found.add(name, why)
    return Reading(None if record is UNREAD else record, found.all() if found.count else ())


def _form_record(shape: Shape[Any], came: dict[str, Any], at: Any, found: Found) -> Any:
    before = found.count
    values: list[Any] = []
    for each in shape.fields:
        here = (at, each.name)
        text = came.get(each.name)
        zone = (found.zones or {}).get((id(came), each.name))
        whole = isinstance(each.kind, RecordKind | Rows | Mapping)
        may_be_blank = whole and (each.nullable or (isinstance(each.kind, RecordKind) and not each.required))
        if text is None or (may_be_blank and trees.nothing_in(each.kind, text, here, found)):
            values.append(_form_absent(each, here, found))
        else:
            values.append(_form_value(each, text, here, found, zone))
    if found.count != before:
        return rules.mended(shape, tuple(values))
    try:
        return shape.record(**{each.name: value for each, value in zip(shape.fields, values, strict=True)})
    except ValueError as wrong:
        return trees.refused(wrong, shape, came, at, found)


def _form_absent(cell: FieldShape, at: Any, found: Found) -> Any:
    default = MISSING if cell.required else cell.make_default()
    match cell.kind:
        case Boolean() if not cell.nullable:
            return found.query and default is True
        case Rows() if not (cell.nullable and default is None):
            return _form_value(cell, {}, at, found, None)
        case Mapping() if not (cell.nullable and default is None):
            return {}
        case RecordKind(shape) if default is MISSING and not cell.nullable:
            return _form_record(shape, {}, at, found)
        case _ if default is MISSING:
            return rules.missing(cell, at, found)
    return default


def _form_value(cell: Cell, came: Any, at: Any, found: Found, zone: Any) -> Any:
    match cell.kind:
        case RecordKind(shape) if isinstance(came, dict):
            return _form_record(shape, came, at, found)
        case Rows(item, as_tuple) if isinstance(came, dict):
            rows = _form_rows(item, {number: came[number] for number in sorted(came)}, at, found)
            if UNREAD in rows.values():
                return UNREAD
            most = MAX_ROWS if cell.max_length is None else cell.max_length
            if not (cell.min_length or 0) <= len(rows) <= most:
                return rules.wrong_length(cell, len(rows), at, found)
            return tuple(rows.values()) if as_tuple else list(rows.values())
        case Rows(item) if trees.is_plain(item):
            return trees.own_rows(cell, came, at, found)
        case Mapping(item) if isinstance(came, dict):
            entries = _form_rows(item, came, at, found)
            return UNREAD if UNREAD in entries.values() else entries
        case _:
            return rules.form_cell(cell, came, at, found, zone)


def _form_rows(item: Cell, rows: dict[Any, Any], at: Any, found: Found) -> dict[Any, Any]:
    whole = isinstance(item.kind, RecordKind | Rows | Mapping)
    return {
        key: _form_value(item, row, (at, key), found, (found.zones or {}).get((id(rows), key)))
        for key, row in rows.items()
        if not (whole and trees.nothing_in(item.kind, row, (at, key), found))
    }


def sorted_by_path(reading: Reading[Any]) -> Reading[Any]:
    """The reading, for comparing: names that lead nowhere are told after the cells, or in their row where it was looked at."""
    return Reading(reading.record, tuple(sorted(reading.problems, key=lambda each: each.path)))


@st.composite
def forms(draw: st.DrawFn) -> tuple[Shape[Any], list[tuple[str, str]]]:
    """A record with lists of lists of records, and what a form posts for it, with some of it wrong as often as not."""
    cls = draw(classes())
    middle = make_dataclass("Middle", [("rows", list[cls] | None, field(default=None)), ("n", int)], frozen=True, kw_only=True)
    bounds = draw(st.sampled_from([{"default": ()}, {"min_length": 1}, {"default": (), "max_length": LONG}]))
    outer = make_dataclass(
        "Outer",
        [("own", list[cls]), ("one", cls | None, field(default=None)), ("rows", tuple[middle, ...], field(**bounds))],
        frozen=True,
        kw_only=True,
    )
    few = [as_form(each) for each in draw(st.lists(records(cls), max_size=3))] or [[]]
    numbers = draw(st.sampled_from([[0, 1], [7, 5, 9_999, 0], [*range(LONG)], [*range(0, 3 * LONG, 2)], [*range(LONG, 0, -1)]]))
    pairs = [(f"one.{name}", text) for name, text in few[0]]
    for number in numbers:
        row = few[number % len(few)]
        pairs += [(f"own[{number}].{name}", text) for name, text in row]
        pairs += [(f"rows[{number}].n", "1"), *((f"rows[{number}].rows[{n}].{name}", t) for n in (3, 0) for name, t in row)]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(pairs) - 1))
        name, text = pairs[at]
        holder = name.rpartition(".")[0]
        match draw(st.sampled_from(["order", "left out", "odd", "twice", "text for a whole", "name", "row"])):
            case "order":
                draw(st.randoms(use_true_random=False)).shuffle(pairs)
            case "left out":
                pairs = [pair for pair in pairs if pair[0] != name] or pairs
            case "odd":
                pairs[at] = (name, draw(ODD_TEXTS))
            case "twice":
                pairs.insert(draw(st.integers(0, len(pairs))), (name, draw(ODD_TEXTS)))
            case "text for a whole":
                pairs.insert(draw(st.integers(0, len(pairs))), (holder, draw(ODD_TEXTS)))
            case "name":
                pairs.append((draw(st.sampled_from([name + "x", name + ".x", name + "[0]", name[:-1], holder + ".x"])), text))
            case "row":
                pairs[at] = (name.replace("[0]", draw(st.sampled_from(["[00]", "[10000]", "[17]", "[]"]))), text)
    return shape_of(outer), pairs


ODD_TEXTS = st.sampled_from(
    ["", " ", "x", "1", "-0", "off", "on", "1,5", "2024-02-30", "2024-11-05T16:30", "a\rb", "\x00", "{}"]
)


def as_body(pairs: list[tuple[str, str]], safe: str) -> bytes:
    return urlencode(pairs, safe=safe).encode()


@MANY_CLASSES
@given(forms(), st.booleans())
def test_a_form_is_read_as_the_rules_say(form, query):
    shape, pairs = form
    slowly = sorted_by_path(read_form_slowly(shape, pairs, query=query))
    read = read_query if query else read_form
    if query and not any(name.startswith(("own", "one", "rows")) for name, _ in pairs):
        return
    for sent in (pairs, as_body(pairs, ""), as_body(pairs, "[]")):
        assert [sorted_by_path(each) for each in readings_of(read, shape, sent)] == [slowly, slowly]


GOOD = as_form(read_value(shape_of(Table), {"rows": [ROW] * (LONG + 1)}).record)
LAST = f"rows[{LONG}]."
LAST_CELLS = [name for name, _ in GOOD if name.startswith(LAST)]


@pytest.mark.parametrize("name", LAST_CELLS)
def test_one_odd_cell_in_a_long_list_of_a_form_is_read_as_the_rules_say(name):
    odd = {text for came in ODD.values() for each in came if isinstance(text := each, str) and text.isprintable()}
    for text in sorted(odd | {"on", "off", "0", "12345678901234567890", "2024-11-05T16:30", "a\rb", "\x00"}):
        pairs = [(each, text if each == name else value) for each, value in GOOD]
        assert read_form(shape_of(Table), pairs) == read_form_slowly(shape_of(Table), pairs)


@pytest.mark.parametrize("name", LAST_CELLS)
def test_one_odd_cell_of_a_form_is_read_as_the_rules_say(name):
    shape = shape_of(Row)
    row = {each.removeprefix(LAST): value for each, value in GOOD if each.startswith(LAST)}
    for text in ("", "on", "off", "0", "-0.00", "x", "12345678901234567890", "2024-02-30", "2024-11-05T16:30", "a\rb", "\x00"):
        pairs = [*(row | {name.removeprefix(LAST): text}).items()]
        slowly = read_form_slowly(shape, pairs)
        assert [*readings_of(read_form, shape, pairs)] == [slowly, slowly]


@pytest.mark.parametrize("name", LAST_CELLS)
def test_a_cell_left_out_of_a_long_list_of_a_form_is_read_as_the_rules_say(name):
    of_field = "." + name.removeprefix(LAST)
    for gone in (name, of_field):
        pairs = [(each, value) for each, value in GOOD if not each.endswith(gone)]
        assert read_form(shape_of(Table), pairs) == read_form_slowly(shape_of(Table), pairs)
        assert read_query(shape_of(Table), pairs) == read_form_slowly(shape_of(Table), pairs, query=True)


def test_a_long_list_of_good_rows_of_a_form_is_read_by_column():
    put = trees.Tree(shape_of(Table))
    put.add_pairs(GOOD)
    rows = [put.root["rows"][number] for number in sorted(put.root["rows"])]
    assert list(column_of_record(shape_of(Row), form=True)(rows, Found())) == read_form(shape_of(Table), GOOD).record.rows


@dataclass(frozen=True)
class Box:
    ticked: bool = True
    name: str = ""


@dataclass(frozen=True)
class Loose:
    """A row of which nothing need be given."""

    ticked: bool = True
    marked: bool = False
    known: bool | None = None
    count: int = 1
    tags: tuple[str, ...] = ("a",)
    boxes: list[Box] = field(default_factory=lambda: [Box()])
    either: list[Box] | None = None
    box: Box | None = None
    own: Box = field(default_factory=Box)


@dataclass(frozen=True)
class LooseTable:
    rows: list[Loose]


@pytest.mark.parametrize(
    "cells",
    [
        {},
        {"ticked": "off"},
        {"ticked": "on"},
        {"known": "off"},
        {"other": "x"},
        {"count": ""},
        {"count": "2", "either[0].name": ""},
        {"count": "2", "box.name": ""},
        {"count": "2", "box.ticked": "off"},
        {"count": "2", "boxes[0].ticked": "off", "boxes[1].name": "x"},
        {"count": "2", "boxes[0].other": "x"},
        {"own.ticked": "on"},
        {"own.ticked": "off"},
        {"tags[4]": "y", "tags[1]": "x"},
        {"tags": "x", "tags[]": "y"},
        {"boxes[10].name": "ten", "boxes[9].name": "nine", "either[1].name": "one", "either[0].name": "nought"},
    ],
)
@pytest.mark.parametrize("others", [{"count": "3", "ticked": "on"}, {"own.name": "x"}])
def test_a_row_of_which_nothing_need_be_given_is_read_as_the_rules_say(cells, others):
    shape = shape_of(LooseTable)
    last = [(f"rows[{LONG}].{name}", text) for name, text in cells.items()]
    pairs = [(f"rows[{number}].{name}", text) for number in range(LONG) for name, text in others.items()]
    everywhere = [(f"rows[{number}].{name}", text) for number in range(LONG) for name, text in (others | cells).items()]
    one = shape_of(Loose)
    alone = [*(others | cells).items()]
    assert [*readings_of(read_form, one, alone)] == [read_form_slowly(one, alone)] * 2
    assert [*readings_of(read_query, one, alone)] == [read_form_slowly(one, alone, query=True)] * 2
    for sent in (pairs + last, last + pairs, everywhere):
        assert read_form(shape, sent) == read_form_slowly(shape, sent)
        assert read_query(shape, sent) == read_form_slowly(shape, sent, query=True)

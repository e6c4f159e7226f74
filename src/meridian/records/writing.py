"""A record as the text that reads back to it: JSON for an agent, pairs for a form.

A record goes in, of any class that `shape_of` understands; out come JSON values, JSON text or form pairs. The JSON text is made
by one function a record class, generated at first use, which knows every field beforehand. Where that fails a walk over the
shape says which value is not what its field declares. Nothing here asks whether values keep their bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import lru_cache
from json import JSONEncoder, loads
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn, cast
from uuid import UUID

from meridian.records.path import Path, print_path
from meridian.records.shape import (
    MAX_DIGITS,
    Boolean,
    Cell,
    Choice,
    Date,
    DateTime,
    DecimalKind,
    Integer,
    JsonObject,
    Kind,
    Mapping,
    RecordKind,
    Rows,
    Shape,
    Text,
    Time,
    Uuid,
    shape_of,
)

__all__ = ["write_form", "write_json", "write_value"]

Json = dict[str, Any]

_encode: Final = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def write_json(record: object, portable: bool = False) -> bytes:
    """`record` as compact JSON in UTF-8, which `read_json` reads back to an equal one.

    A Decimal is a text without an exponent. `portable` leaves out what is None, as a tool's answer does. Raises TypeError,
    naming the path, where a value is not what its field declares.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Lot:
    ...     quantity: Decimal
    ...     cost: Decimal | None = None
    >>> write_json(Lot(Decimal("1E+3")))
    b'{"quantity":"1000","cost":null}'
    """
    name = "write_json portable" if portable else "write_json"
    try:
        write = type(record).__dict__["__meridian_shape__"].derived[name]
    except KeyError:
        shape = shape_of(type(record))
        write = shape.derived[name] = _writer(shape, portable)
    try:
        return cast("bytes", write(record))
    except (TypeError, AttributeError, LookupError, ValueError):
        return _walk(shape_of(type(record)), record, portable)  # which says where


_MOST_LOOPS: Final = 16
"""How many loops are written in one another; Python takes no more than 20."""
_MOST_CELLS: Final = 5_000
"""How many cells are written out, each record where it is used; records that use each other often have far more."""


def _writer(shape: Shape[Any], portable: bool) -> Callable[[object], bytes]:
    loops, size = _size(RecordKind(shape))
    if loops <= _MOST_LOOPS and size <= _MOST_CELLS:
        return _generate(shape, portable)
    return lambda record: _walk(shape, record, portable)


def _size(kind: Kind) -> tuple[int, int]:
    """How many loops in one another, and how many cells, the code for `kind` has."""
    match kind:
        case RecordKind(shape):
            kept = shape.derived.get("size")
            if kept is None:
                inside = [_size(each.kind) for each in shape.fields]
                loops = max((loops for loops, _ in inside), default=0)
                kept = shape.derived["size"] = loops, 1 + sum(size for _, size in inside)
            return cast("tuple[int, int]", kept)
        case Rows(item) | Mapping(item):
            loops, size = _size(item.kind)
            return loops + 1, size + 1
        case _:
            return 0, 1


def _walk(shape: Shape[Any], record: object, portable: bool) -> bytes:
    return _encode(_record(shape, record, (), portable)).encode()


def write_value(record: object, portable: bool = False) -> Json:
    """`record` as the values of the JSON that `write_json` writes, made anew: dicts, lists, texts, numbers, booleans, None."""
    return cast("Json", loads(write_json(record, portable)))


def write_form(record: object) -> list[tuple[str, str]]:
    """`record` as a form's pairs, each named by its path, in the order of the record.

    Nothing is written for None. What a form cannot say (a text that begins or ends with spaces, a row that is blank) does not
    read back. Raises TypeError as `write_json` does.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Tags:
    ...     names: list[str]
    >>> write_form(Tags(["a", "b"]))
    [('names[0]', 'a'), ('names[1]', 'b')]
    """
    return list(_pairs(Cell(kind=RecordKind(shape_of(type(record)))), record, ()))


def cell_value(cell: Cell, value: object, portable: bool = False) -> Any:
    """One cell's `value` as the value of its JSON. Raises TypeError where it is not what the cell declares."""
    return _value(cell, value, (), portable)


# ── Single values ──────────────────────────────────────────────────────────


class _MisfitError(TypeError):
    """A value that is not what its cell declares; the words follow the path."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _MisfitError(f"{value!r} is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _MisfitError(f"{value!r} has half of a surrogate pair, which no UTF-8 can say") from None
    return str.__str__(value)


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _MisfitError(f"{value!r} is no int")
    return int(value)


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise _MisfitError(f"{value!r} is neither True nor False")
    return value


def _number(value: object) -> str:
    """The digits of a Decimal. `str` would write 0E-7 for 0.0000000, which does not read."""
    if not isinstance(value, Decimal):
        raise _MisfitError(f"{value!r} is no Decimal")
    if not value.is_finite() or value.adjusted() >= MAX_DIGITS or cast("int", value.as_tuple().exponent) < -MAX_DIGITS:
        raise _MisfitError(f"{value!r} is no finite Decimal of at most {MAX_DIGITS} digits")
    return format(value, "f")


@lru_cache(4096)
def _day(value: object) -> str:
    """Days repeat, and to look one up is three times faster than to write it again."""
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _MisfitError(f"{value!r} is no date")
    return value.isoformat()


def _moment(value: object) -> str:
    """An offset with seconds, as the old local times have, is no spelling of ours: the same moment in UTC is."""
    offset = value.utcoffset() if isinstance(value, datetime) else None
    if not isinstance(value, datetime) or offset is None:
        raise _MisfitError(f"{value!r} is no datetime with a zone")
    try:
        return (value.astimezone(UTC) if offset.microseconds or offset.seconds % 60 else value).isoformat()
    except OverflowError:
        raise _MisfitError(f"{value!r} is outside the calendar in UTC") from None


def _clock(value: object) -> str:
    if not isinstance(value, time) or value.tzinfo is not None:
        raise _MisfitError(f"{value!r} is no time without a zone")
    return value.isoformat()


def _uuid(value: object) -> str:
    if not isinstance(value, UUID):
        raise _MisfitError(f"{value!r} is no UUID")
    return str(value)


def _json(value: object) -> str:
    return _encode(_object(value))


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise _MisfitError(f"{value!r} is no dict")
    try:
        _encode(value).encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise _MisfitError(f"{value!r} is no JSON object ({wrong})") from None
    return value


def _rows(value: object) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _MisfitError(f"{value!r} is no list")
    return value


def _entries(value: object) -> Json:
    if not isinstance(value, dict):
        raise _MisfitError(f"{value!r} is no dict")
    for key in value:
        _text(key)
    return value


_SINGLE: Final[dict[type[Kind], Callable[[object], Any]]] = {
    Text: _text,
    Integer: _integer,
    Boolean: _boolean,
    DecimalKind: _number,
    Date: _day,
    DateTime: _moment,
    Time: _clock,
    Uuid: _uuid,
    JsonObject: _object,
}


def _one_of(kind: Choice, value: Any) -> str:
    if kind.enum is None:
        if value in kind.values:
            return _text(value)
        raise _MisfitError(f"{value!r} is none of {', '.join(kind.values)}")
    if not isinstance(value, kind.enum):
        raise _MisfitError(f"{value!r} is no {kind.enum.__name__}")
    return _text(value.value)


def _single(kind: Kind, value: object) -> Any:
    return _one_of(kind, value) if isinstance(kind, Choice) else _SINGLE[type(kind)](value)


# ── The same by a walk, which says where ─────────────────────────────────────────────────


def _record(shape: Shape[Any], record: object, path: Path, portable: bool) -> Json:
    if not isinstance(record, shape.record):
        _blame(path, f"{record!r} is no {shape.name}")
    values = ((each, getattr(record, each.name)) for each in shape.fields)
    return {
        each.name: _value(each, value, (*path, each.name), portable)
        for each, value in values
        if not (portable and each.nullable and value is None)
    }


def _value(cell: Cell, value: object, path: Path, portable: bool) -> Any:
    if value is None and cell.nullable:
        return None
    try:
        match cell.kind:
            case RecordKind(shape):
                return _record(shape, value, path, portable)
            case Rows(item):
                rows = [(row, each) for row, each in enumerate(_rows(value)) if not (portable and each is None)]
                return [_value(item, each, (*path, row), portable) for row, each in rows]
            case Mapping(item):
                entries = [(key, each) for key, each in _entries(value).items() if not (portable and each is None)]
                return {key: _value(item, each, (*path, key), portable) for key, each in entries}
            case kind:
                return _single(kind, value)
    except _MisfitError as wrong:
        _blame(path, str(wrong))


def _blame(path: Path, words: str) -> NoReturn:
    where = print_path(path)
    raise TypeError(f"{where}: {words}" if where else words) from None


# ── Form pairs ─────────────────────────────────────────────────────────────


def _pairs(cell: Cell, value: Any, path: Path) -> Iterator[tuple[str, str]]:
    if value is None and cell.nullable:
        return
    try:
        match cell.kind:
            case RecordKind(shape):
                if not isinstance(value, shape.record):
                    _blame(path, f"{value!r} is no {shape.name}")
                for each in shape.fields:
                    yield from _pairs(each, getattr(value, each.name), (*path, each.name))
            case Rows(item):
                for row, each in enumerate(_rows(value)):
                    yield from _pairs(item, each, (*path, row))
            case Mapping(item):
                for key, each in _entries(value).items():
                    yield from _pairs(item, each, (*path, key))
            case JsonObject():
                yield print_path(path), _json(value)
            case Boolean():
                yield print_path(path), "true" if _boolean(value) else "false"
            case kind:
                yield print_path(path), str(_single(kind, value))
    except _MisfitError as wrong:
        _blame(path, str(wrong))


# ── JSON text, by a generated function ─────────────────────────────────────


def _generate(shape: Shape[Any], portable: bool) -> Callable[[object], bytes]:
    code = _Code(portable)
    written = code.record(shape, "record", 1)
    source = "\n".join(["def write(record):", *code.lines, f"    return f'{written}'.encode()"])
    exec(compile(source, f"<the writer of {shape.name}>", "exec"), code.names)  # noqa: S102  (made of field names alone)
    return cast("Callable[[object], bytes]", code.names["write"])


class _Code:
    """The source of one writer. Each method answers a piece of an f-string between single quotes; what must be done before,
    it adds to `lines`. Values that are not what the shape says make the code raise, never write other JSON."""

    def __init__(self, portable: bool) -> None:
        self.portable = portable
        self.lines: list[str] = []
        self.count = 0
        self.names: dict[str, Any] = {
            "text": encode_basestring,
            "integer": int.__repr__,
            "boolean": {True: "true", False: "false"},
            "number": _number,
            "day": _day,
            "moment": _moment,
            "clock": _clock,
            "uuid": _uuid,
            "json": _json,
            "rows": _rows,
        }

    def new(self, name: str) -> str:
        self.count += 1
        return f"{name}{self.count}"

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def record(self, shape: Shape[Any], source: str, depth: int) -> str:
        pieces = []
        for each in shape.fields:
            value = f"{source}.{each.name}"
            if each.nullable:
                kept = self.new("value")
                self.add(depth, f"{kept} = {value}")
                value = kept
            if each.nullable and self.portable:
                pieces.append(self.unless_none(each.kind, value, depth, "", f',"{each.name}":'))
            else:
                pieces.append(f',"{each.name}":{self.cell(each, value, depth)}')
        inside = "".join(pieces)
        if inside.startswith(","):
            return f"{{{{{inside[1:]}}}}}"
        if not inside:
            return "{{}}"
        made = self.new("text")
        self.add(depth, f"{made} = f'{inside}'")
        return f"{{{{{{{made}[1:]}}}}}}"

    def cell(self, cell: Cell, value: str, depth: int) -> str:
        return self.unless_none(cell.kind, value, depth, "null", "") if cell.nullable else self.kind(cell.kind, value, depth)

    def unless_none(self, kind: Kind, value: str, depth: int, none: str, before: str) -> str:
        made = self.new("text")
        self.add(depth, f"if {value} is None:")
        self.add(depth + 1, f"{made} = '{none}'")
        self.add(depth, "else:")
        written = self.kind(kind, value, depth + 1)
        self.add(depth + 1, f"{made} = f'{before}{written}'")
        return f"{{{made}}}"

    def kind(self, kind: Kind, value: str, depth: int) -> str:
        match kind:
            case Text():
                return f"{{text({value})}}"
            case Integer():
                return f"{{integer({value})}}"
            case Boolean():
                return f"{{boolean[{value}]}}"
            case DecimalKind():
                digits = self.new("digits")
                self.add(depth, f"{digits} = str({value})")
                self.add(depth, f'if not {value}.is_finite() or "E" in {digits} or "e" in {digits}:')
                self.add(depth + 1, f"{digits} = number({value})")
                return f'"{{{digits}}}"'
            case Date():
                return f'"{{day({value})}}"'
            case DateTime():
                return f'"{{moment({value})}}"'
            case Time():
                return f'"{{clock({value})}}"'
            case Uuid():
                return f'"{{uuid({value})}}"'
            case JsonObject():
                return f"{{json({value})}}"
            case Choice(values, enum):
                texts = self.new("choice")
                self.names[texts] = {each: encode_basestring(each) for each in values}
                return f"{{{texts}[{value if enum is None else f'{value}._value_'}]}}"
            case RecordKind(shape):
                inner = value
                if not value.isidentifier():
                    inner = self.new("record")
                    self.add(depth, f"{inner} = {value}")
                return self.record(shape, inner, depth)
            case Rows(item):
                row = self.new("row")
                return "[" + self.each(item, row, f"for {row} in rows({value}):", row, "", depth) + "]"
            case Mapping(item):
                entry = self.new("entry")
                key = f"{entry}_key"
                loop = f"for {key}, {entry} in {value}.items():"
                return "{{" + self.each(item, entry, loop, entry, f"{{text({key})}}:", depth) + "}}"

    def each(self, item: Cell, source: str, loop: str, value: str, before: str, depth: int) -> str:
        made = self.new("parts")
        self.add(depth, f"{made} = []")
        self.add(depth, loop)
        if item.nullable and self.portable:
            self.add(depth + 1, f"if {value} is None:")
            self.add(depth + 2, "continue")
            written = self.kind(item.kind, source, depth + 1)
        else:
            written = self.cell(item, source, depth + 1)
        self.add(depth + 1, f"{made}.append(f'{before}{written}')")
        return f'{{",".join({made})}}'

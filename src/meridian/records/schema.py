"""A record's JSON Schema.

A Shape goes in, a JSON Schema (2020-12) comes out, made anew at each call and the caller's to keep or change. It has two forms.
The *exact* one agrees with `read_json` on everything that a schema can say. The *portable* one, for the tools of the clients
there are, says the same in the few words that all of them take, and accepts nothing that the exact one refuses. Nested records
stand where they are used: neither form has a `$ref`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING
from decimal import Decimal
from typing import Any, Final

from meridian.records.path import EVERY, Path, print_path
from meridian.records.pattern import CONTROLS, ecma
from meridian.records.shape import (
    MAX_DIGITS,
    MAX_ROWS,
    Boolean,
    Cell,
    Choice,
    Date,
    DateTime,
    DecimalKind,
    FieldShape,
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
)
from meridian.records.writing import cell_value

__all__ = ["paths", "schema"]

Node = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema(shape: Shape[Any], portable: bool = False, *, answer: bool = False) -> Node:
    """The JSON Schema of the record `shape` describes.

    `answer` is for a record that is written and not read: there a field that may be None may be left out, as
    `write_value(record, portable=True)` does.

    >>> from dataclasses import dataclass
    >>> from meridian.records import shape_of
    >>> @dataclass(frozen=True)
    ... class Lot:
    ...     settled: bool = False
    >>> schema(shape_of(Lot), portable=True)["properties"]
    {'settled': {'type': 'boolean', 'default': False}}
    """
    derive = _Derive(portable, answer)
    node = derive.record(shape)
    head: Node = {} if portable else {"$schema": DIALECT}
    if shape.description:
        head["description"] = shape.description
    return {**head, **node}


def paths(shape: Shape[Any]) -> dict[str, Node]:
    """The exact schema of every cell of the record, by pattern path, in the order of the record.

    >>> from dataclasses import dataclass
    >>> from meridian.records import shape_of
    >>> @dataclass(frozen=True)
    ... class Tags:
    ...     names: list[str]
    >>> list(paths(shape_of(Tags)))
    ['names', 'names[]']
    """
    derive = _Derive(portable=False, answer=False)
    return {print_path(path): derive.cell(cell) for path, cell in _cells(RecordKind(shape), ())}


def _cells(kind: Kind, path: Path) -> Iterator[tuple[Path, Cell]]:
    inside: list[tuple[Path, Cell]] = []
    match kind:
        case RecordKind(shape):
            inside = [((*path, each.name), each) for each in shape.fields]
        case Rows(item) | Mapping(item):
            inside = [((*path, EVERY), item)]
        case _:
            pass
    for at, cell in inside:
        yield at, cell
        yield from _cells(cell.kind, at)


class _Derive:
    """Makes the nodes of one form of schema."""

    def __init__(self, portable: bool, answer: bool) -> None:
        self.portable = portable
        self.answer = answer

    def record(self, shape: Shape[Any]) -> Node:
        node: Node = {"type": "object", "properties": {each.name: self.cell(each) for each in shape.fields}}
        required = [each.name for each in shape.fields if each.required and not (self.answer and each.nullable)]
        if required:
            node["required"] = required
        node["additionalProperties"] = False
        return node

    def cell(self, cell: Cell) -> Node:
        node = self.kind(cell)
        if cell.nullable and not self.portable:
            node = {"anyOf": [node, {"type": "null"}]}
        head: Node = {}
        if cell.title:
            head["title"] = cell.title
        said = self.said(cell)
        if said:
            head["description"] = said
        if isinstance(cell, FieldShape) and not cell.secret:
            default = MISSING if _hides(cell.kind) else _constant(cell)
            if default is not MISSING and not (self.portable and _needs_null(cell, default)):
                node["default"] = cell_value(cell, default, self.portable)
        return {**head, **node} if head else node

    def kind(self, cell: Cell) -> Node:
        match cell.kind:
            case Text():
                return self.text(cell)
            case Integer():
                return self.integer(cell)
            case Boolean():
                return {"type": "boolean"}
            case DecimalKind():
                return {"type": "string", "pattern": self.whole(_digits(cell.places)), "maxLength": MAX_DIGITS + len("-.")}
            case Date():
                return {"type": "string", "format": "date", "pattern": self.whole(_DAY)}
            case DateTime():  # the format asks for seconds, which the reader does not
                formats = {"format": "date-time"} if self.portable else {}
                return {"type": "string", **formats, "pattern": self.whole(f"{_DAY}T{_CLOCK}{_OFFSET}")}
            case Time():
                return {"type": "string", "pattern": self.whole(_CLOCK)}
            case Uuid():
                return {"type": "string", "format": "uuid", "pattern": self.whole(_UUID)}
            case Choice(values):
                return {"type": "string", "enum": list(values)}
            case RecordKind(shape):
                return self.record(shape)
            case Rows(item):
                rows: Node = {"type": "array", "items": self.cell(item)}
                if cell.min_length and not (self.answer and item.nullable):  # an answer leaves out the rows that are None
                    rows["minItems"] = cell.min_length
                rows["maxItems"] = _most_rows(cell)
                return rows
            case Mapping(item):
                return {**self.free(), "additionalProperties": self.cell(item)}
            case JsonObject():
                return self.free()

    def free(self) -> Node:
        """An object of any keys. Some clients refuse an object without `properties`."""
        return {"type": "object", "properties": {}} if self.portable else {"type": "object"}

    def text(self, cell: Cell) -> Node:
        node: Node = {"type": "string"}
        if cell.choices:
            node["enum"] = list(cell.choices)
        if cell.pattern is not None:
            node["pattern"] = self.whole(_bare(ecma(cell.pattern)))
        elif not cell.choices:
            node["pattern"] = _CLEAN
        if cell.min_length:
            node["minLength"] = cell.min_length
        if cell.max_length is not None:
            node["maxLength"] = cell.max_length
        return node

    def integer(self, cell: Cell) -> Node:
        node: Node = {"type": "integer"}
        low, high = cell.min, cell.max
        if cell.choices:
            values = [value for value in cell.choices if isinstance(value, int)]
            if self.portable and sorted(values) == list(range(min(values), max(values) + 1)):
                low = min(values) if low is None else max(low, min(values))
                high = max(values) if high is None else min(high, max(values))
            else:
                node["enum"] = values
        if low is not None:
            node["minimum"] = low
        if high is not None:
            node["maximum"] = high
        return node

    def whole(self, pattern: str) -> str:
        """`pattern`, of the whole text. Python's `$` also stands before a last line end, so the exact form says that none
        follows; the engines of some clients have no look-ahead, and in JSON Schema's own regular expressions `$` is the end."""
        return f"^{pattern}$" if self.portable else rf"^{pattern}$(?!\n)"

    def said(self, cell: Cell) -> str:
        """The cell's words, and what else must be in words."""
        words = cell.description
        if not words and isinstance(cell.kind, RecordKind):
            words = cell.kind.shape.description
        also = _in_words(cell) if self.portable else _range(cell) if isinstance(cell.kind, DecimalKind) else ""
        if words and also:
            return f"{words}{'' if words[-1] in '.!?' else '.'} {also[0].upper()}{also[1:]}."
        return f"{also[0].upper()}{also[1:]}." if also else words


# ── What is said in patterns ───────────────────────────────────────────────

_CLEAN: Final = f"^[^{CONTROLS}]*$"
_DAY: Final = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
_OFFSET: Final = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_UUID: Final = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"


def _bare(pattern: str) -> str:
    """`pattern` without anchors of its own, to stand between ours."""
    if "|" in pattern:
        return f"(?:{pattern})"
    pattern = pattern.removeprefix("^")
    return pattern if pattern.endswith(r"\$") else pattern.removesuffix("$")


def _digits(places: int | None) -> str:
    if places is None:
        return r"-?[0-9]+(?:\.[0-9]+)?"
    return rf"-?[0-9]+(?:\.[0-9]{{1,{places}}}0*)?" if places else r"-?[0-9]+(?:\.0+)?"


# ── What is said in words ──────────────────────────────────────────────────


def _in_words(cell: Cell) -> str:
    match cell.kind:
        case Text():
            length = _between(cell.min_length or None, cell.max_length)
            said = [f"{length} characters" if length else "", f"matching {cell.pattern}" if cell.pattern else ""]
            return ", ".join(each for each in said if each)
        case Integer():
            return f"a whole number{_comma(_one_of(cell) or _range(cell))}"
        case DecimalKind():
            places = (
                "" if cell.places is None else f"at most {cell.places} decimal places" if cell.places else "no decimal places"
            )
            return f"a decimal number, as text{_comma(places)}{_comma(_range(cell))}"
        case Date():
            return "a date, as YYYY-MM-DD"
        case DateTime():
            return "a moment with its offset, as YYYY-MM-DDTHH:MM:SSZ or YYYY-MM-DDTHH:MM:SS+01:00"
        case Time():
            return "a time of day, as HH:MM or HH:MM:SS"
        case Uuid():
            return "a UUID"
        case Rows():
            return f"{_between(cell.min_length or None, _most_rows(cell))} rows"
        case JsonObject():
            return "any JSON object"
        case _:
            return ""


def _comma(words: str) -> str:
    return f", {words}" if words else ""


def _one_of(cell: Cell) -> str:
    return f"one of {', '.join(map(str, cell.choices))}" if cell.choices else ""


def _range(cell: Cell) -> str:
    low, high = (
        None if bound is None else format(bound, "f" if isinstance(bound, Decimal) else "") for bound in (cell.min, cell.max)
    )
    return f"from {_between(low, high)}" if low is not None and high is not None else _between(low, high)


def _between(low: object, high: object) -> str:
    if low is None:
        return "" if high is None else f"at most {high}"
    if high is None:
        return f"at least {low}"
    return f"exactly {low}" if low == high else f"{low} to {high}"


def _most_rows(cell: Cell) -> int:
    return MAX_ROWS if cell.max_length is None else min(cell.max_length, MAX_ROWS)


# ── What is there when nothing is sent ─────────────────────────────────────


def _constant(cell: FieldShape) -> Any:
    """The default of `cell` where it is always the same, else MISSING: what a factory makes may be the time of day."""
    factory = cell.default_factory
    if factory is None:
        return cell.default
    if factory in (list, tuple, dict):
        return factory()
    if not isinstance(cell.kind, RecordKind) or factory is not cell.kind.shape.record:
        return MISSING
    return factory() if all(_constant(each) is not MISSING for each in cell.kind.shape.fields) else MISSING


def _hides(kind: Kind) -> bool:
    """Whether a value of `kind` may have a secret in it."""
    match kind:
        case RecordKind(shape):
            kept = shape.derived.get("hides")
            if kept is None:
                kept = shape.derived["hides"] = any(each.secret or _hides(each.kind) for each in shape.fields)
            return bool(kept)
        case Rows(item) | Mapping(item):
            return item.secret or _hides(item.kind)
        case _:
            return False


def _needs_null(cell: Cell, value: Any) -> bool:
    """Whether `value` has a None that is not said by leaving it out."""
    match cell.kind:
        case _ if value is None:
            return True
        case RecordKind(shape):
            inside = ((each, getattr(value, each.name)) for each in shape.fields)
            return any(not (held is None and each.default is None) and _needs_null(each, held) for each, held in inside)
        case Rows(item):
            return any(_needs_null(item, each) for each in value)
        case Mapping(item):
            return any(_needs_null(item, each) for each in value.values())
        case _:
            return False

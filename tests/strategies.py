"""What property tests draw: record classes as well as records, what a form can say of them, and what nobody should send."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from dataclasses import MISSING, make_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema

from meridian.errors import DeclarationError
from meridian.records import (
    Cell,
    FieldShape,
    Mapping,
    RecordKind,
    Rows,
    Shape,
    Text,
    field,
    shape_of,
    write_form,
)
from meridian.testing.strategies import as_form, as_json, records, values_of

__all__ = ["as_form", "as_json", "fitting", "form_can_say", "json_values", "record_classes", "records", "spoilt"]


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


class Colour(StrEnum):
    RED = "red"
    DEEP_RED = "deep red"


# ── Classes ────────────────────────────────────────────────────────────────

NAMES = st.sampled_from(
    ["a", "b2", "cost", "record", "text", "self", "cls", "values", "found", "at", "len", "str", "_x", "Day"]
)
PATTERNS = st.sampled_from(
    [r"[A-Z]{3}", r"\d+", r"^[a-z]+(-[a-z]+)*$", r"a|b", r".{1,4}", r"[^,;]+", r"\w[\w.\- ]*", r"[\S\s]x"]
)


@st.composite
def _bounded_text(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    match draw(st.integers(0, 3)):
        case 0:
            return str, {}
        case 1:
            least = draw(st.integers(0, 3))
            return str, {"min_length": least, "max_length": draw(st.integers(max(least, 1), 12))}
        case 2:
            return str, {"pattern": draw(PATTERNS)}
        case _:
            return str, {"choices": draw(st.lists(st.sampled_from(["x", "y y", "ü", "10"]), min_size=1, unique=True))}


@st.composite
def _bounded_integer(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    if draw(st.booleans()):
        return int, {"choices": draw(st.lists(st.integers(-3, 9), min_size=1, max_size=4, unique=True))}
    low, high = sorted((draw(st.integers()), draw(st.integers())))
    return int, draw(st.fixed_dictionaries({}, optional={"min": st.just(low), "max": st.just(high)}))


@st.composite
def _bounded_decimal(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    places = draw(st.integers(0, 8))
    low = draw(st.integers(-(10**6), 10**6))
    bounds = {"min": Decimal(low).scaleb(-places), "max": Decimal(low + draw(st.integers(0, 10**6))).scaleb(-places)}
    chosen = draw(st.sets(st.sampled_from(["min", "max"])))
    return Decimal, {**{name: bounds[name] for name in chosen}, **({"places": places} if chosen or draw(st.booleans()) else {})}


def _plain() -> st.SearchStrategy[tuple[Any, dict[str, Any]]]:
    kinds = st.sampled_from(
        [str, int, bool, Decimal, date, datetime, time, UUID, Side, Colour, Literal["a", "b c"], dict[str, Any]]
    )
    return kinds.map(lambda kind: (kind, {})) | _bounded_text() | _bounded_integer() | _bounded_decimal()


@st.composite
def _kinds(draw: st.DrawFn, depth: int) -> tuple[Any, dict[str, Any]]:
    """A kind of field as an annotation, and the metadata of its bounds."""
    which = draw(st.integers(0, 5 if depth else 2))
    if which <= 2:
        return draw(_plain())
    if which == 3:
        return draw(record_classes(depth=depth - 1)), {}
    inner, bounds = draw(_kinds(depth - 1))
    item: Any = Annotated[inner, field(**bounds)] if bounds else inner
    if which == 4:
        return dict[str, item], {}
    rows = list[item] if draw(st.booleans()) else tuple[item, ...]
    return rows, draw(st.sampled_from([{}, {}, {"min_length": 1}, {"max_length": 3}, {"min_length": 2, "max_length": 4}]))


@st.composite
def record_classes(draw: st.DrawFn, depth: int = 2) -> type:
    """A frozen dataclass of any kinds, bounds and defaults that can be declared; records nest at most `depth` deep."""
    fields = []
    for name in draw(st.lists(NAMES, min_size=0 if depth < 2 else 1, max_size=4, unique=True)):
        assume(not keyword.iskeyword(name))
        kind, bounds = draw(_kinds(depth))
        hint = kind | None if draw(st.integers(0, 3)) == 0 else kind
        fields.append((name, hint, field(**bounds, **draw(_defaults(name, hint, bounds)))))
    made = make_dataclass(draw(st.sampled_from(["Balance", "Lot", "Order"])), fields, frozen=True, kw_only=True)
    try:
        shape_of(made)
    except DeclarationError as wrong:
        raise AssertionError(f"{fields} cannot be declared: {wrong}") from wrong
    return made


@st.composite
def _defaults(draw: st.DrawFn, name: str, hint: Any, bounds: dict[str, Any]) -> dict[str, Any]:
    if draw(st.booleans()):
        return {}
    alone = make_dataclass("Alone", [(name, hint, field(**bounds))], frozen=True)
    value = draw(values_of(shape_of(alone).fields[0]))
    if value in ([], {}):
        return {"default_factory": type(value)}
    return (
        {"default_factory": lambda: value} if isinstance(value, list | dict) or value.__hash__ is None else {"default": value}
    )


# ── What a form can say ────────────────────────────────────────────────────


def form_can_say(record: object) -> bool:
    """Whether reading `as_form(record)` gives `record` back: its texts trimmed, none of its rows blank, and so on."""
    return _says_record(shape_of(type(record)), record)


def _says_record(shape: Shape[Any], record: object) -> bool:
    return all(_says(each, getattr(record, each.name)) for each in shape.fields)


def _says(cell: Cell, value: Any) -> bool:
    default = cell.make_default() if isinstance(cell, FieldShape) and not cell.required else MISSING
    if value is None:
        return default is None
    match cell.kind:
        case Text():
            return bool(value == value.strip() and (value or default == ""))
        case RecordKind(shape):
            return _says_record(shape, value) and (not _is_blank(value) or value == default)
        case Rows(item):
            if not value:
                return not cell.nullable
            return all(_says(item, each) and not _is_blank(each) for each in value)
        case Mapping(item):
            if not value:
                return not cell.nullable and not default
            return all(_says(item, each) and not _is_blank(each) for each in value.values())
        case _:
            return True


def _is_blank(value: Any) -> bool:
    """Whether a form shows nothing for `value` but unticked boxes."""
    if isinstance(value, list | tuple):
        return all(_is_blank(each) for each in value)
    if hasattr(value, "__dataclass_fields__"):
        return all(text in ("", "false") for _, text in write_form(value))
    if isinstance(value, dict):
        return not value
    return value in (None, "", False)


# ── What nobody should send ────────────────────────────────────────────────

NUMBERS = ["1", "-0", "007", "1.50", "1e3", "1,5", ".5", "5.", "+5", "5\n", "NaN", "Infinity", "٣", "1" * 101]
DAYS = ["2024-11-05", "2024-02-30", "2024-11-05\n", "20241105", "2024-W45-2", "2024-11-05T10:00Z", "2024-11-05T10:00:00"]
TIMES = ["10:30", "24:00", "10:30:00.1234567"]
TEXTS = ["", " ", "null", "true", "on", "a", "a\n", "b c", "buy", "BUY", "\x00", "a\x7fb", "a\rb", "A" * 50, "[]", "{}", "é"]
ODD_TEXTS = st.sampled_from([*NUMBERS, *DAYS, *TIMES, *TEXTS])
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ODD_TEXTS
    | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inside, max_size=3),
    max_leaves=6,
)


def fitting(node: dict[str, Any]) -> st.SearchStrategy[Any]:
    """What the schema `node` accepts. hypothesis-jsonschema draws the single values; what holds others is put together here,
    since its objects need a part of Hypothesis that is gone."""
    if "anyOf" in node:
        return st.one_of([fitting(each) for each in node["anyOf"]])
    if node["type"] == "array":
        return st.lists(fitting(node["items"]), min_size=node.get("minItems", 0), max_size=min(node["maxItems"], 5))
    if node["type"] != "object":
        return from_schema(node)
    if node.get("additionalProperties", True) is True:
        return st.dictionaries(st.text(max_size=3), json_values)
    if node["additionalProperties"]:
        return st.dictionaries(st.text(max_size=3), fitting(node["additionalProperties"]), max_size=3)
    properties = {name: fitting(each) for name, each in node["properties"].items()}
    required = node.get("required", [])
    return st.fixed_dictionaries(
        {name: properties[name] for name in required},
        optional={name: each for name, each in properties.items() if name not in required},
    )


@st.composite
def spoilt(draw: st.DrawFn, value: Any) -> Any:
    """`value`, of JSON, with one thing in it changed, dropped or added."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: draw(spoilt(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        row = draw(st.integers(0, len(value) - 1))
        return [*value[:row], draw(spoilt(value[row])), *value[row + 1 :]]
    ways: list[Callable[[], Any]] = [lambda: draw(json_values)]
    if isinstance(value, dict):
        ways.append(lambda: {**value, draw(NAMES): draw(json_values)})
        if value:
            dropped = draw(st.sampled_from(sorted(value)))
            ways.append(lambda: {name: each for name, each in value.items() if name != dropped})
    if isinstance(value, list):
        ways.append(lambda: value * 2)
    if isinstance(value, str):
        ways += [lambda: f"{value}\n", lambda: f" {value}", lambda: value[:-1], lambda: value + draw(ODD_TEXTS)]
        ways.append(lambda: re.sub(r"\d", lambda _: draw(st.sampled_from("0123459")), value))
    return draw(st.sampled_from(ways))()

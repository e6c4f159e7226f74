"""A record's JSON Schema, whole, one kind at a time: first the exact form, then the portable one."""

import uuid
from dataclasses import dataclass, make_dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator

from meridian.records import field, paths, read_value, schema, shape_of, write_value
from meridian.records.pattern import ecma

CLEAN = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
DAY = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
OFFSET = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
END = r"$(?!\n)"


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


@dataclass(frozen=True)
class Lot:
    """What was bought at once.

    And more words, for whoever reads the code.
    """

    quantity: Decimal
    cost: Decimal | None = None


@dataclass(frozen=True)
class Answer:
    entry_id: str
    note: str | None


def both(hint: Any, **options: Any) -> tuple[Any, Any]:
    """The exact and the portable node of a field of this kind."""
    shape = shape_of(make_dataclass("Asked", [("x", hint, field(**options))], frozen=True))
    return schema(shape)["properties"]["x"], schema(shape, portable=True)["properties"]["x"]


# ── Kinds ──────────────────────────────────────────────────────────────────


def test_a_text_has_no_control_character():
    assert both(str) == ({"type": "string", "pattern": CLEAN},) * 2


def test_a_text_says_its_lengths():
    bounds = {"type": "string", "pattern": CLEAN, "minLength": 1, "maxLength": 40}
    assert both(str, min_length=1, max_length=40) == (bounds, {"description": "1 to 40 characters.", **bounds})


def test_a_text_says_its_pattern():
    assert both(str, pattern=r"[A-Z]{3}\d") == (
        {"type": "string", "pattern": f"^[A-Z]{{3}}[0-9]{END}"},
        {"description": r"Matching [A-Z]{3}\d.", "type": "string", "pattern": "^[A-Z]{3}[0-9]$"},
    )


def test_a_text_of_choices_is_an_enum():
    assert (
        both(str, choices=["USD", "EUR"], default="USD") == ({"type": "string", "enum": ["USD", "EUR"], "default": "USD"},) * 2
    )


def test_an_integer_says_its_bounds():
    bounds = {"type": "integer", "minimum": 0, "maximum": 9}
    assert both(int, min=0, max=9) == (bounds, {"description": "A whole number, from 0 to 9.", **bounds})


def test_choices_of_integers_are_a_range_where_they_are_one_for_some_clients_know_enums_of_texts_alone():
    assert both(int, choices=[3, 1, 2]) == (
        {"type": "integer", "enum": [3, 1, 2]},
        {"description": "A whole number, one of 3, 1, 2.", "type": "integer", "minimum": 1, "maximum": 3},
    )
    assert both(int, choices=[1, 5])[1] == {"description": "A whole number, one of 1, 5.", "type": "integer", "enum": [1, 5]}


def test_a_boolean():
    assert both(bool) == ({"type": "boolean"},) * 2


def test_a_decimal_is_a_text():
    assert both(Decimal) == (
        {"type": "string", "pattern": f"^{NUMBER}{END}", "maxLength": 102},
        {"description": "A decimal number, as text.", "type": "string", "pattern": f"^{NUMBER}$", "maxLength": 102},
    )


def test_a_decimal_says_its_places_in_the_pattern_and_its_range_in_words():
    pattern = r"^-?[0-9]+(?:\.[0-9]{1,2}0*)?$"
    assert both(Decimal, places=2, min="-0.5", max=Decimal("1E+3"), description="The price") == (
        {"description": "The price. From -0.5 to 1000.", "type": "string", "pattern": pattern + r"(?!\n)", "maxLength": 102},
        {
            "description": "The price. A decimal number, as text, at most 2 decimal places, from -0.5 to 1000.",
            "type": "string",
            "pattern": pattern,
            "maxLength": 102,
        },
    )


def test_a_decimal_without_places_may_end_in_zeros():
    exact, portable = both(Decimal, places=0)
    assert exact == {"type": "string", "pattern": rf"^-?[0-9]+(?:\.0+)?{END}", "maxLength": 102}
    assert portable["description"] == "A decimal number, as text, no decimal places."


def test_a_date():
    assert both(date) == (
        {"type": "string", "format": "date", "pattern": f"^{DAY}{END}"},
        {"description": "A date, as YYYY-MM-DD.", "type": "string", "format": "date", "pattern": f"^{DAY}$"},
    )


def test_a_datetime_has_the_format_where_that_may_ask_for_more_than_the_reader_does():
    assert both(datetime) == (
        {"type": "string", "pattern": f"^{DAY}T{CLOCK}{OFFSET}{END}"},
        {
            "description": "A moment with its offset, as YYYY-MM-DDTHH:MM:SSZ or YYYY-MM-DDTHH:MM:SS+01:00.",
            "type": "string",
            "format": "date-time",
            "pattern": f"^{DAY}T{CLOCK}{OFFSET}$",
        },
    )


def test_a_time():
    assert both(time) == (
        {"type": "string", "pattern": f"^{CLOCK}{END}"},
        {"description": "A time of day, as HH:MM or HH:MM:SS.", "type": "string", "pattern": f"^{CLOCK}$"},
    )


def test_a_uuid():
    digits = "-".join(f"[0-9a-fA-F]{{{count}}}" for count in (8, 4, 4, 4, 12))
    assert both(uuid.UUID) == (
        {"type": "string", "format": "uuid", "pattern": f"^{digits}{END}"},
        {"description": "A UUID.", "type": "string", "format": "uuid", "pattern": f"^{digits}$"},
    )


@pytest.mark.parametrize("hint", [Side, Literal["buy", "sell"]])
def test_a_choice_is_a_typed_enum_of_texts(hint):
    assert both(hint) == ({"type": "string", "enum": ["buy", "sell"]},) * 2


def test_a_record_stands_where_it_is_used_with_its_own_words():
    number = {"type": "string", "pattern": f"^{NUMBER}{END}", "maxLength": 102}
    assert both(Lot)[0] == {
        "description": "What was bought at once.",
        "type": "object",
        "properties": {"quantity": number, "cost": {"anyOf": [number, {"type": "null"}], "default": None}},
        "required": ["quantity"],
        "additionalProperties": False,
    }
    assert both(Lot, description="The first")[0]["description"] == "The first"


def test_a_record_that_may_be_left_out_is_not_required_and_has_no_null_in_the_portable_form():
    number = {
        "description": "A decimal number, as text.",
        "type": "string",
        "pattern": f"^{NUMBER}$",
        "maxLength": 102,
    }
    assert schema(shape_of(Lot), portable=True) == {
        "description": "What was bought at once.",
        "type": "object",
        "properties": {"quantity": number, "cost": number},
        "required": ["quantity"],
        "additionalProperties": False,
    }


def test_a_list_keeps_at_most_ten_thousand_rows():
    rows = {"type": "array", "items": {"type": "boolean"}, "maxItems": 10_000}
    assert both(list[bool]) == (rows, {"description": "At most 10000 rows.", **rows})


@pytest.mark.parametrize("hint", [list[Annotated[str, field(max_length=3)]], tuple[Annotated[str, field(max_length=3)], ...]])
def test_a_list_says_its_bounds_and_each_rows(hint):
    row = {"type": "string", "pattern": CLEAN, "maxLength": 3}
    exact, portable = both(hint, min_length=2, max_length=2)
    assert exact == {"type": "array", "items": row, "minItems": 2, "maxItems": 2}
    assert portable == {
        "description": "Exactly 2 rows.",
        "type": "array",
        "items": {"description": "At most 3 characters.", **row},
        "minItems": 2,
        "maxItems": 2,
    }


def test_a_dict_says_its_values():
    assert both(dict[str, bool]) == (
        {"type": "object", "additionalProperties": {"type": "boolean"}},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "boolean"}},
    )


def test_any_json_object():
    assert both(dict[str, Any]) == ({"type": "object"}, {"description": "Any JSON object.", "type": "object", "properties": {}})


# ── Words, None and defaults ───────────────────────────────────────────────


def test_what_may_be_none_says_so_beside_its_kind():
    assert both(Side | None, title="Side", description="Which way.") == (
        {
            "title": "Side",
            "description": "Which way.",
            "anyOf": [{"type": "string", "enum": ["buy", "sell"]}, {"type": "null"}],
        },
        {"title": "Side", "description": "Which way.", "type": "string", "enum": ["buy", "sell"]},
    )


@pytest.mark.parametrize(
    ("hint", "default", "named"),
    [
        (Decimal, Decimal("0.0000000"), "0.0000000"),
        (date, date(2026, 3, 31), "2026-03-31"),
        (datetime, datetime(2026, 3, 31, tzinfo=UTC), "2026-03-31T00:00:00+00:00"),
        (time, time(9, 30), "09:30:00"),
        (Side, Side.BUY, "buy"),
        (tuple[int, ...], (1, 2), [1, 2]),
        (Lot, Lot(Decimal(1)), {"quantity": "1", "cost": None}),
    ],
)
def test_a_default_is_named_as_it_would_be_sent(hint, default, named):
    assert both(hint, default=default)[0]["default"] == named


def test_a_default_of_none_is_not_named_where_null_cannot_be_said():
    exact, portable = both(bool | None, default=None)
    assert exact == {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None}
    assert portable == {"type": "boolean"}
    assert both(Lot, default=Lot(Decimal(1)))[1]["default"] == {"quantity": "1"}


@pytest.mark.parametrize(
    ("hint", "default"), [(list[int | None], None), (tuple[int | None, ...], (1, None)), (Answer, Answer("E-1", None))]
)
def test_a_default_that_needs_null_is_named_in_the_exact_form_alone(hint, default):
    exact, portable = both(hint | None, default=default)
    assert "default" in exact
    assert "default" not in portable


@dataclass(frozen=True)
class Terms:
    days: int = 30


@dataclass(frozen=True)
class Stamped:
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


@pytest.mark.parametrize(
    ("hint", "factory", "named"), [(list[int], list, []), (dict[str, int], dict, {}), (Terms, Terms, {"days": 30})]
)
def test_what_a_factory_always_makes_is_named(hint, factory, named):
    assert both(hint, default_factory=factory)[0]["default"] == named


def test_what_a_factory_makes_anew_is_not_named():
    assert "default" not in both(Stamped, default_factory=Stamped)[0]
    assert "default" not in both(date, default_factory=lambda: date(2026, 3, 31))[0]


def test_a_secrets_default_is_not_named():
    assert both(str, default="hunter2", secret=True) == ({"type": "string", "pattern": CLEAN},) * 2


@dataclass(frozen=True)
class Login:
    password: str = field(default="hunter2", secret=True)


@dataclass(frozen=True)
class Logins:
    one: Login = Login()
    many: tuple[Login, ...] = (Login(),)


def test_nor_is_one_inside_another_default():
    assert "default" not in both(Login, default=Login())[0]
    assert "hunter2" not in str([both(Logins, default=Logins()), both(Logins, default_factory=Logins), paths(shape_of(Logins))])


# ── The whole ──────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Nothing:
    pass


def test_a_record_without_fields_takes_nothing():
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    assert schema(shape_of(Nothing)) == {"$schema": "https://json-schema.org/draft/2020-12/schema", **nothing}
    assert schema(shape_of(Nothing), portable=True) == nothing


def test_a_schema_is_the_callers_to_change():
    schema(shape_of(Lot))["properties"].clear()
    assert list(schema(shape_of(Lot))["properties"]) == ["quantity", "cost"]


def test_in_an_answer_what_may_be_none_may_be_left_out():
    assert schema(shape_of(Answer), portable=True)["required"] == ["entry_id", "note"]
    assert schema(shape_of(Answer), portable=True, answer=True)["required"] == ["entry_id"]


def test_in_an_answer_a_list_may_be_shorter_by_the_rows_that_are_none():
    shape = shape_of(make_dataclass("Answer", [("x", list[int | None], field(min_length=1))], frozen=True))
    written = write_value(shape.record([None]), portable=True)
    assert Draft202012Validator(schema(shape, portable=True, answer=True)).is_valid(written)
    assert schema(shape, portable=True)["properties"]["x"]["minItems"] == 1


@dataclass(frozen=True)
class Position:
    account: str
    lots: list[Lot] = field(default_factory=list, description="Oldest first.")
    rates: dict[str, Lot] = field(default_factory=dict)


def test_paths_names_every_cell_by_its_pattern_in_order():
    found = paths(shape_of(Position))
    assert list(found) == [
        *("account", "lots", "lots[]", "lots[].quantity", "lots[].cost"),
        *("rates", "rates[]", "rates[].quantity", "rates[].cost"),
    ]
    whole = schema(shape_of(Position))["properties"]
    assert found["account"] == whole["account"]
    assert found["lots"] == whole["lots"]
    assert found["lots[].cost"] == whole["lots"]["items"]["properties"]["cost"]


@dataclass(frozen=True)
class Everything:
    """Every kind there is."""

    text: Annotated[str, field(pattern=r"[^;]{1,9}", max_length=9)]
    number: Decimal = field(places=4, min=0)
    count: int | None = field(max=7)
    day: date | None = None
    at: datetime | None = None
    clock: time | None = None
    key: uuid.UUID | None = None
    side: Side = Side.BUY
    choice: Literal["a", "b"] | None = None
    lots: list[Lot] = field(default_factory=list)
    tags: tuple[str, ...] = ()
    nested: dict[str, list[Lot | None]] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    done: bool = False


def nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    below = [
        *node.get("properties", {}).values(),
        *[node[name] for name in ("items", "additionalProperties") if node.get(name)],
    ]
    return [node, *(each for one in below for each in nodes(one))]


def test_a_portable_schema_is_made_of_what_every_client_takes():
    known = {
        "type",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "default",
        "format",
    }
    bounds = {"pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"}
    for node in nodes(schema(shape_of(Everything), portable=True)):
        assert set(node) <= known | bounds
        assert isinstance(node["type"], str)
        assert node.get("required") != []
        assert node["type"] != "array" or "items" in node
        assert node["type"] != "object" or "properties" in node
        assert all(isinstance(value, str) for value in node.get("enum", []))
        assert "(?!" not in node.get("pattern", "")


# ── Patterns ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"[\w.-]+", "[A-Za-z0-9_.-]+"),
        (r"\d\s\D", r"[0-9][ \t-\r][^0-9\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"),
        (r"a.b", r"a[^\x00-\x08\x0a-\x1f\x7f-\x9f]b"),
        (r"[^;]", r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f;]"),
        (r"[^]-]", r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\]-]"),
        (r"[^-a]", r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\-a]"),
        (r"[]a]", r"[\]a]"),
        (r"[a[b]", r"[a\[b]"),
        (r"(?P<bank>a|b)-\1", r"(a|b)-\1"),
        (r"a\-b\ c\&", r"a\x2db\x20c\x26"),
        (r"\.\-[\-\.]", r"\.\x2d[\-\.]"),
        (r"\Aé\Z", "^é$"),
        ("a{,3}b{2}c{,}", "a{0,3}b{2}c{0,}"),
        ("a{}]b{x}", r"a\{\}\]b\{x\}"),
        ("[à-ü]", r"(?![\s\S]*[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f])(?:[à-ü])"),
        (r"[\W_]", r"(?![\s\S]*[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f])(?:[\W_])"),
    ],
)
def test_a_pattern_means_the_same_to_python_and_to_a_browser(pattern, said):
    assert ecma(pattern) == said


@pytest.mark.parametrize(
    "pattern", [r"^\d{3}$", "a|b", "^a$|^b$", r"a\$", r"[^,]+", r".+", r"[\S\s]x", r"\w+\s\w+", r"(?:ab)*"]
)
@pytest.mark.parametrize(
    "text", ["", "123", "123\n", "٣٣٣", "a", "b", "ab", "a$", "a b", "a\x1fb", "a\x85x", "\nx", "x,", "é", "a\u2028b"]
)
def test_a_pattern_in_the_schema_takes_what_the_reader_takes(pattern, text):
    shape = shape_of(make_dataclass("Asked", [("x", str, field(pattern=pattern))], frozen=True))
    assert Draft202012Validator(schema(shape)).is_valid({"x": text}) == (not read_value(shape, {"x": text}).problems)

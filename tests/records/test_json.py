"""How an agent's arguments read. Each test says a rule; what is right for each kind of report is here too, in our words."""

from __future__ import annotations

import dataclasses
import json
import time as clock
import traceback
import tracemalloc
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation, getcontext, localcontext
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.errors import Unread
from meridian.records import Problem, Reading, field, read_form, read_json, read_value, shape_of, write_form, write_json
from meridian.records.cells import UNREAD, Found, json_cell


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


@dataclass(frozen=True)
class Lot:
    quantity: Decimal = field(places=6)
    cost: Decimal | None = field(default=None, min=0)
    acquired: date | None = None


@dataclass(frozen=True)
class Balance:
    account: str = field(max_length=8)
    reason: str = ""
    lots: list[Lot] = dataclasses.field(default_factory=list)


BALANCE = shape_of(Balance)


def ask(hint: object, default: object = dataclasses.MISSING, **metadata: object) -> Any:
    made = dataclasses.field(default=default, metadata=metadata)
    return shape_of(dataclasses.make_dataclass("Ask", [("x", hint, made)], frozen=True))


def x(shape: Any, value: object) -> Any:
    """What `x` reads as; or its one problem."""
    reading = read_value(shape, {"x": value})
    if not reading.problems:
        return reading.record.x
    (problem,) = reading.problems
    assert problem.path.startswith("x")
    return problem


def test_an_object_of_the_records_fields_is_the_record():
    assert read_json(
        BALANCE,
        b'{"account": "A-1", "lots": [{"quantity": "10.5", "cost": "1500.25", "acquired": "2026-03-31"}, {"quantity": "1"}]}',
    ) == Reading(Balance("A-1", "", [Lot(Decimal("10.5"), Decimal("1500.25"), date(2026, 3, 31)), Lot(Decimal(1))]))


def test_every_field_that_does_not_read_is_named_in_the_order_of_the_record_and_not_only_the_first():
    reading = read_value(BALANCE, {"lots": [{"quantity": "1"}, {"cost": "ten", "acquired": "soon", "amuont": 1}], "resaon": 2})
    assert [problem.path for problem in reading.problems] == [
        "account",
        "lots[1].quantity",
        "lots[1].cost",
        "lots[1].acquired",
        "lots[1].amuont",
        "resaon",
    ]


def test_a_problem_says_what_came_and_what_would_be_right():
    assert [
        str(problem)
        for problem in read_value(BALANCE, {"account": "A-1-2-3-4", "resaon": "", "lots": [{"quantity": "1,500"}]}).problems
    ] == [
        'account: "A-1-2-3-4" has 9 characters; write at most 8',
        'lots[0].quantity: "1,500" has a comma; write a number, like 1500.25',
        "resaon: Balance has no such argument; did you mean reason?",
    ]


def test_a_record_with_problems_has_unread_fields_at_their_defaults_or_is_none():
    assert read_value(BALANCE, {"account": "A", "reason": 5}).record == Balance("A")
    assert read_value(BALANCE, {"reason": "r"}).record is None
    assert read_value(BALANCE, {"account": "A", "lots": [{"quantity": "1", "cost": "x"}]}).record == Balance(
        "A", "", [Lot(Decimal(1))]
    )
    assert read_value(BALANCE, {"account": "A", "lots": [{"quantity": "x"}]}).record == Balance("A")


@pytest.mark.parametrize("text", ["0", "007", "-5", "1.50", "12345678901234567890123456789012345.678", "9" * 100])
def test_a_decimal_is_a_text_and_exact(text):
    assert str(x(ask(Decimal), text)) == str(Decimal(text))


@pytest.mark.parametrize(
    "came",
    [
        1500.25,
        1500,
        True,
        "1e3",
        "+5",
        "1,5",
        ".5",
        "5.",
        "",
        " 5",
        "5 ",
        "1_0",
        "NaN",
        "sNaN",
        "Infinity",
        "١٢",
        "--1",
        "0x10",
        "9" * 101,
        [],
        None,
    ],
)
def test_nothing_else_is_a_decimal(came):
    assert isinstance(x(ask(Decimal), came), Problem)


def test_a_decimal_does_not_ask_the_context():
    with localcontext() as context:
        context.prec = 3
        context.traps[InvalidOperation] = False
        assert x(ask(Decimal, places=2), "123456.78") == Decimal("123456.78")
        assert isinstance(x(ask(Decimal), "abc"), Problem)
    assert getcontext().traps[InvalidOperation]


def test_minus_nothing_is_nothing():
    assert (str(x(ask(Decimal), "-0")), str(x(ask(Decimal), "-0.00")), x(ask(int), 0)) == ("0", "0.00", 0)


@pytest.mark.parametrize(
    ("text", "reads"), [("1.25", True), ("1.2500", True), ("1.255", False), ("1.0000001", False), ("1", True)]
)
def test_places_do_not_count_zeros_at_the_end(text, reads):
    assert isinstance(x(ask(Decimal, places=2), text), Decimal) is reads


def test_places_are_held_past_28_digits():
    assert isinstance(x(ask(Decimal, places=4), "1234567890123456789012345.12345"), Problem)


@pytest.mark.parametrize(
    ("came", "reads"),
    [("0.01", True), ("0.009999999999999999999999999999999", False), ("2", True), ("2.0000000000000000000000000001", False)],
)
def test_min_and_max_are_exact(came, reads):
    assert isinstance(x(ask(Decimal, min="0.01", max=2), came), Decimal) is reads


@pytest.mark.parametrize("came", [5, -3, 1234567890123456789, 10**100 - 1])
def test_an_int_is_a_json_integer(came):
    assert x(ask(int), came) == came


@pytest.mark.parametrize("came", [1.0, 5.5, True, "5", None, 10**100, [5]])
def test_nothing_else_is_an_int(came):
    assert isinstance(x(ask(int), came), Problem)


def test_a_bound_is_said_as_it_may_be_written():
    assert (
        str(x(ask(Decimal, min=Decimal("1E+5")), "5")) == 'x: "5" is too small; write a number of at least 100000, like 100000'
    )
    assert str(x(ask(Decimal), "")) == 'x: "" is no number; write a number, like 1500.25'
    assert str(x(ask(int), 1.0)) == "x: 1.0 has a point or an exponent; write a whole number, like 12"


@pytest.mark.parametrize("digits", [101, 5000])
def test_a_number_of_too_many_digits_is_a_problem_of_its_field(digits):
    number = "9" * digits
    assert [str(p) for p in read_json(ask(int), f'{{"x": {number}}}').problems] == ["x: it has over 100 digits; write fewer"]
    assert [str(p) for p in read_json(ask(dict[str, Any]), f'{{"x": {{"a": {number}}}}}').problems] == [
        "x: a number in it has over 100 digits; write fewer"
    ]


@pytest.mark.parametrize(("came", "reads"), [(True, True), (False, True), (1, False), ("true", False), (None, False)])
def test_a_boolean_is_a_boolean(came, reads):
    assert isinstance(x(ask(bool), came), bool) is reads


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (date, "2026-03-31", date(2026, 3, 31)),
        (time, "16:30", time(16, 30)),
        (time, "16:30:05.25", time(16, 30, 5, 250000)),
        (datetime, "2026-03-01T12:30:00Z", datetime(2026, 3, 1, 12, 30, tzinfo=UTC)),
        (
            datetime,
            "2026-03-01T12:30:00.250+05:30",
            datetime(2026, 3, 1, 12, 30, 0, 250000, timezone(timedelta(hours=5, minutes=30))),
        ),
        (UUID, "6F1E6BD0-6a0c-4b7e-9c3d-2f6c8d1a5b40", UUID("6f1e6bd06a0c4b7e9c3d2f6c8d1a5b40")),
        (Side, "sell", Side.SELL),
        (Literal["a", "b"], "b", "b"),
    ],
)
def test_a_text_says_a_day_a_time_a_moment_a_uuid_or_a_choice(hint, text, value):
    assert x(ask(hint), text) == value


@pytest.mark.parametrize(
    ("hint", "came"),
    [
        *(
            (date, each)
            for each in ("20241105", "2024-W45-2", "2024-02-30", "2024-1-5", "2024-11-05T00:00:00", "٢٠٢٤-11-05", 20241105)
        ),
        *((time, each) for each in ("24:00", "16", "16:3", "16:30:60", "16:30Z", "16:30:05.1234567")),
        *(
            (datetime, each)
            for each in ("2026-03-01", "2026-03-01T12:30:00", "2026-03-01 12:30:00Z", "2026-02-30T12:30Z", "2026-03-01T12:30+5")
        ),
        *((UUID, each) for each in ("6f1e6bd06a0c4b7e9c3d2f6c8d1a5b40", "{6f1e6bd0-6a0c-4b7e-9c3d-2f6c8d1a5b40}", "")),
        *((Side, each) for each in ("SELL", "hold", 1)),
    ],
)
def test_no_other_text_does(hint, came):
    assert isinstance(x(ask(hint), came), Problem)


def test_a_list_is_a_list_and_not_a_text_holding_one():
    assert [str(x(ask(list[int]), came)) for came in ([1, 2], "[1]", {"0": 1}, None)] == [
        "[1, 2]",
        'x: "[1]" is a text; write a list itself, not as a text',
        "x: an object will not do; write a list",
        "x: null is not allowed here; write a list",
    ]


def test_a_tuple_stays_a_tuple_and_a_dict_keeps_any_key():
    assert x(ask(tuple[int, ...]), [3, 4]) == (3, 4)
    assert x(ask(dict[str, int]), {"any key": 1, "": 2}) == {"any key": 1, "": 2}
    assert x(ask(dict[str, int]), {"any key": "1"}).path == 'x["any key"]'


def test_any_json_object_is_taken_as_it_is():
    came = {"a": [1, 2.5, None, {"b": True}], "": "x\r\ny"}
    assert x(ask(dict[str, Any]), came) == came


def test_null_is_none_where_none_is_allowed_and_not_the_default():
    assert x(ask(Decimal | None, Decimal(5)), None) is None
    assert isinstance(x(ask(str), None), Problem)


def test_text_is_as_given_but_line_ends_are_lf_and_lengths_count_after_that():
    assert x(ask(str, max_length=7), " a\r\nb\r ") == " a\nb\n "
    assert x(ask(str, max_length=5), "ab\r\ncd") == "ab\ncd"
    assert x(ask(str), '{"a": 1}') == '{"a": 1}'


@pytest.mark.parametrize("came", ["a\x00b", "\x7f", "\x85", "\x0b", "a\ud800b", 7, ["a"]])
def test_a_control_character_or_half_a_pair_is_a_problem(came):
    assert isinstance(x(ask(str), came), Problem)


def test_a_tab_a_line_break_and_any_script_are_fine():
    assert x(ask(str), "a\tb\n日本 م 😀\u00a0") == "a\tb\n日本 م 😀\u00a0"


def test_a_pattern_is_matched_against_the_whole_text_and_choices_hold():
    assert [x(ask(str, pattern="[A-Z]{3}"), came) for came in ("ABC",)] == ["ABC"]
    assert all(isinstance(x(ask(str, pattern="[A-Z]{3}"), came), Problem) for came in ("xABC", "ABCD", "ABC\n"))
    assert isinstance(x(ask(str, pattern=r"\d"), "٣"), Problem)
    assert (x(ask(str, choices=["USD"]), "USD"), x(ask(str, choices=["USD"]), "EUR").path) == ("USD", "x")
    assert isinstance(x(ask(int, choices=[1, 2]), 3), Problem)


def test_the_rows_of_a_list_have_bounds_and_the_list_has_its_own():
    shape = ask(list[Annotated[str, field(max_length=2)]], max_length=2, min_length=1)
    assert [x(shape, came) for came in (["a"], ["a", "bc"])] == [["a"], ["a", "bc"]]
    assert [str(x(shape, came)) for came in ([], ["a", "b", "c"], ["a", "bcd"])] == [
        "x: no rows were given; write at least 1",
        "x: 3 rows were given; write at most 2",
        'x[1]: "bcd" has 3 characters; write at most 2',
    ]


def test_a_list_keeps_at_most_ten_thousand_rows():
    assert len(x(ask(list[int]), [1] * 10_000)) == 10_000
    assert str(x(ask(list[int]), [1] * 10_001)) == "x: 10001 rows were given; a list keeps at most 10000"


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ('{"account": "B", "account": "A"}', ["account"]),
        ('{"account": "A", "account": "A"}', ["account"]),
        ('{"account" : "A", "reason": "12:30", "reason" :"x"}', ["reason"]),
        ('{"account": "A", "lots": [{"quantity": "1", "quantity": "2"}]}', ["lots[0].quantity"]),
        ('{"account": "A", "z": 1, "z": 2}', ["z"]),
        ('{"account": "a:\\":", "reason": "b\\":"}', []),
    ],
)
def test_a_key_twice_is_refused_wherever_it_is(text, paths):
    assert [problem.path for problem in read_json(BALANCE, text).problems] == paths


def test_a_key_twice_inside_any_object_is_refused():
    assert [p.path for p in read_json(ask(dict[str, Any]), '{"x": {"a": [{"b": 1, "b": 1}]}}').problems] == ["x"]


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_nan_and_infinity_are_no_json(constant):
    for hint in (int, Decimal, dict[str, int]):
        assert [p.path for p in read_json(ask(hint), f'{{"x": {constant}}}').problems] == ["x"]
    assert [p.path for p in read_json(ask(dict[str, Any]), f'{{"x": {{"a": {constant}}}}}').problems] == ["x"]


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[1, 2]",
        b'"{}"',
        b"5",
        b"{",
        b"{} {}",
        b'{"account": "\xff"}',
        b"\xef\xbb\xbf{}",
        '{"account": "A"}'.encode("utf-16"),
        b"{'account': 1}",
    ],
)
def test_a_body_that_is_not_an_object_in_utf_8_is_one_problem_of_the_whole(body):
    reading = read_json(BALANCE, body)
    assert (reading.record, [problem.path for problem in reading.problems]) == (None, [""])


def test_no_arguments_at_all_is_an_empty_object():
    shape = ask(int, 5)
    assert read_json(shape, b"") == read_json(shape, " \n") == read_json(shape, b"{}") == Reading(shape.record(5))


@pytest.mark.parametrize("deep", ["[" * 100_000 + "]" * 100_000, '{"a":' * 20_000 + "1" + "}" * 20_000, "[" * 900 + "]" * 900])
@pytest.mark.parametrize("name", ["x", "y"])
def test_nesting_deeper_than_64_is_refused(deep, name):
    assert len(read_json(ask(str), f'{{"{name}": {deep}}}').problems) >= 1


@pytest.mark.parametrize(("levels", "reads"), [(63, True), (64, False)])
def test_sixty_four_levels_are_the_arguments_and_sixty_three_below(levels, reads):
    deep = '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)
    assert (read_json(ask(dict[str, Any]), f'{{"x": {deep}}}').problems == ()) is reads


def test_half_a_pair_in_a_name_is_a_problem_of_what_has_it():
    assert [p.path for p in read_json(BALANCE, '{"account": "A", "\\udc00": 1}').problems] == [""]
    assert [p.path for p in read_json(ask(dict[str, int]), '{"x": {"\\udc00": 1, "\\udc01": 1}}').problems] == ["x"]
    assert [p.path for p in read_json(BALANCE, '{"account": "A", "\\udc00": 1, "\\udc01": 1}').problems] == [""]


def test_what_came_is_cut_at_sixty_characters_and_a_secret_is_never_quoted():
    assert str(x(ask(date), "y" * 1000)) == f'x: "{"y" * 59}…" is no day; write a day, like 2026-03-31'
    for came in ("hunter2\x00", 5, "x" * 99):
        assert "hunter2" not in str(x(ask(str, secret=True, max_length=5), came))
    assert "hunter2" not in str(read_json(ask(dict[str, Any], secret=True), '{"x": {"a": "hunter2\\ud800"}}').problems)
    assert "hunter2" not in str(read_json(ask(str, secret=True), '{"x": "hunter2", "x": "hunter3"}').problems)


def test_at_the_surface_empty_and_null_texts_for_an_optional_field_are_as_if_left_out():
    @dataclass(frozen=True)
    class Ask:
        text: str = "t"
        count: int = 5
        cost: Decimal | None = None
        tags: list[str] = dataclasses.field(default_factory=list)
        needed: Decimal = Decimal(1)

    shape = shape_of(Ask)
    came = {"text": "", "count": "", "cost": "null", "tags": "null"}
    assert read_value(shape, came, lenient=True) == Reading(Ask(text=""))
    assert [problem.path for problem in read_value(shape, came).problems] == ["count", "cost", "tags"]
    assert [p.path for p in read_json(ask(int), '{"x": ""}', lenient=True).problems] == ["x"]


@dataclass(frozen=True)
class Span:
    first: int
    last: int

    def __post_init__(self) -> None:
        if self.first < 0:
            raise Unread(("first", "it is before the beginning"))
        if self.last < self.first:
            raise ValueError("the last is before the first")


@dataclass(frozen=True)
class Plan:
    spans: list[Span]


def test_what_post_init_refuses_is_a_problem_at_the_records_own_path_or_the_fields_it_names():
    assert read_value(shape_of(Span), {"first": 2, "last": 1}) == Reading(None, (Problem("", "the last is before the first"),))
    spans = [{"first": 1, "last": 2}, {"first": 2, "last": 1}, {"first": -1, "last": 1}]
    assert [str(p) for p in read_value(shape_of(Plan), {"spans": spans}).problems] == [
        "spans[1]: the last is before the first",
        "spans[2].first: it is before the beginning",
    ]


def test_a_cell_that_post_init_names_twice_is_one_problem_with_both_its_words():
    @dataclass(frozen=True)
    class Pair:
        first: int
        last: int

        def __post_init__(self) -> None:
            raise Unread(("last", "it is late"), ("first", "it is odd"), ("last", "it is odd"))

    assert [str(p) for p in read_value(shape_of(Pair), {"first": 1, "last": 3}).problems] == [
        "last: it is late; it is odd",
        "first: it is odd",
    ]


def test_post_init_may_stumble_over_the_default_of_what_did_not_read():
    @dataclass(frozen=True)
    class Ratio:
        of: int
        by: int = 0

        def __post_init__(self) -> None:
            object.__setattr__(self, "of", self.of // self.by)

    reading = read_value(shape_of(Ratio), {"of": 4, "by": "2"})
    assert (reading.record, [problem.path for problem in reading.problems]) == (None, ["by"])


def test_a_record_that_writes_its_own_init_is_made_by_names_and_may_refuse():
    @dataclass(frozen=True)
    class Own:
        first: int
        last: int

        def __init__(self, *, last: int, first: int) -> None:
            if last < first:
                raise ValueError("the last is before the first")
            object.__setattr__(self, "first", first)
            object.__setattr__(self, "last", last)

    assert read_value(shape_of(Own), {"first": 1, "last": 2}).record == Own(first=1, last=2)
    assert [str(p) for p in read_value(shape_of(Own), {"first": 2, "last": 1}).problems] == ["the last is before the first"]


def test_so_is_one_of_a_module_without_a_file():
    source = "@dataclass(frozen=True)\nclass Own:\n  x: int\n  def __init__(self, *, x): object.__setattr__(self, 'x', x)"
    names: dict[str, Any] = {"dataclass": dataclass, "__name__": __name__}
    exec(source, names)  # noqa: S102
    assert read_value(shape_of(names["Own"]), {"x": 1}).record.x == 1


def test_kw_only_slots_and_inherited_records_are_made():
    @dataclass(frozen=True, slots=True)
    class Base:
        account: str

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Whole(Base):
        day: date
        reason: str = ""

    assert read_value(shape_of(Whole), {"day": "2026-01-01", "account": "A"}).record == Whole("A", day=date(2026, 1, 1))


def test_a_field_may_have_any_name_that_python_has():
    names = [
        "row",
        "at",
        "found",
        "came",
        "value",
        "n",
        "keep",
        "str",
        "len",
        "list",
        "Decimal",
        "missing",
        "before",
        "absent",
        "number",
        "wrong",
        "cls",
    ]
    made = dataclasses.make_dataclass("Ask", [(name, int) for name in names], frozen=True)
    given = {name: n for n, name in enumerate(names)}
    assert read_value(shape_of(made), given).record == made(**given)


CLASHES = ["row", "rows", "at", "found", "came", "value", "n", "read", "id", "keep", "item", "my lot", "if", "x_", "_", "ﬁ"]


@pytest.mark.parametrize("name", CLASHES)
def test_a_record_may_have_any_name_too(name):
    lot = dataclasses.make_dataclass(name, [("x", int), ("item", datetime | None, None)], frozen=True)
    made = dataclasses.make_dataclass(name, [("x", lot), ("item", list[lot]), ("by", dict[str, lot])], frozen=True)  # type: ignore[valid-type]
    whole = made(lot(1), [lot(2)], {"k": lot(3, datetime(2026, 1, 1, tzinfo=UTC))})
    assert read_json(shape_of(made), write_json(whole)).record == whole
    assert read_form(shape_of(made), write_form(whole)).record == whole


def test_no_name_of_one_field_is_in_the_way_of_another():
    lot = dataclasses.make_dataclass("Lot", [("x", int)], frozen=True)
    made = dataclasses.make_dataclass(
        "Ask",
        [
            ("x_", str, dataclasses.field(default_factory=lambda: "made")),
            ("make_x", int, 1),
            ("x", lot | None, None),
            ("read_x", int, 2),
            ("read_x_", lot | None, None),
        ],
        frozen=True,
    )
    assert read_value(shape_of(made), {"read_x_": {"x": 5}}).record == made("made", 1, None, 2, lot(5))
    assert read_form(shape_of(made), [("x.x", "4")]).record == made("made", 1, lot(4))


KINDS = [
    ask(str),
    ask(str, max_length=3, min_length=1),
    ask(str, pattern="[a-z]+"),
    ask(str, choices=["a", "b"]),
    ask(int),
    ask(int, min=-1, max=9),
    ask(int, choices=[1, 2]),
    ask(bool),
    ask(Decimal),
    ask(Decimal, places=0),
    ask(Decimal, places=2, min=-1, max=10),
    ask(date),
    ask(datetime),
    ask(time),
    ask(UUID),
    ask(Side),
    ask(Literal["a", "b"]),
    ask(Decimal | None),
]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.from_regex(r"-?[0-9]{0,4}\.?[0-9]{0,4}"),
    st.sampled_from(
        [
            "buy",
            "a",
            "b",
            "2026-01-01",
            "2026-02-30",
            "2024-W45-2",
            "-0",
            "-0.0",
            "0.10",
            "12:30",
            "2026-01-01T10:00Z",
            "9" * 101,
            "a\r\nb",
        ]
    ),
)


@given(st.sampled_from(KINDS), scalars)
def test_the_code_written_for_a_record_reads_what_the_rules_read(shape, came):
    found = Found()
    value = json_cell(shape.fields[0], came, ((), "x"), found)
    reading = read_value(shape, {"x": came})
    assert reading.problems == (found.all() if found.count else ())
    if value is not UNREAD:
        assert (type(reading.record.x), str(reading.record.x)) == (type(value), str(value))


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_reading_never_raises_on_any_bytes(body):
    reading = read_json(BALANCE, body)
    assert reading.problems or isinstance(reading.record, Balance)


def body_of(rows: int, row: str) -> str:
    return '{"account": "A", "lots": [' + ",".join([row] * rows) + "]}"


HOSTILE = {
    "wrong cells": lambda n: body_of(9_999, '{"quantity": 0, "z": ' + '"' + "y" * (n // 9_999) + '"}'),
    "wrong rows": lambda n: body_of(n // 2, "0"),
    "unknown names": lambda n: "{" + ",".join(f'"x{k}": 1' for k in range(n // 10)) + "}",
    "one name over and over": lambda n: "{" + '"account": "A",' * (n // 15) + '"reason": ""}',
    "digits": lambda n: '{"account": ' + "9" * n + "}",
    "digits of a text": lambda n: body_of(1, '{"quantity": "' + "9" * n + '"}'),
    "zeros": lambda n: body_of(1, '{"quantity": "1.' + "0" * n + '1"}'),
    "brackets": lambda n: '{"account": ' + "[" * n,
    "escapes": lambda n: '{"account": "' + "\\u0000" * (n // 6) + '"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_is_refused_at_a_cost_in_proportion_to_it(name):
    body = HOSTILE[name](200_000)
    read_json(BALANCE, b"{}")
    began = clock.process_time()
    read_json(BALANCE, body)
    took = clock.process_time() - began
    tracemalloc.start()
    reading = read_json(BALANCE, body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reading.problems
    assert len(reading.problems) <= 1001
    assert took < 2
    assert peak < 64 * len(body) + 1_000_000
    assert sum(len(problem.message) for problem in reading.problems) < 1_000_000


def test_one_long_key_is_not_said_again_for_everything_under_it():
    body = json.dumps({"x": {"k" * 200_000: ["a"] * 10_000}})
    problems = read_json(ask(dict[str, list[int]]), body).problems
    assert sum(len(problem.path) for problem in problems) < 10 * len(body)
    assert str(problems[-1]) == f"{10_001 - len(problems)} more did not read; these are the first {len(problems) - 1}"


def test_past_a_thousand_problems_the_rest_are_counted():
    problems = read_json(BALANCE, body_of(1500, '{"quantity": 0}')).problems
    assert (len(problems), str(problems[-1])) == (1001, "500 more did not read; these are the first 1000")


def test_a_traceback_shows_the_line_that_was_written():
    @dataclass(frozen=True)
    class Broken:
        x: int

        def __post_init__(self) -> None:
            1 // self.x

    read_json(shape_of(Broken), json.dumps({"x": 1}))  # the second reading's is written
    with pytest.raises(ZeroDivisionError) as raised:
        read_json(shape_of(Broken), json.dumps({"x": 0}))
    shown = "".join(traceback.format_exception(raised.value))
    assert 'File "meridian JSON reader of Broken"' in shown
    assert "return Broken(x_)" in shown

"""How a browser's form reads. Each test says a rule; what is right for each kind of report is here too, in our words."""

from __future__ import annotations

import dataclasses
import time as clock
import tracemalloc
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.errors import Unread
from meridian.records import Problem, Reading, field, form_pairs, read_form, read_json, read_query, shape_of


@dataclass(frozen=True)
class Tax:
    rate: Decimal
    name: str = ""


@dataclass(frozen=True)
class Line:
    amount: Decimal
    memo: str = ""
    due: date | None = None
    done: bool = False
    taxes: list[Tax] = dataclasses.field(default_factory=list)


@dataclass(frozen=True)
class Invoice:
    account: str
    note: str = ""
    lines: list[Line] = dataclasses.field(default_factory=list)


@dataclass(frozen=True)
class Loose:
    """A record of optional cells alone."""

    name: str = "none given"
    count: int = 5
    limit: Decimal | None = None
    ticked: bool = False
    one: Tax | None = None


INVOICE = shape_of(Invoice)


class Upload:
    def __init__(self, filename: str) -> None:
        self.filename = filename


def ask(hint: object, default: object = dataclasses.MISSING, **metadata: object) -> Any:
    made = dataclasses.field(default=default, metadata=metadata)
    return shape_of(dataclasses.make_dataclass("Ask", [("x", hint, made)], frozen=True))


def x(shape: Any, *sent: tuple[str, Any]) -> Any:
    """What `x` reads as; or its problems, as texts. The same from pairs and from an urlencoded body."""
    reading = read_form(shape, list(sent))
    if all(isinstance(value, str) for _, value in sent):
        assert read_form(shape, urlencode(sent).encode()) == reading
    return reading.record.x if not reading.problems else [str(problem) for problem in reading.problems]


def invoice(*sent: tuple[str, Any]) -> Any:
    reading = read_form(INVOICE, [("account", "A-1"), *sent])
    return reading.record.lines if not reading.problems else [problem.path for problem in reading.problems]


def test_paths_make_the_record_beside_a_token_and_a_button():
    sent = [
        ("csrf", "t"),
        ("account", " A-1 "),
        ("lines[0].amount", "10.50"),
        ("lines[0].due", "2026-03-01"),
        ("lines[0].done", "on"),
        ("lines[0].taxes[0].rate", "0.2"),
        ("lines[0].taxes[1].rate", "0.05"),
        ("lines[0].taxes[1].name", "city"),
        ("meridian.add", "lines"),
        ("do", "save"),
    ]
    made = Invoice(
        "A-1", "", [Line(Decimal("10.50"), "", date(2026, 3, 1), True, [Tax(Decimal("0.2")), Tax(Decimal("0.05"), "city")])]
    )
    assert read_form(INVOICE, sent) == Reading(made)
    assert read_form(INVOICE, urlencode(sent).encode()) == Reading(made)
    assert read_form(INVOICE, "&".join(f"{name}={value}" for name, value in sent).encode()) == Reading(made)


def test_a_form_and_its_json_make_the_same_record():
    form = read_form(
        INVOICE, [("account", "A-1"), ("note", "  two\r\nlines "), ("lines[4].amount", "1"), ("lines[9].amount", "2")]
    )
    assert form == read_json(INVOICE, '{"account": "A-1", "note": "two\\nlines", "lines": [{"amount": "1"}, {"amount": "2"}]}')


def test_empty_or_spaces_is_left_blank_which_is_the_default():
    blank = [("name", ""), ("count", "  "), ("limit", "\t"), ("one.rate", " "), ("one.name", "")]
    assert read_form(shape_of(Loose), blank) == Reading(Loose())


def test_blank_where_required_is_a_problem():
    assert read_form(INVOICE, [("account", "  ")]) == Reading(
        None, (Problem("account", "nothing was given, and it is needed"),)
    )


def test_a_text_that_does_not_match_is_told_in_the_author_s_words_before_the_pattern():
    words = [{"title": "Ticker", "description": "A ticker, in capitals."}, {"title": "Ticker"}, {}]
    assert [x(ask(str, pattern="[A-Z]{1,8}", **each), ("x", "acme")) for each in words] == [
        ['x: "acme" does not match what is asked for: A ticker, in capitals'],
        ['x: "acme" does not match what is asked for: Ticker'],
        ['x: "acme" does not match; write a text that matches [A-Z]{1,8}'],
    ]


def test_text_is_trimmed_and_its_line_ends_are_lf():
    assert [x(ask(str, max_length=5), ("x", sent)) for sent in (" a ", "ab\r\ncd", "a\rb")] == ["a", "ab\ncd", "a\nb"]


@pytest.mark.parametrize("sent", ["on", "true", "1", "yes"])
def test_a_boolean_is_true_for_on_true_1_and_yes(sent):
    assert x(ask(bool), ("x", sent)) is True


@pytest.mark.parametrize("sent", [[("x", each)] for each in ("off", "false", "0", "no", "")] + [[]])
def test_absent_off_false_0_and_no_are_false_whatever_the_default_and_though_required(sent):
    assert (x(ask(bool), *sent), x(ask(bool, True), *sent)) == (False, False)


def test_anything_else_is_no_boolean():
    assert x(ask(bool), ("x", "maybe")) == ['x: "maybe" is neither; write on, or leave it out']


def test_a_hidden_companion_before_a_ticked_box_is_true():
    assert (x(ask(bool), ("x", "0"), ("x", "1")), x(ask(bool), ("x", "0")), x(ask(bool), ("x", ""), ("x", "on"))) == (
        True,
        False,
        True,
    )


def test_a_boolean_or_none_that_is_absent_or_empty_is_its_default():
    assert [x(ask(bool | None, True)), x(ask(bool | None, None), ("x", "")), x(ask(bool | None, True), ("x", "no"))] == [
        True,
        None,
        False,
    ]


def test_numbers_are_in_the_same_spelling_as_jsons_texts():
    assert [x(ask(int), ("x", sent)) for sent in (" -3 ", "007", "-0", "9" * 100)] == [-3, 7, 0, int("9" * 100)]
    assert x(ask(Decimal), ("x", "-0.00")) == 0
    for hint in (int, Decimal):
        for sent in ("12px", "+5", "1e3", "1,5", "٣", "nan", "inf", "1_0", "9" * 5000):
            assert isinstance(x(ask(hint), ("x", sent)), list)


def test_bounds_hold_in_a_form_too():
    assert x(ask(int, min=1, max=3), ("x", "4")) == ['x: "4" is too large; write a whole number from 1 to 3, like 3']
    assert x(ask(Decimal, places=2), ("x", "1.234")) == ['x: "1.234" has too many decimal places; write at most 2']


def test_rows_are_in_the_order_of_their_numbers_as_numbers_and_gaps_are_nothing():
    sent = [("lines[1000].amount", "3"), ("lines[20].amount", "2"), ("lines[3].amount", "1")]
    assert invoice(*sent) == [Line(Decimal(1)), Line(Decimal(2)), Line(Decimal(3))]


def test_a_blank_row_is_no_row_at_every_depth():
    sent = [
        ("lines[0].amount", ""),
        ("lines[0].taxes[0].rate", " "),
        ("lines[1].amount", "1"),
        ("lines[1].taxes[0].rate", ""),
        ("lines[1].taxes[1].rate", "0.2"),
        ("lines[2].memo", "\t"),
    ]
    assert invoice(*sent) == [Line(Decimal(1), taxes=[Tax(Decimal("0.2"))])]


def test_a_list_or_dict_of_blank_rows_is_no_row_either():
    assert x(ask(list[list[Line]]), ("x[0][0].done", "off"), ("x[1][0].memo", ""), ("x[2][5].amount", "1")) == [
        [Line(Decimal(1))]
    ]
    assert x(ask(dict[str, list[Line]]), ("x.a[0].done", "0")) == {}
    assert x(ask(list[dict[str, datetime]]), ("x[0].k.zone", "UTC")) == []
    assert x(ask(list[list[datetime]]), ("x[0][0].zone", "UTC")) == []
    assert x(ask(list[Line] | None, None), ("x[0].done", "off")) is None
    assert x(ask(list[list[Line]]), ("x[0][0].done", "off"), ("x[0][0].other", "1")) == [
        'x[0][0].other: no cell has this name: Line has no "other"'
    ]


def test_a_row_with_only_a_nested_cell_is_a_row_whose_required_cell_is_missing():
    assert invoice(("lines[0].amount", ""), ("lines[0].taxes[0].rate", "0.2")) == ["lines[0].amount"]


def test_a_row_whose_cells_hold_the_defaults_is_a_row():
    shape = ask(list[Loose])
    assert x(shape, ("x[0].name", "none given"), ("x[1].count", "5")) == [Loose(), Loose()]


def test_unticked_boxes_alone_do_not_make_a_row_and_a_ticked_one_does():
    assert x(ask(list[Loose]), ("x[0].ticked", "0"), ("x[1].ticked", "on"), ("x[2].name", "")) == [Loose(ticked=True)]


def test_an_unticked_box_that_is_itself_a_row_is_one():
    assert x(ask(list[bool]), ("x[0]", "off"), ("x[1]", "on")) == [False, True]
    assert x(ask(tuple[bool, ...], ()), ("x[0]", "off")) == (False,)


def test_a_cell_that_is_not_the_records_does_not_make_a_row():
    assert invoice(("lines[0].other", "x")) == ["lines[0].other"]


def test_no_rows_is_an_empty_list_without_a_default_too_and_min_length_asks_for_some():
    assert (x(ask(list[Tax])), x(ask(tuple[int, ...], (1,))), x(ask(dict[str, int]))) == ([], (), {})
    assert x(ask(list[Tax], min_length=1)) == ["x: no rows were given; write at least 1"]
    assert x(ask(list[Tax], min_length=1), ("x[0].rate", "")) == ["x: no rows were given; write at least 1"]


def test_a_problems_path_is_the_cell_as_it_was_sent():
    assert invoice(
        ("lines[0].amount", ""), ("lines[7].amount", "1,5"), ("lines[9].amount", "2"), ("lines[9].taxes[4].rate", "much")
    ) == [
        "lines[7].amount",
        "lines[9].taxes[4].rate",
    ]


def test_a_refusal_of_post_init_names_the_cell_as_it_was_sent():
    @dataclass(frozen=True)
    class Order:
        lines: list[Line]

        def __post_init__(self) -> None:
            raise Unread(("lines[1].amount", "it is more than is left"), ("lines", "there are too many"))

    sent = [("lines[0].memo", ""), ("lines[3].done", "0"), ("lines[4].amount", "1"), ("lines[8].amount", "2")]
    assert [problem.path for problem in read_form(shape_of(Order), sent).problems] == ["lines[8].amount", "lines"]


@pytest.mark.parametrize(
    ("name", "reads"), [("x[9999]", True), ("x[10000]", False), ("x[" + "9" * 5000 + "]", False), ("x[99999].y", False)]
)
def test_a_row_number_is_at_most_9999(name, reads):
    assert (x(ask(list[str]), (name, "a")) == ["a"]) is reads


@pytest.mark.parametrize("name", ["lines[10000].amount", "lines[" + "9" * 5000 + "].amount"])
def test_past_it_is_a_problem_at_the_name_sent(name):
    assert invoice((name, "1")) == [name]


def test_every_name_in_a_row_past_the_last_is_told_wherever_it_comes():
    sent = [("lines[10000].memo", "1"), ("lines[0].amount", "1"), ("lines[10000].amount", "1")]
    assert invoice(*sent) == ["lines[10000].memo", "lines[10000].amount"]


@pytest.mark.parametrize("names", [("x[0]", "x[1]"), ("x", "x"), ("x[]", "x[]")])
def test_a_list_of_plain_values_may_be_sent_by_number_or_by_its_own_name_repeated(names):
    sent = [(name, value) for name, value in zip(names, (" 1", "2"), strict=True)]
    assert (x(ask(list[str]), *sent), x(ask(tuple[int, ...]), *sent)) == (["1", "2"], (1, 2))


def test_one_text_under_a_lists_own_name_is_one_row_and_is_never_split():
    assert (x(ask(list[str]), ("x", "a,b")), x(ask(list[int]), ("x", "1,2"))) == (
        ["a,b"],
        ['x: "1,2" has a comma; write a whole number, like 12'],
    )


def test_equal_texts_under_a_lists_own_name_are_as_many_rows_and_blank_ones_none():
    assert x(ask(list[str]), ("x", "a"), ("x", ""), ("x", "a")) == ["a", "a"]


def test_another_field_sent_twice_with_different_values_is_a_problem_that_quotes_both():
    assert x(ask(str), ("x", "A"), ("x", "B")) == ['x: "A" and "B" were both given; give one']
    assert x(ask(str), ("x", "A"), ("x", " A ")) == "A"
    assert x(ask(str), ("x", "A"), ("x", "")) == ['x: "A" and "" were both given; give one']
    assert x(ask(str, secret=True), ("x", "A"), ("x", "B")) == ["x: two values were both given; give one"]
    assert x(ask(list[str]), ("x[0]", ""), ("x[0]", "A")) == ['x[0]: "A" and "" were both given; give one']
    assert x(ask(dict[str, int]), ("x.a", "1"), ("x.a", "")) == ['x.a: "1" and "" were both given; give one']
    assert invoice(("lines[0].amount", "1"), ("lines[0].amount", "2")) == ["lines[0].amount"]


def test_any_json_object_is_one_cell_holding_json_text():
    shape = ask(dict[str, Any])
    assert x(shape, ("x", ' {"a": [1, null]}\r\n')) == {"a": [1, None]}
    for sent in ("{", "[1]", '{"a": 1, "a": 2}', '{"a": NaN}', '"a"', "{} {}", '{"a":' * 64 + "1" + "}" * 64, "9" * 5000):
        assert isinstance(x(shape, ("x", sent)), list)


def test_another_dict_is_a_cell_a_key():
    assert x(ask(dict[str, int]), ("x.a", "1"), ('x["any key"]', "2"), ('x["a.b[0]\\""]', "3")) == {
        "a": 1,
        "any key": 2,
        'a.b[0]"': 3,
    }
    assert x(ask(dict[str, Tax]), ("x.a.rate", "1"), ('x["b c"].rate', ""), ("x.d.name", "n")) == [
        "x.d.rate: nothing was given; write a number, like 1500.25"
    ]


def test_lists_of_lists_read():
    assert x(ask(list[list[int]]), ("x[0][0]", "1"), ("x[0][5]", "2"), ("x[2][0]", "3")) == [[1, 2], [3]]


def test_a_browsers_local_time_reads_with_the_zone_beside_it():
    shape = ask(datetime | None, None)
    paris = timezone(timedelta(hours=2))
    assert x(shape, ("x", "2026-06-01T02:30"), ("x.zone", "Europe/Paris")) == datetime(2026, 6, 1, 2, 30, tzinfo=paris)
    assert x(shape, ("x", "2026-06-01T02:30:00Z")) == datetime(2026, 6, 1, 2, 30, tzinfo=UTC)
    assert x(shape, ("x.zone", "Europe/Paris")) is None
    assert x(
        ask(list[datetime]), ("x[1]", "2026-06-01T02:30"), ("x[1].zone", "Europe/Paris"), ("x[2].zone", "Europe/Paris")
    ) == [datetime(2026, 6, 1, 2, 30, tzinfo=paris)]


@pytest.mark.parametrize(
    ("local", "zone", "says"),
    [
        ("2026-03-29T02:30", "Europe/Paris", "does not exist there"),
        ("2026-10-25T02:30", "Europe/Paris", "is there twice"),
        ("2026-06-01T02:30", "", "has no zone"),
        ("2026-02-30T02:30", "Europe/Paris", "is not in the calendar"),
        ("2026-06-01T02:30", "Mars/Base", "is not known"),
        ("2026-06-01T02:30", "../../etc/passwd", "is not known"),
    ],
)
def test_a_time_that_is_not_there_or_is_there_twice_or_has_no_zone_is_a_problem(local, zone, says):
    (problem,) = x(ask(datetime), ("x", local), ("x.zone", zone))
    assert says in problem
    assert problem.startswith("x.zone: " if says == "is not known" else "x: ")


def test_a_zone_may_be_sent_twice_where_it_is_the_same():
    at, paris = ("x", "2026-06-01T02:30"), ("x.zone", "Europe/Paris")
    assert x(ask(datetime), at, paris, paris) == datetime(2026, 6, 1, 0, 30, tzinfo=UTC)
    assert x(ask(datetime), at, paris, ("x.zone", "Asia/Tokyo")) == [
        'x.zone: the zone was given as "Europe/Paris" and as "Asia/Tokyo"; give one'
    ]


@pytest.mark.parametrize("zone", ["localtime", "posixrules", "right/Europe/Paris", "posix/UTC", "europe/paris"])
def test_a_file_beside_the_zones_is_no_zone(zone):
    (problem,) = x(ask(datetime), ("x", "2026-06-01T02:30"), ("x.zone", zone))
    assert problem.startswith(f'x.zone: the zone "{zone}" is not known')


def test_a_secret_moments_zone_is_never_quoted():
    for local, zone in (("2026-03-29T02:30", "Europe/Paris"), ("2026-03-29T02:30", "Hunter/Two")):
        (problem,) = x(ask(datetime, secret=True), ("x", local), ("x.zone", zone))
        assert zone not in problem


def test_a_zone_alone_does_not_make_a_row():
    @dataclass(frozen=True)
    class Visit:
        at: datetime | None = None

    sent = [("x[0].at.zone", "Europe/Paris"), ("x[1].at", "2026-06-01T02:30Z"), ("x[1].at.zone", "Europe/Paris")]
    assert x(ask(list[Visit]), *sent) == [Visit(datetime(2026, 6, 1, 2, 30, tzinfo=UTC))]


def test_an_optional_record_whose_every_cell_is_blank_is_its_default():
    shape = ask(Tax | None, None)
    assert (x(shape, ("x.rate", ""), ("x.name", " ")), x(shape, ("x.rate", "1")), x(shape, ("x.name", "n"))) == (
        None,
        Tax(Decimal(1)),
        ["x.rate: nothing was given; write a number, like 1500.25"],
    )
    assert x(ask(Loose)) == Loose()


def test_a_file_under_a_fields_name_is_a_problem_there_and_an_empty_file_input_is_nothing():
    assert x(ask(str), ("x", Upload("a.txt"))) == ['x: the file "a.txt" will not do; write a text']
    assert x(ask(str, "none"), ("x", Upload(""))) == "none"
    assert x(ask(str), ("other", Upload("a.txt")), ("x", "a")) == "a"
    assert x(ask(str), ("x", "a"), ("x", Upload("a"))) == ['x: the file "a" will not do; write a text']
    assert x(ask(bool), ("x", "on"), ("x", Upload("on"))) == ['x: the file "on" will not do; write true or false']
    assert x(ask(str), ("x", "a"), ("x", Upload(""))) == "a"


@pytest.mark.parametrize("body", [b"x=%FF", b"x=\xff", b"x=a%C3", b"x=%ED%A0%80"])
def test_what_is_not_utf_8_is_a_problem_and_never_other_letters(body):
    assert [problem.path for problem in read_form(ask(str), body).problems] == ["x"]
    assert [problem.path for problem in form_pairs(body)[1]] == ["x"]


def test_escapes_are_undone_and_a_percent_that_begins_none_stays():
    assert [
        read_form(ask(str), body).record.x
        for body in (
            b"x=a+b%20c%e2%82%AC",
            "x=€%E2%82%AC".encode(),
            b"%78=100%",
            b"x=%zz%4",
            b"x=%%%41%%",
            b"x=" + b"%41a" * 99,
        )
    ] == [
        "a b c€",
        "€€",
        "100%",
        "%zz%4",
        "%%A%%",
        "Aa" * 99,
    ]


def test_names_that_are_not_the_records_are_left_alone():
    sent = [
        ("csrf", "t"),
        ("do.it", "x"),
        ("other[0].amount", "1"),
        ("linesx", "1"),
        ("a[", "1"),
        ("", "1"),
        ("[0]", "1"),
        ("é", "1"),
    ]
    assert invoice(*sent) == []


@pytest.mark.parametrize(
    "name",
    [
        "lines[0.cost",
        "account.id",
        "lines[0",
        "lines[]",
        "lines[].amount",
        "lines[00].amount",
        "lines[٣].amount",
        "lines[0]amount",
        "lines.amount",
        "account[0]",
        "account" + ".a" * 3000,
        "lines" + "[0]" * 3000,
        "lines[0].taxes[x].rate",
        "lines[0].amount.x",
        "lines[0]..amount",
    ],
)
def test_a_name_whose_first_step_is_a_field_and_which_then_goes_wrong_is_a_problem_at_the_name_sent(name):
    assert invoice((name, "x")) == [name]
    assert [p.path for p in read_form(INVOICE, urlencode([("account", "A"), (name, "x")]).encode()).problems] == [name]


@pytest.mark.parametrize("sent", ["one.other", "one.rate.x", "many[2].one.other", "many[2].many[0].one.other", "by.k.other"])
@pytest.mark.parametrize("beside", [[], [("one.rate", "1"), ("many[2].one.rate", "1"), ("by.k.rate", "1")]])
@pytest.mark.parametrize("cell", ["x", ""])
def test_one_is_a_problem_in_a_record_of_a_record_too(sent, beside, cell):
    @dataclass(frozen=True)
    class Inner:
        one: Tax | None = None

    @dataclass(frozen=True)
    class Many:
        one: Tax | None = None
        many: list[Inner] = dataclasses.field(default_factory=list)

    @dataclass(frozen=True)
    class Outer:
        one: Tax | None = None
        many: list[Many] = dataclasses.field(default_factory=list)

    @dataclass(frozen=True)
    class Keyed(Outer):
        by: dict[str, Tax] = dataclasses.field(default_factory=dict)

    for record in (Outer, Keyed)[sent.startswith("by") :]:
        for form in ([*beside, (sent, cell)], urlencode([*beside, (sent, cell)])):
            assert [p.path for p in read_form(shape_of(record), form).problems if p.path != "by.k.rate"] == [sent]


def test_a_required_records_cells_are_no_others():
    @dataclass(frozen=True)
    class Outer:
        one: Tax

    assert [p.path for p in read_form(shape_of(Outer), b"one.rate=1&one.other=2").problems] == ["one.other"]


@pytest.mark.parametrize("name", ["lines[0.cost", "account.id", "lines[x].amount", "lines[0].other"])
def test_it_is_one_though_its_cell_is_blank(name):
    assert invoice((name, "")) == [name]


def test_a_name_is_the_same_however_its_brackets_are_sent():
    body = (
        b"account=A&lines%5b0%5d.taxes[1].rate=1&lines[0].taxes%5B1%5D.name=&lines%5B0%5D.taxes%5b1%5d.name=x&lines[0].amount=2"
    )
    assert [str(each) for each in read_form(INVOICE, body).problems] == [
        'lines[0].taxes[1].name: "x" and "" were both given; give one'
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_a_text_for_the_whole_beside_its_cells_is_a_problem(order):
    assert invoice(("lines", "x")) == ["lines"]
    assert invoice(*[("lines", "x"), ("lines[0].amount", "1")][::order]) == ["lines"]
    assert invoice(*[("lines[0]", "x"), ("lines[0].amount", "1")][::order]) == ["lines[0]"]
    taxes = [("lines[0].taxes", "x"), ("lines[0].taxes[0].rate", "1")][::order]
    assert invoice(("lines[0].amount", "1"), *taxes) == ["lines[0].taxes"]


def test_a_dot_before_the_first_step_is_another_name():
    assert x(ask(str, "none"), (".x", "a")) == "none"
    assert x(ask(dict[str, str]), (".x", "a"), (".x.k", "a")) == {}


def test_a_form_has_at_most_fifty_thousand_fields():
    assert read_form(INVOICE, b"account=A" + b"&x=1" * 49_999).problems == ()
    for form in (b"account=A" + b"&x=1" * 50_000, [("x", "1")] * 50_001):
        assert [str(p) for p in read_form(INVOICE, form).problems] == ["the form has 50,001 fields; send at most 50,000"]


def test_a_query_reads_as_a_form_but_an_absent_boolean_is_its_default():
    @dataclass(frozen=True)
    class Ask:
        text: str = ""
        ticked: bool = True

    shape = shape_of(Ask)
    assert read_query(shape, b"text=a") == Reading(Ask("a", True))
    assert read_query(shape, b"text=a&ticked=0") == Reading(Ask("a", False))
    assert read_form(shape, b"text=a") == Reading(Ask("a", False))


def test_a_query_that_names_no_field_has_not_been_asked_yet():
    assert read_query(INVOICE, b"page=2&sort=") == Reading(None)
    assert read_query(shape_of(Loose), b"") == Reading(Loose())
    assert [str(p) for p in read_query(INVOICE, b"x=1" + b"&x=1" * 50_000).problems] == [
        "the form has 50,001 fields; send at most 50,000"
    ]
    assert [p.path for p in read_query(INVOICE, b"note=a").problems] == ["account"]
    assert [p.path for p in read_query(INVOICE, b"lines[0].amount=x").problems] == ["account", "lines[0].amount"]


@pytest.mark.parametrize(
    "query", ["note=", "note", "lines[0].memo=", "lines%5B0%5D.memo=+", "lines[", "note.x=1", "lines[99999].memo="]
)
def test_a_query_names_a_field_though_it_is_left_blank_or_goes_wrong(query):
    assert "account" in [problem.path for problem in read_query(INVOICE, query).problems]


@pytest.mark.parametrize("query", ["", "&", "=", ".note=1", "notes=1", "x.note=1", "[0]=", "lines%255B0%255D.memo="])
def test_a_query_names_no_field_where_a_name_only_looks_like_one(query):
    assert read_query(INVOICE, query) == read_query(INVOICE, parse_qsl(query, keep_blank_values=True)) == Reading(None)


def test_a_list_of_bounded_texts_is_bounded_in_a_form():
    shape = ask(list[Annotated[str, field(max_length=2)]])
    assert x(shape, ("x[4]", "abc")) == ['x[4]: "abc" has 3 characters; write at most 2']
    assert x(shape, ("x", "a"), ("x", "abc")) == ['x: "abc" has 3 characters; write at most 2']


names = st.sampled_from(
    [
        "account",
        "note",
        "lines",
        "lines[0]",
        "lines[0].amount",
        "lines[1].due",
        "lines[0].taxes[2].rate",
        "lines[0].done",
        "lines[",
        "account.x",
        "lines[0].amount.zone",
        "x",
        "",
        ".",
        "[0]",
        "lines%5B0%5D.amount",
        "lines[99999].memo",
        "lines[].amount",
        "account[]",
    ]
)
values = st.sampled_from(["", " ", "1", "x", "on", "0", "2026-01-01", "\x00", "\ud800", "1,5"]) | st.text(max_size=3)


@given(st.lists(st.tuples(names | st.text(max_size=5), values), max_size=8))
def test_reading_never_raises_on_any_pairs_and_names_each_cell_once(sent):
    reading = read_form(INVOICE, sent)
    paths = [problem.path for problem in reading.problems]
    assert reading.problems or isinstance(reading.record, Invoice)
    assert len(set(paths)) == len(paths)
    assert "".join(map(str, reading.problems)).encode().decode() == "".join(map(str, reading.problems))


@given(st.binary(max_size=80))
def test_reading_never_raises_on_any_bytes(body):
    for reading in (read_form(INVOICE, body), read_query(INVOICE, body)):
        assert isinstance(reading.problems, tuple)
    form_pairs(body)


HOSTILE = {
    "percents": lambda n: b"note=" + b"%" * n,
    "escapes": lambda n: b"account=" + b"%00" * (n // 3),
    "escapes apart": lambda n: b"account=" + b"%00x" * (n // 4),
    "ands": lambda n: b"&" * n,
    "wrong cells": lambda n: b"&".join(b"lines[%d].amount=x" % k for k in range(n // 25)),
    "wrong names": lambda n: b"&".join(b"account.a%d=x" % k for k in range(n // 15)),
    "steps": lambda n: b"lines" + b"[0].taxes" * (n // 9) + b"=1",
    "brackets": lambda n: b"lines" + b"[0]" * (n // 3) + b"=1",
    "dots": lambda n: b"account" + b"." * n + b"=1",
    "many deep rows": lambda n: b"&".join(b"lines[%d].taxes[%d].rate=x" % (k, k) for k in range(n // 30)),
    "one name over and over": lambda n: b"&".join(b"account=%d" % k for k in range(n // 14)),
    "digits": lambda n: b"lines[0].amount=" + b"9" * n,
    "rows past the last": lambda n: b"&".join(b"lines[%d].amount=1" % k for k in range(10_000, 10_000 + n // 25)),
    "blank cells": lambda n: b"&".join(b"lines[%d].x=" % k for k in range(n // 15)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_form_has_its_problems_at_a_cost_in_proportion_to_it(name):
    body = HOSTILE[name](300_000)
    read_form(INVOICE, b"")
    began = clock.process_time()
    read_form(INVOICE, body)
    took = clock.process_time() - began
    tracemalloc.start()
    reading = read_form(INVOICE, body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reading.problems
    assert len(reading.problems) <= 1001
    assert took < 2
    assert peak < 64 * len(body) + 1_000_000

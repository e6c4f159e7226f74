"""A record written: as JSON for an agent, as pairs for a form."""

import uuid
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Context, Decimal, localcontext
from enum import Enum, StrEnum
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pytest

from meridian.records import read_form, read_json, shape_of, write_form, write_json, write_value


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


@dataclass(frozen=True)
class Lot:
    quantity: Decimal
    cost: Decimal | None = None
    acquired: date | None = None


@dataclass(frozen=True)
class Balance:
    account: str
    lots: list[Lot] = field(default_factory=list)
    tags: tuple[str, ...] = ()
    rates: dict[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Everything:
    text: str
    number: Decimal
    count: int
    done: bool
    day: date
    at: datetime
    clock: time
    key: uuid.UUID
    side: Side
    choice: Literal["a", 'b "c"']
    lot: Lot
    sides: tuple[Side, ...]
    lots: list[Lot | None]
    nested: dict[str, list[int]]
    extra: dict[str, Any]
    nothing: Lot | None


EVERYTHING = Everything(
    text='{"ü"}\n',
    number=Decimal("-1.50"),
    count=7,
    done=True,
    day=date(2026, 3, 31),
    at=datetime(2026, 3, 31, 16, 30, tzinfo=timezone(timedelta(hours=2))),
    clock=time(9, 30),
    key=uuid.UUID(int=1),
    side=Side.SELL,
    choice='b "c"',
    lot=Lot(Decimal(1)),
    sides=(Side.BUY, Side.SELL),
    lots=[None, Lot(Decimal(2), Decimal("0.10"), date(2020, 2, 29))],
    nested={"any key": [1, 2], "": []},
    extra={"a": [1.5, None, {"b": "é"}]},
    nothing=None,
)


def test_each_kind_is_written_as_it_reads():
    assert write_value(EVERYTHING) == {
        "text": '{"ü"}\n',
        "number": "-1.50",
        "count": 7,
        "done": True,
        "day": "2026-03-31",
        "at": "2026-03-31T16:30:00+02:00",
        "clock": "09:30:00",
        "key": "00000000-0000-0000-0000-000000000001",
        "side": "sell",
        "choice": 'b "c"',
        "lot": {"quantity": "1", "cost": None, "acquired": None},
        "sides": ["buy", "sell"],
        "lots": [None, {"quantity": "2", "cost": "0.10", "acquired": "2020-02-29"}],
        "nested": {"any key": [1, 2], "": []},
        "extra": {"a": [1.5, None, {"b": "é"}]},
        "nothing": None,
    }
    assert read_json(shape_of(Everything), write_json(EVERYTHING)).record == EVERYTHING


def test_json_is_compact_utf_8_in_the_order_of_the_record():
    assert write_json(Balance("Ü-1", [Lot(Decimal("1.5"))])) == (
        '{"account":"Ü-1","lots":[{"quantity":"1.5","cost":null,"acquired":null}],"tags":[],"rates":{}}'.encode()
    )


def test_a_portable_answer_leaves_out_what_is_none():
    assert write_json(Lot(Decimal(1)), portable=True) == b'{"quantity":"1"}'
    assert write_value(EVERYTHING, portable=True)["lots"] == [{"quantity": "2", "cost": "0.10", "acquired": "2020-02-29"}]
    assert "nothing" not in write_value(EVERYTHING, portable=True)


@dataclass(frozen=True)
class Perhaps:
    first: str | None = None
    second: int | None = None


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (Perhaps(), b"{}"),
        (Perhaps("a"), b'{"first":"a"}'),
        (Perhaps(None, 2), b'{"second":2}'),
        (Perhaps("", 0), b'{"first":"","second":0}'),
    ],
)
def test_a_portable_answer_may_be_empty(record, text):
    assert write_json(record, portable=True) == text


@pytest.mark.parametrize(
    ("number", "written"),
    [("0.0000000", "0.0000000"), ("1E+3", "1000"), ("-1.5E-9", "-0.0000000015"), ("-0", "-0"), ("1E+99", f"1{'0' * 99}")],
)
def test_a_decimal_is_written_without_an_exponent(number, written):
    lot = Lot(Decimal(number))
    assert write_value(lot)["quantity"] == dict(write_form(lot))["quantity"] == written
    assert read_json(shape_of(Lot), write_json(lot)).record == lot


def test_a_decimal_does_not_ask_the_context():
    with localcontext(Context(prec=3, Emax=5, Emin=-5, capitals=0)):
        assert (
            write_json(Lot(Decimal("1E-7"), Decimal("12345.678")))
            == b'{"quantity":"0.0000001","cost":"12345.678","acquired":null}'
        )


@dataclass(frozen=True)
class Moment:
    at: datetime


def test_a_moment_that_utc_has_not_is_blamed_by_its_path():
    with pytest.raises(TypeError, match=r"at: .* is outside the calendar in UTC"):
        write_json(Moment(datetime(1, 1, 1, tzinfo=ZoneInfo("Europe/Paris"))))


def test_lists_in_lists_are_written_however_deep():
    hint: Any = int
    value: Any = 5
    for _ in range(30):
        hint, value = list[hint], [value]
    made = make_dataclass("Deep", [("x", hint)], frozen=True)
    assert read_json(shape_of(made), write_json(made(value))).record == made(value)


def test_records_that_use_each_other_often_are_written_at_once():
    made: Any = Lot
    for n in range(40):
        hint = list[made] if n % 2 else made | None
        made = make_dataclass(f"Lot{n}", [("one", hint), ("two", made | None)], frozen=True)
    assert write_json(made([], None)) == b'{"one":[],"two":null}'


def test_a_moment_whose_offset_has_seconds_is_written_in_utc():
    moment = Moment(datetime(1890, 1, 1, 12, tzinfo=ZoneInfo("Europe/Amsterdam")))
    assert write_value(moment) == {"at": "1890-01-01T11:40:28+00:00"}
    assert read_json(shape_of(Moment), write_json(moment)).record == moment


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Painted:
    colour: Colour
    named: Literal["red", "blue"] = "blue"
    label: str = ""


def test_a_text_that_is_an_enum_is_written_by_its_value():
    assert write_json(Painted(Colour.RED, Colour.RED, Colour.RED)) == b'{"colour":"red","named":"red","label":"red"}'


@dataclass(frozen=True, slots=True)
class Slotted:
    a: int = 1


@dataclass(frozen=True)
class Inherits(Lot):
    note: str = ""


def test_records_with_slots_and_those_that_inherit_are_written_as_their_own_class():
    assert write_json(Slotted()) == b'{"a":1}'
    assert write_json(Lot(Decimal(1))) == b'{"quantity":"1","cost":null,"acquired":null}'
    assert write_json(Inherits(Decimal(1))) == b'{"quantity":"1","cost":null,"acquired":null,"note":""}'


# ── Values that are not what their field declares ──────────────────────────


def lots(*rows: Any) -> Balance:
    return Balance("A-1", list(rows))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (lots(Lot(Decimal(1)), Lot(1.5)), "lots[1].quantity: 1.5 is no Decimal"),
        (lots(Lot('1","cost":"2')), """lots[0].quantity: '1","cost":"2' is no Decimal"""),
        (lots(Lot(Decimal("NaN"))), "lots[0].quantity: Decimal('NaN') is no finite Decimal of at most 100 digits"),
        (lots(Lot(Decimal("1E+100"))), "lots[0].quantity: Decimal('1E+100') is no finite Decimal of at most 100 digits"),
        (lots(Lot(None)), "lots[0].quantity: None is no Decimal"),
        (lots(Lot(Decimal(1), acquired="2026-03-31")), "lots[0].acquired: '2026-03-31' is no date"),
        (lots(Lot(Decimal(1), acquired=datetime(2026, 3, 31, tzinfo=UTC))), "lots[0].acquired: datetime.datetime("),
        (lots("A"), "lots[0]: 'A' is no Lot"),
        (Balance(7), "account: 7 is no text"),
        (Balance("\ud800"), "account: '\\ud800' has half of a surrogate pair, which no UTF-8 can say"),
        (Balance("A", tags="abc"), "tags: 'abc' is no list"),
        (Balance("A", rates=[]), "rates: [] is no dict"),
        (Balance("A", rates={"a b": 1}), 'rates["a b"]: 1 is no Decimal'),
        (Balance("A", rates={1: Decimal(1)}), "rates: 1 is no text"),
        (Moment(datetime(2026, 3, 31)), "at: datetime.datetime(2026, 3, 31, 0, 0) is no datetime with a zone"),  # noqa: DTZ001
        (Painted("green"), "colour: 'green' is no Colour"),
        (Painted(Colour.RED, "green"), "named: 'green' is none of red, blue"),
        (Slotted("1"), "a: '1' is no int"),
    ],
)
def test_a_value_of_another_kind_is_blamed_by_its_path(record, words):
    for write in (write_json, write_value, write_form):
        with pytest.raises(TypeError) as raised:
            write(record)
        assert str(raised.value).startswith(words)


NO_KEY = uuid.UUID(int=0)


@dataclass(frozen=True)
class Others:
    done: bool = False
    clock: time = time(0)
    key: uuid.UUID = NO_KEY
    extra: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Others(done="yes"), "done: 'yes' is neither True nor False"),
        (
            Others(clock=time(0, tzinfo=UTC)),
            "clock: datetime.time(0, 0, tzinfo=datetime.timezone.utc) is no time without a zone",
        ),
        (Others(key="1"), "key: '1' is no UUID"),
        (Others(extra=[]), "extra: [] is no dict"),
        (Others(extra={"a": Decimal(1)}), "extra: {'a': Decimal('1')} is no JSON object (Object of type Decimal"),
        (Others(extra={"a": float("nan")}), "extra: {'a': nan} is no JSON object ("),
    ],
)
def test_so_is_one_of_the_rarer_kinds(record, words):
    with pytest.raises(TypeError) as raised:
        write_json(record)
    assert str(raised.value).startswith(words)


def test_what_is_no_record_is_refused():
    with pytest.raises(TypeError, match=r"int: it is no dataclass; write @dataclass\(frozen=True\) above it"):
        write_json(7)


# ── Forms ──────────────────────────────────────────────────────────────────


def test_a_form_names_each_cell_by_its_path():
    balance = Balance("A-1", [Lot(Decimal("1.5"), None, date(2020, 2, 29)), Lot(Decimal(2))], ("x",), {"a b": Decimal(3)})
    assert write_form(balance) == [
        ("account", "A-1"),
        ("lots[0].quantity", "1.5"),
        ("lots[0].acquired", "2020-02-29"),
        ("lots[1].quantity", "2"),
        ("tags[0]", "x"),
        ('rates["a b"]', "3"),
    ]
    assert read_form(shape_of(Balance), write_form(balance)).record == balance


def test_a_form_says_each_kind_as_its_text():
    assert write_form(Others(done=True, extra={"a": [1, "é"]})) == [
        ("done", "true"),
        ("clock", "00:00:00"),
        ("key", "00000000-0000-0000-0000-000000000000"),
        ("extra", '{"a":[1,"é"]}'),
    ]
    assert write_form(Painted(Colour.RED)) == [("colour", "red"), ("named", "blue"), ("label", "")]


def test_an_unticked_box_is_said_so_that_a_query_says_it_too():
    assert write_form(Others())[0] == ("done", "false")

"""Statements as they are read: exactly, with a note on whatever is not carried over, and without raising for any bytes."""

import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opening_balance.records import MAX_POSITIONS, MAX_STATEMENT, Instrument, Lot, Note, Position, Statement, StatementFile
from opening_balance.statements import read_statements

DATA = Path(__file__).parent / "data"
TWO_ACCOUNTS = (DATA / "two_accounts.ofx").read_bytes()

HEADER = b"""OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:USASCII
CHARSET:1252
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

"""

COSTS = Note("Costs", "A statement gives market values, not what was paid; fill in the costs that you know.")


def statement(positions: str, *, day: str = "20250630", securities: str = "") -> bytes:
    """An SGML statement of these <INVPOS>, without the end tags that SGML may leave out."""
    return HEADER + (
        f"<OFX><INVSTMTMSGSRSV1><INVSTMTTRNRS><INVSTMTRS><DTASOF>{day}<CURDEF>USD"
        "<INVACCTFROM><BROKERID>broker.example<ACCTID>A-1</INVACCTFROM>"
        f"<INVPOSLIST>{positions}</INVPOSLIST></INVSTMTRS></INVSTMTTRNRS></INVSTMTMSGSRSV1>"
        f"<SECLISTMSGSRSV1><SECLIST>{securities}</SECLIST></SECLISTMSGSRSV1></OFX>"
    ).encode("cp1252")


def held(units: str, identifier: str = "SMPL", kind: str = "TICKER", side: str = "LONG") -> str:
    return (
        f"<POSSTOCK><INVPOS><SECID><UNIQUEID>{identifier}<UNIQUEIDTYPE>{kind}</SECID>"
        f"<POSTYPE>{side}<UNITS>{units}</INVPOS></POSSTOCK>"
    )


def named(name: str, identifier: str = "SMPL", kind: str = "TICKER") -> str:
    return f"<STOCKINFO><SECINFO><SECID><UNIQUEID>{identifier}<UNIQUEIDTYPE>{kind}</SECID><SECNAME>{name}</SECINFO></STOCKINFO>"


def read_one(source: bytes | str) -> Statement:
    (found,) = read_statements(source).statements
    return found


def notes_of(source: bytes | str) -> list[tuple[str, bool]]:
    return [(note.message, note.left_out) for note in read_one(source).notes if note != COSTS]


def why_not(source: bytes | str) -> str:
    file = read_statements(source)
    assert file.statements == []
    (note,) = file.notes
    return note.message


def test_a_statement_becomes_positions_with_exact_units_and_the_names_of_its_security_list() -> None:
    assert read_statements(statement(held("17.604312"), securities=named("Sample Works"))) == StatementFile(
        [
            Statement(
                number=1,
                account_number="A-1",
                broker="broker.example",
                as_of=date(2025, 6, 30),
                currency="USD",
                positions=[Position(Instrument("SMPL", "TICKER", "Sample Works"), [Lot(Decimal("17.604312"))])],
                notes=[COSTS],
            )
        ]
    )


def test_every_statement_of_a_file_is_read() -> None:
    file = read_statements(TWO_ACCOUNTS)
    assert [(each.number, each.account_number, each.as_of) for each in file.statements] == [
        (1, "A-1", date(2024, 12, 31)),
        (2, "90-7", date(2024, 12, 31)),
    ]
    assert file.statements[1].positions == [
        Position(Instrument("SMPL", "TICKER", "Société d'exemple écrite"), [Lot(Decimal(-5))]),
        Position(Instrument("MANY", "TICKER", "Sample of many units"), [Lot(Decimal("1.5"))]),
    ]


def test_what_a_statement_does_not_say_exactly_is_said_of_its_position() -> None:
    assert read_statements(TWO_ACCOUNTS).statements[1].notes == [
        Note("Position 1, TICKER SMPL", "It is a short position: -5 is owed, not held. Check that this is meant."),
        Note(
            "Position 2, TICKER ODD",
            'Its units, "0.123456789", have more than 8 decimal places, so it is left out.',
            left_out=True,
        ),
        Note("Position 3, TICKER MANY", 'The comma in its units, "1,5", is read as the decimal mark, as OFX has it.'),
        Note("Position 4, without an identifier", "Nothing identifies it, so it is left out.", left_out=True),
        COSTS,
    ]


def test_the_day_is_the_one_the_statement_writes_whatever_day_it_was_in_greenwich() -> None:
    assert read_one(statement(held("1"), day="20250630233000.000[-5:EST]")).as_of == date(2025, 6, 30)


def test_a_text_reads_as_its_file_does_whatever_charset_the_header_names() -> None:
    in_a_file = statement(held("1"), securities=named("Société & “fils”"))
    assert read_statements(in_a_file.decode("cp1252")) == read_statements(in_a_file)


def test_a_byte_order_mark_is_no_part_of_a_statement() -> None:
    assert read_statements("\ufeff" + TWO_ACCOUNTS.decode()) == read_statements(TWO_ACCOUNTS)
    assert read_statements(b"\xef\xbb\xbf" + TWO_ACCOUNTS) == read_statements(TWO_ACCOUNTS)


def test_an_instrument_listed_twice_is_one_position_with_two_lots() -> None:
    twice = statement(held("102.0") + held("142.2"), securities=named("Sample Works"))
    assert read_one(twice).positions == [
        Position(Instrument("SMPL", "TICKER", "Sample Works"), [Lot(Decimal("102.0")), Lot(Decimal("142.2"))])
    ]
    assert notes_of(twice) == [("The statement lists this instrument more than once; this is a further lot of it.", False)]


def test_a_short_position_is_owed_whether_its_sign_or_its_type_says_so() -> None:
    by_type = read_one(statement(held("5", side="SHORT"), securities=named("Sample Works")))
    by_sign = read_one(statement(held("-5"), securities=named("Sample Works")))
    assert by_type == by_sign
    assert by_sign.positions[0].lots == [Lot(Decimal(-5))]


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ("0.000", "The statement holds none of it any more, so it is left out."),
        ("1e5", 'Its units are "1e5", which is no number, so it is left out.'),
        ("NaN", 'Its units are "NaN", which is no number, so it is left out.'),
        ("1,234.5", 'Its units are "1,234.5", which is no number, so it is left out.'),
        ("9" * 200, f'Its units are "{"9" * 40}…", which is no number, so it is left out.'),
    ],
)
def test_units_that_are_no_holding_leave_the_position_out_and_the_others_in(units: str, message: str) -> None:
    source = statement(held(units) + held("2", "GOOD"), securities=named("Sample Works") + named("Good", "GOOD"))
    assert notes_of(source) == [(message, True)]
    assert [position.instrument.identifier for position in read_one(source).positions] == ["GOOD"]


@pytest.mark.parametrize(("units", "exactly"), [("120.50000000000", "120.5"), ("+.5", "0.5"), ("7.", "7")])
def test_units_are_kept_as_they_are_written(units: str, exactly: str) -> None:
    assert read_one(statement(held(units))).positions[0].lots == [Lot(Decimal(exactly))]


def test_a_security_that_the_list_names_twice_or_never_is_noted() -> None:
    assert notes_of(statement(held("1"), securities=named("One") + named("Other"))) == [
        ('The statement names it "One" and "Other"; the first is used.', False)
    ]
    assert notes_of(statement(held("1"))) == [("The statement's list of securities does not name it; give it a name.", False)]


def test_a_statement_without_a_day_is_not_given_one() -> None:
    assert why_not(statement(held("1"), day="20250230")) == (
        'The day it is of, <DTASOF>, is "20250230", which is no day written YYYYMMDD.'
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"", "No <OFX> was found, so this is not an OFX statement. Ask the broker for the OFX (or QFX) download."),
        (b"%PDF-1.7", "No <OFX> was found, so this is not an OFX statement. Ask the broker for the OFX (or QFX) download."),
        (
            b"<OFX></OFX>",
            "What stands before <OFX> is no OFX header of version 1 or 2, so its encoding is unknown.",
        ),
        (HEADER + b"<OFX></OFX>", "It holds no investment statement; a bank or card statement has no positions to record."),
        (HEADER + b"<OFX><A>", "<A> is opened and never closed, so the file may be cut short."),
        (HEADER + b"<OFX><A><B></A></OFX>", "<B> is closed by </A>; its value or its own end is missing."),
        (HEADER + b"<OFX></OFX></OFX>", "</OFX> closes nothing that is open."),
        (HEADER + b"<OFX></OFX><OFX></OFX>", "Its markup does not nest as OFX does, near <OFX>."),
        (HEADER + b"<OFX>\x81</OFX>", "Its header says that it is written in cp1252, and byte 138 is not."),
        (HEADER + b"<OFX><![CDATA[</OFX>", "<![CDATA[ is opened and never closed."),
        (HEADER + b'<OFX><a href="x">y</a></OFX>', 'It holds markup that OFX does not have: "<a href="x">y</a>".'),
        (b" " * (MAX_STATEMENT + 1), "It is larger than 2,000,000 bytes, the most that is read. Ask for a shorter period."),
        ("é" * (MAX_STATEMENT + 1), "It is larger than 2,000,000 bytes, the most that is read. Ask for a shorter period."),
        (
            HEADER + b"<OFX>" + b"<A>" * 40,
            "It nests deeper than 32 elements, which no statement does.",
        ),
        (HEADER + b"<OFX>" + b"<A>1" * 200_000, "It has more than 200,000 elements. Ask for a shorter period."),
        (
            statement(held("1") * (MAX_POSITIONS + 1)),
            "It has 1,001 positions; at most 1,000 are read into one opening balance.",
        ),
    ],
    ids=lambda value: None if isinstance(value, str) and len(value) < 100 else "source",
)
def test_what_is_no_statement_is_told_in_words(source: bytes | str, message: str) -> None:
    assert why_not(source) == message


XML = b'<?xml version="1.0"?>\n<?OFX OFXHEADER="200" VERSION="211" SECURITY="NONE" OLDFILEUID="NONE" NEWFILEUID="NONE"?>'
BOMB = b'<!DOCTYPE OFX [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/hostname">]>'


def test_no_entity_is_expanded_and_no_file_is_opened() -> None:
    assert why_not(XML + b"<OFX>" + BOMB + b"</OFX>").startswith('It holds markup that OFX does not have: "<!DOCTYPE OFX [')
    assert why_not(XML + BOMB + b"<OFX></OFX>").startswith('Its header holds what no OFX header does: "<!DOCTYPE OFX [')
    source = statement(held("1"), securities=named("&b; &x; &amp;lt; &#38;amp;"))
    assert read_one(source).positions[0].instrument.name == "&b; &x; &lt; &amp;"


@pytest.mark.parametrize(
    "source",
    [
        b"x" + b" " * 1_000_000 + b"<OFX>",
        HEADER + b"<OFX>" + b"<A><![CDATA[x" * 100_000,
        HEADER + b"<OFX>" + b"<!--" * 400_000,
        HEADER + b"<OFX>" + b"<" * 1_900_000,
        HEADER + b"<OFX>" + b"<A" * 900_000,
        HEADER + b"<OFX>" + b"</A>" * 400_000,
        statement(held("1"), securities="".join(named(str(n)) for n in range(10_000))),
        statement("".join(held("1") for _ in range(MAX_POSITIONS))),
    ],
    ids=["header", "cdata", "comments", "angles", "tags", "ends", "names", "lots"],
)
def test_time_grows_with_what_was_sent_and_no_faster(source: bytes) -> None:
    before = perf_counter()
    read_statements(source)
    assert perf_counter() - before < 5


TAGS = st.sampled_from(sorted(set(re.findall(r"[A-Z]+", TWO_ACCOUNTS.decode().partition("<OFX>")[2]))))
SOUP = st.lists(
    st.one_of(
        TAGS.map("<{}>".format),
        TAGS.map("</{}>".format),
        st.sampled_from(
            ["<![CDATA[", "]]>", "<!--", "-->", "&#0;", "&#xD800;", "&#9999999;", "20250630", "-1,5", "\x85", "/>"]
        ),
        st.text(max_size=5),
    ),
    max_size=40,
).map("".join)


def hold(file: StatementFile) -> None:
    """What holds of every reading: it says something, and its positions are ones that the book takes."""
    assert file.statements or file.notes
    for each in file.statements:
        for position in each.positions:
            assert position.instrument.identifier == position.instrument.identifier.strip() != ""
            assert all(lot.quantity.is_finite() and lot.quantity for lot in position.lots)


@settings(deadline=None)
@given(st.binary(max_size=300))
@example(b"\xff\xfe<OFX>")
def test_reading_never_raises_on_any_bytes(source: bytes) -> None:
    hold(read_statements(source))
    hold(read_statements(HEADER + b"<OFX>" + source))


@settings(deadline=None)
@given(SOUP)
def test_reading_never_raises_on_any_markup(soup: str) -> None:
    hold(read_statements(HEADER.decode() + soup))
    hold(read_statements(HEADER + b"<OFX>" + soup.encode("utf-8", "surrogatepass")))


@settings(deadline=None)
@given(st.data())
def test_a_file_cut_or_changed_anywhere_never_raises(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TWO_ACCOUNTS)))
    until = data.draw(st.integers(at, min(len(TWO_ACCOUNTS), at + 40)))
    hold(read_statements(TWO_ACCOUNTS[:at] + data.draw(st.binary(max_size=10)) + TWO_ACCOUNTS[until:]))


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=8).filter(bool))
@example(Decimal("-100000000000000000000.00000001"))
def test_units_read_back_exactly(units: Decimal) -> None:
    assert read_one(statement(held(f"{units:f}"))).positions[0].lots == [Lot(units)]

"""What an opening balance says, and when two say the same."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from meridian.commands import (
    Instrument,
    Lot,
    Position,
    RecordOpeningBalance,
    commands,
    dictionary,
    same_balance,
)
from meridian.records import FieldShape, paths, shape_of

DAY = date(2026, 1, 31)
FUND = Instrument("F-1", name="A fund")
BALANCE = RecordOpeningBalance("A-1", DAY, [Position(FUND, [Lot(Decimal("1.50")), Lot(Decimal(2), Decimal(30), DAY)])])

lots = st.builds(Lot, st.decimals(-100, 100, places=2), st.none() | st.decimals(0, 100, places=2), st.none() | st.just(DAY))
instruments = st.builds(Instrument, st.sampled_from(["F-1", "F-2"]), st.sampled_from(["ISIN", "OTHER"]))
balances = st.builds(
    RecordOpeningBalance,
    st.just("A-1"),
    st.just(DAY),
    st.lists(st.builds(Position, instruments, st.lists(lots, max_size=3)), max_size=3),
)


def test_amounts_are_compared_as_numbers():
    spelled = replace(BALANCE, positions=[Position(FUND, [Lot(Decimal("1.5")), Lot(Decimal("2.00"), Decimal("30.0"), DAY)])])
    assert same_balance(BALANCE, spelled)


def test_the_reason_is_no_part_of_a_balance():
    assert same_balance(BALANCE, replace(BALANCE, reason="Read again."))


@given(balances, st.randoms(use_true_random=False))
def test_rows_in_another_order_say_the_same(balance, random):
    shuffled = [replace(each, lots=random.sample(each.lots, len(each.lots))) for each in balance.positions]
    random.shuffle(shuffled)
    assert same_balance(balance, replace(balance, positions=shuffled))


@given(balances, lots)
def test_one_lot_more_says_something_else(balance, lot):
    more = [*balance.positions, Position(FUND, [lot])]
    assert not same_balance(balance, replace(balance, positions=more))


def test_another_day_account_name_or_cost_is_another_balance():
    others = [
        replace(BALANCE, account="A-2"),
        replace(BALANCE, as_of=date(2026, 2, 1)),
        replace(BALANCE, positions=[replace(BALANCE.positions[0], instrument=replace(FUND, name="The fund"))]),
        replace(BALANCE, positions=[Position(FUND, [Lot(Decimal("1.50")), Lot(Decimal(2), None, DAY)])]),
    ]
    assert [same_balance(BALANCE, other) for other in others] == [False] * 4


def test_every_field_of_every_command_and_answer_has_a_meaning():
    described = [paths(shape_of(each)) for info in commands() for each in (info.record, info.answers)]
    without = [
        path for nodes in described for path, node in nodes.items() if not path.endswith("[]") and "description" not in node
    ]
    assert (without, "positions[].lots[].cost" in described[0]) == ([], True)


def test_the_dictionary_says_what_a_cell_means_by_its_pattern_path():
    entries = dictionary("RecordOpeningBalance")
    cost = entries["positions[].lots[].cost"]
    assert (cost.path, cost.title, cost.meaning) == (
        "positions[].lots[].cost",
        "Cost",
        "What the whole lot cost, in the account's currency; left out where it is not known.",
    )
    assert set(entries) == {
        "account",
        "as_of",
        "positions",
        "positions[].instrument",
        "positions[].instrument.identifier",
        "positions[].instrument.scheme",
        "positions[].instrument.name",
        "positions[].lots",
        "positions[].lots[].quantity",
        "positions[].lots[].cost",
        "positions[].lots[].acquired",
        "reason",
    }
    assert all(isinstance(entry.meaning, str) and entry.meaning for entry in entries.values())


def test_the_dictionary_is_read_from_the_shape():
    shape = next(each.shape for each in commands() if each.name == "RecordOpeningBalance")
    found = shape.at("positions[].lots[].quantity")
    assert isinstance(found, FieldShape)
    assert (found.places, dictionary("RecordOpeningBalance")["positions[].lots[].quantity"].meaning) == (8, found.description)

"""What an agent meets: five tools, each with the record its route declares."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from meridian.testing import PageClient, book
from opening_balance import pages

TWO_ACCOUNTS = (Path(__file__).parent / "data" / "two_accounts.ofx").read_text(encoding="utf-8")

DRAFT: dict[str, Any] = {
    "account": "A-1",
    "as_of": "2024-12-31",
    "reason": "Agreed with the custodian.",
    "positions": [
        {
            "instrument": {"identifier": "999999AA1", "scheme": "CUSIP", "name": "Sample bond fund"},
            "lots": [
                {"quantity": "120.5", "cost": "1205.00", "acquired": "2020-02-29"},
                {"quantity": "30.25", "cost": "310.07"},
            ],
        },
        {"instrument": {"identifier": "SMPL", "scheme": "TICKER"}, "lots": [{"quantity": "-5", "cost": "0"}]},
    ],
}

ACCOUNTS = {"A-1": "Household", "A-2": "Retirement", "A-3": "Foundation"}


@pytest.fixture
def client() -> PageClient:
    """A person who writes A-1 and A-2 and reads A-3."""
    return PageClient(pages, book(accounts=ACCOUNTS), write={"A-1", "A-2"}, read={"A-3"})


def with_lots(*lots: dict[str, str]) -> dict[str, Any]:
    return DRAFT | {"positions": [DRAFT["positions"][0] | {"lots": list(lots)}]}


def test_agents_are_offered_these_and_the_upload_is_kept_from_them_saying_why() -> None:
    assert {tool.name: (tool.reads, tool.levels, tool.roles) for tool in pages.tools} == {
        "read_statement": (True, ("write", "read"), ("operations", "custody")),
        "check_opening_draft": (True, ("write",), ("operations",)),
        "confirm_opening_balance": (False, ("write",), ("operations",)),
        "list_positions_held": (True, ("write", "read"), ("operations", "custody")),
        "list_entries": (True, ("write", "read"), ("operations", "custody")),
    }
    assert "a file the person chooses" in [why for _, why in pages.not_offered]


def test_the_act_can_be_prepared_because_it_says_what_checks_it_and_which_account_it_touches(client: PageClient) -> None:
    tool = client.tool("confirm_opening_balance")
    assert (tool.checked_by, tool.accounts) == ("check_opening_draft", ("account",))


def test_a_draft_is_checked_then_recorded_then_held(client: PageClient) -> None:
    checked = client.call_tool("check_opening_draft", DRAFT)
    assert (checked.outcome, checked.data) == (
        "unchanged",
        {
            "account": "A-1",
            "as_of": "2024-12-31",
            "would": "record",
            "positions": 2,
            "lots": 3,
            "cost": "1515.07",
        },
    )
    made = client.call_tool("confirm_opening_balance", DRAFT)
    assert (made.outcome, made.level) == ("made", "write")
    held = client.call_tool("list_positions_held", {"account": "A-1"})
    assert (held.data["entry_id"], held.data["as_of"]) == (made.data["entry_id"], "2024-12-31")
    assert [each["instrument"]["identifier"] for each in held.data["positions"]] == ["999999AA1", "SMPL"]


def test_the_same_balance_again_changes_nothing_and_another_corrects_it(client: PageClient) -> None:
    made = client.call_tool("confirm_opening_balance", DRAFT)
    assert client.call_tool("check_opening_draft", DRAFT).data["would"] == "change nothing"
    again = client.call_tool("confirm_opening_balance", DRAFT)
    assert (again.outcome, again.data["entry_id"]) == ("unchanged", made.data["entry_id"])
    assert client.call_tool("check_opening_draft", with_lots({"quantity": "1"})).data["would"] == "correct"


def test_a_lot_whose_cost_is_not_known_leaves_no_sum(client: PageClient) -> None:
    assert "cost" not in client.call_tool("check_opening_draft", with_lots({"quantity": "1"})).data


@pytest.mark.parametrize("tool", ["check_opening_draft", "confirm_opening_balance"])
@pytest.mark.parametrize(
    ("draft", "fields"),
    [
        (
            DRAFT | {"account": "A-3"},
            {"account": "you may not write A-3; Positions lists the accounts that you reach"},
        ),
        (DRAFT | {"as_of": "2999-01-01"}, {"as_of": "2999-01-01 has not been yet"}),
        (
            DRAFT | {"positions": [DRAFT["positions"][1], DRAFT["positions"][1]]},
            {"positions[1].instrument.identifier": "SMPL is position 1 already; add its lots there"},
        ),
        (with_lots(), {"positions[0].lots": "a position has at least one lot; add the lot, or remove the position"}),
        (
            with_lots({"quantity": "1"}, {"quantity": "0"}),
            {"positions[0].lots[1].quantity": "a lot of 0 is no lot; write how many units, or remove it"},
        ),
        (
            with_lots({"quantity": "3"}, {"quantity": "-1"}),
            {"positions[0].lots[1].quantity": "the position holds some and owes some; -1 belongs on one side of it"},
        ),
        (
            with_lots({"quantity": "1", "acquired": "2025-01-01"}),
            {"positions[0].lots[0].acquired": "2025-01-01 is after 2024-12-31, the day that the balance is of"},
        ),
    ],
    ids=["account", "future", "twice", "no-lots", "nothing", "both-sides", "acquired"],
)
def test_cells_that_contradict_each_other_are_refused_by_path_and_nothing_is_recorded(
    client: PageClient, tool: str, draft: dict[str, Any], fields: dict[str, str]
) -> None:
    refused = client.call_tool(tool, draft)
    assert (refused.status, refused.outcome, {each["path"]: each["message"] for each in refused.fields}) == (
        422,
        "refused",
        fields,
    )
    assert all(each["entry"]["meaning"] for each in refused.fields)
    assert client.call_tool("list_positions_held", {"account": "A-1"}).data == {"account": "A-1", "positions": []}


def test_cells_that_do_not_read_are_refused_before_the_view_runs(client: PageClient) -> None:
    refused = client.call_tool("confirm_opening_balance", DRAFT | {"reason": "", "positions": [], "as_off": "2024-12-31"})
    assert (refused.outcome, set(refused.paths)) == ("refused", {"reason", "positions", "as_off"})


def test_custody_reads_and_does_not_record() -> None:
    client = PageClient(pages, book(accounts=ACCOUNTS), write={"A-1"}, roles=["custody"])
    assert client.call_tool("list_positions_held", {"account": "A-1"}).outcome == "unchanged"
    assert client.call_tool("confirm_opening_balance", DRAFT).reason == "not_served"


def test_a_statements_text_becomes_positions_that_the_check_takes(client: PageClient) -> None:
    read = client.call_tool("read_statement", {"statement": TWO_ACCOUNTS})
    first, second = read.data["statements"]
    assert (read.outcome, first["account_number"], first["as_of"]) == ("unchanged", "A-1", "2024-12-31")
    assert [note["about"] for note in second["notes"] if note["left_out"]] == [
        "Position 2, TICKER ODD",
        "Position 4, without an identifier",
    ]
    for statement in (first, second):
        draft = {key: statement[key] for key in ("as_of", "positions")} | {"account": "A-2", "reason": "As the statement says."}
        assert client.call_tool("check_opening_draft", draft).outcome == "unchanged"


def test_a_text_that_is_no_statement_is_refused_in_words(client: PageClient) -> None:
    refused = client.call_tool("read_statement", {"statement": "Dear customer"})
    assert (refused.outcome, refused.paths) == ("refused", ["statement"])
    assert refused.fields[0]["message"].startswith("No <OFX> was found")


def test_the_entry_says_who_recorded_it_through_which_client(client: PageClient) -> None:
    made = client.call_tool("confirm_opening_balance", DRAFT)
    assert made.data["delegation_id"]
    assert made.data["client_name"]
    assert date.fromisoformat(made.data["recorded_at"][:10])


def test_entries_say_who_recorded_what_through_which_delegation_and_client(client: PageClient) -> None:
    first = client.call_tool("confirm_opening_balance", DRAFT).data
    second = client.call_tool("confirm_opening_balance", DRAFT | {"account": "A-2"}).data
    listed = client.call_tool("list_entries", {})
    assert (listed.outcome, listed.data) == ("unchanged", {"entries": [second, first]})
    assert {"recorded_by", "display_name", "client_name", "delegation_id", "positions"} <= first.keys()
    assert client.call_tool("list_entries", {"account": "A-1"}).data == {"entries": [first]}


def test_entries_come_a_few_at_a_time_and_say_how_to_go_on(client: PageClient) -> None:
    made = [client.call_tool("confirm_opening_balance", DRAFT | {"as_of": f"2024-12-{day}"}).data for day in (29, 30, 31)]
    page = client.call_tool("list_entries", {"limit": 2}).data
    rest = client.call_tool("list_entries", {"limit": 2, "before": page["next"]}).data
    assert (page["entries"], rest) == ([made[2], made[1]], {"entries": [made[0]]})


def test_entries_of_an_account_that_is_not_reached_are_refused(client: PageClient) -> None:
    stranger = PageClient(pages, book(accounts=ACCOUNTS), read={"A-2"})
    assert stranger.call_tool("list_entries", {"account": "A-1"}).reason == "not_admitted"

"""What is met when an opening balance was prepared: by whom and why, where it differs from the book, and what saves it."""

import meridian
from meridian.testing import PageClient, book
from opening_balance import pages

DRAFT = {
    "account": "A-1",
    "as_of": "2025-06-30",
    "reason": "Statement of June",
    "positions": [{"instrument": {"identifier": "SMPL"}, "lots": [{"quantity": "10", "cost": "1500.25"}]}],
}


def prepared(**said: object) -> meridian.Prepared:
    agent = PageClient(pages, book(accounts=["A-1"]), write={"A-1"}, display_name="Demo writer", client_name="Notes")
    answered = agent.prepare_tool("confirm_opening_balance", DRAFT | said, reason="Two lots had no cost.")
    assert answered.outcome == "prepared"
    return agent.prepared_changes[-1]


def test_the_page_starts_from_what_was_prepared_and_says_by_whom_and_why() -> None:
    kept = book(accounts=["A-1"])
    colleague = PageClient(pages, kept, write={"A-1"}, prepared=prepared())
    page = colleague.get("/opening")
    assert "Prepared by <bdi>Demo writer</bdi>, through <bdi>Notes</bdi>" in page.text
    assert "Two lots had no cost." in page.text
    (form,) = page.forms
    assert (form["account"], form["positions[0].lots[0].cost"]) == ("A-1", "1500.25")
    form["positions[0].lots[0].cost"] = "1500.75"
    assert form.submit().outcome == "made"
    [entry] = kept.entries
    assert (str(entry.positions[0].lots[0].cost), kept.provenance[entry.entry_id].prepared_call_id) == ("1500.75", "PC-1")


def test_it_says_where_that_differs_from_what_the_book_has() -> None:
    kept = book(accounts=["A-1"])
    PageClient(pages, kept, write={"A-1"}).call_tool("confirm_opening_balance", DRAFT)
    same, other = (
        PageClient(pages, kept, write={"A-1"}, prepared=each).get("/opening").text
        for each in (prepared(), prepared(positions=[{"instrument": {"identifier": "SMPL"}, "lots": [{"quantity": "12"}]}]))
    )
    assert ("Where it differs" in same, "Where it differs" in other) == (False, True)
    assert "positions[0].lots[0].quantity" in other


def test_where_a_second_pair_of_eyes_is_needed_it_can_be_prepared_alone() -> None:
    writer = PageClient(pages, book(accounts=["A-1"]), write={"A-1"}, second_pair_of_eyes=["confirm_opening_balance"])
    assert "Record the opening balance</button>" not in writer.get("/opening").text


def test_what_the_check_refuses_is_not_prepared() -> None:
    agent = PageClient(pages, book(accounts=["A-1"]), write={"A-1"})
    refused = agent.prepare_tool("confirm_opening_balance", DRAFT | {"as_of": "2999-01-01"})
    assert (refused.outcome, [each["path"] for each in refused.fields]) == ("refused", ["as_of"])
    assert agent.prepared_changes == []

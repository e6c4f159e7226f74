"""What a person meets: from an uploaded statement to the book, by the forms the pages draw, without scripts."""

import re
from collections.abc import Iterable
from html import unescape
from importlib.resources import files
from pathlib import Path

import pytest

from meridian.testing import Answered, Form, InMemoryBook, PageClient, book
from opening_balance import pages

SAMPLE = files("opening_balance").joinpath("samples", "statement.ofx").read_bytes()
TWO_ACCOUNTS = (Path(__file__).parent / "data" / "two_accounts.ofx").read_bytes()
ACCOUNTS = {"A-1": "Household", "A-2": "Retirement", "A-3": "Foundation"}
DRAFT = {
    "account": "A-2",
    "as_of": "2025-06-30",
    "reason": "By telephone.",
    "positions": [{"instrument": {"identifier": "SMPL"}, "lots": [{"quantity": "1"}]}],
}


@pytest.fixture
def kept() -> InMemoryBook:
    """The book of three accounts."""
    return book(accounts=ACCOUNTS)


@pytest.fixture
def client(kept: InMemoryBook) -> PageClient:
    """A person who writes A-1 and A-2 and reads A-3."""
    return PageClient(pages, kept, write={"A-1", "A-2"}, read={"A-3"}, display_name="Demo writer")


def upload(client: PageClient, content: bytes, *, number: str = "", level: str = "write") -> Answered:
    (form,) = client.forms("/", "read" if level == "read" else "write")
    form["statement"] = ("statement.ofx", content)
    form["number"] = number
    return form.submit()


def form_of(answered: Answered) -> Form[Answered]:
    (form,) = answered.forms
    return form


def filled(form: Form[Answered], names: Iterable[str]) -> dict[str, str]:
    return {name: form[name] for name in names}


def test_an_uploaded_statement_starts_the_form_of_the_opening_balance(client: PageClient) -> None:
    form = form_of(upload(client, SAMPLE))
    started = {
        "account": "A-1",
        "as_of": "2025-06-30",
        "reason": "Statement of broker.example as of 2025-06-30",
        "positions[0].instrument.identifier": "999999AA1",
        "positions[0].instrument.scheme": "CUSIP",
        "positions[0].instrument.name": "Sample bond fund",
        "positions[0].lots[0].quantity": "120.5",
        "positions[0].lots[1].quantity": "30.25",
        "positions[0].lots[1].cost": "",
        "positions[1].instrument.name": "Sample Works & Co, common",
        "positions[2].lots[0].quantity": "812.07",
    }
    assert (form.action.endswith("/opening/confirm"), filled(form, started)) == (True, started)


def test_a_person_uploads_corrects_a_cell_and_records(client: PageClient, kept: InMemoryBook) -> None:
    form = form_of(upload(client, SAMPLE))
    form["positions[0].lots[0].cost"] = "1,500"
    wrong = form.submit()
    assert (wrong.status, wrong.outcome, kept.entries) == (422, "refused", ())
    form = form_of(wrong)
    assert filled(form, ["positions[0].lots[0].cost", "positions[2].lots[0].quantity"]) == {
        "positions[0].lots[0].cost": "1,500",
        "positions[2].lots[0].quantity": "812.07",
    }
    form["positions[0].lots[0].cost"] = "1500"
    made = form.submit()
    assert (made.status, made.outcome) == (303, "made")
    landed = made.follow()
    (entry,) = kept.entries
    assert made.location == f"/positions?account=A-1&entry={entry.entry_id}&outcome=made"
    assert landed.shows("is recorded as entry")
    assert [position.instrument.name for position in entry.positions] == [
        "Sample bond fund",
        "Sample Works & Co, common",
        "Sample cash sweep",
    ]
    provenance = kept.provenance[entry.entry_id]
    assert (provenance.display_name, provenance.client_name, provenance.delegation_id) == ("Demo writer", None, None)


def test_what_a_person_recorded_an_agent_repeats_and_nothing_is_changed(client: PageClient, kept: InMemoryBook) -> None:
    form_of(upload(client, SAMPLE)).submit()
    statement = client.call_tool("read_statement", {"statement": SAMPLE.decode()}).data["statements"][0]
    draft = {key: statement[key] for key in ("as_of", "positions")} | {"account": "A-1", "reason": "As on the statement."}
    assert client.call_tool("confirm_opening_balance", draft).outcome == "unchanged"
    assert len(kept.entries) == 1


def test_sending_the_form_again_says_that_nothing_was_changed(client: PageClient, kept: InMemoryBook) -> None:
    form = form_of(upload(client, SAMPLE))
    form.submit()
    again = form.submit()
    assert (again.outcome, again.follow().shows("Nothing was changed")) == ("unchanged", True)
    assert len(kept.entries) == 1


def test_a_cell_that_contradicts_another_is_blamed_on_the_form_with_everything_still_in_it(client: PageClient) -> None:
    form = form_of(upload(client, SAMPLE))
    form["positions[1].lots[0].acquired"] = "2025-07-01"
    refused = form.submit()
    assert (refused.status, refused.outcome) == (422, "refused")
    assert refused.shows("2025-07-01 is after 2025-06-30, the day that the balance is of")
    assert form_of(refused)["positions[1].lots[0].acquired"] == "2025-07-01"


def test_a_balance_may_be_written_by_hand(client: PageClient, kept: InMemoryBook) -> None:
    (form,) = client.forms("/opening")
    form.fill(
        {
            "account": "A-2",
            "as_of": "2025-06-30",
            "reason": "By telephone.",
            "positions[0].instrument.identifier": "SMPL",
            "positions[0].lots[0].quantity": "1",
        }
    )
    assert form.submit().outcome == "made"
    assert [entry.account for entry in kept.entries] == ["A-2"]


def test_a_statement_of_an_account_that_is_none_here_leaves_the_account_to_the_person(client: PageClient) -> None:
    started = upload(client, TWO_ACCOUNTS, number="2")
    assert form_of(started)["account"] == ""
    assert started.shows("is no account that you may write here")


def test_what_was_left_out_is_said_on_the_page(client: PageClient) -> None:
    assert upload(client, TWO_ACCOUNTS, number="2").shows(
        'Its units, "0.123456789", have more than 8 decimal places, so it is left out.'
    )


def test_what_was_left_out_stays_beside_the_form_for_as_long_as_it_is_drawn_again(client: PageClient) -> None:
    form = form_of(upload(client, TWO_ACCOUNTS, number="2"))
    form["account"] = "A-1"
    for cost in ("1,500", "1 500"):
        form["positions[0].lots[0].cost"] = cost
        again = form.submit()
        assert (again.status, again.shows("The file holds 2 statements, and this is number 2.")) == (422, True)
        assert again.shows('Its units, "0.123456789", have more than 8 decimal places, so it is left out.')
        form = form_of(again)


def test_a_link_cannot_say_what_a_form_was_started_from(client: PageClient) -> None:
    page = client.get("/opening?statements=1&broker=Anyone&notes[0].about=You&notes[0].message=Pay+at+once", "write")
    assert (page.status, page.shows("Pay at once")) == (200, False)


def test_entries_say_of_each_who_recorded_it_through_what(client: PageClient) -> None:
    form_of(upload(client, SAMPLE)).submit()
    client.call_tool("confirm_opening_balance", DRAFT)
    page = client.get("/entries")
    assert [page.shows(each) for each in ("E-1", "a browser", "E-2", "By telephone.", "999999AA1")] == [True] * 5
    (of_one,) = re.findall(r'href="[^"]*(/entries[^"]*)">A-2', page.text)
    assert [client.get(unescape(of_one)).shows(each) for each in ("E-2", "E-1")] == [True, False]


def test_whoever_reaches_many_accounts_types_the_one_whose_entries_they_want() -> None:
    many = {f"A-{n}": "" for n in range(1, 20)}
    client = PageClient(pages, book(accounts=many), write=set(many))
    client.call_tool("confirm_opening_balance", DRAFT)
    (form,) = client.forms("/entries", "write")
    form["account"] = "A-2"
    assert form.submit().shows("E-1")


def test_older_entries_are_a_link_away(client: PageClient) -> None:
    for day in (29, 30, 31):
        client.call_tool("confirm_opening_balance", DRAFT | {"as_of": f"2025-01-{day}"})
    page = client.get("/entries?limit=2")
    assert [page.shows(each) for each in ("E-3", "E-2", "E-1")] == [True, True, False]
    (older,) = re.findall(r'href="[^"]*(/entries[^"]*)">Older', page.text)
    assert [client.get(unescape(older)).shows(each) for each in ("E-1", "E-2", "Latest")] == [True, False, True]


def test_a_file_of_several_statements_starts_from_the_one_that_is_chosen(client: PageClient) -> None:
    first = upload(client, TWO_ACCOUNTS)
    assert first.shows("The file holds 2 statements, and this is number 1.")
    assert form_of(first)["positions[0].instrument.name"] == "Sample <green> bonds & more"
    assert form_of(upload(client, TWO_ACCOUNTS, number="2"))["positions[0].instrument.identifier"] == "SMPL"


@pytest.mark.parametrize(
    ("content", "number", "message"),
    [
        (None, "", "choose the OFX or QFX file that your broker lets you download"),
        (b"%PDF-1.7", "", "No <OFX> was found, so this is not an OFX statement."),
        (TWO_ACCOUNTS, "3", "what was read of this file is numbered 1, 2"),
        (TWO_ACCOUNTS, "0", "0"),
    ],
    ids=["nothing", "pdf", "no-such", "number"],
)
def test_an_upload_that_cannot_be_read_is_told_on_the_page_it_was_chosen_on(
    client: PageClient, content: bytes | None, number: str, message: str
) -> None:
    (form,) = client.forms("/")
    if content is not None:
        form["statement"] = ("statement.ofx", content)
    form["number"] = number
    refused = form.submit()
    assert (refused.status, refused.shows(message), len(refused.forms)) == (422, True, 1)


def test_a_reader_sees_what_a_statement_says_and_is_offered_no_form(kept: InMemoryBook) -> None:
    reader = PageClient(pages, kept, read={"A-1"})
    seen = upload(reader, SAMPLE, level="read")
    assert (seen.status, seen.forms, seen.shows("Sample bond fund")) == (200, [], True)


def test_custody_is_offered_no_form_either_and_cannot_post_it(kept: InMemoryBook) -> None:
    custody = PageClient(pages, kept, write={"A-1"}, roles=["custody"])
    drawn = upload(custody, SAMPLE)
    assert (drawn.forms, "takes write on operations, which you" in drawn.text) == ([], True)
    assert custody.post("/opening/confirm", "write", {"account": "A-1"}).status == 403


def test_positions_lists_the_accounts_one_reaches_then_what_an_account_holds(client: PageClient) -> None:
    listed = client.get("/positions")
    assert [listed.shows(name) for name in ACCOUNTS.values()] == [True, True, True]
    assert listed.shows("/positions?account=A-3")
    assert client.get("/positions?account=A-3").shows("No opening balance is recorded for this account.")


def test_positions_of_an_account_says_who_recorded_it_through_what(client: PageClient, kept: InMemoryBook) -> None:
    form_of(upload(client, SAMPLE)).submit()
    page = client.get("/positions?account=A-1")
    assert [page.shows(each) for each in ("Sample bond fund", "Demo writer", "Statement of broker.example")] == [True] * 3


def test_an_account_that_one_does_not_reach_is_not_shown(kept: InMemoryBook) -> None:
    stranger = PageClient(pages, kept, read={"A-2"})
    assert stranger.get("/positions?account=A-1").status == 422
    assert stranger.call_tool("list_positions_held", {"account": "A-1"}).reason == "not_admitted"


def test_a_link_cannot_claim_an_entry_that_the_book_does_not_have(client: PageClient) -> None:
    assert not client.get("/positions?account=A-1&entry=E-99&outcome=made").shows("is recorded as entry")


def test_the_sample_is_there_to_be_saved(client: PageClient) -> None:
    saved = client.get("/sample", "read")
    assert (saved.status, saved.content) == (200, SAMPLE)
    assert saved.headers["content-disposition"] == "attachment; filename=sample.ofx"


def test_every_page_opens_and_every_input_is_a_path_of_its_routes_record(client: PageClient) -> None:
    assert [(page.path, page.status) for page in client.every_page() if page.status != 200] == []
    client.assert_inputs_are_paths()


def test_what_an_admin_sees_holds_no_accounts_data(client: PageClient) -> None:
    form_of(upload(client, SAMPLE)).submit()
    client.assert_no_account_data("A-1", "Household", "Sample bond fund", "120.5")

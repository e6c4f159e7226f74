"""The consent page: on a fresh sign-in always, and what is granted is what it showed."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from sqlalchemy import delete

from deployment.running.asking import Asking, answer, hidden, sign_in
from meridian.deployment import access, delegations, identity
from meridian.deployment.access import AccessRow
from meridian.deployment.store.tables import delegation_acts

WRITE = AccessRow("desk", "operations", "write")


@pytest.fixture
def asking(running):
    made = Asking(running)
    made.register()
    return made


def lent(running, asking, subject="demo-writer"):
    """What stands of what the person lent the client."""
    return [each for each in delegations.held_by(running.deployment.store, subject) if each.client == asking.client_id]


def test_who_is_signed_in_signs_in_anew_and_who_did_since_need_not(asking, running):
    browser = running.browser("demo-writer")
    at = asking.ask(browser).headers["location"]
    to = browser.get(at)
    assert (to.status_code, to.headers["location"].partition("?")[0]) == (303, "/sign-in")
    form = browser.get(to.headers["location"])
    assert (form.status_code, "Password" in form.text) == (200, True)
    sign_in(running, browser, "demo-writer")
    assert browser.get(at).status_code == 200
    again = asking.ask(browser).headers["location"]
    assert browser.get(again).status_code == 303


def test_signing_in_by_name_leads_back_to_the_page(asking, running, form_token):
    identity.set_password(running.deployment.store, "demo-writer", "correct horse battery")
    browser = running.browser()
    at = asking.ask(browser).headers["location"]
    form = browser.get(browser.get(at).headers["location"])
    said = {"csrf": form_token(form.text), "sign_in_name": "demo-writer", "password": "correct horse battery", "next": at}
    assert f'value="{at}"' in form.text
    assert browser.post("/sign-in", data=said).headers["location"] == at
    assert browser.get(at).status_code == 200


def test_an_answer_too_is_taken_on_a_fresh_sign_in_alone(asking, running):
    browser, page = asking.page()
    browser.cookies.delete("meridian")
    assert answer(browser, page).headers["location"].startswith("/sign-in?")
    assert lent(running, asking) == []


def test_what_is_granted_is_the_signed_in_person_s_whose_page_it_was(asking, running):
    browser, page = asking.page("demo-writer")
    sign_in(running, browser, "demo-reader")
    assert answer(browser, page).status_code == 409
    assert (lent(running, asking), lent(running, asking, "demo-reader")) == ([], [])


def test_the_page_lists_what_each_row_reaches_reads_and_acts_apart(asking):
    _, page = asking.page()
    lists = page.text.partition('<fieldset class="lend')[2].partition("</fieldset>")[0]
    acts, reads = lists.partition('<p class="kind">Acts</p>')[2].split('<p class="kind">Reads</p>')
    assert "desk__confirm" in acts
    assert "Confirm the account&#39;s lines, as read." in acts
    assert "desk__list_open" not in acts
    assert "desk__list_open" in reads


def test_what_is_ticked_is_lent_with_the_acts_that_were_shown(asking, running):
    browser, page = asking.page()
    answer(browser, page, days="7")
    [made] = lent(running, asking)
    assert (made.rows, made.covers.everything, made.expires_at - made.made_at) == ((WRITE,), False, timedelta(days=7))
    assert ("desk", "confirm") in made.covers.acts
    assert ("desk", "list_open") not in made.covers.acts


def test_everything_is_lent_as_that_changes(asking, running):
    asking.connect(covers="everything", rows=())
    [made] = lent(running, asking)
    assert (made.covers.everything, made.rows) == (True, ())
    assert "desk__confirm" in asking.tools()
    for permission in access.every_permission(running.deployment.store):
        if not permission.built_in:
            access.withdraw(running.deployment.store, permission.id)
    assert asking.tools() == []


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"rows": ()}, "tick at least one row"),
        ({"days": "8"}, "is not among the choices"),
        ({"covers": "all"}, "is not among the choices"),
        ({"rows": ["admin desk operations"]}, "tick rows that stand here"),
        ({"rows": ["write desk custody"]}, "tick rows that stand here"),
    ],
)
def test_an_answer_that_does_not_do_is_asked_again_and_nothing_is_lent(asking, running, said, words):
    browser, page = asking.page()
    again = answer(browser, page, **said)
    assert (again.status_code, words in again.text, "<title>Error:" in again.text) == (422, True, True)
    assert lent(running, asking) == []


def test_an_answer_that_is_not_utf_8_is_no_yes(asking, running):
    browser, page = asking.page()
    said = urlencode({**hidden(page), "decision": "allow", "rows": "write desk operations"}) + "&rows=%ff"
    again = browser.post("/oauth/consent", content=said, headers={"content-type": "application/x-www-form-urlencoded"})
    assert again.status_code == 422
    assert lent(running, asking) == []


def test_where_what_was_shown_has_changed_it_is_shown_once_more(asking, running):
    browser, page = asking.page()
    for permission in access.every_permission(running.deployment.store):
        if not permission.built_in:
            access.withdraw(running.deployment.store, permission.id)
    for said in ({}, {"covers": "everything"}):
        again = answer(browser, page, **said)
        assert (again.status_code, "has changed since this page was drawn" in again.text) == (409, True)
    assert lent(running, asking) == []
    assert answer(browser, again, covers="everything").status_code == 303


def test_a_digest_of_another_page_is_none_of_this_one(asking, running):
    browser, page = asking.page()
    assert answer(browser, page, shown="0" * 64).status_code == 409
    again = answer(browser, page, shown="0" * 64, rows=("read desk operations",))
    assert 'value="read desk operations" checked' in again.text
    assert answer(browser, again).status_code == 303


def test_an_answer_is_given_once(asking, running):
    browser, page = asking.page()
    assert answer(browser, page).status_code == 303
    for decision in ("allow", "deny"):
        again = answer(browser, page, decision)
        assert (again.status_code, "location" in again.headers) == (400, False)
    assert len(lent(running, asking)) == 1


def test_what_waited_too_long_is_answered_no_more(asking, running):
    browser, page = asking.page()
    running.clock.moved = timedelta(minutes=30)
    assert answer(browser, page).status_code == 400


def test_coming_back_shows_what_was_lent_and_what_is_new_since(asking, running):
    browser, page = asking.page()
    answer(browser, page)
    with running.deployment.store.write() as connection:
        connection.execute(delete(delegation_acts).where(delegation_acts.c.tool == "confirm"))
    [narrow] = lent(running, asking)
    assert narrow.awaits_consent(("desk", "confirm"))
    browser, page = asking.page()
    assert 'value="write desk operations" checked' in page.text
    assert "A tool that acts is new since: <code>desk__confirm</code>" in page.text
    assert page.text.count("new since you last allowed it") == 1
    answer(browser, page)
    [whole] = lent(running, asking)
    assert (whole.id, whole.awaits_consent(("desk", "confirm"))) == (narrow.id, False)


def test_a_tool_that_only_read_when_it_was_allowed_is_new_once_it_acts(asking, running):
    """An act is one that was shown as an act."""
    asking.connect()
    [made] = lent(running, asking)
    assert made.awaits_consent(("desk", "list_open"))


def test_a_client_that_nobody_vouches_for_is_shown_with_its_letters_and_its_host(asking, running):
    asking.register(client_name='<b>Bank</b> "x" \u202egnp')
    _, page = asking.page()
    assert "&lt;b&gt;Bank&lt;/b&gt; &#34;x&#34; [U+202E]gnp" in page.text
    assert "<b>Bank" not in page.text
    assert "Nobody has verified that the client is what it calls itself." in page.text
    assert "<code>127.0.0.1:51515</code>, a program on this computer" in page.text


def test_it_is_warned_of_an_app_s_scheme_and_not_of_a_host_that_describes_itself(running):
    app = Asking(running, redirect_uri="com.example.notes:/callback")
    app.register()
    _, page = app.page()
    assert "<code>com.example.notes:</code>, whichever app has that scheme" in page.text
    assert "which any app on this device can claim" in page.text


def test_with_two_windows_of_one_client_the_first_goes_on(asking, running):
    first = asking.connect().access_token
    second = asking.connect().access_token
    assert first != second
    assert asking.tools(first) == asking.tools(second)
    assert len(lent(running, asking)) == 1

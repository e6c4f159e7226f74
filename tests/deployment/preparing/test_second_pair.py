"""A second pair of eyes: whoever it is asked from prepares, and somebody else makes it, as it was prepared."""

import json
import re

import httpx2
import pytest

from deployment.preparing.conftest import BALANCE, COLLEAGUE, inputs
from meridian.deployment import allowing
from meridian.records import read_json, shape_of, write_form
from opening_balance.records import Draft

CONFIRM = "/operations/open/opening/confirm"


@pytest.fixture
def asked_from(running):
    """Say from whom the act needs a second pair of eyes."""

    def ask(*subjects: str) -> None:
        allowing.name_second_pair(
            running.deployment.store, "operations", "confirm_opening_balance", subjects, by="demo-admin", now=running.clock()
        )

    return ask


def balance(**said: str) -> dict[str, str]:
    """The form of a balance, as a browser sends it."""
    draft = read_json(shape_of(Draft), json.dumps(BALANCE)).record
    return {**dict(write_form(draft)), "meridian.page": "/opening", **said}


def send(browser: httpx2.Client, at: str = "/operations/open/opening", **said: str) -> httpx2.Response:
    page = browser.get(at)
    assert page.status_code == 200, page.text
    return browser.post(CONFIRM, data=balance(csrf=inputs(page.text)["csrf"], **said))


def prepared(answer: httpx2.Response) -> str:
    found = re.search(r"PC-[\w-]+", answer.text)
    assert found, answer.text
    return found[0]


def opened(change: str) -> str:
    return f"/operations/open/opening?meridian.prepared={change}"


def entries(running) -> list[tuple[str, str | None]]:
    with running.deployment.store.read() as connection:
        return [tuple(row) for row in connection.exec_driver_sql("select subject, prepared_call from entries").all()]


def test_the_page_offers_prepare_alone_and_a_direct_make_is_refused_whatever_the_page_draws(running, asked_from):
    writer = running.browser("demo-writer")
    before = writer.get("/operations/open/opening").text
    asked_from("demo-writer")
    page, direct = writer.get("/operations/open/opening").text, send(writer)
    assert ("Record the opening balance</button>" in before, "Record the opening balance</button>" in page) == (True, False)
    assert (">Prepare</button>" in page, direct.status_code, entries(running)) == (True, 403, [])
    assert "This needs a second pair of eyes" in direct.text


def test_a_colleague_makes_what_one_prepared_and_nobody_their_own(running, asked_from):
    asked_from("")
    writer, colleague = running.browser("demo-writer"), running.browser(COLLEAGUE)
    change = prepared(send(writer, prepare="1"))
    own = send(writer, opened(change))
    made = send(colleague, opened(change))
    assert (own.status_code, made.status_code, entries(running)) == (403, 303, [(COLLEAGUE, change)])
    assert "Record the opening balance</button>" not in writer.get("/operations/open/opening").text


def test_who_alters_what_another_prepared_prepares_it_anew(running, asked_from):
    asked_from("")
    writer, colleague = running.browser("demo-writer"), running.browser(COLLEAGUE)
    change = prepared(send(writer, prepare="1"))
    altered = send(colleague, opened(change), **{"positions[0].lots[0].quantity": "11"})
    assert (altered.status_code, entries(running)) == (403, [])
    assert "You altered what somebody else prepared" in altered.text
    again = prepared(send(colleague, opened(change), prepare="1", **{"positions[0].lots[0].quantity": "11"}))
    both = [send(each, opened(change), **{"positions[0].lots[0].quantity": "11"}).status_code for each in (writer, colleague)]
    assert (again, both, entries(running)) == (change, [403, 403], [])


def test_from_whom_it_is_not_asked_makes_what_they_like(running, asked_from):
    asked_from(COLLEAGUE)
    assert (send(running.browser("demo-writer")).status_code, entries(running)) == (303, [("demo-writer", None)])


def test_an_admin_of_the_plugin_says_so_on_its_page_and_nobody_else(running, form_token):
    def say(browser: httpx2.Client) -> int:
        token = form_token(browser.get("/dashboard/open/clients").text)
        chosen = {"instance": "operations", "tool": "confirm_opening_balance", "everybody": "1", "csrf": token}
        return browser.post("/dashboard/open/acts/second-pair", data=chosen).status_code

    writer, admin = running.browser("demo-writer"), running.browser("demo-admin")
    assert (say(writer), say(admin)) == (422, 303)
    assert allowing.second_pairs_of(running.deployment.store, "operations") == {"confirm_opening_balance": ("",)}
    assert "everybody" in admin.get("/dashboard/open/acts", params={"instance": "operations"}).text

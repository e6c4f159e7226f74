"""An agent prepares and a person makes; and how far it may go, by whoever has a say in that."""

import json
import re

import pytest

from deployment.preparing.conftest import BALANCE, COLLEAGUE, inputs
from deployment.running.serving import TO_LOOK
from meridian.deployment import access, allowing, delegations
from meridian.deployment.access import AccessRow
from meridian.records import read_json, shape_of, write_form
from opening_balance.records import Draft

pytestmark = pytest.mark.anyio

ACT = "operations__confirm_opening_balance"
ROW = AccessRow("operations", "operations", "write")
FORM = {**dict(write_form(read_json(shape_of(Draft), json.dumps(BALANCE)).record)), "meridian.page": "/opening"}
SEVEN = [
    "dashboard__amend_prepared_change",
    "dashboard__count_prepared_changes",
    "dashboard__list_prepared_changes",
    "dashboard__prepare_change",
    "dashboard__read_prepared_change",
    "dashboard__recheck_prepared_change",
    "dashboard__withdraw_prepared_change",
]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def store(running):
    return running.deployment.store


@pytest.fixture
def only_prepares(running, store):
    """A client of the writer's that was lent its row to prepare only."""
    _, token = delegations.make_by_hand(store, "demo-writer", "Notes", [ROW], 7, now=running.clock(), prepares=frozenset({ROW}))
    return token


async def call(running, tool, arguments, token=None, subject="demo-writer"):
    async with running.client(subject, token=token) as client:
        return (await client.call_tool(tool, arguments)).structured_content


async def prepare(running, token=None, reason="as the statement has it", **said):
    arguments = {"tool": ACT, "arguments": {**BALANCE, **said}, "reason": reason}
    return await call(running, "dashboard__prepare_change", arguments, token)


async def amend(running, change, **said):
    arguments = {"change": change, "revision": 1, "arguments": {**BALANCE, **said}, "reason": ""}
    return await call(running, "dashboard__amend_prepared_change", arguments)


async def listed(running, token=None, subject="demo-writer"):
    async with running.client(subject, token=token) as client:
        return {tool.name: tool.description for tool in (await client.list_tools()).tools}


def opened(running, change, subject=COLLEAGUE):
    """That person's browser, and the change's page in it."""
    browser = running.browser(subject)
    return browser, browser.get("/operations/open/opening", params={"meridian.prepared": change})


def save(browser, page, **said):
    """The page's form, saved with what is said otherwise."""
    form = {**FORM, "csrf": inputs(page.text)["csrf"], **said}
    return browser.post("/operations/open/opening/confirm", data=form)


async def test_an_agent_prepares_a_person_alters_and_makes_and_the_agent_reads_what_was_made(running, store, only_prepares):
    refused = await call(running, ACT, BALANCE, only_prepares)
    assert (refused["outcome"], refused["reason"]) == ("refused", "prepare_only")
    assert "dashboard__prepare_change" in refused["detail"]
    prepared = await prepare(running, only_prepares)
    assert prepared["outcome"] == "prepared"
    change = prepared["prepared_call_id"]
    assert re.search(r"It waits until \d{4}-\d\d-\d\d for somebody who may make it", prepared["detail"])
    assert save(*opened(running, change), **{"positions[0].lots[0].quantity": "11"}).status_code == 303
    read = (await call(running, "dashboard__read_prepared_change", {"change": change}, only_prepares))["data"]
    assert (read["change"]["state"], read["change"]["settled_by"]) == ("changed", "Demo colleague")
    assert read["made_with"]["positions"][0]["lots"][0]["quantity"] == "11"
    with store.read() as connection:
        [row] = connection.exec_driver_sql("select subject, prepared_call from entries").all()
    assert tuple(row) == (COLLEAGUE, change)


async def test_what_the_check_refuses_is_not_kept_and_is_told_by_the_paths_of_the_arguments(running):
    refused = await prepare(running, account="A-3", as_of="2999-01-01")
    assert (refused["outcome"], [each["path"] for each in refused["fields"]]) == (
        "refused",
        ["arguments.account", "arguments.as_of"],
    )
    unread = await prepare(running, as_of="yesterday")
    assert [each["path"] for each in unread["fields"]] == ["arguments.as_of"]
    counted = await call(running, "dashboard__count_prepared_changes", {})
    assert counted["data"] == {"for_you": 0, "yours": 0, "unread": 0}


async def test_the_same_prepared_twice_while_it_waits_is_one(running):
    """R77."""
    first, second = await prepare(running), await prepare(running, reason="again")
    assert first["prepared_call_id"] == second["prepared_call_id"]
    assert "waits already" in second["detail"]


async def test_an_amended_change_is_not_made_from_the_page_of_before(running):
    """R78: what the page showed is made, or it is refused as changed since."""
    change = (await prepare(running))["prepared_call_id"]
    browser, page = opened(running, change)
    assert (await amend(running, change, reason="820,000 instead"))["data"]["revision"] == 2
    sent = save(browser, page)
    assert (sent.status_code, "It was changed since" in sent.text) == (409, True)
    assert (await amend(running, change))["reason"] == "changed_since"


async def test_who_lost_access_in_between_makes_nothing_and_the_change_waits_on(running, store):
    """R78."""
    change = (await prepare(running))["prepared_call_id"]
    browser, page = opened(running, change)
    access.leave(store, "demo-writers", COLLEAGUE)
    sent = save(browser, page)
    read = await call(running, "dashboard__read_prepared_change", {"change": change})
    assert (sent.status_code, read["data"]["change"]["state"]) == (403, "prepared")


async def test_a_withdrawn_change_is_made_by_nobody(running):
    change = (await prepare(running))["prepared_call_id"]
    withdrawn = await call(running, "dashboard__withdraw_prepared_change", {"change": change, "reason": "a mistake"})
    assert withdrawn["outcome"] == "made"
    _, page = opened(running, change)
    assert (page.status_code, "It was withdrawn by Demo writer" in page.text) == (409, True)


async def test_who_reaches_nothing_there_sees_none_of_it(running):
    change = (await prepare(running))["prepared_call_id"]
    for subject in ("demo-reader", "demo-custody"):
        read = await call(running, "dashboard__read_prepared_change", {"change": change}, subject=subject)
        found = await call(running, "dashboard__list_prepared_changes", {}, subject=subject)
        assert (read["reason"], found["data"]["changes"]) == ("unknown", [])


SAYS = [
    ("the deployment", "prepare"),
    ("the deployment", "may_not"),
    ("the plugin's admin", "prepare"),
    ("the plugin's admin", "may_not"),
    ("the access group", "prepare"),
    ("the access group", "may_not"),
    ("the delegation", "prepare"),
]


@pytest.mark.parametrize(("says", "how"), SAYS)
async def test_the_strictest_who_has_a_say_decides_how_far_an_agent_goes(running, store, says, how):
    token, now, act = None, running.clock(), ("operations", "confirm_opening_balance")
    match says:
        case "the deployment":
            allowing.name_limit(store, "deployment", *act, how, by="demo-admin", now=now)
        case "the plugin's admin":
            allowing.name_limit(store, "plugin", *act, how, by="demo-admin", now=now)
        case "the access group":
            group = next(each for each in access.every_access_group(store) if each.name == "Demo writer access")
            access.name_how_far(store, group.id, ROW, how)
        case "the delegation":
            _, token = delegations.make_by_hand(store, "demo-writer", "Notes", [ROW], 7, now=now, prepares=frozenset({ROW}))
    tools = await listed(running, token)
    direct = await call(running, ACT, BALANCE, token)
    kept = await prepare(running, token)
    if how == "prepare":
        assert (tools[ACT][:13], direct["reason"], kept["outcome"]) == ("Prepare only:", "prepare_only", "prepared")
    else:
        assert (ACT in tools, direct["reason"], kept["reason"]) == (False, "may_not", "may_not")
    assert "operations__check_opening_draft" in tools
    assert running.browser("demo-writer").get("/operations/open/opening").status_code == 200


async def test_make_on_one_account_and_prepare_on_another_are_not_make_on_both(running, store):
    group = next(each for each in access.every_access_group(store) if each.name == "Demo writer access")
    access.name_how_far(store, group.id, ROW, "prepare")
    alone, making = access.add_group(store, "account", "One alone"), access.add_group(store, "access", "Making")
    access.add_to_account_group(store, alone, "A-2")
    access.add_to_access_group(store, making, ROW)
    access.grant(store, "demo-writers", alone, making)
    made = await call(running, ACT, {**BALANCE, "account": "A-2"})
    refused = await call(running, ACT, BALANCE)
    assert (made["outcome"], refused["outcome"], refused["fields"][0]["path"]) == ("made", "refused", "account")
    assert (await prepare(running))["outcome"] == "prepared"


async def test_a_second_pair_of_eyes_is_asked_of_an_agent_s_person_too(running, store):
    allowing.name_second_pair(
        store, "operations", "confirm_opening_balance", ["demo-writer"], by="demo-admin", now=running.clock()
    )
    direct = await call(running, ACT, BALANCE)
    change = (await prepare(running))["prepared_call_id"]
    own, other = save(*opened(running, change, "demo-writer")), save(*opened(running, change))
    assert (direct["reason"], own.status_code, other.status_code) == ("second_pair_of_eyes", 403, 303)


async def test_the_dashboard_s_tools_are_those_that_look_and_the_seven(running):
    tools = await listed(running)
    assert [each for each in tools if each.startswith("dashboard__")] == TO_LOOK
    assert sorted(each for each in tools if "prepare" in each) == SEVEN


async def test_each_client_and_the_page_have_a_place_of_their_own_in_what_is_new(running):
    change = (await prepare(running))["prepared_call_id"]
    assert save(*opened(running, change)).status_code == 303

    async def news() -> list[str]:
        return [each["what"] for each in (await call(running, "dashboard__list_prepared_changes", {}))["data"]["news"]]

    count = (await call(running, "dashboard__count_prepared_changes", {}))["data"]["unread"]
    assert (count, await news(), await news()) == (1, ["made"], [])
    page = running.browser("demo-writer").get("/dashboard/view/inbox").text
    assert "New since you were last here" in page


async def test_the_home_page_says_how_many_wait_for_one_to_make(running):
    assert (await prepare(running))["outcome"] == "prepared"
    homes = [running.browser(subject).get("/").text for subject in (COLLEAGUE, "demo-reader")]
    assert ["1 prepared change</strong> for you to make" in each for each in homes] == [True, False]


async def test_what_is_too_long_to_be_kept_is_refused_in_words(running):
    lots = [{"quantity": f"{each + 1}", "cost": "1." + "0" * 90, "acquired": None} for each in range(9_000)]
    rows = [{**BALANCE["positions"][0], "lots": lots}]
    refused = await prepare(running, positions=rows)
    long = await prepare(running, reason="r" * 2_001)
    assert (refused["outcome"], "characters" in refused["detail"]) == ("refused", True)
    assert [each["path"] for each in long["fields"]] == ["reason"]

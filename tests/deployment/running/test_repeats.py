"""Acts sent again under a key: made once, whatever process they came through, and never given to who may not ask."""

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from sqlalchemy import func, insert, select, update

from meridian.deployment import access, calls, delegations
from meridian.deployment.app import Deployment
from meridian.deployment.repeats import KEY, LONGEST_ANSWER, MOST_KEYS, Repeats, keyed_act, prune
from meridian.deployment.standing import Presented
from meridian.deployment.store.tables import entries, repeats
from meridian.pages.assertion import digest
from meridian.plugins import find

DESK = Path(__file__).parent / "desk"

pytestmark = pytest.mark.anyio

ARGUMENTS = {"account": "A-1", "reason": "r", "lines": [{"amount": "5.10"}]}
OTHER = {**ARGUMENTS, "reason": "another"}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
async def act(running, request):
    """`act(arguments, key)`: the outcome of an act by the writer's client."""
    async with running.client("demo-writer", request.param) as client:

        async def act(arguments, key="k-1", tool="confirm"):
            result = await client.call_tool(f"desk__{tool}", arguments, meta={KEY: key})
            return result.structured_content

        yield act


@asynccontextmanager
async def sibling(running, settings):
    """Another process of the same deployment, as far as its store goes: nothing of it is shared but the database."""
    deployment = Deployment([find(f"desk={DESK}")], settings, clock=running.clock)
    async with deployment.running():
        yield deployment.surface


def entries_in(running):
    with running.deployment.store.read() as connection:
        return connection.scalar(select(func.count()).select_from(entries))


def recorded(running):
    delegation = delegations.held_by(running.deployment.store, "demo-writer")[0]
    return sorted((each.outcome, each.reason) for each in calls.listed(running.deployment.store, delegation.id))


async def test_a_key_sent_again_is_answered_as_the_first_time_and_unchanged(running, act):
    first = await act(ARGUMENTS)
    again = await act(ARGUMENTS)
    assert (first["outcome"], again) == ("made", {**first, "outcome": "unchanged"})
    assert recorded(running) == [("made", None), ("unchanged", None)]


async def test_a_plugin_is_asked_once_for_a_key_whatever_it_would_say(running, act):
    await act({"at_most": 1}, tool="count")
    assert await act({"at_most": 1}, tool="count") == {"outcome": "unchanged", "data": {"asked": 1}}
    assert await act({"at_most": 1}, "k-2", tool="count") == {"outcome": "made", "data": {"asked": 2}}


async def test_arguments_are_the_same_where_they_read_as_the_same_record(running, act):
    first = await act(ARGUMENTS)
    spelled = {"lines": [{"amount": "5.10"}], "reason": "r", "account": "A-1"}
    assert await act(spelled) == {**first, "outcome": "unchanged"}
    assert (await act({"account": "A-2", "reason": "r"}, "k-2"))["outcome"] == "made"
    assert (await act({"account": "A-2", "reason": "r", "lines": []}, "k-2"))["outcome"] == "unchanged"


async def test_a_key_given_with_another_record_is_refused(running, act):
    await act(ARGUMENTS)
    before = entries_in(running)
    refused = await act(OTHER)
    assert (refused["outcome"], refused["reason"]) == ("refused", "key_used")
    assert "key of its own" in refused["detail"]
    assert entries_in(running) == before
    assert recorded(running) == [("made", None), ("refused", "key_used")]


async def test_a_key_is_of_one_tool_and_one_delegation(running, act):
    await act({}, tool="count")
    assert (await act(ARGUMENTS))["outcome"] == "made"
    delegation = delegations.held_by(running.deployment.store, "demo-writer")[0]
    _, token = delegations.make_by_hand(running.deployment.store, "demo-writer", "B", delegation.rows, 7, now=running.clock())
    async with running.client("demo-writer", token=token) as other:
        result = await other.call_tool("desk__count", {}, meta={KEY: "k-1"})
    assert result.structured_content == {"outcome": "made", "data": {"asked": 2}}


async def test_a_refusal_is_not_remembered(running, act):
    assert (await act({"account": "A-1"}))["reason"] == "refused"
    assert (await act({"account": 1}))["reason"] == "not_read"
    assert (await act(ARGUMENTS))["outcome"] == "made"


async def test_an_act_under_way_is_waited_for(running, act):
    answers = []

    async def again():
        answers.append(await act({"at_most": 1}, tool="count"))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(again)
    assert sorted((each["outcome"], each["data"]["asked"]) for each in answers) == [
        ("made", 1),
        ("unchanged", 1),
        ("unchanged", 1),
    ]


async def test_siblings_agree_on_who_makes_an_act(running, settings):
    presented = Presented(running.token("demo-writer"))
    answers = []
    async with sibling(running, settings) as other:

        async def ask(surface):
            result = await surface.call(presented, "desk__count", {"at_most": 1}, key="k-1")
            answers.append(result["structuredContent"]["outcome"])

        async with running.client("demo-writer") as client, anyio.create_task_group() as group:
            group.start_soon(ask, other)

            async def over_http():
                result = await client.call_tool("desk__count", {"at_most": 1}, meta={KEY: "k-1"})
                answers.append(result.structured_content["outcome"])

            group.start_soon(over_http)
    assert sorted(answers) == ["made", "unchanged"]


async def test_an_act_that_was_cut_off_leaves_a_key_that_says_it_may_have_been_made(running, act):
    assert (await act({}, tool="slow"))["reason"] == "timed_out"
    running.clock.moved = timedelta(minutes=2)
    refused = await act({}, tool="slow")
    assert (refused["reason"], "may have been made" in refused["detail"]) == ("unsure", True)


async def test_an_act_whose_process_died_is_not_made_again(running, act):
    await act({}, tool="count")
    with running.deployment.store.write() as connection:  # as the process leaves it that died before it had an answer
        connection.execute(update(repeats).values(answer=None))
    with anyio.fail_after(10):
        refused = await act({}, tool="count")
    assert refused["reason"] == "unsure"
    assert await act({}, "k-2", tool="count") == {"outcome": "made", "data": {"asked": 2}}


async def test_an_answer_is_given_to_nobody_who_may_not_ask_any_more(running, act):
    await act(ARGUMENTS)
    for permission in access.every_permission(running.deployment.store):
        if not permission.built_in:
            access.withdraw(running.deployment.store, permission.id)
    assert (await act(ARGUMENTS))["reason"] == "not_served"


async def test_access_lost_while_an_act_under_way_is_waited_for_holds(running, settings):
    presented, store = Presented(running.token("demo-writer")), running.deployment.store
    async with sibling(running, settings) as other, anyio.create_task_group() as group:

        async def first():
            await other.call(presented, "desk__count", {"at_most": 2}, key="k-1")

        group.start_soon(first)
        await anyio.sleep(0.5)

        async def lose():
            await anyio.sleep(0.3)
            for permission in access.every_permission(store):
                if not permission.built_in:
                    access.withdraw(store, permission.id)

        group.start_soon(lose)
        result = await other.call(presented, "desk__count", {"at_most": 2}, key="k-1")
    assert result["structuredContent"]["reason"] == "not_served"


async def test_a_key_is_kept_for_a_day(running, act):
    await act({}, tool="count")
    running.clock.moved = timedelta(hours=23, minutes=59)
    assert (await act({}, tool="count"))["outcome"] == "unchanged"
    running.clock.moved = timedelta(hours=24, minutes=1)
    assert await act({}, tool="count") == {"outcome": "made", "data": {"asked": 2}}
    prune(running.deployment.store, now=running.clock() + timedelta(hours=25))
    with running.deployment.store.read() as connection:
        assert connection.scalar(select(func.count()).select_from(repeats)) == 0


async def test_keys_are_forgotten_while_a_deployment_runs_on(running, settings, act):
    await act({}, tool="count")

    def kept():
        with running.deployment.store.read() as connection:
            return connection.scalar(select(func.count()).select_from(repeats))

    running.clock.moved = timedelta(hours=23)
    deployment = Deployment([find(f"desk={DESK}")], settings, clock=running.clock, tidied_every=timedelta(milliseconds=50))
    async with deployment.running():
        await anyio.sleep(0.2)
        assert kept() == 1
        running.clock.moved = timedelta(hours=25)
        with anyio.fail_after(10):
            while kept():  # noqa: ASYNC110  a database tells nobody
                await anyio.sleep(0.05)


async def test_a_read_takes_no_notice_of_a_key(running, act):
    answers = [await act(arguments, tool="list_open") for arguments in ({}, {"at_most": 1})]
    assert [len(each["data"]["accounts"]) for each in answers] == [2, 1]


@pytest.mark.parametrize("key", ["", "k" * 201, 5, ["k"]])
async def test_what_is_no_key_is_refused_and_nothing_is_asked(running, act, key):
    assert (await act({}, key, tool="count"))["reason"] == "bad_key"
    assert await act({}, "k", tool="count") == {"outcome": "made", "data": {"asked": 1}}


async def test_neither_key_nor_record_nor_what_was_asked_is_kept(running, act):
    await act(ARGUMENTS, "a key of mine")
    with running.deployment.store.read() as connection:
        kept = [dict(each) for each in connection.execute(select(repeats)).mappings()]
    assert "a key of mine" not in str(kept)
    assert [json.loads(each["answer"])["outcome"] for each in kept] == ["made"]
    assert "5.10" not in str(kept)


async def test_what_is_kept_of_a_record_is_found_by_nobody_who_guesses_it(running, act):
    await act({}, tool="count")
    with running.deployment.store.read() as connection:
        assert connection.scalar(select(repeats.c.record)) not in (digest(b"{}"), digest(b'{"at_most":null}'))


class TestWithinBounds:
    """A client that sends keys takes no more of the deployment than one that does not."""

    @pytest.fixture
    def settings(self, settings):
        return replace(settings, calls_at_once=2)

    @pytest.fixture(params=["auto"])
    async def act(self, act):
        return act

    async def test_so_many_wait_for_an_act_under_way_as_may_be_under_way(self, running, act):
        answers = []

        async def again():
            answers.append(await act({"at_most": 1}, tool="count"))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(again)
        came = sorted(each.get("reason", each["outcome"]) for each in answers)
        assert came == ["made", "too_many_calls", "too_many_calls", "unchanged", "unchanged"]

    async def test_an_answer_that_is_long_is_not_kept_and_its_act_not_made_again(self, running, act):
        await act({}, tool="count")
        store, [lent] = running.deployment.store, delegations.held_by(running.deployment.store, "demo-writer")
        kept, long = Repeats(store, running.clock, timedelta(seconds=3), at_once=2), "x" * LONGEST_ANSWER

        async def answers():
            return {"outcome": "made", "data": long}

        keyed, revision = keyed_act(lent.id, "desk__long", "k", digest(b"{}")), await store.revision()
        assert await kept.begin(keyed, revision=revision) is None
        assert (await kept.make(keyed, answers))["data"] == long
        again = await kept.begin(keyed, revision=revision)
        assert (again["outcome"], again["reason"]) == ("refused", "not_kept")
        with store.read() as connection:
            assert connection.scalar(select(func.max(func.length(repeats.c.answer)))) < 100

    async def test_a_client_has_so_many_keys_kept(self, running, act):
        first = await act({}, tool="count")
        [lent] = delegations.held_by(running.deployment.store, "demo-writer")
        common = {"delegation": lent.id, "tool": "desk__x", "record": "", "begun_at": running.clock()}
        with running.deployment.store.write() as connection:
            connection.execute(insert(repeats), [{**common, "key": str(each)} for each in range(MOST_KEYS - 1)])
        refused = await act({}, "k-2", tool="count")
        assert (refused["reason"], "10,000 keys" in refused["detail"]) == ("too_many_calls", True)
        assert await act({}, tool="count") == {**first, "outcome": "unchanged"}
        running.clock.moved = timedelta(hours=25)
        prune(running.deployment.store, now=running.clock())
        assert (await act({}, "k-2", tool="count"))["outcome"] == "made"

"""How many calls a client has under way and makes in a minute, whatever process they come through; and acts sent twice."""

from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from meridian.callers import Caller
from meridian.deployment import calls, delegations
from meridian.deployment.access import AccessRow
from meridian.deployment.app import Deployment
from meridian.deployment.settings import Settings
from meridian.deployment.standing import Presented
from meridian.plugins import find

DESK = Path(__file__).parent / "desk"
AT_ONCE, PER_MINUTE = 3, 8

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def settings(settings):
    return Settings(data=settings.data, call_seconds=3, calls_at_once=AT_ONCE, calls_per_minute=PER_MINUTE)


@pytest.fixture(autouse=True)
def at_the_start_of_a_minute(running):
    """A test takes less than a minute, and begins when one does."""
    running.clock.moved = timedelta(seconds=60 - running.clock().timestamp() % 60)


@pytest.fixture
async def surfaces(running, settings):
    """`call(number, tool, arguments)`: the outcome of a call of the writer's client through one of two processes of the
    deployment, as far as its store goes: nothing of them is shared but the database."""
    sibling = Deployment([find(f"desk={DESK}")], settings, clock=running.clock)
    presented = Presented(running.token("demo-writer"), f"{running.url}/mcp")
    async with sibling.running():

        async def call(number, tool, arguments=None, **more):
            surface = (running.deployment.surface, sibling.surface)[number]
            return (await surface.call(presented, f"desk__{tool}", arguments or {}, **more))["structuredContent"]

        yield call


def delegation_of(running):
    return delegations.held_by(running.deployment.store, "demo-writer")[0]


def listed(running):
    return [each.reason for each in calls.listed(running.deployment.store, delegation_of(running).id)]


@asynccontextmanager
async def under_way(running, surfaces, count):
    """Around `count` calls that both processes have under way."""
    async with anyio.create_task_group() as waiting:
        for number in range(count):
            waiting.start_soon(surfaces, number % 2, "count", {"at_most": 2})
        await anyio.sleep(0.5)
        assert len(listed(running)) == count
        yield


async def test_so_many_calls_at_once_and_no_more_in_all_processes_together(running, surfaces):
    async with under_way(running, surfaces, AT_ONCE):
        for number in (0, 1):
            answer = await surfaces(number, "list_open")
            assert (answer["outcome"], answer["reason"]) == ("refused", "too_many_calls")
            assert answer["detail"] == (
                "This client has 3 calls under way, as many as it may at once. Nothing was asked; call again when one of them "
                "is answered."
            )
        async with running.client("demo-reader") as another:
            assert not (await another.call_tool("desk__list_open", {})).is_error
    assert (await surfaces(0, "list_open"))["outcome"] == "unchanged"


async def test_a_call_that_nobody_closes_keeps_its_place_for_as_long_as_it_may_take(running, surfaces):
    caller = Caller("demo-writer", "W", "read", delegation_id=delegation_of(running).id)
    for _ in range(AT_ONCE):
        calls.open_call(
            running.deployment.store,
            caller,
            instance="desk",
            acts=False,
            lasts=timedelta(seconds=3),
            now=running.clock(),
            tool="t",
        )
    assert (await surfaces(0, "list_open"))["reason"] == "too_many_calls"
    running.clock.moved += timedelta(seconds=3)
    assert (await surfaces(0, "list_open"))["outcome"] == "unchanged"


async def test_so_many_calls_a_minute_and_no_more_in_all_processes_together(running, surfaces):
    for number in range(PER_MINUTE):
        assert (await surfaces(number % 2, "list_open"))["outcome"] == "unchanged"
    running.clock.moved += timedelta(seconds=20)
    for number in (0, 1):
        answer = await surfaces(number, "list_open")
        words, seconds = answer["detail"].split(" call again in ")
        assert words == "This client made 8 calls in this minute, as many as it may. Nothing was asked;"
        assert 25 <= int(seconds.removesuffix(" seconds.")) <= 40
    assert delegation_of(running).last_refused_at is not None
    running.clock.moved += timedelta(seconds=40)
    assert (await surfaces(1, "list_open"))["outcome"] == "unchanged"


async def test_calls_that_are_refused_count_and_fill_no_list(running, surfaces):
    for _ in range(PER_MINUTE + 5):
        refusal = await surfaces(0, "none_such")
    assert refusal["reason"] == "too_many_calls"
    assert listed(running) == ["unknown_tool"] * PER_MINUTE
    assert (await surfaces(1, "list_open"))["reason"] == "too_many_calls"


async def test_an_act_too_many_leaves_its_key_free(running, surfaces):
    for _ in range(PER_MINUTE):
        await surfaces(0, "list_open")
    assert (await surfaces(0, "again", {"at_most": 1}, key="k"))["reason"] == "too_many_calls"
    running.clock.moved += timedelta(minutes=1)
    assert (await surfaces(1, "again", {"at_most": 1}, key="k"))["outcome"] == "made"


async def test_a_view_hears_of_an_identical_act_of_the_same_client_within_a_minute(running, surfaces):
    async def repeat(number, arguments, **more):
        return (await surfaces(number, "again", arguments, **more)).get("data", {}).get("repeat")

    assert await repeat(0, {"at_most": 1}) == []
    (first,) = calls.listed(running.deployment.store, delegation_of(running).id)
    assert await repeat(1, {"at_most": 1}) == [first.id, "made"]
    assert (await repeat(0, {"at_most": 2}), await repeat(0, {"at_most": 2}, key="k")) == ([], [])
    running.clock.moved += timedelta(seconds=61)
    assert await repeat(0, {"at_most": 1}) == []


async def test_a_refused_act_is_none_that_is_repeated(running, surfaces):
    assert [(await surfaces(0, "again", {"at_most": 0}))["detail"] for _ in range(2)] == ["No.", "No."]


async def test_of_two_identical_acts_at_once_one_hears_of_the_other(running, surfaces):
    heard = []

    async def ask(number):
        heard.append((await surfaces(number, "again", {"at_most": 50}))["data"]["repeat"])

    async with anyio.create_task_group() as both:
        both.start_soon(ask, 0)
        both.start_soon(ask, 1)
    assert sorted(len(each) for each in heard) == [0, 2]
    assert max(heard)[1] == "unsure"


async def test_what_another_client_of_the_same_person_did_is_no_repeat(running, surfaces):
    await surfaces(0, "again", {"at_most": 1})
    row = AccessRow("desk", "operations", "write")
    _, token = delegations.make_by_hand(running.deployment.store, "demo-writer", "Another", [row], 7, now=running.clock())
    async with running.client("demo-writer", token=token) as another:
        answer = await another.call_tool("desk__again", {"at_most": 1})
    assert answer.structured_content["data"]["repeat"] == []


async def test_acts_of_more_than_a_minute_ago_are_forgotten_and_their_records_never_kept(running, surfaces):
    store = running.deployment.store
    for at_most in (1, 2):
        await surfaces(0, "again", {"at_most": at_most})
    with store.read() as connection:
        before = connection.exec_driver_sql("SELECT count(*), max(length(mark)) FROM recent_acts").one()
    running.clock.moved += timedelta(seconds=61)
    await surfaces(0, "again", {"at_most": 3})
    with store.read() as connection:
        after = connection.exec_driver_sql("SELECT count(*), max(length(mark)) FROM recent_acts").one()
    assert (tuple(before), tuple(after)) == ((2, 64), (1, 64))

"""What a token stands for holds at the very next call, whichever process changed it, and nothing is answered unrecorded."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from deployment.running.serving import TO_LOOK
from meridian.deployment import access, calls, delegations, demo, standing
from meridian.deployment.access import AccessRow
from meridian.deployment.app import Deployment, utc_now
from meridian.deployment.gateway import Changed
from meridian.deployment.settings import Settings
from meridian.deployment.standing import Presented, Standing
from meridian.deployment.store import Store
from meridian.plugins import find

WRITES = AccessRow("desk", "operations", "write")


@pytest.fixture
def sibling(running) -> Iterator[Store]:
    """The same store, as another process has it open."""
    with closing(Store(running.deployment.settings.database_url)) as store:
        yield store


@pytest.fixture(params=["here", "by a sibling"])
def changing(request, running, sibling) -> Store:
    """The store through which something is changed: the deployment's own, and a sibling's."""
    return running.deployment.store if request.param == "here" else sibling


@pytest.fixture
def asked(running) -> Callable[..., tuple[int, str | None, list[str]]]:
    """How a client is answered at its next call: the status, what came of a call, and the names it is listed."""

    def asked(subject: str = "demo-writer") -> tuple[int, str | None, list[str]]:
        called = running.rpc(subject, "tools/call", name="desk__list_open")
        listed = running.rpc(subject, "tools/list")
        if called.status_code != 200:
            assert listed.status_code == called.status_code
            return called.status_code, None, []
        said = called.json()["result"]["structuredContent"]
        names = [tool["name"] for tool in listed.json()["result"]["tools"]]
        return 200, said.get("reason", said["outcome"]), names

    return asked


def test_a_revocation_holds_at_the_next_call(running, changing, asked):
    assert asked()[:2] == (200, "unchanged")
    (delegation,) = delegations.held_by(changing, "demo-writer")
    delegations.revoke(changing, delegation.id, by="demo-writer", now=running.clock())
    assert asked() == (401, None, [])


def test_a_person_who_goes_takes_their_clients_with_them_at_the_next_call(running, changing, asked):
    assert asked()[:2] == (200, "unchanged")
    access.let_go(changing, "demo-writer", now=running.clock())
    assert asked() == (401, None, [])
    assert asked("demo-reader") == (200, "unchanged", ["desk__list_open", *TO_LOOK])


def test_access_taken_away_and_given_again_holds_at_the_next_call(changing, asked):
    before = asked()
    group = next(each for each in access.every_access_group(changing) if each.name == "Demo writer access")
    access.take_from_access_group(changing, group.id, WRITES)
    assert asked() == (200, "not_served", [])
    access.add_to_access_group(changing, group.id, WRITES)
    assert asked() == before


def test_an_account_taken_away_is_reached_no_longer_at_the_next_call(running, changing):
    def reached() -> list[str]:
        said = running.rpc("demo-writer", "tools/call", name="desk__list_open").json()["result"]["structuredContent"]
        return said["data"]["accounts"]

    assert reached() == ["A-1", "A-2"]
    group = next(each for each in access.every_account_group(changing) if each.name == "Demo families")
    access.take_from_account_group(changing, group.id, "A-1")
    assert reached() == ["A-2"]


def test_a_token_expires_by_the_clock_and_nothing_else(running, asked):
    assert asked()[:2] == (200, "unchanged")
    running.clock.moved = timedelta(days=91)
    assert asked() == (401, None, [])


def test_a_token_of_another_person_never_meets_what_is_kept(running, asked):
    answers = {subject: asked(subject) for subject in running.people}
    assert {subject: asked(subject) for subject in reversed(running.people)} == answers
    assert len({tuple(names) for _, _, names in answers.values()}) == 5


def test_a_name_that_was_changed_is_the_caller_s_at_the_next_call(running, sibling):
    confirm = {"name": "desk__confirm", "arguments": {"account": "A-1", "reason": "r", "lines": [{"amount": "1"}]}}
    running.rpc("demo-writer", "tools/call", name="desk__list_open")
    with sibling.write() as connection:
        connection.exec_driver_sql("update people set display_name = 'Renamed' where subject = 'demo-writer'")
    running.rpc("demo-writer", "tools/call", **confirm)
    with sibling.read() as connection:
        assert connection.exec_driver_sql("select display_name from entries").scalar_one() == "Renamed"


# In this process, without a socket


@pytest.fixture
def deployment(settings) -> Iterator[Deployment]:
    made = Deployment([find(f"desk={Path(__file__).parent / 'desk'}")], settings)
    demo.seed(made.store, made.instances, now=utc_now())
    with closing(made.store):
        yield made


def writer_s_token(deployment: Deployment) -> str:
    made = delegations.make_by_hand(deployment.store, "demo-writer", "Agent", [WRITES], 7, now=utc_now())
    return made[1]


@pytest.mark.parametrize("tool", ["desk__list_open", "desk__confirm"])
def test_a_call_worked_out_before_a_change_is_not_opened_but_looked_at_anew(deployment, tool):
    token = writer_s_token(deployment)
    surface = deployment.surface

    async def call():
        async with deployment.running(over_http=False):
            who = await surface._stands(Presented(token))
            await surface._listed(who)
            for permission in access.every_permission(deployment.store):
                if not permission.built_in:
                    access.withdraw(deployment.store, permission.id)
            recorded = calls.listed(deployment.store, who.delegation.id)
            with pytest.raises(Changed):
                await surface._call_once(who, tool, {"account": "A-1"})
            assert calls.listed(deployment.store, who.delegation.id) == recorded == ()
            return await surface._call(who, Presented(token), tool, {"account": "A-1"})

    assert anyio.run(call)["reason"] == "not_served"


def test_what_is_kept_is_bounded_and_what_was_let_go_is_worked_out_anew(deployment, monkeypatch):
    monkeypatch.setattr(standing, "MOST_KEPT", 120)
    tokens = [writer_s_token(deployment) for _ in range(5)]
    kept = Standing(deployment.store, deployment.gateway.hosted, utc_now)

    async def look() -> set[str]:
        seen = set()
        for token in tokens * 2:
            lent = await kept.of(Presented(token))
            seen.add(lent.delegation.id)
            assert len(kept._kept) <= 2
        return seen

    assert len(anyio.run(look)) == 5


def test_the_record_is_there_before_the_plugin_is_asked_and_stays_open_where_the_process_dies(tmp_path):
    script = f"""
import os, sys
import anyio
import meridian
from dataclasses import dataclass
from meridian.deployment import access, delegations, demo
from meridian.deployment.access import AccessRow
from meridian.deployment.app import Deployment, utc_now
from meridian.deployment.settings import Settings
from meridian.deployment.standing import Presented
from meridian.plugins import Loaded

@dataclass(frozen=True)
class Nothing:
    "Nothing is asked."

pages = meridian.Pages("Desk", roles=["operations"])

@pages.route("/die", levels=["write"], methods=["POST"], params=Nothing, reads=True)
async def die(request: meridian.Request[Nothing]) -> meridian.Response:
    "End the process where it stands."
    os._exit(7)

made = Deployment([Loaded("desk", pages, "desk", "desk")], Settings(data={str(tmp_path)!r}))
demo.seed(made.store, made.instances, now=utc_now())
row = AccessRow("desk", "operations", "write")
token = delegations.make_by_hand(made.store, "demo-writer", "Dying", [row], 7, now=utc_now())[1]

async def call():
    async with made.running(over_http=False):
        who = await made.surface._stands(Presented(token))
        await made.surface._call(who, Presented(token), "desk__die", {{}})

anyio.run(call)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 7
    with closing(Store(Settings(data=str(tmp_path)).database_url)) as store:
        dying = next(each for each in delegations.held_by(store, "demo-writer") if each.client_name == "Dying")
        (record,) = calls.listed(store, dying.id)
        assert (record.tool, record.closed_at, record.outcome) == ("desk__die", None, None)
        assert calls.is_open(store, record.id, now=record.opened_at)


def test_a_call_is_recorded_and_closed_before_its_answer_is_given(running, sibling):
    for _ in range(5):
        running.rpc("demo-writer", "tools/call", name="desk__list_open")
        (delegation,) = delegations.held_by(sibling, "demo-writer")
        (latest, *_) = calls.listed(sibling, delegation.id)
        assert (latest.tool, latest.outcome, latest.closed_at is None) == ("desk__list_open", "unchanged", False)
    assert delegation.last_used_at is not None

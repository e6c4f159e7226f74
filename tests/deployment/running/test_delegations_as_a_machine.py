"""Grants, delegations, consents, upgrades and calls in whatever order: a client does what is held and ticked, until it ends.

Two deployments serve one store, and each step goes through either of them; after each step every client asks both, so that
what they keep of the step before is there to go stale at the next. What is expected is worked out here, of sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import product
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from deployment.running.asking import Asking, answer, by_hand, told, told_token
from deployment.running.serving import Clock, Running, running_within
from deployment.running.versions import EVERY, ROLES, Does, Met, version
from meridian.deployment import access, delegations, identity
from meridian.deployment.access import AccessRow
from meridian.deployment.app import Deployment
from meridian.deployment.settings import Settings
from meridian.deployment.store import Store

PEOPLE = ("first", "second", "third")
KEEPER = "keeper"  # a deployment admin throughout, so that anybody else may be let go
ACCOUNTS = ("A-1", "A-2")
LEVELS = ("write", "read", "admin")
ROWS = tuple(product(ROLES, LEVELS))

WAS = {
    "look": Does(reads=True, levels=("write", "read"), roles=ROLES),
    "turned": Does(reads=True, levels=("write", "read")),
    "act": Does(reads=False, levels=("write",)),
    "settle": Does(reads=False, levels=("write",), roles=("custody",)),
    "manage": Does(reads=False, levels=("admin",)),
}
ACTS_MORE = WAS | {"turned": Does(reads=False, levels=("write",)), "added": Does(reads=False, levels=("write",), roles=ROLES)}
CHANGED_HANDS = {
    "look": Does(reads=True, levels=("read",)),
    "act": Does(reads=False, levels=("write",), roles=("custody",)),
    "settle": Does(reads=True, levels=("write", "read"), roles=ROLES),
}
VERSIONS = (WAS, ACTS_MORE, CHANGED_HANDS)
TOOLS = sorted({name for tools in VERSIONS for name in tools})

Row = tuple[str, str]
"""A role at a level."""
Reach = set[tuple[str, str, str | None]]
"""Roles at levels, each with every account it reaches, and once without one: there is a level where there is no account."""

MOST_CLIENTS = 3
SIDES = st.sampled_from([0, 1])
DAYS = st.sampled_from([7, 30])


@dataclass(frozen=True)
class Client:
    """A client, and what it was lent. `rows` is None where that is everything; `shown` are the acts its person was shown."""

    name: str
    person: str
    token: str
    rows: frozenset[Row] | None
    shown: frozenset[str]
    ends: datetime
    token_ends: datetime
    asking: Asking | None = None
    revoked: bool = False

    @property
    def ticked(self) -> set[Row]:
        """The rows, and read wherever there is write."""
        rows = set(ROWS) if self.rows is None else self.rows
        return {*rows, *((role, "read") for role, level in rows if level == "write")}


@dataclass
class Side:
    """One of the two deployments."""

    tools: dict[str, Does]
    running: Running
    http: httpx2.Client
    stop: ExitStack

    @property
    def store(self) -> Store:
        return self.running.deployment.store


class WhoMayDoWhat(RuleBasedStateMachine):
    """The four access records, the clients, and the two deployments."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.clock = Clock()
        self.settings = Settings(data=self.folder.name, calls_per_minute=1_000_000)
        self.sides = [self.serve(WAS), self.serve(WAS)]
        self.people = {"people-0": set(PEOPLE), "people-1": set(), identity.DEPLOYMENT_ADMINS: {KEEPER}}
        self.accounts = {"accounts-0": {"A-1"}, "accounts-1": {"A-2"}, access.ALL_ACCOUNTS: {EVERY}}
        self.rows = {
            "levels-0": {("operations", "write")},
            "levels-1": {("operations", "read"), ("custody", "write")},
            access.ALL_PLUGINS_ADMIN: {(role, "admin") for role in ROLES},
        }
        built_in = (identity.DEPLOYMENT_ADMINS, access.ALL_ACCOUNTS, access.ALL_PLUGINS_ADMIN)
        self.permissions = {
            built_in: "",
            ("people-0", "accounts-0", "levels-0"): "",
            ("people-0", "accounts-1", "levels-1"): "",
        }
        self.gone: set[str] = set()
        self.clients: list[Client] = []
        self.ended: list[str] = []
        self.write_down(self.sides[0].store)

    def serve(self, tools: dict[str, Does]) -> Side:
        stop = ExitStack()
        deployment = Deployment([version("desk", tools)], self.settings, clock=self.clock)
        running = stop.enter_context(running_within(deployment, self.clock))
        return Side(tools, running, running.browser(), stop)

    def write_down(self, store: Store) -> None:
        """Let the store say what the sets say."""
        for person in (*PEOPLE, KEEPER):
            identity.add_person(store, person, person.capitalize(), subject=person, now=self.clock())
        for account in ACCOUNTS:
            access.add_account(store, account)
        for kind, groups in (("user", self.people), ("account", self.accounts), ("access", self.rows)):
            for group in groups:
                if group[-1].isdigit():
                    assert access.add_group(store, kind, group) == group
        for group, people in self.people.items():
            for person in people:
                access.join(store, group, person)
        for group in ("accounts-0", "accounts-1"):
            access.name_accounts(store, group, self.accounts[group])
        for group in ("levels-0", "levels-1"):
            access.name_rows(store, group, [AccessRow("desk", *row) for row in self.rows[group]])
        for groups in list(self.permissions)[1:]:
            self.permissions[groups] = access.grant(store, *groups)

    def teardown(self) -> None:
        for side in self.sides:
            side.stop.close()
        self.folder.cleanup()

    # What is held

    def held(self, person: str) -> Reach:
        if person in self.gone:
            return set()
        return {
            (role, reached, account)
            for people, accounts, levels in self.permissions
            if person in self.people[people]
            for role, level in self.rows[levels]
            for reached in ({"write", "read"} if level == "write" else {level})
            for account in (None, *(() if level == "admin" else self.accounts[accounts]))
        }

    def rows_held(self, person: str) -> set[Row]:
        return {(role, level) for role, level, _ in self.held(person)}

    def stands(self, client: Client) -> bool:
        return not client.revoked and client.person not in self.gone and self.clock() < min(client.ends, client.token_ends)

    @property
    def present(self) -> list[str]:
        return [person for person in PEOPLE if person not in self.gone]

    # Grants

    @rule(side=SIDES, group=st.sampled_from(["people-0", "people-1", identity.DEPLOYMENT_ADMINS]), data=st.data())
    def somebody_joins_or_leaves(self, side: int, group: str, data: st.DataObject) -> None:
        person = data.draw(st.sampled_from(self.present))
        change = access.leave if person in self.people[group] else access.join
        change(self.sides[side].store, group, person)
        self.people[group] ^= {person}

    @rule(side=SIDES, group=st.sampled_from(["accounts-0", "accounts-1"]), account=st.sampled_from(ACCOUNTS))
    def an_account_is_named_or_no_longer(self, side: int, group: str, account: str) -> None:
        change = access.take_from_account_group if account in self.accounts[group] else access.add_to_account_group
        change(self.sides[side].store, group, account)
        self.accounts[group] ^= {account}

    @rule(side=SIDES, group=st.sampled_from(["levels-0", "levels-1"]), row=st.sampled_from(ROWS))
    def a_row_is_named_or_no_longer(self, side: int, group: str, row: Row) -> None:
        change = access.take_from_access_group if row in self.rows[group] else access.add_to_access_group
        change(self.sides[side].store, group, AccessRow("desk", *row))
        self.rows[group] ^= {row}

    @rule(
        side=SIDES,
        people=st.sampled_from(["people-0", "people-1"]),
        accounts=st.sampled_from(["accounts-0", "accounts-1", access.ALL_ACCOUNTS]),
        levels=st.sampled_from(["levels-0", "levels-1"]),
    )
    def a_permission_is_granted_or_withdrawn(self, side: int, people: str, accounts: str, levels: str) -> None:
        store, groups = self.sides[side].store, (people, accounts, levels)
        if groups in self.permissions:
            access.withdraw(store, self.permissions.pop(groups))
        else:
            self.permissions[groups] = access.grant(store, *groups)

    @precondition(lambda self: len(self.present) > 1)
    @rule(side=SIDES, data=st.data())
    def somebody_goes(self, side: int, data: st.DataObject) -> None:
        person = data.draw(st.sampled_from(self.present))
        access.let_go(self.sides[side].store, person, now=self.clock())
        self.gone.add(person)

    # Delegations and consents

    @precondition(lambda self: len(self.standing()) < MOST_CLIENTS)
    @rule(side=SIDES, days=DAYS, data=st.data())
    def a_client_is_made_by_hand(self, side: int, days: int, data: st.DataObject) -> None:
        person, name = data.draw(st.sampled_from(self.present)), f"Client {len(self.clients)}"
        rows = data.draw(self.rows_for(person))
        page = by_hand(self.sides[side].running, person, map(ticked, rows), days, name)
        if rows <= self.rows_held(person):
            ends = self.clock() + timedelta(days=days)
            self.clients.append(Client(name, person, told_token(page), frozenset(rows), self.shown(side, rows), ends, ends))
        else:
            assert (page.status_code, "mrd_" in page.text) == (422 if self.rows_held(person) else 200, False)

    @precondition(lambda self: len(self.standing()) < MOST_CLIENTS)
    @rule(side=SIDES, days=DAYS, data=st.data())
    def a_client_is_allowed(self, side: int, days: int, data: st.DataObject) -> None:
        person, name = data.draw(st.sampled_from(self.present)), f"Client {len(self.clients)}"
        asking = Asking(self.sides[side].running)
        asking.register(client_name=name)
        allowed = self.allow(asking, name, person, side, days, data)
        if allowed is not None:
            self.clients.append(allowed)

    @precondition(lambda self: self.that_asked())
    @rule(side=SIDES, days=DAYS, data=st.data())
    def a_client_is_allowed_anew(self, side: int, days: int, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self.that_asked()))
        allowed = self.allow(
            replace(client.asking, running=self.sides[side].running), client.name, client.person, side, days, data
        )
        if allowed is not None:
            if not self.stands(client):
                self.ended.append(client.token)
            self.clients[self.clients.index(client)] = allowed

    def rows_for(self, person: str) -> st.SearchStrategy[set[Row]]:
        """Rows to tick: of those that are held, mostly."""
        held = sorted(self.rows_held(person))
        return st.sets(st.sampled_from(held or ROWS), min_size=1) | st.sets(st.sampled_from(ROWS), min_size=1, max_size=2)

    def standing(self) -> list[Client]:
        return [client for client in self.clients if self.stands(client)]

    def that_asked(self) -> list[Client]:
        """The clients that asked by OAuth, of the people there are."""
        return [client for client in self.clients if client.asking is not None and client.person not in self.gone]

    def allow(self, asking: Asking, name: str, person: str, side: int, days: int, data: st.DataObject) -> Client | None:
        """The client once its person said on the consent page what it covers; None where that was more than they hold."""
        rows = None if data.draw(st.booleans()) else data.draw(self.rows_for(person))
        browser, page = asking.page(person)
        covers = "everything" if rows is None else "rows"
        said = answer(browser, page, covers=covers, rows=map(ticked, rows or ()), days=str(days))
        if rows is not None and not rows <= self.rows_held(person):
            assert said.status_code == 422
            return None
        assert asking.exchange(told(said)["code"]).status_code == 200
        now = self.clock()
        ends, token_ends = now + timedelta(days=days), now + timedelta(minutes=10)
        kept = None if rows is None else frozenset(rows)
        return Client(name, person, asking.access_token, kept, self.shown(side, rows or ()), ends, token_ends, asking)

    def shown(self, side: int, rows: Any) -> frozenset[str]:
        """The acts that a page of this deployment shows under these rows."""
        tools = self.sides[side].tools.items()
        return frozenset(
            name
            for name, does in tools
            for role, level in rows
            if not does.reads and role in does.roles and level in does.levels
        )

    @precondition(lambda self: self.clients)
    @rule(side=SIDES, data=st.data())
    def a_client_is_revoked(self, side: int, data: st.DataObject) -> None:
        client, store = data.draw(st.sampled_from(self.clients)), self.sides[side].store
        for each in delegations.held_by(store, client.person):
            if each.client_name == client.name:
                delegations.revoke(store, each.id, by=KEEPER, anyones=True, now=self.clock())
        self.clients[self.clients.index(client)] = replace(client, revoked=True)

    @precondition(lambda self: self.clients)
    @rule(side=SIDES, days=st.sampled_from([1, 6, 24]), renewing=st.booleans())
    def days_pass(self, side: int, days: int, renewing: bool) -> None:
        self.clock.moved += timedelta(days=days)
        for place, client in enumerate(self.clients):
            if client.asking is not None and renewing:
                asking = replace(client.asking, running=self.sides[side].running)
                token_ends = self.clock() + timedelta(minutes=10)
                renewed = replace(client, token_ends=token_ends)
                assert (asking.refresh().status_code == 200) == self.stands(renewed)
                if self.stands(renewed):
                    self.clients[place] = replace(renewed, asking=asking, token=asking.access_token)

    # Upgrades

    @rule(side=SIDES, version=st.sampled_from(range(len(VERSIONS))))
    def a_deployment_is_upgraded(self, side: int, version: int) -> None:
        self.sides[side].stop.close()
        self.sides[side] = self.serve(VERSIONS[version])

    # Calls

    @invariant()
    def a_client_does_what_is_held_and_ticked_and_nothing_after(self) -> None:
        for side in self.sides:
            for client in self.clients:
                listed = self.listed(side, client.token)
                if not self.stands(client):
                    assert (listed, self.called(side, client.token, "look")) == (None, None), "never after it ended"
                    continue
                came = {tool: self.called(side, client.token, tool) for tool in TOOLS}
                for tool, met in self.met(came):
                    assert is_within(met, side.tools[tool], self.held(client.person)), f"never more than held: {tool}"
                    assert is_within(met, side.tools[tool], of_every_account(client.ticked)), f"never more than ticked: {tool}"
                    assert side.tools[tool].reads or client.rows is None or tool in client.shown, f"shown first: {tool}"
                assert came == {tool: self.expected(side, client, tool) for tool in TOOLS}
                assert listed == {tool for tool, _ in self.met(came)}
            for token in self.ended:
                assert self.listed(side, token) is None

    def met(self, came: dict[str, Any]) -> Iterator[tuple[str, Met]]:
        return ((tool, met) for tool, met in came.items() if isinstance(met, Met))

    def expected(self, side: Side, client: Client, tool: str) -> Met | str:
        """How a call is met, or why it is not."""
        does = side.tools.get(tool)
        if does is None:
            return "unknown_tool"
        lent = {each for each in self.held(client.person) if each[:2] in client.ticked and each[0] in does.roles}
        served = [level for level in LEVELS if level in does.levels and any(each[1] == level for each in lent)]
        if not served:
            return "not_served"
        if not does.reads and client.rows is not None and tool not in client.shown:
            return "awaits_consent"
        level = served[0]
        return Met(
            level,
            accounts_of(lent, "read") if level in ("write", "read") else [],
            accounts_of(lent, "write") if level == "write" else [],
        )

    def listed(self, side: Side, token: str) -> set[str] | None:
        """The plugin's tools that a client is listed; None where it is nobody's."""
        said = self.ask(side, token, "tools/list")
        if said is None:
            return None
        names = (tool["name"].partition("__") for tool in said["tools"])
        return {name for instance, _, name in names if instance == "desk"}

    def called(self, side: Side, token: str, tool: str) -> Met | str | None:
        """How the tool met the caller, or the reason it did not; None where the client is nobody's."""
        said = self.ask(side, token, "tools/call", name=f"desk__{tool}", arguments={})
        if said is None:
            return None
        outcome = said["structuredContent"]
        return outcome["reason"] if outcome["outcome"] == "refused" else Met(**outcome["data"])

    def ask(self, side: Side, token: str, method: str, **params: Any) -> Any:
        said = side.http.post(
            "/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
        )
        return None if said.status_code == 401 else said.json()["result"]


def ticked(row: Row) -> str:
    """A row as a form sends it."""
    role, level = row
    return f"{level} desk {role}"


def of_every_account(rows: set[Row]) -> Reach:
    return {(role, level, account) for role, level in rows for account in (None, *ACCOUNTS, EVERY)}


def is_within(met: Met, does: Does, reach: Reach) -> bool:
    """Whether a tool met its caller with no level and no account but those of the reach."""
    there = {(level, account) for role, level, account in reach if role in does.roles}
    carried = {(met.level, None), *(("read", account) for account in met.read), *(("write", account) for account in met.write)}
    return carried <= there


def accounts_of(reach: Reach, level: str) -> list[str]:
    found = {account for _, at, account in reach if at == level and account is not None}
    return [EVERY] if EVERY in found else sorted(found)


TestWhoMayDoWhat = WhoMayDoWhat.TestCase
TestWhoMayDoWhat.settings = settings(max_examples=max(1, settings().max_examples // 5), stateful_step_count=25)

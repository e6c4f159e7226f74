"""Who may do what through which client: every person by every delegation by every tool, asked over a real socket.

Everyone began with write on all there is, and lent it; the delegations were made then. Since that day the people came to hold
what the table says, and the plugin got tools that it had not, and one that only read came to act.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any

import httpx2
import pytest
from mcp.client.caching import CacheConfig

from deployment.running.asking import Asking, by_hand, told_token
from deployment.running.serving import Clock, Running, serving
from deployment.running.versions import ROLES, Does, version
from meridian.deployment import access, delegations, identity
from meridian.deployment.access import AccessRow
from meridian.deployment.app import Deployment
from meridian.deployment.settings import Settings
from meridian.deployment.store import Store

BEFORE = {
    "look": Does(reads=True, levels=("write", "read")),
    "turned": Does(reads=True, levels=("write", "read")),
    "act": Does(reads=False, levels=("write",)),
    "settle": Does(reads=False, levels=("write",), roles=("custody",)),
    "manage": Does(reads=False, levels=("admin",)),
}
SINCE = BEFORE | {
    "find": Does(reads=True, levels=("write", "read")),
    "turned": Does(reads=False, levels=("write",)),
    "added": Does(reads=False, levels=("write",)),
}
OTHER = {"look": BEFORE["look"]}

TOOLS = ("desk__look", "desk__find", "desk__act", "desk__added", "desk__turned", "desk__settle", "desk__manage", "other__look")
UNKNOWN = "desk__none"

# A cell is the level at which the tool is called, and then it is listed; or it is not listed, and
#   -     its call is refused, in words that say what the person holds and lent
#   new   its call waits for consent
#   401   the client stands no longer, whatever it asks
# What is held and what of it was lent is `held/lent` on a role; one word where they are the same.
TABLE = """
                        held/lent on                               desk's                                          other's
person     delegation   operations    custody       other          look  find  act   added turned settle manage    look
newcomer   everything   nothing       nothing       nothing        -     -     -     -     -      -      -         -
newcomer   read         nothing       nothing       nothing        -     -     -     -     -      -      -         -
newcomer   write        nothing       nothing       nothing        -     -     -     -     -      -      -         -
newcomer   hand         nothing       nothing       nothing        -     -     -     -     -      -      -         -
newcomer   lapsed       nothing       nothing       nothing        401   401   401   401   401    401    401       401
newcomer   revoked      nothing       nothing       nothing        401   401   401   401   401    401    401       401

reader     everything   read          nothing       nothing        read  read  -     -     -      -      -         -
reader     read         read          nothing       nothing        read  read  -     -     -      -      -         -
reader     write        read          nothing       nothing        read  read  -     -     -      -      -         -
reader     hand         read          nothing       nothing        read  read  -     -     -      -      -         -
reader     lapsed       read          nothing       nothing        401   401   401   401   401    401    401       401
reader     revoked      read          nothing       nothing        401   401   401   401   401    401    401       401

writer     everything   write         nothing       write          write write write write write  -      -         write
writer     read         write/read    nothing       write/nothing  read  read  -     -     -      -      -         -
writer     write        write         nothing       write/nothing  write write write new   new    -      -         -
writer     hand         write         nothing       write/nothing  write write write new   new    -      -         -
writer     lapsed       write         nothing       write          401   401   401   401   401    401    401       401
writer     revoked      write         nothing       write          401   401   401   401   401    401    401       401

several    everything   read          write         nothing        read  read  -     -     -      write  -         -
several    read         read          write/nothing nothing        read  read  -     -     -      -      -         -
several    write        read          write/nothing nothing        read  read  -     -     -      -      -         -
several    hand         read          write/nothing nothing        read  read  -     -     -      -      -         -
several    lapsed       read          write         nothing        401   401   401   401   401    401    401       401
several    revoked      read          write         nothing        401   401   401   401   401    401    401       401

admin      everything   admin         admin         admin          -     -     -     -     -      -      admin     -
admin      read         admin/nothing admin/nothing admin/nothing  -     -     -     -     -      -      -         -
admin      write        admin/nothing admin/nothing admin/nothing  -     -     -     -     -      -      -         -
admin      hand         admin/nothing admin/nothing admin/nothing  -     -     -     -     -      -      -         -
admin      lapsed       admin         admin         admin          401   401   401   401   401    401    401       401
admin      revoked      admin         admin         admin          401   401   401   401   401    401    401       401

gone       everything   nothing       nothing       nothing        401   401   401   401   401    401    401       401
gone       read         nothing       nothing       nothing        401   401   401   401   401    401    401       401
gone       write        nothing       nothing       nothing        401   401   401   401   401    401    401       401
gone       hand         nothing       nothing       nothing        401   401   401   401   401    401    401       401
gone       lapsed       nothing       nothing       nothing        401   401   401   401   401    401    401       401
gone       revoked      nothing       nothing       nothing        401   401   401   401   401    401    401       401
"""

COMES_TO_HOLD = {
    "newcomer": (),
    "reader": (AccessRow("desk", "operations", "read"),),
    "writer": (AccessRow("desk", "operations", "write"), AccessRow("other", "operations", "write")),
    "several": (AccessRow("desk", "operations", "read"), AccessRow("desk", "custody", "write")),
    "admin": (),
    "gone": (AccessRow("desk", "operations", "write"),),
}
READ, WRITE = ("read desk operations",), ("write desk operations",)
TICKED = {
    "everything": {"covers": "everything", "rows": ()},
    "read": {"rows": READ},
    "write": {"rows": WRITE},
    "revoked": {"rows": WRITE},
}
BY_HAND = ("hand", "lapsed")
DELEGATIONS = ("everything", "read", "write", "hand", "lapsed", "revoked")
A_WEEK = 7


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    person: str
    delegation: str
    said: dict[str, str]
    """Of each role of the plugin, and of the other instance, what is held and what of it was lent."""
    cells: dict[str, str]

    @property
    def stands(self) -> bool:
        return "401" not in self.cells.values()


def rows() -> list[Row]:
    found = []
    for line in TABLE.splitlines()[3:]:
        if line:
            person, delegation, operations, custody, other, *cells = line.split()
            said = {"operations": operations, "custody": custody, "other": other}
            found.append(Row(person, delegation, said, dict(zip(TOOLS, cells, strict=True))))
    return found


def expected(row: Row) -> dict[str, Any]:
    """What the client of a row is listed, and what each call comes to."""
    if not row.stands:
        return {"listed": 401} | dict.fromkeys([*TOOLS, UNKNOWN], 401)
    calls = {tool: call_of(row, tool, cell) for tool, cell in row.cells.items()}
    unknown = (200, "unknown_tool", f"There is no tool '{UNKNOWN}'; list the tools to see those there are.")
    return {"listed": {tool for tool, cell in row.cells.items() if cell not in ("-", "new")}} | calls | {UNKNOWN: unknown}


def call_of(row: Row, tool: str, cell: str) -> tuple[int, str, str]:
    """A cell in full: the status, and the level or the reason and the words."""
    if cell == "-":
        return 200, "not_served", words_of(row, tool)
    if cell == "new":
        said = (
            f"{tool} waits for your person's consent: it acts, and they were not shown so when they allowed this client. "
            "They are asked when this client is connected anew."
        )
        return 200 if row.delegation in BY_HAND else 403, "awaits_consent", said
    return 200, "unchanged", cell


def words_of(row: Row, tool: str) -> str:
    """How a tool that is not served is refused."""
    instance, name = tool.split("__")
    does = OTHER[name] if instance == "other" else SINCE[name]
    [role] = does.roles
    held, _, lent = row.said["other" if instance == "other" else role].partition("/")
    holds = f"{held} on {role}"
    lends = f", and lent this client {lent if lent == 'nothing' else f'{lent} on {role}'}" if lent else ""
    return f"{tool} serves {' or '.join(does.levels)} on {role}; your person holds {holds}{lends}."


# The two days


@pytest.fixture(scope="module")
def deployments(tmp_path_factory) -> Iterator[tuple[Running, dict[tuple[str, str], str]]]:
    """The deployment as it is since, and the token of each person's client of each kind, which were made before."""
    settings = Settings(data=str(tmp_path_factory.mktemp("data")), public_url="http://desk.example", calls_per_minute=1_000_000)
    clock = Clock()
    with serving(deployed(BEFORE, settings, clock), clock) as before:
        begin(before.deployment.store, clock)
        tokens = lend(before)
    with serving(deployed(SINCE, settings, clock), clock) as since:
        change(since.deployment.store, clock)
        yield since, tokens


def deployed(tools: dict[str, Does], settings: Settings, clock: Clock) -> Deployment:
    return Deployment([version("desk", tools), version("other", OTHER)], settings, clock=clock)


def begin(store: Store, clock: Clock) -> None:
    """Everyone holds write on all there is."""
    everyone = access.add_group(store, "user", "Everyone")
    for person in COMES_TO_HOLD:
        identity.add_person(store, person, person.capitalize(), subject=person, now=clock())
        access.join(store, everyone, person)
    levels = access.add_group(store, "access", "Write")
    access.name_rows(store, levels, [AccessRow(*each, "write") for each in product(("desk", "other"), ROLES)])
    access.grant(store, everyone, access.ALL_ACCOUNTS, levels)


def lend(running: Running) -> dict[tuple[str, str], str]:
    """A client of each kind for each person."""
    store, made = running.deployment.store, {}
    for person in COMES_TO_HOLD:
        for kind, ticked in TICKED.items():
            made[person, kind] = Asking(running).connect(person, **ticked).access_token
        made[person, "hand"] = told_token(by_hand(running, person, WRITE, A_WEEK))
        running.clock.moved = -timedelta(days=A_WEEK, seconds=1)
        made[person, "lapsed"] = told_token(by_hand(running, person, WRITE, A_WEEK))
        running.clock.moved = timedelta()
        revoked = delegations.by_token(store, made[person, "revoked"], resource=running.resource, now=running.clock())
        delegations.revoke(store, revoked.id, by=person, now=running.clock())
    return made


def change(store: Store, clock: Clock) -> None:
    """People come to hold what the table says."""
    for person, held in COMES_TO_HOLD.items():
        people = access.add_group(store, "user", f"As {person}")
        access.join(store, people, person)
        levels = access.add_group(store, "access", f"Of {person}")
        access.name_rows(store, levels, held)
        access.grant(store, people, access.ALL_ACCOUNTS, levels)
    access.remove_group(store, "user", "everyone")
    access.join(store, identity.DEPLOYMENT_ADMINS, "admin")
    access.let_go(store, "gone", now=clock())


# The table


@pytest.fixture
def seen(deployments) -> Iterator[Any]:
    """`seen(person, delegation)`: what that client is listed, and what each call of it comes to."""
    running, tokens = deployments
    with ExitStack() as opened:

        def seen(person: str, delegation: str) -> dict[str, Any]:
            headers = {"Authorization": f"Bearer {tokens[person, delegation]}", "Accept": "application/json, text/event-stream"}
            http = opened.enter_context(httpx2.Client(base_url=running.url, headers=headers, timeout=20))
            return {"listed": listed(http)} | {tool: called(http, tool) for tool in (*TOOLS, UNKNOWN)}

        yield seen


def asked(http: httpx2.Client, method: str, **params: Any) -> httpx2.Response:
    return http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def listed(http: httpx2.Client) -> Any:
    """The tools that are listed of the two instances; the status, where the client is nobody's."""
    answer = asked(http, "tools/list")
    if answer.status_code != 200:
        return answer.status_code
    return {tool["name"] for tool in answer.json()["result"]["tools"] if tool["name"].startswith(("desk__", "other__"))}


def called(http: httpx2.Client, tool: str) -> Any:
    """The status of a call, what came of it, and the level it was met at or the words it was refused in."""
    answer = asked(http, "tools/call", name=tool, arguments={})
    if answer.status_code == 401:
        return 401
    outcome = answer.json()["result"]["structuredContent"]
    if outcome["outcome"] == "refused":
        return answer.status_code, outcome["reason"], outcome["detail"]
    return answer.status_code, outcome["outcome"], outcome["data"]["level"]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.person}-{row.delegation}")
def test_a_client_does_what_its_person_holds_and_lent_it_and_is_told_why_it_does_no_more(seen, row):
    first, again = seen(row.person, row.delegation), seen(row.person, row.delegation)
    assert first == expected(row)
    assert again == first


def test_the_table_is_whole():
    assert [(row.person, row.delegation) for row in rows()] == [*product(COMES_TO_HOLD, DELEGATIONS)]


# How soon it shows


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_client_that_keeps_its_list_as_long_as_it_may_shows_a_change_of_access_within_30_seconds(running):
    seconds = 0.0
    async with running.client("demo-reader", cache=CacheConfig(clock=lambda: seconds)) as client:

        async def listed() -> list[str]:
            return [tool.name for tool in (await client.list_tools()).tools if tool.name.startswith("desk__")]

        before = await listed()
        for permission in access.every_permission(running.deployment.store):
            if not permission.built_in:
                access.withdraw(running.deployment.store, permission.id)
        at_once = await listed()
        seconds = 30.0
        assert (before, at_once, await listed()) == (["desk__list_open"], before, [])

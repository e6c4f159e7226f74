"""Connected clients, as a person uses the page over a real socket: what is lent, what they see of it, what they take back."""

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest

from deployment.running.serving import TO_LOOK
from meridian.callers import Caller
from meridian.deployment import access, calls, delegations, identity
from meridian.deployment.access import AccessRow

pytestmark = pytest.mark.anyio

WRITE, READ = "write desk operations", "read desk operations"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@dataclass
class Clients:
    """The page of somebody's connected clients, in their browser."""

    browser: httpx2.Client
    token: str

    def page(self, **query: str) -> str:
        answer = self.browser.get("/dashboard/open/clients", params=query)
        assert answer.status_code == 200, answer.text
        return unescape(answer.text)

    def post(self, path: str, **form: Any) -> httpx2.Response:
        return self.browser.post(f"/dashboard/open{path}", data={"csrf": self.token, "meridian.page": "/clients", **form})

    def make(self, name: str = "Notes", rows: Iterable[str] = (READ,), days: str = "7") -> httpx2.Response:
        return self.post("/clients/make", client_name=name, rows=list(rows), days=days, shown=shown_in(self.page()))


@pytest.fixture
def clients(running, form_token):
    """`clients(subject)`: that person's page; to be opened once, since they sign in by a link."""

    def clients(subject: str = "demo-writer") -> Clients:
        browser = running.browser(subject)
        return Clients(browser, form_token(browser.get("/dashboard/open/clients").text))

    return clients


def shown_in(page: str) -> str:
    """What the page says that it showed."""
    found = re.search(r'name="shown" value="([^"]*)"', page)
    return found[1] if found else ""


def token_in(answer: httpx2.Response) -> str:
    assert answer.status_code == 200, answer.text
    found = re.search(r"mrd_[\w-]+", answer.text)
    assert found
    return found[0]


def kept(running, name="Notes", subject="demo-writer"):
    """The person's delegations of that client's name, as they are kept."""
    return [each for each in delegations.held_by(running.deployment.store, subject) if each.client_name == name]


def problems(answer: httpx2.Response) -> tuple[int, list[str]]:
    """The status, and what the summary of problems says."""
    summary = re.search(r'<div class="problems".*?</ul>', answer.text, re.DOTALL)
    said = re.findall(r"<li>(.*?)</li>", unescape(summary[0]) if summary else "")
    return answer.status_code, [re.sub(r"<strong>.*?</strong>: |<[^>]*>", "", each) for each in said]


# What is lent.


def test_each_row_lists_the_tools_it_reaches_those_that_act_apart_from_those_that_read(clients):
    form = clients().page()
    rows = {}
    for part in form[form.index('<fieldset class="lend"') :].split('name="rows" value="')[1:]:
        found: dict[str, list[str]] = {}
        for kind, names in re.findall(r'<p class="kind">(\w+)</p>\s*<dl[^>]*>(.*?)</dl>', part, re.DOTALL):
            found[kind] = re.findall(r"<code>(\w+)</code></dt><dd>([^<]*)</dd>", names)
        rows[part.partition('"')[0]] = found
    list_open = ("desk__list_open", "List what is open.")
    assert rows == {
        WRITE: {
            "Acts": [
                ("desk__confirm", "Confirm the account's lines, as read."),
                ("desk__plain", "Answer with HTML and nothing typed."),
                ("desk__broken", "Fail."),
                ("desk__ending", "Raise what no `except Exception` meets."),
                ("desk__slow", "Take too long."),
                ("desk__blocked", "Block a thread for so many seconds."),
                ("desk__count", "Count how often this was asked, after so many seconds."),
                ("desk__again", "Say what this was a repeat of."),
            ],
            "Reads": [
                list_open,
                ("desk__check", "Check what would be confirmed, and try to record it all the same, which no read may."),
            ],
        },
        READ: {},
    }
    assert "Of the tools above, 1 that reads: <code>desk__list_open</code>." in form


def test_the_summary_of_problems_names_its_cells(clients):
    page = clients().make(name="", rows=[]).text
    assert re.findall(r'<li><a href="#(\w+)"><strong>(.*?)</strong>: ', page) == [
        ("client_name", "Client"),
        ("rows", "What it may reach"),
    ]


def test_what_is_lent_is_what_the_page_showed(running, clients):
    page = clients()
    before = shown_in(page.page())
    access.join(running.deployment.store, "demo-custody-writers", "demo-writer")

    def make(shown: str) -> httpx2.Response:
        return page.post("/clients/make", client_name="Notes", rows=[WRITE], days="7", shown=shown)

    refused = make(before)
    assert (refused.status_code, kept(running)) == (422, [])
    assert "has changed since this page was drawn" in refused.text
    assert token_in(make(shown_in(refused.text)))


async def test_a_client_reaches_what_its_row_listed_and_no_more(running, clients):
    token = token_in(clients().make(rows=[READ]))
    async with running.client("demo-writer", token=token) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["desk__list_open", *TO_LOOK]
        refused = await client.call_tool("desk__confirm", {"account": "A-1", "reason": "not lent"})
    assert refused.structured_content["reason"] == "not_served"


def test_a_token_lasts_as_long_as_was_chosen(running, clients):
    page = clients()
    for days in ("7", "30", "90"):
        page.make(days, days=days)
    lasts = {name: kept(running, name)[0].expires_at - kept(running, name)[0].made_at for name in ("7", "30", "90")}
    assert lasts == {"7": timedelta(days=7), "30": timedelta(days=30), "90": timedelta(days=90)}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("write desk custody", "you do not hold write on desk, custody"),
        ("admin desk operations", "you do not hold admin on desk, operations"),
        ("admin dashboard", "you do not hold admin on dashboard"),
        ("write nowhere operations", "you do not hold write on nowhere, operations"),
        ("everything", "you do not hold everything on "),
    ],
)
def test_a_row_that_is_not_held_is_not_lent_though_it_was_posted_by_hand(running, clients, row, said):
    assert problems(clients().make(rows=[READ, row])) == (422, [said])
    assert kept(running) == []


def test_what_was_typed_and_ticked_stays_where_something_was_wrong(clients):
    answer = clients().make(name="", rows=[READ], days="30")
    assert problems(answer) == (422, ["give the client a name, of at most 200 characters"])
    assert re.findall(r'value="([^"]*)" checked', answer.text) == [READ, "30"]


def test_a_time_that_is_no_choice_and_no_row_are_each_said_on_their_cell(running, clients):
    page = clients()
    assert problems(page.make(rows=[], days="7")) == (422, ["tick at least one row, and at most 500"])
    assert problems(page.make(days="3650")) == (422, ['"3650" is not among the choices; write one of 7, 30 or 90'])
    assert kept(running) == []


def test_who_holds_nothing_is_told_that_there_is_nothing_to_lend(clients):
    page = clients("demo-newcomer").page()
    assert ("You hold nothing on any plugin yet" in page, 'name="rows"' in page) == (True, False)


# The token.


def test_a_token_is_shown_once_and_is_kept_nowhere(running, clients, settings):
    page = clients()
    token = token_in(page.make())
    made = kept(running)[0]
    seen = [page.page(), page.page(client=made.id), page.page(ended="true")]
    stored = b"".join(path.read_bytes() for path in Path(settings.data).rglob("*") if path.is_file())
    assert [token in each for each in seen] == [False, False, False]
    assert token.encode() not in stored


def test_a_token_comes_with_what_a_client_is_configured_by(running, clients, settings):
    answer = clients().make()
    token = token_in(answer)
    _, over_http, command, over_stdio = map(
        unescape, re.findall(r'<pre class="copy"><code>(.*?)</code></pre>', answer.text, re.DOTALL)
    )
    server = json.loads(over_stdio)["mcpServers"]["meridian"]
    assert json.loads(over_http) == {
        "mcpServers": {
            "meridian": {"type": "http", "url": f"{running.url}/mcp", "headers": {"Authorization": f"Bearer {token}"}}
        }
    }
    assert shlex.split(command) == (
        [*f"claude mcp add --transport http meridian {running.url}/mcp --header".split(), f"Authorization: Bearer {token}"]
    )
    assert (server["args"][0], server["env"]) == ("mcp", {"MERIDIAN_TOKEN": token})


def test_a_page_with_a_token_is_stored_by_no_browser_and_no_cache(clients):
    assert clients().make().headers["cache-control"] == "private, no-store"


# Taking it back.


async def test_a_revoked_client_is_refused_at_its_next_call(running, clients):
    page = clients()
    token = token_in(page.make())
    async with running.client("demo-writer", token=token) as client:
        await client.list_tools()
        answer = page.post("/clients/revoke", client=kept(running)[0].id)
        asked = httpx2.post(f"{running.url}/mcp", headers={"Authorization": f"Bearer {token}"}, json={})
    assert (answer.status_code, asked.status_code) == (303, 401)
    assert "Notes is revoked. Its next call is refused." in re.sub(
        "<[^>]+>", "", page.browser.get(answer.headers["location"]).text
    )


def test_a_client_that_ended_is_listed_as_such_and_cannot_be_revoked_again(running, clients):
    page = clients()
    page.make()
    running.clock.moved = timedelta(minutes=5)
    page.post("/clients/revoke", client=kept(running)[0].id)
    revoked = kept(running)[0].revoked_at
    page.post("/clients/revoke", client=kept(running)[0].id)
    assert kept(running)[0].revoked_at == revoked
    assert "1 that may ask no more" in page.page()
    assert "Revoke<" not in page.page(client=kept(running)[0].id)


@pytest.mark.parametrize("client", ["theirs", "D-there-is-none"])
def test_someone_else_s_client_is_neither_seen_nor_revoked_and_is_answered_as_none_would_be(running, clients, client):
    client = kept(running, "Demo client", "demo-reader")[0].id if client == "theirs" else client
    page = clients()
    seen = page.browser.get("/dashboard/open/clients", params={"client": client})
    revoked = page.post("/clients/revoke", client=client)
    assert [(each.status_code, "You have no such connected client." in each.text) for each in (seen, revoked)] == [
        (422, True)
    ] * 2
    assert all(each.revoked_at is None for each in delegations.every_delegation(running.deployment.store))


def test_a_session_at_view_shows_the_clients_and_changes_nothing(running, clients):
    page = clients()
    seen = page.browser.get("/dashboard/view/clients")
    form = {"csrf": page.token, "client": kept(running, "Demo client")[0].id}
    assert (seen.status_code, "Demo client" in seen.text, "<form" in seen.text) == (200, True, False)
    assert page.browser.post("/dashboard/view/clients/revoke", data=form).status_code == 403
    assert page.browser.post("/dashboard/open/clients/revoke", data=form | {"csrf": "forged"}).status_code == 403
    assert kept(running, "Demo client")[0].revoked_at is None


# What it did.


async def test_calls_are_listed_by_tool_level_and_outcome_and_never_by_what_was_asked_or_answered(running, clients):
    async with running.client("demo-writer") as client:
        await client.call_tool("desk__confirm", {"account": "A-1", "reason": "because-I-asked"})
        await client.call_tool("desk__confirm", {"account": "A-2"})
        await client.call_tool("desk__confirm", {"account": 7, "reason": "because-I-asked"})
        await client.call_tool("desk__settle", {"at_most": 41})
        await client.call_tool("nothing__like_it", {"account": "A-1"})
    page = clients().page(client=kept(running, "Demo client")[0].id)
    rows = [
        tuple(re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL))
        for row in page[page.index("<h2>Calls") :].split("<tbody>")[1:]
    ]
    assert rows == [
        ("nothing__like_it", "read", "refused: there is no such tool"),
        ("desk__settle", "read", "refused: not lent, or not held"),
        ("desk__confirm", "write", "refused: it did not read"),
        ("desk__confirm", "write", "refused"),
        ("desk__confirm", "write", "made"),
    ]
    assert [each in page for each in ("because-I-asked", "A-1", "A-2", "Give a reason", "E-")] == [False] * 5
    assert len(re.findall(r'<th scope="row" data-label="When"><time datetime="\S+\+00:00">', page)) == 5


def test_many_calls_are_paged_by_plain_links_and_each_is_on_one_page(running, clients):
    store, client = running.deployment.store, kept(running, "Demo client")[0]
    caller = Caller("demo-writer", "Demo writer", "read", delegation_id=client.id)
    for number in range(120):
        at = running.clock() + timedelta(seconds=number)
        refused = partial(
            calls.record_unasked, caller=caller, instance="desk", tool=f"desk__{number}", reason="not_served", now=at
        )
        store.rewrite(refused)
    page, seen = clients(), []
    at = f"/dashboard/open/clients?client={client.id}"
    while at:
        html = page.browser.get(at).text
        seen += re.findall(r"<code>desk__(\d+)</code>", html)
        older = re.search(r'<a href="([^"]+)">Older</a>', html)
        at = unescape(older[1]) if older else ""
    assert seen == [str(number) for number in reversed(range(120))]


def test_a_client_s_name_is_shown_with_what_it_hides(clients):
    page = clients()
    page.make("Notes \u202egpj.exe <b>")
    shown = page.browser.get("/dashboard/open/clients").text
    assert ("Notes [U+202E]gpj.exe &lt;b&gt;" in shown, "\u202e" in shown) == (True, False)


def test_what_was_lent_of_a_plugin_that_runs_no_more_is_still_listed(running, clients):
    store = running.deployment.store
    with store.write() as connection:
        delegations.lend(connection, "demo-writer", "Old", [AccessRow("gone", "", "read")], 7, "mrd_old", now=running.clock())
    assert "read on gone, which does not run now" in clients().page()


async def test_what_a_person_loses_their_client_loses(running, clients):
    token = token_in(clients().make(rows=[WRITE]))
    async with running.client("demo-writer", token=token) as client:
        before = [tool.name for tool in (await client.list_tools()).tools]
        access.leave(running.deployment.store, "demo-writers", "demo-writer")
    async with running.client("demo-writer", token=token) as client:
        assert ("desk__confirm" in before, (await client.list_tools()).tools) == (True, [])


# Everybody's, for a deployment admin; and a client whose time is nearly over.


def test_a_deployment_admin_sees_anybody_s_client_and_its_calls_and_revokes_it(running, form_token):
    running.rpc("demo-writer", "tools/call", name="desk__list_open")
    (made,) = delegations.held_by(running.deployment.store, "demo-writer")
    admin = running.browser("demo-admin")
    page = admin.get("/dashboard/manage/everybody-s-clients", params={"find": "demo WRITER"}).text
    assert (page.count("<tbody>"), "Demo writer" in page) == (1, True)
    one = admin.get("/dashboard/manage/everybody-s-clients", params={"client": made.id}).text
    assert all(each in one for each in ("may ask as <bdi>Demo writer</bdi>", "desk__list_open", "unchanged"))
    sent = {"client": made.id, "csrf": form_token(page)}
    assert admin.post("/dashboard/manage/everybody-s-clients/revoke", data=sent).status_code == 303
    ended = delegations.find(running.deployment.store, made.id)
    assert (ended.revoked_by, running.rpc("demo-writer", "tools/list").status_code) == ("demo-admin", 401)
    told = running.browser("demo-writer").get("/dashboard/open/clients", params={"client": made.id}).text
    assert "by <bdi>Demo admin</bdi>" in told


@pytest.mark.parametrize("path", ["", "?client=D-1", "/revoke"])
def test_nobody_else_sees_or_revokes_another_s_client(running, path):
    assert running.browser("demo-writer").get(f"/dashboard/manage/everybody-s-clients{path}").status_code == 403


@pytest.mark.parametrize(("days", "notice"), [(7, timedelta(days=7) / 3), (30, timedelta(days=7)), (90, timedelta(days=7))])
def test_a_person_is_told_before_a_client_may_ask_no_more(running, days, notice):
    made, _ = delegations.make_by_hand(
        running.deployment.store, "demo-writer", "Notes", [AccessRow("desk", "operations", "read")], days, now=running.clock()
    )
    browser = running.browser("demo-writer")

    def told() -> list[bool]:
        pages = [browser.get(path).text for path in ("/", "/dashboard/open/clients")]
        return [f"client={made.id}" in page.partition('class="table"')[0] for page in pages]

    seen = []
    for left in (notice + timedelta(minutes=5), notice - timedelta(minutes=5)):
        running.clock.moved = timedelta(days=days) - left
        browser = running.browser()
        link = identity.sign_in_link(running.deployment.store, "demo-writer", now=running.clock())
        browser.get(f"/sign-in/{link}")
        seen.append(told())
    assert seen == [[False, False], [True, True]]


def test_why_the_deployment_ended_a_client_is_said(running, clients):
    (made,) = delegations.held_by(running.deployment.store, "demo-writer")
    with running.deployment.store.write() as connection:
        delegations.revoke_in(connection, made.id, by=None, now=running.clock())
    page = running.browser("demo-writer").get("/dashboard/open/clients", params={"client": made.id}).text
    assert "a code or token of it that was spent came a second time" in page

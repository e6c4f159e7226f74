"""A client that knows the surface's address alone is lent access by a person, and renews what it was given."""

from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from sqlalchemy import delete

from deployment.running.asking import HOME, Asking, answer, sign_in, told
from meridian.deployment import calls, delegations
from meridian.deployment.access import AccessRow
from meridian.deployment.app import Deployment
from meridian.deployment.oauth.fetching import Unfetched
from meridian.deployment.settings import Settings
from meridian.deployment.store.tables import clients, delegation_acts

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def asking(running):
    return Asking(running)


class Kept:
    """What the official client keeps of its tokens."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


def person(running, subject="demo-writer", **said):
    """The two hooks by which the official client meets its person: they sign in and allow it."""
    heard = []

    async def redirect(address):
        browser = running.browser()
        asked = browser.get(address)
        sign_in(running, browser, subject)
        page = browser.get(asked.headers["location"])
        heard.append(told(answer(browser, page, **said)))

    async def callback():
        return AuthorizationCodeResult(**{name: heard[-1][name] for name in ("code", "state", "iss")})

    return redirect, callback


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_connects_with_nothing_but_the_address(running, mode):
    redirect, callback = person(running)
    told = OAuthClientMetadata(client_name="Notes", redirect_uris=[HOME])
    kept = Kept()
    provider = OAuthClientProvider(f"{running.url}/mcp", told, kept, redirect, callback)
    async with (
        httpx2.AsyncClient(auth=provider, timeout=20) as http,
        Client(streamable_http_client(f"{running.url}/mcp", http_client=http), mode=mode) as client,
    ):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        made = await client.call_tool("desk__confirm", {"account": "A-1", "reason": "r"})
        first = kept.tokens
        running.clock.moved = timedelta(minutes=11)
        provider.context.update_token_expiry(first.model_copy(update={"expires_in": -1}))
        again = await client.call_tool("desk__confirm", {"account": "A-1", "reason": "r"})
    assert listed[:2] == ["desk__list_open", "desk__confirm"]
    assert [made.structured_content["outcome"], again.structured_content["outcome"]] == ["made", "unchanged"]
    assert kept.tokens.refresh_token != first.refresh_token


async def test_the_official_client_started_again_renews_its_tokens_and_asks_nobody(running):
    told, kept = OAuthClientMetadata(client_name="Notes", redirect_uris=[HOME]), Kept()

    async def listed(redirect=None, callback=None):
        provider = OAuthClientProvider(f"{running.url}/mcp", told, kept, redirect, callback)
        async with (
            httpx2.AsyncClient(auth=provider, timeout=20) as http,
            Client(streamable_http_client(f"{running.url}/mcp", http_client=http)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]

    first = await listed(*person(running))
    running.clock.moved = timedelta(minutes=11)
    kept.tokens = kept.tokens.model_copy(update={"access_token": ""})
    assert await listed() == first


def forget_shown(running, tool):
    """Let it be as if the tool had been added, or had come to act, since it was lent."""
    with running.deployment.store.write() as connection:
        connection.execute(delete(delegation_acts).where(delegation_acts.c.tool == tool))


async def test_an_act_that_awaits_consent_brings_the_official_client_s_person_to_the_page_and_is_called_again(running):
    redirect, callback = person(running)
    told = OAuthClientMetadata(client_name="Notes", redirect_uris=[HOME])
    provider = OAuthClientProvider(f"{running.url}/mcp", told, Kept(), redirect, callback)
    async with (
        httpx2.AsyncClient(auth=provider, timeout=20) as http,
        Client(streamable_http_client(f"{running.url}/mcp", http_client=http)) as client,
    ):
        await client.list_tools()
        forget_shown(running, "confirm")
        listed = [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]
        made = await client.call_tool("desk__confirm", {"account": "A-1", "reason": "r"})
    assert "desk__confirm" not in listed
    assert made.structured_content["outcome"] == "made"


def test_until_then_the_call_says_so_and_is_recorded(asking, running):
    asking.connect()
    asked = {"name": "desk__confirm", "arguments": {"account": "A-1", "reason": "r"}}
    assert asking.rpc("tools/call", **asked).status_code == 200
    forget_shown(running, "confirm")
    refused = asking.rpc("tools/call", **asked)
    assert refused.status_code == 403
    assert refused.headers["www-authenticate"].startswith('Bearer realm="Meridian", error="insufficient_scope", ')
    assert 'scope="meridian"' in refused.headers["www-authenticate"]
    said = refused.json()["result"]["structuredContent"]
    assert (said["reason"], said["detail"].partition(":")[0]) == (
        "awaits_consent",
        "desk__confirm waits for your person's consent",
    )
    made = next(each for each in delegations.held_by(running.deployment.store, "demo-writer") if each.client)
    [call, _] = calls.listed(running.deployment.store, made.id)
    assert (call.tool, call.outcome, call.reason) == ("desk__confirm", "refused", "awaits_consent")
    assert asking.rpc("tools/call", name="desk__list_open", arguments={}).status_code == 200


def test_by_a_token_made_by_hand_it_is_refused_in_words_alone(running):
    row, shown = AccessRow("desk", "operations", "write"), frozenset({("desk", "slow")})
    _, token = delegations.make_by_hand(
        running.deployment.store, "demo-writer", "By hand", [row], 7, now=running.clock(), acts=shown
    )
    refused = Asking(running, access_token=token).rpc("tools/call", name="desk__confirm", arguments={"account": "A-1"})
    assert (refused.status_code, refused.json()["result"]["structuredContent"]["reason"]) == (200, "awaits_consent")


def test_the_surface_s_401_leads_to_all_the_rest(running):
    answer = httpx2.post(f"{running.url}/mcp", json={})
    assert answer.headers["www-authenticate"].endswith(
        f', resource_metadata="{running.url}/.well-known/oauth-protected-resource/mcp", scope="meridian"'
    )
    at_the_root = httpx2.get(f"{running.url}/.well-known/oauth-protected-resource").json()
    of_the_surface = httpx2.get(f"{running.url}/.well-known/oauth-protected-resource/mcp").json()
    assert at_the_root == of_the_surface
    assert (of_the_surface["resource"], of_the_surface["authorization_servers"]) == (f"{running.url}/mcp", [running.url])
    server = httpx2.get(f"{running.url}/.well-known/oauth-authorization-server").json()
    assert (server["issuer"], server["code_challenge_methods_supported"]) == (running.url, ["S256"])
    assert server["token_endpoint_auth_methods_supported"] == ["none"]
    assert [server[f"{name}_endpoint"] for name in ("authorization", "token", "registration", "revocation")] == [
        f"{running.url}/oauth/{name}" for name in ("authorize", "token", "register", "revoke")
    ]


async def test_by_the_address_that_people_reach_it_by_it_names_itself(running, tmp_path):
    settings = Settings(data=str(tmp_path / "public"), public_url="https://desk.example")
    deployment = Deployment([], settings, clock=running.clock)
    async with (
        deployment.running(),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(deployment.app), base_url="http://127.0.0.1:8000") as http,
    ):
        server = (await http.get("/.well-known/oauth-authorization-server")).json()
        refused = await http.post("/mcp", json={})
    assert (server["issuer"], server["token_endpoint"]) == ("https://desk.example", "https://desk.example/oauth/token")
    assert "https://desk.example/.well-known/oauth-protected-resource/mcp" in refused.headers["www-authenticate"]


def test_a_client_registers_and_is_told_that_it_has_no_secret(asking):
    answer = asking.register(token_endpoint_auth_method="client_secret_basic", scope="all")
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    said = answer.json()
    assert {name: said[name] for name in ("client_name", "redirect_uris", "token_endpoint_auth_method", "scope")} == {
        "client_name": "Notes",
        "redirect_uris": [HOME],
        "token_endpoint_auth_method": "none",
        "scope": "meridian",
    }
    assert "client_secret" not in said


def test_a_person_allows_it_and_it_is_told_a_code_its_state_and_by_whom(asking, running):
    asking.register()
    browser, page = asking.page()
    said = told(answer(browser, page))
    assert (set(said), said["state"], said["iss"]) == ({"code", "state", "iss"}, "s 1&é", running.url)
    given = asking.exchange(said["code"])
    assert given.headers["cache-control"] == "no-store"
    assert {name: given.json()[name] for name in ("token_type", "expires_in", "scope")} == {
        "token_type": "Bearer",
        "expires_in": 600,
        "scope": "meridian",
    }
    assert asking.tools()[:2] == ["desk__list_open", "desk__confirm"]


def test_a_person_denies_it_and_it_is_told_so_and_nothing_is_made(asking, running):
    asking.register()
    browser, page = asking.page()
    said = told(answer(browser, page, "deny"))
    assert (said["error"], said["state"], said["iss"]) == ("access_denied", "s 1&é", running.url)
    assert [each.client_name for each in delegations.held_by(running.deployment.store, "demo-writer")] == ["Demo client"]


def test_a_code_answer_is_read_by_the_one_browser_and_leaves_no_trace(asking):
    asking.register()
    browser, page = asking.page()
    redirect = answer(browser, page)
    assert (redirect.headers["cache-control"], redirect.headers["referrer-policy"]) == ("no-store", "no-referrer")


def test_what_is_allowed_is_recorded_as_the_person_s_through_the_client(asking, running):
    asking.connect()
    asking.rpc("tools/call", name="desk__confirm", arguments={"account": "A-1", "reason": "r"})
    with running.deployment.store.read() as connection:
        row = connection.exec_driver_sql("select subject, client_name, tool_name from entries").one()
    assert tuple(row) == ("demo-writer", "Notes", "confirm")


def test_tokens_are_renewed_and_the_old_ones_end(asking, running):
    asking.connect()
    first = asking.access_token
    running.clock.moved = timedelta(minutes=10)
    assert asking.rpc().status_code == 401
    assert asking.refresh().status_code == 200
    assert asking.tools()
    assert asking.rpc(token=first).status_code == 401


def test_revoking_under_connected_clients_holds_at_the_next_call(asking, running):
    asking.connect()
    store = running.deployment.store
    made = next(each for each in delegations.held_by(store, "demo-writer") if each.client == asking.client_id)
    delegations.revoke(store, made.id, by="demo-writer", now=running.clock())
    assert asking.rpc().status_code == 401
    assert asking.refresh().json()["error"] == "invalid_grant"


def test_a_client_signs_itself_out(asking):
    asking.connect()
    asked = {"token": asking.refresh_token, "client_id": asking.client_id, "token_type_hint": "refresh_token"}
    assert asking.http.post("/oauth/revoke", data=asked).status_code == 200
    assert asking.rpc().status_code == 401
    assert asking.http.post("/oauth/revoke", data=asked).status_code == 200


def test_any_port_of_this_computer_is_the_registered_one(running):
    client = Asking(running)
    client.register(redirect_uris=["http://127.0.0.1/callback"])
    assert client.connect().tools()


def test_a_client_of_one_address_need_not_name_it(asking):
    asking.register()
    browser, page = asking.page(redirect_uri=None)
    assert answer(browser, page).headers["location"].startswith(f"{HOME}?")


def test_with_a_trailing_slash_or_none_or_none_at_all_it_is_this_surface(running):
    for resource in (f"{running.url}/mcp", f"{running.url}/mcp/", None):
        client = Asking(running)
        client.register()
        browser, page = client.page(resource=resource)
        code = told(answer(browser, page))["code"]
        asked = {"grant_type": "authorization_code", "code": code, "client_id": client.client_id}
        asked |= {"code_verifier": client.verifier} | ({"resource": resource} if resource else {})
        token = client.token(**asked).json()["access_token"]
        assert client.tools(token)


def test_a_token_for_another_address_is_a_401_that_names_this_one_s_metadata(asking, running):
    """The deployment reached by another of its names is another audience."""
    asking.connect()
    here = urlsplit(running.url)
    elsewhere = httpx2.post(
        f"{running.url}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        headers={"Authorization": f"Bearer {asking.access_token}", "Host": f"localhost:{here.port}"},
    )
    assert elsewhere.status_code == 401
    assert (
        f'resource_metadata="http://localhost:{here.port}/.well-known/oauth-protected-resource/mcp"'
        in (elsewhere.headers["www-authenticate"])
    )
    assert 'error="invalid_token"' in elsewhere.headers["www-authenticate"]


def test_an_oauth_token_is_nothing_over_stdio_where_there_is_no_address(asking, running):
    asking.connect()
    store = running.deployment.store
    assert delegations.by_token(store, asking.access_token, now=running.clock()) is None
    assert delegations.by_token(store, running.token("demo-writer"), now=running.clock()) is not None


def test_a_client_that_is_known_no_more_is_told_to_register_again(asking, running):
    asking.connect()
    with running.deployment.store.write() as connection:
        connection.execute(delete(clients))
    assert asking.refresh().status_code == 200
    refused = asking.refresh("mrr_never-made")
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")


class Described:
    """One document, at the address that is a client's id."""

    address = "https://notes.example/client.json"

    def __init__(self):
        self.document = {"client_id": self.address, "client_name": "Notes", "redirect_uris": [HOME]}
        self.asked = 0

    async def __call__(self, address):
        self.asked += 1
        if address != self.address:
            raise Unfetched("it answered 404 where 200 is needed; redirects are not followed")
        return self.document


@pytest.fixture
def document():
    return Described()


@pytest.fixture
def fetch(document):
    return document


def test_a_client_that_a_document_describes_need_not_register(asking, document):
    asking.client_id = document.address
    browser, page = asking.page()
    assert f"a document at <code>{document.address}</code>" in page.text
    assert asking.exchange(told(answer(browser, page))["code"]).status_code == 200
    assert asking.tools()


def test_one_whose_document_is_not_there_is_led_nowhere(asking, document):
    asking.client_id = "https://notes.example/another.json"
    refused = asking.ask(asking.http)
    assert (refused.status_code, "location" in refused.headers) == (400, False)
    assert "it answered 404" in refused.text


def test_one_whose_document_withdrew_the_address_is_led_nowhere(asking, document, running):
    asking.client_id = document.address
    browser, page = asking.page()
    document.document["redirect_uris"] = ["https://notes.example/cb"]
    running.clock.moved = timedelta(minutes=6)
    refused = asking.ask(running.browser())
    assert refused.status_code == 400
    answered = answer(browser, page)
    assert (answered.status_code, "location" in answered.headers) == (400, False)


class TestWithoutDocuments:
    """A deployment that reaches no internet has its clients register."""

    @pytest.fixture
    def settings(self, settings):
        return replace(settings, client_documents="refused")

    def test_its_metadata_says_so_and_a_client_registers_as_ever(self, asking):
        metadata = asking.http.get("/.well-known/oauth-authorization-server").json()
        assert metadata["client_id_metadata_document_supported"] is False
        asking.connect()
        assert asking.tools()

    def test_a_client_that_a_document_describes_is_told_to_register(self, asking, document):
        asking.client_id = document.address
        refused = asking.ask(asking.http)
        assert (refused.status_code, "location" in refused.headers, document.asked) == (400, False, 0)
        assert "reads no documents of clients" in refused.text

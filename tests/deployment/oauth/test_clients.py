"""The programs that may ask: what is kept of what they say of themselves, and for how long."""

from datetime import timedelta

import pytest
from sqlalchemy import func, insert, select, update

from meridian.deployment.oauth import clients
from meridian.deployment.oauth.clients import Client
from meridian.deployment.oauth.declining import Declined
from meridian.deployment.oauth.fetching import Unfetched
from meridian.deployment.store.tables import clients as table

pytestmark = pytest.mark.anyio

HERE = "http://127.0.0.1/callback"
DOCUMENT = "https://client.example/notes.json"


@pytest.fixture
def anyio_backend():
    return "asyncio"


def count(store):
    with store.read() as connection:
        return connection.scalar(select(func.count()).select_from(table))


def register(store, now, told=None, told_from="192.0.2.7", **more):
    return clients.register(store, told or {"redirect_uris": [HERE], **more}, told_from=told_from, now=now)


def declined(work, *args, **named):
    with pytest.raises(Declined) as no:
        work(*args, **named)
    return no.value.error


def test_a_client_is_what_it_says_of_itself_and_has_no_secret(store, now):
    made = register(
        store, now, client_name="  Notes\n on a desk ", token_endpoint_auth_method="client_secret_basic", more={"x": 1}
    )
    assert made == Client(made.id, "Notes on a desk", (HERE,), described=False)
    assert clients.kept(store, made.id) == made


def test_one_without_a_name_is_called_by_where_its_answers_go(store, now):
    assert register(store, now).name == "127.0.0.1"
    assert len(register(store, now, client_name="x" * 900).name) == 100


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": HERE}, "invalid_redirect_uri"),
        ({"redirect_uris": [1]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["javascript:alert(1)//"], "client_name": "Notes"}, "invalid_redirect_uri"),
        ({"redirect_uris": ["https://client.example/cb", "data:text/html,x"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [HERE] * 21}, "invalid_redirect_uri"),
        ({"redirect_uris": [HERE], "client_name": 5}, "invalid_client_metadata"),
        ({"redirect_uris": [HERE], "client_name": "x" * 1_001}, "invalid_client_metadata"),
        ({"redirect_uris": [HERE], "grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({"redirect_uris": [HERE], "response_types": ["token"]}, "invalid_client_metadata"),
        ([], "invalid_client_metadata"),
        (None, "invalid_client_metadata"),
        ("x", "invalid_client_metadata"),
    ],
)
def test_what_does_not_do_is_said_in_the_standard_s_words_and_nothing_is_kept(store, now, told, error):
    assert declined(clients.register, store, told, told_from="192.0.2.7", now=now) == error
    assert count(store) == 0


def test_one_place_registers_so_many_in_an_hour_and_others_are_not_kept_waiting(store, now):
    for _ in range(60):
        register(store, now)
    assert declined(register, store, now) == "too_many_requests"
    register(store, now, told_from="192.0.2.8")
    register(store, now + timedelta(minutes=61))


def test_what_nobody_used_is_forgotten_and_what_was_used_is_not(store, now):
    unused, used = register(store, now), register(store, now)
    with store.write() as connection:
        connection.execute(update(table).where(table.c.id == used.id).values(used_at=now))
    register(store, now + timedelta(days=29))
    assert clients.kept(store, unused.id) == unused
    register(store, now + timedelta(days=31))
    assert (clients.kept(store, unused.id), clients.kept(store, used.id)) == (None, used)
    register(store, now + timedelta(days=401))
    assert clients.kept(store, used.id) is None


def test_where_many_are_unused_each_is_kept_for_a_day(store, now):
    common = {"name": "x", "redirect_uris": "[]", "described": False, "told_from": "", "told_at": now}
    with store.write() as connection:
        connection.execute(insert(table), [{**common, "id": f"CL-{each}"} for each in range(10_001)])
    register(store, now + timedelta(hours=23))
    assert count(store) == 10_002
    register(store, now + timedelta(hours=25))
    assert count(store) == 2


class Documents:
    """Documents at their addresses, and how often they were asked for."""

    def __init__(self, **documents):
        self.documents, self.asked = documents, []

    async def __call__(self, address):
        self.asked.append(address)
        if address not in self.documents:
            raise Unfetched("it answered 404")
        return self.documents[address]


def described(**more):
    return Documents(**{DOCUMENT: {"client_id": DOCUMENT, "client_name": "Notes", "redirect_uris": [HERE], **more}})


async def find(store, fetch, now, client_id=DOCUMENT):
    return await clients.find(store, fetch, client_id, told_from="192.0.2.7", now=now)


async def not_found(store, fetch, now, client_id=DOCUMENT):
    with pytest.raises(Declined) as no:
        await find(store, fetch, now, client_id)
    return no.value.said


async def test_a_client_is_what_the_document_at_its_id_says(store, now):
    found = await find(store, described(), now)
    assert (found, found.host) == (Client(DOCUMENT, "Notes", (HERE,), described=True), "client.example")


async def test_a_document_is_read_anew_where_it_was_not_a_moment_ago(store, now):
    fetch = described()
    await find(store, fetch, now)
    await find(store, fetch, now + timedelta(minutes=4))
    assert len(fetch.asked) == 1
    fetch.documents[DOCUMENT]["redirect_uris"] = ["https://client.example/cb"]
    assert (await find(store, fetch, now + timedelta(minutes=6))).redirect_uris == ("https://client.example/cb",)


async def test_while_a_document_is_read_anew_its_client_is_as_it_was(store, now):
    fetch, later, seen = described(), now + timedelta(minutes=6), []
    found = await find(store, fetch, now)

    async def slow(address):
        seen.extend([clients.kept(store, DOCUMENT), await find(store, fetch, later)])
        return {**fetch.documents[address], "client_name": "Notes 2"}

    assert (await find(store, slow, later)).name == "Notes 2"
    assert (seen, len(fetch.asked)) == ([found, found], 1)


async def test_one_that_cannot_be_read_is_not_asked_for_at_once_again_and_its_client_has_no_address(store, now):
    fetch = described()
    await find(store, fetch, now)
    later = now + timedelta(minutes=6)
    fetch.documents.clear()
    assert await not_found(store, fetch, later) == "The client's document was not read: it answered 404."
    assert "a moment ago" in await not_found(store, fetch, later + timedelta(seconds=5))
    assert (len(fetch.asked), clients.kept(store, DOCUMENT).redirect_uris) == (2, ())


@pytest.mark.parametrize(
    "more",
    [
        {"client_id": "https://client.example/other.json"},
        {"client_id": None},
        {"client_secret": "x"},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": []},
    ],
)
async def test_a_document_that_names_another_client_or_a_secret_describes_none(store, now, more):
    await not_found(store, described(**more), now)
    assert clients.kept(store, DOCUMENT).redirect_uris == ()


@pytest.mark.parametrize(
    "client_id",
    [
        "https://client.example",
        "https://client.example/",
        "https://user@client.example/d",
        "https://client.example/d#f",
        "https://client.example/a/../d",
        "https://client.example/d d",
        "https://client.example/" + "d" * 500,
        "http://client.example/d",
        "client.example",
        "",
    ],
)
async def test_what_is_no_document_s_address_is_never_asked_for(store, now, client_id):
    fetch = Documents()
    await not_found(store, fetch, now, client_id)
    assert (fetch.asked, count(store)) == ([], 0)


async def test_one_place_has_so_many_documents_read_in_an_hour(store, now):
    fetch = Documents()
    said = [await not_found(store, fetch, now, f"https://client.example/{number}") for number in range(61)]
    assert (len(fetch.asked), said[-1]) == (60, "Too many clients told of themselves lately; try again in an hour.")

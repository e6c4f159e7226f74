"""Codes and tokens: each spent once, renewed in a chain that only the deployment can follow, and never for another client."""

import base64
import hashlib
import sqlite3
import threading
from datetime import timedelta

import pytest

from meridian.deployment import access, delegations
from meridian.deployment.access import AccessRow
from meridian.deployment.delegations import Covers
from meridian.deployment.fingerprints import fingerprint
from meridian.deployment.oauth import tokens
from meridian.deployment.oauth.declining import Declined
from meridian.deployment.store.revision import read_revision

KEY = b"k" * 32
HOME = "http://127.0.0.1:1/callback"
HERE = "https://desk.example/mcp"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
ROW = AccessRow("operations", "operations", "write")


@pytest.fixture
def writer(store, grant, operations):
    grant("P-1", ("A",), ("operations", "operations", "write"))
    return "P-1"


@pytest.fixture
def lend(store, writer, now):
    """`lend()` is the code that a client gets by a delegation to it."""

    def lend(client="C-1", at=now):
        with store.write() as connection:
            made = delegations.make(
                connection, subject=writer, client=client, client_name="Notes", covers=Covers((ROW,)), days=7, now=at
            )
            return tokens.make_code(connection, made, redirect_uri=HOME, code_challenge=CHALLENGE, resource=HERE, now=at)

    return lend


@pytest.fixture
def exchange(store, now):
    def exchange(code, **more):
        return tokens.exchange(store, KEY, code, **{"client": "C-1", "verifier": VERIFIER, "now": now, **more})

    return exchange


@pytest.fixture
def refresh(store, now):
    def refresh(given, **more):
        return tokens.refresh(store, KEY, given.refresh, **{"client": "C-1", "now": now, **more})

    return refresh


def declined(work, *args, **named):
    with pytest.raises(Declined) as no:
        work(*args, **named)
    return no.value.error


def stands(store, given, now, resource=HERE):
    return delegations.by_token(store, given.access, resource=resource, now=now) is not None


def revoked(store, subject="P-1"):
    return [each.revoked_at is not None for each in delegations.held_by(store, subject)]


def test_a_code_gives_tokens_that_speak_for_its_person_at_one_address_for_ten_minutes(store, lend, exchange, now):
    given = exchange(lend(), redirect_uri=HOME, resource=f"{HERE}/")
    assert given.seconds == 600
    assert delegations.by_token(store, given.access, resource=HERE, now=now).subject == "P-1"
    assert [stands(store, given, now, resource) for resource in (None, "https://other.example/mcp", f"{HERE}x", "")] == [
        False
    ] * 4
    assert stands(store, given, now + timedelta(seconds=599))
    assert not stands(store, given, now + timedelta(seconds=600))


def test_neither_a_code_nor_a_refresh_token_is_an_access_token(store, lend, exchange, now):
    code = lend()
    given = exchange(code)
    assert [delegations.by_token(store, each, resource=HERE, now=now) for each in (code, given.refresh)] == [None, None]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"client": "C-2"}, "invalid_grant"),
        ({"verifier": "w" * 43}, "invalid_grant"),
        ({"verifier": ""}, "invalid_grant"),
        ({"verifier": CHALLENGE}, "invalid_grant"),
        ({"verifier": "\ud800" * 43}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:2/callback"}, "invalid_grant"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ],
)
def test_a_code_is_nothing_to_who_did_not_ask_for_it_and_stands_for_who_did(lend, exchange, more, error):
    code = lend()
    assert declined(exchange, code, **more) == error
    assert exchange(code).access


def test_a_code_is_good_for_a_minute(lend, exchange, now):
    assert declined(exchange, lend(), now=now + timedelta(seconds=60)) == "invalid_grant"
    assert declined(exchange, "mrc_never-made") == "invalid_grant"


def test_a_code_that_comes_twice_takes_back_what_it_gave(store, lend, exchange, refresh, now):
    code = lend()
    given = refresh(exchange(code))
    assert declined(exchange, code) == "invalid_grant"
    assert not stands(store, given, now)
    assert declined(refresh, given) == "invalid_grant"
    assert revoked(store) == [True]


def test_but_not_what_another_code_gave(store, lend, exchange, now):
    first, second = lend(), lend()
    given, other = exchange(first), exchange(second)
    assert declined(exchange, first) == "invalid_grant"
    assert (stands(store, given, now), stands(store, other, now), revoked(store)) == (False, True, [False])


def test_a_refresh_token_is_spent_for_the_next(store, lend, exchange, refresh, now):
    first = exchange(lend())
    second = refresh(first)
    third = refresh(second)
    assert len({first.access, second.access, third.access, first.refresh, second.refresh, third.refresh}) == 6
    assert all(stands(store, each, now) for each in (first, second, third))


def test_within_a_minute_the_same_client_is_answered_the_same(lend, exchange, refresh, now):
    first = exchange(lend())
    second = refresh(first)
    again = refresh(first, now=now + timedelta(seconds=59))
    assert (again.access, again.refresh, again.seconds) == (second.access, second.refresh, 541)


def test_two_windows_that_both_renew_come_to_the_same_last_token(lend, exchange, refresh):
    first = exchange(lend())
    third = refresh(refresh(first))
    assert refresh(first).refresh == third.refresh


def test_after_that_minute_it_is_in_two_hands_and_the_delegation_is_revoked(store, lend, exchange, refresh, now):
    first = exchange(lend())
    second = refresh(first)
    other = exchange(lend())
    late = now + timedelta(seconds=60)
    assert declined(refresh, first, now=late) == "invalid_grant"
    assert revoked(store) == [True]
    assert [declined(refresh, each, now=late) for each in (second, other)] == ["invalid_grant"] * 2
    assert not stands(store, second, late)


@pytest.mark.parametrize("more", [{"client": "C-2"}, {"client": ""}])
def test_another_client_renews_nothing_and_revokes_nothing(store, lend, exchange, refresh, now, more):
    first = exchange(lend())
    refresh(first)
    assert declined(refresh, first, now=now + timedelta(hours=1), **more) == "invalid_grant"
    assert revoked(store) == [False]


def test_a_refresh_token_is_renewed_for_its_own_address_alone(lend, exchange, refresh):
    given = exchange(lend())
    assert declined(refresh, given, resource="https://other.example/mcp") == "invalid_target"
    assert refresh(given, resource=f"{HERE}/").access


def test_nothing_is_renewed_once_the_delegation_s_time_is_over_or_it_is_revoked(store, lend, exchange, refresh, now):
    given = exchange(lend())
    assert declined(refresh, given, now=now + timedelta(days=7)) == "invalid_grant"
    delegations.revoke(store, delegations.held_by(store, "P-1")[0].id, by="P-1", now=now)
    assert declined(refresh, given) == "invalid_grant"
    assert not stands(store, given, now)


def test_who_has_left_is_spoken_for_no_more(store, lend, exchange, refresh, now):
    code, given = lend(), exchange(lend())
    access.let_go(store, "P-1", now=now)
    assert not stands(store, given, now)
    assert [declined(refresh, given), declined(exchange, code)] == ["invalid_grant"] * 2


def test_fingerprints_are_all_that_is_kept(store, lend, exchange, refresh, tmp_path):
    code = lend()
    first = exchange(code)
    second = refresh(first)
    store.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("meridian.db*"))
    secret = [code, first.access, first.refresh, second.access, second.refresh]
    assert [each for each in secret if each.encode() in kept] == []
    with sqlite3.connect(tmp_path / "meridian.db") as connection:
        prints = {row[0] for row in connection.execute("select fingerprint from tokens")}
    connection.close()
    assert {fingerprint(each) for each in secret[1:]} == prints


def test_the_next_tokens_follow_from_the_key_as_well(store, lend, now):
    code = lend()
    given = tokens.exchange(store, KEY, code, client="C-1", verifier=VERIFIER, now=now)
    assert tokens._follows(b"another", "refresh", code) != given.refresh == tokens._follows(KEY, "refresh", code)


def test_tokens_whose_time_is_over_are_let_go_of(store, lend, exchange, refresh, now):
    def kinds():
        with store.read() as connection:
            return [row[0] for row in connection.exec_driver_sql("select kind from tokens order by kind")]

    given = exchange(lend())
    for hour in range(1, 4):
        given = refresh(given, now=now + timedelta(hours=hour))
    tokens.prune(store, now=now + timedelta(hours=3, minutes=9))
    assert kinds() == ["access", "refresh", "refresh", "refresh", "refresh"]
    assert stands(store, given, now + timedelta(hours=3, minutes=9))
    assert refresh(given, now=now + timedelta(hours=4))
    tokens.prune(store, now=now + timedelta(days=7))
    assert kinds() == []


def test_a_renewal_has_nobody_look_anew_at_what_they_know(store, lend, exchange, refresh, now):
    def revision():
        with store.read() as connection:
            return read_revision(connection)

    given = exchange(lend())
    before = revision()
    for minutes in (11, 22):
        given = refresh(given, now=now + timedelta(minutes=minutes))
    assert revision() == before
    tokens.revoke(store, given.access, client="C-1", now=now + timedelta(minutes=22))
    assert revision() > before


@pytest.mark.parametrize("times", range(3))
def test_many_who_renew_at_once_are_all_answered_the_same(store, lend, exchange, refresh, times):
    first = exchange(lend())
    answers, start = [], threading.Barrier(6)

    def renew():
        start.wait()
        answers.append(refresh(first).refresh)

    threads = [threading.Thread(target=renew) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(answers), len(set(answers))) == (6, 1)


def test_of_many_who_exchange_one_code_at_once_one_is_answered_and_what_it_got_is_taken_back(store, lend, now):
    code, answers, start = lend(), [], threading.Barrier(6)

    def exchange():
        start.wait()
        try:
            answers.append(tokens.exchange(store, KEY, code, client="C-1", verifier=VERIFIER, now=now))
        except Declined:
            answers.append(None)

    threads = [threading.Thread(target=exchange) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [given] = [each for each in answers if each is not None]
    assert not stands(store, given, now)


def test_a_client_gives_back_what_it_has(store, lend, exchange, refresh, now):
    given, other = exchange(lend()), exchange(lend())
    tokens.revoke(store, given.access, client="C-1", now=now)
    assert (stands(store, given, now), stands(store, other, now)) == (False, True)
    renewed = refresh(given)
    tokens.revoke(store, renewed.refresh, client="C-1", now=now)
    assert (stands(store, renewed, now), stands(store, other, now), revoked(store)) == (False, True, [False])
    tokens.revoke(store, other.refresh, client="C-1", now=now)
    assert revoked(store) == [True]


def test_and_nothing_of_another_s(store, lend, exchange, now):
    given = exchange(lend())
    assert declined(tokens.revoke, store, given.refresh, client="C-2", now=now) == "invalid_client"
    tokens.revoke(store, "mrr_never-made", client="C-2", now=now)
    assert stands(store, given, now)

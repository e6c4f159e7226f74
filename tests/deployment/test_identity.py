"""Local people: passwords, lockout, one-time links, and sessions."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select

from meridian.deployment import access, identity, provider_groups
from meridian.deployment.identity import Person, Vouched
from meridian.deployment.store.revision import read_revision
from meridian.deployment.store.tables import links, people, sessions, sign_in_tries
from meridian.errors import Problem, Refusal

PASSWORD = "a long enough password"


@pytest.fixture
def writer(store, now):
    """Somebody with a password."""
    return identity.add_person(store, "Writer@Example.com", "Demo  writer", password=PASSWORD, subject="P-1", now=now)


def refused(work, *args, **named):
    with pytest.raises(Refusal) as refusal:
        work(*args, **named)
    return refusal.value.reason


def test_a_name_and_its_password_start_a_session(store, writer, now):
    token = identity.sign_in(store, " writer@example.COM ", PASSWORD, now=now)
    session = identity.read_session(store, token, now=now)
    assert (session.person, session.started_at, session.signed_in_by) == (
        Person("P-1", "writer@example.com", "Demo writer"),
        now,
        "password",
    )


def test_each_sign_in_has_a_token_of_its_own(store, writer, now):
    assert len({identity.sign_in(store, "writer@example.com", PASSWORD, now=now) for _ in range(3)}) == 3


def test_a_wrong_password_and_an_unknown_name_are_answered_alike(store, writer, now):
    for name in ("writer@example.com", "nobody@example.com"):
        with pytest.raises(Refusal, match="That name and password do not go together") as refusal:
            identity.sign_in(store, name, "not the password", now=now)
        assert refusal.value.reason == "wrong"


@pytest.mark.parametrize("name", ["writer@example.com", "nobody@example.com"])
def test_five_wrong_passwords_lock_the_name_for_a_time_whether_or_not_it_is_anybodys(store, writer, now, name):
    answers = [refused(identity.sign_in, store, name, "not the password", now=now) for _ in range(7)]
    assert answers == ["wrong"] * 5 + ["locked"] * 2


def test_while_locked_the_right_password_is_of_no_use_and_afterwards_it_is(store, writer, now):
    for _ in range(5):
        refused(identity.sign_in, store, "writer@example.com", "not the password", now=now)
    almost = now + identity.LOCKOUT - timedelta(seconds=1)
    assert refused(identity.sign_in, store, "writer@example.com", PASSWORD, now=almost) == "locked"
    assert identity.sign_in(store, "writer@example.com", PASSWORD, now=now + identity.LOCKOUT)


def test_the_right_password_on_the_fifth_try_starts_the_count_anew(store, writer, now):
    for _ in range(3):
        for _ in range(4):
            refused(identity.sign_in, store, "writer@example.com", "not the password", now=now)
        assert identity.sign_in(store, "writer@example.com", PASSWORD, now=now)


def test_guesses_made_at_once_are_no_more_than_guesses_made_in_turn(store, writer, now):
    answers = []
    guess = lambda: answers.append(refused(identity.sign_in, store, "writer@example.com", "not it at all", now=now))  # noqa: E731
    threads = [threading.Thread(target=guess) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (answers.count("wrong"), answers.count("locked")) == (5, 7)


def test_tries_are_forgotten_after_an_hour_so_that_they_do_not_pile_up(store, writer, now):
    refused(identity.sign_in, store, "nobody", "not the password", now=now)
    refused(identity.sign_in, store, "somebody", "not the password", now=now + timedelta(minutes=61))
    with store.read() as connection:
        assert len(connection.execute(select(sign_in_tries)).all()) == 1


def test_no_secret_is_kept_but_its_fingerprint(store, writer, now, tmp_path):
    secrets = [PASSWORD, identity.sign_in(store, "writer@example.com", PASSWORD, now=now)]
    secrets += [identity.sign_in_link(store, "P-1", now=now), identity.first_admin_link(store, now=now)]
    store.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("meridian.db*"))
    assert [secret for secret in secrets if secret.encode() in kept] == []
    with store.read() as connection:
        assert connection.scalar(select(people.c.password_hash)).startswith("$argon2id$")


def test_a_session_ends_after_half_an_hour_unused(store, writer, now):
    token = identity.sign_in(store, "writer@example.com", PASSWORD, now=now)
    used = now + timedelta(minutes=29)
    assert identity.read_session(store, token, now=used).last_seen_at == used
    assert identity.read_session(store, token, now=used + timedelta(minutes=29))
    assert identity.read_session(store, token, now=used + timedelta(minutes=59)) is None
    assert identity.read_session(store, token, now=used) is None


def test_a_session_ends_after_twelve_hours_however_much_it_is_used(store, writer, now):
    token = identity.sign_in(store, "writer@example.com", PASSWORD, now=now)
    moments = [now + timedelta(minutes=20 * step) for step in range(1, 37)]
    alive = [identity.read_session(store, token, now=moment) is not None for moment in moments]
    assert alive == [True] * 35 + [False]


def test_signing_out_ends_the_session_and_no_other(store, writer, now):
    one, other = (identity.sign_in(store, "writer@example.com", PASSWORD, now=now) for _ in range(2))
    identity.end_session(store, one)
    assert (identity.read_session(store, one, now=now), identity.read_session(store, other, now=now) is None) == (None, False)


def test_a_new_password_ends_every_session(store, writer, now):
    token = identity.sign_in(store, "writer@example.com", PASSWORD, now=now)
    identity.set_password(store, "P-1", "another long password")
    assert identity.read_session(store, token, now=now) is None
    assert refused(identity.sign_in, store, "writer@example.com", PASSWORD, now=now) == "wrong"
    assert identity.sign_in(store, "writer@example.com", "another long password", now=now)


@pytest.mark.parametrize(
    "shut_out",
    [
        lambda store: identity.set_password(store, "P-1", "another long password"),
        lambda store: identity.end_sessions_of(store, "P-1"),
    ],
)
def test_whoever_is_signed_out_everywhere_is_let_in_by_no_link_of_before(store, writer, now, shut_out):
    link = identity.sign_in_link(store, "P-1", now=now)
    shut_out(store)
    assert refused(identity.sign_in_by_link, store, link, now=now) == "spent"


@pytest.mark.parametrize("token", ["", "x", "é" * 50, "\ud800", "x" * 100_000])
def test_a_token_that_nobody_was_given_is_nobodys(store, writer, now, token):
    assert identity.read_session(store, token, now=now) is None
    assert refused(identity.sign_in_by_link, store, token, now=now) == "spent"


def test_a_link_signs_in_once(store, writer, now):
    link = identity.sign_in_link(store, "P-1", now=now)
    assert identity.link_stands(store, link, "sign-in", now=now)
    session = identity.read_session(store, identity.sign_in_by_link(store, link, now=now), now=now)
    assert (session.person.subject, session.signed_in_by) == ("P-1", "link")
    assert refused(identity.sign_in_by_link, store, link, now=now) == "spent"
    assert not identity.link_stands(store, link, "sign-in", now=now)


def test_a_link_used_by_two_at_once_signs_one_in(store, writer, now):
    link, answers = identity.sign_in_link(store, "P-1", now=now), []

    def use():
        try:
            answers.append(bool(identity.sign_in_by_link(store, link, now=now)))
        except Refusal as refusal:
            answers.append(refusal.reason)

    threads = [threading.Thread(target=use) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers, key=str) == [True, *["spent"] * 4]


def test_a_link_lapses(store, writer, now):
    link = identity.sign_in_link(store, "P-1", now=now)
    assert refused(identity.sign_in_by_link, store, link, now=now + identity.LINK_LASTS) == "spent"


def test_a_link_serves_its_purpose_alone(store, writer, now):
    first = identity.first_admin_link(store, now=now)
    assert refused(identity.sign_in_by_link, store, first, now=now) == "spent"
    link = identity.sign_in_link(store, "P-1", now=now)
    assert refused(identity.become_first_admin, store, link, "admin", "Demo admin", PASSWORD, now=now) == "spent"


def test_a_locked_name_can_still_be_let_in_by_a_link(store, writer, now):
    for _ in range(6):
        refused(identity.sign_in, store, "writer@example.com", "not the password", now=now)
    assert identity.sign_in_by_link(store, identity.sign_in_link(store, "P-1", now=now), now=now)


@pytest.mark.parametrize("unlocked", ["by an admin", "by a password chosen anew"])
def test_a_locked_name_is_unlocked(store, writer, now, unlocked):
    for _ in range(6):
        refused(identity.sign_in, store, "writer@example.com", "not the password", now=now)
    assert identity.locked_until(store, "P-1", now=now) == now + identity.LOCKOUT
    if unlocked == "by an admin":
        identity.unlock(store, "P-1")
    else:
        identity.set_password(store, "P-1", PASSWORD)
    assert identity.locked_until(store, "P-1", now=now) is None
    assert identity.sign_in(store, "writer@example.com", PASSWORD, now=now)


def test_the_first_admin_makes_themselves_one_and_nobody_does_after_them(store, now):
    link = identity.first_admin_link(store, now=now)
    token = identity.become_first_admin(store, link, "admin", "Demo admin", PASSWORD, now=now)
    subject = identity.read_session(store, token, now=now).person.subject
    assert access.is_deployment_admin(store, subject)
    assert refused(identity.become_first_admin, store, link, "other", "Another", PASSWORD, now=now) == "spent"
    assert identity.first_admin_link(store, now=now) is None


def test_the_link_last_printed_is_the_one_that_serves(store, now):
    old, new = (identity.first_admin_link(store, now=now) for _ in range(2))
    assert [identity.link_stands(store, link, "first-admin", now=now) for link in (old, new)] == [False, True]


def test_a_first_admin_who_did_not_say_enough_may_try_again(store, now):
    link = identity.first_admin_link(store, now=now)
    with pytest.raises(Refusal) as refusal:
        identity.become_first_admin(store, link, "", "\x00", PASSWORD, now=now)
    assert [problem.path for problem in refusal.value.fields] == ["sign_in_name", "display_name"]
    with pytest.raises(Refusal) as refusal:
        identity.become_first_admin(store, link, "admin", "Demo admin", "short", now=now)
    assert refusal.value.fields == (Problem("password", "it needs 10 to 256 characters"),)
    assert identity.become_first_admin(store, link, "admin", "Demo admin", PASSWORD, now=now)


def test_a_name_is_one_persons(store, writer, now):
    with pytest.raises(Refusal, match=r"Somebody signs in as writer@example\.com already"):
        identity.add_person(store, "WRITER@example.com", "Another", now=now)
    assert [person.subject for person in identity.every_person(store)] == ["P-1"]


def test_whoever_was_let_go_signs_in_no_more(store, writer, now):
    token, link = identity.sign_in(store, "writer@example.com", PASSWORD, now=now), identity.sign_in_link(store, "P-1", now=now)
    access.let_go(store, "P-1", now=now)
    assert identity.read_session(store, token, now=now) is None
    assert refused(identity.sign_in_by_link, store, link, now=now) == "spent"
    assert refused(identity.sign_in, store, "writer@example.com", PASSWORD, now=now) == "wrong"
    assert (identity.person(store, "P-1"), identity.every_person(store)) == (None, ())


def test_links_and_sessions_long_gone_are_swept_out(store, writer, now):
    for _ in range(3):
        identity.sign_in_by_link(store, identity.sign_in_link(store, "P-1", now=now), now=now)
    later = now + timedelta(days=30)
    identity.sign_in_by_link(store, identity.sign_in_link(store, "P-1", now=later), now=later)
    with store.read() as connection:
        assert [len(connection.execute(select(table)).all()) for table in (links, sessions)] == [1, 1]


ISSUER = "https://login.example"


def vouched(subject="24400320", display_name="Ada", groups=()):
    return Vouched(ISSUER, subject, display_name, frozenset(groups))


def test_whom_a_provider_vouches_for_is_one_person_however_often_they_come(store, now):
    names = ("Ada", "Ada K.")
    tokens = [identity.sign_in_by_provider(store, vouched(display_name=name), begun_at=now, now=now) for name in names]
    sessions = [identity.read_session(store, token, now=now) for token in tokens]
    assert len({session.person.subject for session in sessions}) == 1
    assert {(session.person.display_name, session.person.signs_in_as, session.signed_in_by) for session in sessions} == {
        ("Ada K.", "24400320 at https://login.example", "provider")
    }


def test_a_sign_in_that_changes_nothing_has_nobody_look_anew_at_who_may_ask_what(store, now):
    access.add_group(store, "user", "Desk")
    provider_groups.name(store, "desk", ISSUER, "traders")
    revisions = []
    for groups in (["traders"], ["traders"], ["traders"], []):
        identity.sign_in_by_provider(store, vouched(groups=groups), begun_at=now, now=now)
        with store.read() as connection:
            revisions.append(read_revision(connection))
    first, second, third, without = revisions
    assert first == second == third < without


def test_a_session_by_a_provider_counts_from_when_its_sign_in_was_begun(store, now):
    begun = now - timedelta(minutes=5)
    token = identity.sign_in_by_provider(store, vouched(), begun_at=begun, now=now)
    session = identity.read_session(store, token, now=now)
    assert (session.started_at, session.last_seen_at) == (begun, now)


def test_one_who_comes_for_the_first_time_in_two_browsers_at_once_is_one_person(store, now):
    tokens = []
    come = lambda: tokens.append(identity.sign_in_by_provider(store, vouched(), begun_at=now, now=now))  # noqa: E731
    threads = [threading.Thread(target=come) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({identity.read_session(store, token, now=now).person.subject for token in tokens}) == 1
    assert (len(tokens), len(identity.every_person(store))) == (6, 1)


def test_a_name_or_a_sub_like_a_local_person_s_makes_nobody_them(store, writer, now):
    for subject in ("P-1", "writer@example.com"):
        token = identity.sign_in_by_provider(store, vouched(subject, "Demo writer"), begun_at=now, now=now)
        assert identity.read_session(store, token, now=now).person.subject != "P-1"
    assert identity.sign_in(store, "writer@example.com", PASSWORD, now=now)


def test_an_issuer_s_groups_give_nothing_to_who_comes_from_another(store, now):
    access.add_group(store, "user", "Desk")
    provider_groups.name(store, "desk", "https://another.example", "traders")
    identity.sign_in_by_provider(store, vouched(groups=["traders", "desk", "Desk"]), begun_at=now, now=now)
    assert [group.members for group in access.every_user_group(store) if group.id == "desk"] == [()]


@pytest.mark.parametrize(
    ("group", "name", "words"),
    [
        ("desk", "", "a group's name has 1 to 200"),
        ("desk", "x" * 201, "a group's name has 1 to 200"),
        ("desk", "a\x00", "a group's name has 1 to 200"),
        ("none", "traders", "There is no user group none"),
        ("deployment-admins", "traders", "Deployment admins are named here"),
    ],
)
def test_a_naming_that_does_not_do_is_refused(store, group, name, words):
    access.add_group(store, "user", "Desk")
    with pytest.raises(Refusal) as refusal:
        provider_groups.name(store, group, ISSUER, name)
    assert words in f"{refusal.value} {[problem.message for problem in refusal.value.fields]}"


def test_a_group_that_is_removed_goes_with_what_was_named_for_it(store, now):
    access.add_group(store, "user", "Desk")
    provider_groups.name(store, "desk", ISSUER, "traders")
    provider_groups.name(store, "desk", ISSUER, "traders")
    assert provider_groups.named(store, "desk", ISSUER) == ("traders",)
    identity.sign_in_by_provider(store, vouched(groups=["traders"]), begun_at=now, now=now)
    assert list(provider_groups.given(store, "desk").values()) == ["traders"]
    access.remove_group(store, "user", "desk")
    assert (provider_groups.named(store, "desk", ISSUER), provider_groups.given(store, "desk")) == ((), {})

"""Who a person is: local people, their passwords, one-time links, people from the firm's provider, and sessions.

A sign-in name and a password, a link's token, or what a provider vouches for, enter; a session's token leaves, and with it
later the `Person`. Sessions and links are opaque and kept as fingerprints; passwords are kept by Argon2. What a person may do
is `access`' matter, and how a provider is asked `oidc`'s.

Nothing here tells whether a name is anybody's: an unknown name takes the time of a known one, is answered in the same
words, and is locked in the same way.
"""

from __future__ import annotations

import threading
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, Row, delete, insert, or_, select, update

from meridian.deployment import provider_groups
from meridian.deployment.fingerprints import fingerprint, new_id, new_token
from meridian.deployment.store import Store
from meridian.deployment.store.tables import links, people, sessions, sign_in_tries, user_group_members
from meridian.errors import Problem, Refusal

__all__ = [
    "DEPLOYMENT_ADMINS",
    "LINK_LASTS",
    "LOCKOUT",
    "SESSION_IDLE",
    "SESSION_LASTS",
    "TRIES",
    "Person",
    "Session",
    "Vouched",
    "add_person",
    "become_first_admin",
    "end_session",
    "end_sessions_of",
    "every_person",
    "first_admin_link",
    "link_stands",
    "locked_until",
    "person",
    "read_session",
    "set_password",
    "sign_in",
    "sign_in_by_link",
    "sign_in_by_provider",
    "sign_in_link",
    "unlock",
]

DEPLOYMENT_ADMINS: Final = "deployment-admins"
"""The user group of the deployment's admins. It is built in, and never without a member once it has had one."""

TRIES: Final = 5
"""Wrong passwords in a row after which a sign-in name is locked."""

LOCKOUT: Final = timedelta(minutes=15)
SESSION_IDLE: Final = timedelta(minutes=30)
SESSION_LASTS: Final = timedelta(hours=12)
LINK_LASTS: Final = timedelta(hours=24)

_SHORTEST_PASSWORD: Final = 10
_LONGEST_PASSWORD: Final = 256
_LONGEST_NAME: Final = 200
_TRIES_KEPT: Final = timedelta(hours=1)
_SEEN_ANEW_AFTER: Final = timedelta(minutes=1)
_WRONG: Final = "That name and password do not go together."
_LET_GO: Final = "You were let go from this deployment, and sign in no more."
_OF_A_PROVIDER: Final = "You sign in through a provider, which looks after your password; there is none here."
_SPENT: Final = "This link was used already, or has lapsed. Ask for another."

_HASHER: Final = PasswordHasher()
_HASHING: Final = threading.BoundedSemaphore(2)
"""Each hash takes 64 MiB; this many at once, however many ask."""


@dataclass(frozen=True)
class Person:
    """Somebody who may sign in. `subject` stays for as long as there are records of them; the names may change.

    `issuer` is of the provider that they sign in through; empty for a local person. The `sign_in_name` is then what that
    calls them, and not for typing.
    """

    subject: str
    sign_in_name: str
    display_name: str
    issuer: str = ""

    @property
    def signs_in_as(self) -> str:
        """By what they sign in, in words.

        >>> Person("P-1", "24400320", "Ada", "https://login.example").signs_in_as
        '24400320 at https://login.example'
        """
        return f"{self.sign_in_name} at {self.issuer}" if self.issuer else self.sign_in_name


@dataclass(frozen=True)
class Vouched:
    """What a provider says of somebody who signed in there, as far as it is believed. `issuer` and `subject` together are who
    they are; by the name they are shown and by nothing else are they known."""

    issuer: str
    subject: str
    display_name: str
    groups: frozenset[str]


SignedInBy = Literal["password", "link", "provider"]


@dataclass(frozen=True)
class Session:
    """A person who is signed in, since when, and by what. They proved who they are at `started_at` or later."""

    person: Person
    started_at: datetime
    last_seen_at: datetime
    signed_in_by: SignedInBy


def add_person(
    store: Store,
    sign_in_name: str,
    display_name: str,
    *,
    now: datetime,
    password: str | None = None,
    subject: str | None = None,
) -> Person:
    """A new person, who holds nothing yet. Without a password they sign in by a link first.

    Raises Refusal, with the fields named, for a name that is taken, blank or too long, and for a password that is.
    """
    hashed = None if password is None else _hash(password)
    made = _named(subject or new_id("P"), sign_in_name, display_name)
    store.rewrite(lambda connection: _add(connection, made, hashed, now))
    return made


def person(store: Store, subject: str) -> Person | None:
    """The person `subject`, while they are one of the deployment's."""
    with store.read() as connection:
        row = connection.execute(select(people).where(people.c.subject == subject, people.c.left_at.is_(None))).one_or_none()
    return None if row is None else _person(row)


def every_person(store: Store) -> tuple[Person, ...]:
    """Everybody who may sign in, by display name."""
    with store.read() as connection:
        rows = connection.execute(
            select(people).where(people.c.left_at.is_(None)).order_by(people.c.display_name, people.c.subject)
        )
        return tuple(map(_person, rows))


def set_password(store: Store, subject: str, password: str) -> None:
    """Give the person this password, and end their sessions, the one that asks included, and the links that wait for them.
    Their name is locked no more, since they could not sign in by it.

    Raises Refusal for one that is too short or too long, and for somebody who signs in through a provider: whoever leaves
    there is to be let in here no more.
    """
    hashed = _hash(password)
    with store.write() as connection:
        if connection.scalar(select(people.c.issuer).where(people.c.subject == subject)):
            raise Refusal(_OF_A_PROVIDER, reason="provider")
        connection.execute(update(people).where(people.c.subject == subject).values(password_hash=hashed))
        _unlock(connection, subject)
        _shut_out(connection, subject)


def locked_until(store: Store, subject: str, *, now: datetime) -> datetime | None:
    """Until when the person's sign-in name is locked after wrong passwords; None where it is not."""
    with store.read() as connection:
        name = connection.scalar(select(people.c.sign_in_name).where(people.c.subject == subject))
        until: datetime | None = connection.scalar(
            select(sign_in_tries.c.locked_until).where(
                sign_in_tries.c.fingerprint == _tried(name or ""), sign_in_tries.c.locked_until > now
            )
        )
    return until


def unlock(store: Store, subject: str) -> None:
    """Let the person try passwords anew. Where their name is not locked nothing changes but the count of those tried."""
    with store.write() as connection:
        _unlock(connection, subject)


def sign_in(store: Store, sign_in_name: str, password: str, *, now: datetime, lockout: timedelta = LOCKOUT) -> str:
    """The token of a new session for whoever has that name and password.

    Raises Refusal: `wrong`, or `locked` from the fifth wrong password in a row until `lockout` has passed. A try is
    counted before it is looked at, so that many at once are no more than that many one by one.
    """
    name = _normal(sign_in_name)
    tried = _tried(name)
    locked_until = store.rewrite(lambda connection: _count_try(connection, tried, now, lockout))
    if locked_until is not None:
        raise Refusal(
            f"After {TRIES} wrong passwords this name is locked until {locked_until:%H:%M} UTC. "
            "A deployment admin can unlock it, or give you a sign-in link.",
            reason="locked",
        )
    with store.read() as connection:
        row = connection.execute(select(people).where(people.c.sign_in_name == name, people.c.left_at.is_(None))).one_or_none()
    known = row.password_hash if row is not None else None
    if not _verify(known, password) or row is None or known is None:
        raise Refusal(_WRONG, reason="wrong")
    renewed = _hash(password) if _HASHER.check_needs_rehash(known) else None
    with store.write() as connection:
        connection.execute(delete(sign_in_tries).where(sign_in_tries.c.fingerprint == tried))
        if renewed:
            connection.execute(update(people).where(people.c.subject == row.subject).values(password_hash=renewed))
        return _start_session(connection, row.subject, "password", now)


def sign_in_link(store: Store, subject: str, *, now: datetime, lasts: timedelta = LINK_LASTS) -> str:
    """The token of a link that signs `subject` in once."""
    with store.write() as connection:
        return _make_link(connection, "sign-in", subject, now, lasts)


def sign_in_by_link(store: Store, token: str, *, now: datetime) -> str:
    """The token of a new session for the person the link is for; the link is spent. Raises Refusal, reason `spent`."""
    with store.write() as connection:
        subject = _spend(connection, token, "sign-in", now)
        gone = connection.scalar(select(people.c.left_at).where(people.c.subject == subject)) if subject else None
        if subject is None or gone is not None:
            raise Refusal(_SPENT, reason="spent")
        return _start_session(connection, subject, "link", now)


def sign_in_by_provider(store: Store, vouched: Vouched, *, begun_at: datetime, now: datetime) -> str:
    """The token of a new session for whom a provider vouches, begun when they set out for it.

    At their first sign-in they become a person, who holds nothing but what groups named for the provider's give; at each,
    their name and those groups are as the provider says. Raises Refusal, reason `let_go`, for somebody who was let go here.
    """

    def file(connection: Connection) -> str:
        known = connection.execute(
            select(people).where(people.c.issuer == vouched.issuer, people.c.issuer_subject == vouched.subject)
        ).one_or_none()
        if known is None:
            subject = _add_vouched(connection, vouched, now)
        elif known.left_at is not None:
            raise Refusal(_LET_GO, reason="let_go")
        else:
            subject = known.subject
            named = people.c.subject == subject, people.c.display_name != vouched.display_name
            connection.execute(update(people).where(*named).values(display_name=vouched.display_name))
        provider_groups.follow(connection, subject, vouched.issuer, vouched.groups)
        return _start_session(connection, subject, "provider", now, begun_at=begun_at)

    return store.rewrite(file)


def link_stands(store: Store, token: str, purpose: Literal["sign-in", "first-admin"], *, now: datetime) -> bool:
    """Whether the link could be used now. Looking does not spend it."""
    with store.read() as connection:
        return (
            connection.scalar(
                select(links.c.fingerprint).where(
                    links.c.fingerprint == fingerprint(token),
                    links.c.purpose == purpose,
                    links.c.spent_at.is_(None),
                    links.c.expires_at > now,
                )
            )
            is not None
        )


def first_admin_link(store: Store, *, now: datetime, lasts: timedelta = LINK_LASTS) -> str | None:
    """The token of the link by which the first deployment admin makes themselves one; None where there is an admin.

    A link made before is of no more use, so that the one just printed is the one there is.
    """
    with store.write() as connection:
        if _has_admin(connection):
            return None
        connection.execute(delete(links).where(links.c.purpose == "first-admin"))
        return _make_link(connection, "first-admin", None, now, lasts)


def become_first_admin(store: Store, token: str, sign_in_name: str, display_name: str, password: str, *, now: datetime) -> str:
    """The token of a session for the deployment's first admin, made now; the link is spent.

    Raises Refusal: `spent`, or with the fields named that did not do (the link then stands).
    """
    hashed = _hash(password)
    made = _named(new_id("P"), sign_in_name, display_name)
    with store.write() as connection:
        if _spend(connection, token, "first-admin", now) is None or _has_admin(connection):
            raise Refusal(_SPENT, reason="spent")
        _add(connection, made, hashed, now)
        connection.execute(insert(user_group_members).values(user_group=DEPLOYMENT_ADMINS, subject=made.subject))
        return _start_session(connection, made.subject, "password", now)


def read_session(
    store: Store,
    token: str,
    *,
    now: datetime,
    idle: timedelta = SESSION_IDLE,
    lasts: timedelta = SESSION_LASTS,
) -> Session | None:
    """The session of `token`, seen at `now`; None where it was ended, lay idle too long, or has lasted its time."""
    print_ = fingerprint(token)
    with store.read() as connection:
        row = connection.execute(
            select(sessions.c.started_at, sessions.c.last_seen_at, sessions.c.signed_in_by, people)
            .join(people, people.c.subject == sessions.c.subject)
            .where(sessions.c.fingerprint == print_, people.c.left_at.is_(None))
        ).one_or_none()
    if row is None:
        return None
    if row.last_seen_at + idle <= now or row.started_at + lasts <= now:
        end_session(store, token)
        return None
    if row.last_seen_at + _SEEN_ANEW_AFTER <= now:
        with store.write() as connection:
            connection.execute(update(sessions).where(sessions.c.fingerprint == print_).values(last_seen_at=now))
    return Session(_person(row), row.started_at, now, row.signed_in_by)


def end_session(store: Store, token: str) -> None:
    """End the session of `token`, if there is one."""
    with store.write() as connection:
        connection.execute(delete(sessions).where(sessions.c.fingerprint == fingerprint(token)))


def end_sessions_of(store: Store, subject: str) -> None:
    """End every session of the person `subject`, and the links by which another could begin."""
    with store.write() as connection:
        _shut_out(connection, subject)


def _tried(name: str) -> str:
    """The fingerprint under which the passwords tried for a name are counted, whether or not it is anybody's."""
    return fingerprint(f"sign-in/{name[:_LONGEST_NAME]}")


def _unlock(connection: Connection, subject: str) -> None:
    name = connection.scalar(select(people.c.sign_in_name).where(people.c.subject == subject))
    if name is not None:
        connection.execute(delete(sign_in_tries).where(sign_in_tries.c.fingerprint == _tried(name)))


def _shut_out(connection: Connection, subject: str) -> None:
    connection.execute(delete(sessions).where(sessions.c.subject == subject))
    connection.execute(delete(links).where(links.c.subject == subject))


def _named(subject: str, sign_in_name: str, display_name: str) -> Person:
    made = Person(subject, _normal(sign_in_name), " ".join(display_name.split()))
    problems = [
        Problem(path, f"{words}; it needs 1 to {_LONGEST_NAME} characters, none of them a control character")
        for path, words, text in (
            ("sign_in_name", "that is no name to sign in by", made.sign_in_name),
            ("display_name", "that is no name to show", made.display_name),
        )
        if not 1 <= len(text) <= _LONGEST_NAME or any(unicodedata.category(letter) == "Cc" for letter in text)
    ]
    if problems:
        raise Refusal("That is not enough to know somebody by.", problems)
    return made


def _add(connection: Connection, made: Person, hashed: str | None, now: datetime) -> None:
    taken = connection.scalar(
        select(people.c.subject).where(or_(people.c.sign_in_name == made.sign_in_name, people.c.subject == made.subject))
    )
    if taken is not None:
        raise Refusal(
            f"Somebody signs in as {made.sign_in_name} already.",
            [Problem("sign_in_name", "that name is taken; choose another")],
        )
    connection.execute(
        insert(people).values(
            subject=made.subject,
            sign_in_name=made.sign_in_name,
            display_name=made.display_name,
            password_hash=hashed,
            added_at=now,
        )
    )


def _add_vouched(connection: Connection, vouched: Vouched, now: datetime) -> str:
    subject = new_id("P")
    connection.execute(
        insert(people).values(
            subject=subject,
            sign_in_name=f"provider/{subject}",
            display_name=vouched.display_name,
            added_at=now,
            issuer=vouched.issuer,
            issuer_subject=vouched.subject,
        )
    )
    return subject


def _normal(sign_in_name: str) -> str:
    return unicodedata.normalize("NFKC", sign_in_name).strip().casefold()


def _person(row: Row[Any]) -> Person:
    return Person(row.subject, row.issuer_subject or row.sign_in_name, row.display_name, row.issuer or "")


def _hash(password: str) -> str:
    if not _SHORTEST_PASSWORD <= len(password) <= _LONGEST_PASSWORD:
        raise Refusal(
            f"A password has {_SHORTEST_PASSWORD} to {_LONGEST_PASSWORD} characters.",
            [Problem("password", f"it needs {_SHORTEST_PASSWORD} to {_LONGEST_PASSWORD} characters")],
        )
    with _HASHING:
        return _HASHER.hash(password.encode("utf-8", "surrogatepass"))


def _verify(known: str | None, password: str) -> bool:
    """Whether the password is the one that was hashed. Where none was it is hashed, never right, so that this takes as long."""
    tried = password[: _LONGEST_PASSWORD + 1].encode("utf-8", "surrogatepass")
    with _HASHING:
        try:
            return _HASHER.verify(known, tried) if known else not _HASHER.hash(tried)
        except (VerificationError, InvalidHashError):
            return False


def _count_try(connection: Connection, tried: str, now: datetime, lockout: timedelta) -> datetime | None:
    """Count one more try; the end of the lock where there is one, and the try then is not counted."""
    connection.execute(delete(sign_in_tries).where(sign_in_tries.c.last_at < now - max(_TRIES_KEPT, lockout)))
    row = connection.execute(select(sign_in_tries).where(sign_in_tries.c.fingerprint == tried).with_for_update()).one_or_none()
    if row is None:
        connection.execute(insert(sign_in_tries).values(fingerprint=tried, tries=1, last_at=now))
        return None
    locked_until: datetime | None = row.locked_until
    if locked_until is not None and locked_until > now:
        return locked_until
    tries = 1 if locked_until is not None else row.tries + 1
    connection.execute(
        update(sign_in_tries)
        .where(sign_in_tries.c.fingerprint == tried)
        .values(tries=tries, last_at=now, locked_until=now + lockout if tries >= TRIES else None)
    )
    return None


def _start_session(
    connection: Connection, subject: str, by: SignedInBy, now: datetime, *, begun_at: datetime | None = None
) -> str:
    connection.execute(delete(sessions).where(sessions.c.started_at < now - timedelta(days=8)))
    token = new_token()
    connection.execute(
        insert(sessions).values(
            fingerprint=fingerprint(token), subject=subject, signed_in_by=by, started_at=begun_at or now, last_seen_at=now
        )
    )
    return token


def _make_link(connection: Connection, purpose: str, subject: str | None, now: datetime, lasts: timedelta) -> str:
    connection.execute(delete(links).where(links.c.expires_at < now - timedelta(days=1)))
    token = new_token()
    connection.execute(
        insert(links).values(
            fingerprint=fingerprint(token), purpose=purpose, subject=subject, made_at=now, expires_at=now + lasts
        )
    )
    return token


def _spend(connection: Connection, token: str, purpose: str, now: datetime) -> str | None:
    """Spend the link: whom it is for ("" for nobody in particular), or None where it could not be."""
    spent = connection.execute(
        update(links)
        .where(
            links.c.fingerprint == fingerprint(token),
            links.c.purpose == purpose,
            links.c.spent_at.is_(None),
            links.c.expires_at > now,
        )
        .values(spent_at=now)
    )
    if not spent.rowcount:
        return None
    return connection.scalar(select(links.c.subject).where(links.c.fingerprint == fingerprint(token))) or ""


def _has_admin(connection: Connection) -> bool:
    return (
        connection.scalar(
            select(user_group_members.c.subject)
            .join(people, people.c.subject == user_group_members.c.subject)
            .where(user_group_members.c.user_group == DEPLOYMENT_ADMINS, people.c.left_at.is_(None))
            .limit(1)
        )
        is not None
    )

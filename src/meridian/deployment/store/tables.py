"""The tables, as SQLAlchemy Core knows them. The migrations make them; a test holds the two to one another.

Types are those that SQLite and PostgreSQL both have: texts, integers, booleans, days, and moments kept in UTC. Amounts are
texts inside a record's JSON, so that they stay exact. Of a secret that is handed out only the fingerprint is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Moment(TypeDecorator[datetime]):
    """An aware moment, kept in UTC by every database. A naive one is refused; one that UTC has no day for is its first or its
    last moment."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no zone; a moment is kept with one")
        try:
            utc = value if value.tzinfo is UTC else value.astimezone(UTC)
        except OverflowError:  # within a day of the calendar's ends, and past them in UTC
            utc = datetime.min.replace(tzinfo=UTC) if value.year == 1 else datetime.max.replace(tzinfo=UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def bind_processor(self, dialect: Dialect) -> Callable[[datetime | None], Any] | None:
        """The same; for SQLite, the text it keeps is printed by Python, in a fraction of the time that SQLAlchemy takes."""
        if dialect.name != "sqlite":
            return super().bind_processor(dialect)

        def printed(value: datetime | None) -> str | None:
            utc = self.process_bind_param(value, dialect)
            return None if utc is None else utc.isoformat(" ", "microseconds")

        return printed

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _text(name: str, length: int, *more: Any, **options: Any) -> Column[str]:
    return Column(name, String(length), *more, nullable=options.pop("nullable", False), **options)


def _moment(name: str, *, nullable: bool = False) -> Column[datetime]:
    return Column(name, Moment(), nullable=nullable)


revision: Final = Table(
    "revision",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
)
"""One row, whose number triggers count on with every change of who may ask what; see `revision`."""

keys: Final = Table(
    "keys",
    METADATA,
    _text("name", 120, primary_key=True),
    Column("key", LargeBinary(64), nullable=False),
    _moment("made_at"),
)

instances: Final = Table(
    "instances",
    METADATA,
    _text("name", 64, primary_key=True),
    _text("target", 300),
    _text("title", 200),
    Column("roles", Text, nullable=False),
    Column("settings", Text, nullable=False),
    _moment("configured_at"),
)

people: Final = Table(
    "people",
    METADATA,
    _text("subject", 80, primary_key=True),
    _text("sign_in_name", 200, unique=True),
    _text("display_name", 200),
    _text("password_hash", 300, nullable=True),
    _moment("added_at"),
    _moment("left_at", nullable=True),
    _text("issuer", 300, nullable=True),
    _text("issuer_subject", 255, nullable=True),
    Index(None, "issuer", "issuer_subject", unique=True),
)
"""Whoever signs in through a provider is known by its issuer and what it calls them; nobody types their sign-in name."""

sign_in_tries: Final = Table(
    "sign_in_tries",
    METADATA,
    _text("fingerprint", 64, primary_key=True),
    Column("tries", Integer, nullable=False),
    _moment("last_at"),
    _moment("locked_until", nullable=True),
)
"""Passwords tried in a row, by the fingerprint of the name that was given, whether or not anybody has that name."""

links: Final = Table(
    "links",
    METADATA,
    _text("fingerprint", 64, primary_key=True),
    _text("purpose", 20),
    _text("subject", 80, ForeignKey("people.subject"), nullable=True),
    _moment("made_at"),
    _moment("expires_at"),
    _moment("spent_at", nullable=True),
)

sessions: Final = Table(
    "sessions",
    METADATA,
    _text("fingerprint", 64, primary_key=True),
    _text("subject", 80, ForeignKey("people.subject"), index=True),
    _text("signed_in_by", 20),
    _moment("started_at"),
    _moment("last_seen_at"),
)

user_groups: Final = Table(
    "user_groups",
    METADATA,
    _text("id", 64, primary_key=True),
    _text("name", 200),
    Column("built_in", Boolean, nullable=False),
)

user_group_members: Final = Table(
    "user_group_members",
    METADATA,
    _text("user_group", 64, ForeignKey("user_groups.id", ondelete="CASCADE"), primary_key=True),
    _text("subject", 80, ForeignKey("people.subject"), primary_key=True, index=True),
    _text("given_by", 200, nullable=True),
)
"""`given_by` is the provider's group by whose name somebody is a member; nothing where a person put them in."""

provider_groups: Final = Table(
    "provider_groups",
    METADATA,
    _text("user_group", 64, ForeignKey("user_groups.id", ondelete="CASCADE"), primary_key=True),
    _text("issuer", 300, primary_key=True),
    _text("name", 200, primary_key=True),
)
"""Whoever is in the group `name` at the provider is, by a deployment admin's word, a member of the user group."""

accounts: Final = Table(
    "accounts",
    METADATA,
    _text("id", 64, primary_key=True),
    _text("name", 200),
)

account_groups: Final = Table(
    "account_groups",
    METADATA,
    _text("id", 64, primary_key=True),
    _text("name", 200),
    Column("built_in", Boolean, nullable=False),
    Column("all_accounts", Boolean, nullable=False),
)

account_group_accounts: Final = Table(
    "account_group_accounts",
    METADATA,
    _text("account_group", 64, ForeignKey("account_groups.id", ondelete="CASCADE"), primary_key=True),
    _text("account", 64, ForeignKey("accounts.id"), primary_key=True),
)

access_groups: Final = Table(
    "access_groups",
    METADATA,
    _text("id", 64, primary_key=True),
    _text("name", 200),
    Column("built_in", Boolean, nullable=False),
    Column("all_plugins_admin", Boolean, nullable=False),
)

access_group_rows: Final = Table(
    "access_group_rows",
    METADATA,
    _text("access_group", 64, ForeignKey("access_groups.id", ondelete="CASCADE"), primary_key=True),
    _text("instance", 64, primary_key=True),
    _text("role", 64, primary_key=True),
    _text("level", 8, primary_key=True),
    _text("clients", 8, server_default="make"),
)
"""`clients` is how far a person's clients may go with the acts of the row: `make`, `prepare` or `may_not`."""

act_limits: Final = Table(
    "act_limits",
    METADATA,
    _text("scope", 12, primary_key=True),
    _text("instance", 64, primary_key=True),
    _text("tool", 200, primary_key=True),
    _text("clients", 8),
    _text("chosen_by", 80),
    _moment("chosen_at"),
)
"""How far clients may go with one act: as far as the `deployment` says at most, and as far as the `plugin`'s admin does."""

second_pairs: Final = Table(
    "second_pairs",
    METADATA,
    _text("instance", 64, primary_key=True),
    _text("tool", 200, primary_key=True),
    _text("subject", 80, primary_key=True),
    _text("chosen_by", 80),
    _moment("chosen_at"),
)
"""The acts that need a second pair of eyes where `subject` is the one who would make them; everybody, where it is empty."""

permissions: Final = Table(
    "permissions",
    METADATA,
    _text("id", 40, primary_key=True),
    _text("user_group", 64, ForeignKey("user_groups.id", ondelete="CASCADE"), index=True),
    _text("account_group", 64, ForeignKey("account_groups.id", ondelete="CASCADE")),
    _text("access_group", 64, ForeignKey("access_groups.id", ondelete="CASCADE")),
    Column("built_in", Boolean, nullable=False),
    UniqueConstraint("user_group", "account_group", "access_group"),
)

delegations: Final = Table(
    "delegations",
    METADATA,
    _text("id", 40, primary_key=True),
    _text("subject", 80, ForeignKey("people.subject"), index=True),
    _text("client_name", 200),
    _text("client", 500, nullable=True, index=True),
    Column("everything", Boolean, nullable=False),
    Column("prepares", Boolean, nullable=False, server_default="0"),
    Column("acts_kept", Boolean, nullable=False),
    _text("made_by", 20),
    _moment("made_at"),
    _moment("expires_at"),
    _moment("revoked_at", nullable=True),
    _text("revoked_by", 80, ForeignKey("people.subject"), nullable=True),
    _moment("last_used_at", nullable=True),
    _moment("last_refused_at", nullable=True),
)

"""`client` is who asked for it at the consent page, None where it was made by hand. `acts_kept` says that `delegation_acts` are
the acts its person was shown; where they were not kept, acts follow the rows."""

delegation_rows: Final = Table(
    "delegation_rows",
    METADATA,
    _text("delegation", 40, ForeignKey("delegations.id", ondelete="CASCADE"), primary_key=True),
    _text("instance", 64, primary_key=True),
    _text("role", 64, primary_key=True),
    _text("level", 8, primary_key=True),
    Column("prepares", Boolean, nullable=False, server_default="0"),
)
"""`prepares` says that the acts of the row may be prepared alone, not made; of a delegation, that those of everything may."""

delegation_acts: Final = Table(
    "delegation_acts",
    METADATA,
    _text("delegation", 40, ForeignKey("delegations.id", ondelete="CASCADE"), primary_key=True),
    _text("instance", 64, primary_key=True),
    _text("tool", 200, primary_key=True),
)

tokens: Final = Table(
    "tokens",
    METADATA,
    _text("fingerprint", 64, primary_key=True),
    _text("delegation", 40, ForeignKey("delegations.id", ondelete="CASCADE"), index=True),
    _text("kind", 20),
    _text("family", 64, nullable=True),
    _text("resource", 500, nullable=True),
    _moment("made_at"),
    _moment("expires_at"),
    _moment("spent_at", nullable=True),
)
"""What a client presents, apart from the delegation it speaks for: one may come to have several, each of its own kind. A
`family` are those that come of one code; `resource` is the address they are good at, None for any of the deployment's."""

clients: Final = Table(
    "clients",
    METADATA,
    _text("id", 500, primary_key=True),
    _text("name", 200),
    Column("redirect_uris", Text, nullable=False),
    Column("described", Boolean, nullable=False),
    _text("told_from", 64, index=True),
    _moment("told_at"),
    _moment("used_at", nullable=True),
    Index(None, "told_at"),
)
"""Programs that may ask for access: those that registered, and those that a document at their `id` describes, as last read."""

authorizations: Final = Table(
    "authorizations",
    METADATA,
    _text("id", 40, primary_key=True),
    _text("browser", 64),
    _text("client", 500),
    _text("redirect_uri", 2000),
    _text("state", 2000, nullable=True),
    _text("code_challenge", 64),
    _text("resource", 500),
    _text("asked_from", 64, index=True),
    _moment("asked_at"),
    _moment("expires_at"),
    _moment("settled_at", nullable=True),
    Index(None, "expires_at"),
)
"""What clients asked for and a person has yet to answer, each in the one browser whose secret has the fingerprint `browser`."""

codes: Final = Table(
    "codes",
    METADATA,
    _text("fingerprint", 64, primary_key=True),
    _text("delegation", 40, ForeignKey("delegations.id", ondelete="CASCADE"), index=True),
    _text("redirect_uri", 2000),
    _text("code_challenge", 64),
    _text("resource", 500),
    _moment("made_at"),
    _moment("expires_at"),
    _moment("spent_at", nullable=True),
)

_UNDER_WAY: Final = text("closed_at IS NULL")

calls: Final = Table(
    "calls",
    METADATA,
    _text("id", 40, primary_key=True),
    _text("instance", 64),
    _text("subject", 80),
    _text("level", 8),
    Column("acts", Boolean, nullable=False),
    _moment("opened_at"),
    _moment("expires_at"),
    _moment("closed_at", nullable=True),
    _text("delegation", 40, ForeignKey("delegations.id", ondelete="CASCADE"), nullable=True),
    _text("tool", 200, nullable=True),
    _text("outcome", 20, nullable=True),
    _text("reason", 60, nullable=True),
    Index(None, "delegation", "opened_at"),
    Index("ix_calls_under_way", "delegation", sqlite_where=_UNDER_WAY, postgresql_where=_UNDER_WAY),
)

call_minutes: Final = Table(
    "call_minutes",
    METADATA,
    _text("delegation", 40, ForeignKey("delegations.id", ondelete="CASCADE"), primary_key=True),
    Column("minute", BigInteger, nullable=False),
    Column("calls", Integer, nullable=False),
)
"""How many calls a delegation made in the last minute, counted from 1970, that it made any in."""

recent_acts: Final = Table(
    "recent_acts",
    METADATA,
    _text("call", 40, ForeignKey("calls.id", ondelete="CASCADE"), primary_key=True),
    _text("mark", 64, index=True),
    Column("opened_at", Moment(), nullable=False, index=True),
)
"""The acts of the last minute, by what makes one the same as another."""

repeats: Final = Table(
    "repeats",
    METADATA,
    _text("delegation", 40, ForeignKey("delegations.id", ondelete="CASCADE"), primary_key=True),
    _text("tool", 200, primary_key=True),
    _text("key", 64, primary_key=True),
    _text("record", 64),
    _moment("begun_at"),
    Column("answer", Text, nullable=True),
)
"""Acts that came with a key: digests of the key and of the record, and the outcome object, absent while nobody knows it."""

_WAITS: Final = text("state IN ('prepared', 'making')")

prepared_changes: Final = Table(
    "prepared_changes",
    METADATA,
    _text("id", 40, primary_key=True),
    _text("instance", 64),
    _text("tool", 200),
    Column("arguments", Text, nullable=False),
    _text("alike", 64),
    Column("accounts", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    _text("state", 12),
    _text("subject", 80, index=True),
    _text("display_name", 200),
    _text("subject_kind", 20),
    _text("owner_subject", 80, nullable=True),
    _text("delegation", 40, nullable=True),
    _text("client_name", 200, nullable=True),
    _moment("prepared_at"),
    _moment("lapses_at"),
    _text("call", 40, nullable=True),
    _moment("making_until", nullable=True),
    Column("made_arguments", Text, nullable=True),
    _text("made_alike", 64, nullable=True),
    _moment("commanded_at", nullable=True),
    _text("settled_by", 80, nullable=True),
    _text("settled_by_name", 200, nullable=True),
    _moment("settled_at", nullable=True),
    Index(None, "state", "lapses_at"),
    Index(
        "ix_prepared_changes_waiting", "instance", "tool", "alike", unique=True, sqlite_where=_WAITS, postgresql_where=_WAITS
    ),
)
"""Acts that were checked and are kept until a person makes them. `alike` is what two have in common that a form would say
alike: of those that wait there is one. `call` is the one it is made by, `made_arguments` what it is made with, and
`commanded_at` when the book took its command, in the transaction that wrote it there."""

prepared_steps: Final = Table(
    "prepared_steps",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    _text("change", 40, ForeignKey("prepared_changes.id", ondelete="CASCADE"), index=True),
    Column("revision", Integer, nullable=False),
    _text("what", 12),
    _moment("at"),
    _text("subject", 80, nullable=True),
    _text("display_name", 200, nullable=True),
    _text("delegation", 40, nullable=True),
    _text("client_name", 200, nullable=True),
    _text("call", 40, nullable=True),
    Column("reason", Text, nullable=False),
    Column("arguments", Text, nullable=True),
    sqlite_autoincrement=True,
)
"""What became of each prepared change: by whom, through what, when. Nobody, where the deployment itself did it."""

inbox_places: Final = Table(
    "inbox_places",
    METADATA,
    _text("subject", 80, ForeignKey("people.subject"), primary_key=True),
    _text("delegation", 40, primary_key=True),
    Column("number", Integer, nullable=False),
)
"""How far somebody has read what became of prepared changes: on the pages, where `delegation` is empty, and by each client."""

account_sets: Final = Table(
    "account_sets",
    METADATA,
    _text("digest", 64, primary_key=True),
    Column("ids", Text, nullable=False),
    _moment("kept_until"),
)

entries: Final = Table(
    "entries",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    _text("account", 64, ForeignKey("accounts.id")),
    Column("as_of", Date, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("positions", Text, nullable=False),
    Column("reason", Text, nullable=False),
    _moment("recorded_at"),
    _text("instance", 64),
    _text("call", 40),
    _text("subject", 80),
    _text("display_name", 200),
    _text("subject_kind", 20),
    _text("owner_subject", 80, nullable=True),
    _text("delegation", 40, nullable=True),
    _text("client_name", 200, nullable=True),
    _text("tool_name", 200, nullable=True),
    _text("prepared_call", 40, nullable=True),
    _text("prepared_by", 200, nullable=True),
    UniqueConstraint("account", "as_of", "ordinal"),
    sqlite_autoincrement=True,
)
"""The book. `ordinal` counts the balances an account was given for one day; the last of them stands."""

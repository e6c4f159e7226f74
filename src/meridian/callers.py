"""Who asks, and how far they reach.

A person holds levels on each role of a plugin, and accounts with them (`Holdings`). A session, or an agent's call, opens at
one level; `cut` leaves of the holdings what that level carries, and a `Caller` is that person in that session. Nothing here
decides who holds what (the deployment does) or what a route serves (the guard does).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

__all__ = ["LEVELS", "Accounts", "Caller", "Holding", "Holdings", "Level", "Role", "cut"]

Level = Literal["read", "write", "admin"]
Role = str

LEVELS: Final[tuple[Level, ...]] = ("write", "read", "admin")
"""Every level, in the order in which a call opens at one: write before read before admin."""


@dataclass(frozen=True)
class Accounts:
    """A set of account ids, or every account there is (`all`), which is a mark and not a list."""

    ids: frozenset[str] = frozenset()
    all: bool = False

    @classmethod
    def of(cls, accounts: Accounts | Iterable[str]) -> Accounts:
        """`accounts` as they are, or a set made of their ids."""
        return accounts if isinstance(accounts, Accounts) else cls(frozenset(accounts))

    def __contains__(self, account: object) -> bool:
        return self.all or account in self.ids

    def __bool__(self) -> bool:
        return self.all or bool(self.ids)

    def __iter__(self) -> Iterator[str]:
        """The ids in order. Raises TypeError for every account, which only `list_accounts` can name."""
        if self.all:
            raise TypeError("this caller reaches every account; ask list_accounts for their ids")
        return iter(sorted(self.ids))

    def __or__(self, other: Accounts) -> Accounts:
        return Accounts(frozenset(), True) if self.all or other.all else Accounts(self.ids | other.ids)

    def __and__(self, other: Accounts) -> Accounts:
        if self.all:
            return other
        return self if other.all else Accounts(self.ids & other.ids)


NO_ACCOUNTS: Final = Accounts()
EVERY_ACCOUNT: Final = Accounts(all=True)


@dataclass(frozen=True)
class Holding:
    """What is held on one role: its levels, the accounts it may read (those it may write among them) and may write."""

    levels: frozenset[Level] = frozenset()
    read: Accounts = NO_ACCOUNTS
    write: Accounts = NO_ACCOUNTS

    @property
    def level(self) -> Level | None:
        """The highest level held, write before read before admin; None where nothing is."""
        for level in LEVELS:
            if level in self.levels:
                return level
        return None

    def __or__(self, other: Holding) -> Holding:
        return Holding(self.levels | other.levels, self.read | other.read, self.write | other.write)


Holdings = Mapping[Role, Holding]
"""What a person holds on each role of one plugin. A plugin without roles has one, whose name is empty."""


def cut(holdings: Holdings, level: Level) -> dict[Role, Holding]:
    """What a session at `level` carries of `holdings`: under read the accounts that may be read, under write also those that
    may be written (and what is only read stays read), under admin no account. Roles that carry nothing are left out."""
    carried: dict[Role, Holding] = {}
    for role, held in holdings.items():
        if level == "admin":
            if "admin" in held.levels:
                carried[role] = Holding(frozenset({"admin"}))
        elif level == "write" and "write" in held.levels:
            carried[role] = Holding(frozenset({"write", "read"}), held.read | held.write, held.write)
        elif held.levels & {"read", "write"}:
            carried[role] = Holding(frozenset({"read"}), held.read | held.write)
    return carried


@dataclass(frozen=True)
class Caller:
    """Who a request is from, as the deployment vouches for it: a person, or an agent working as one on a delegation.

    `holdings` are cut to the session's `level`. `read` and `write` are the accounts of the roles of the route that is asked
    (`roles`; None for all).
    `header` is the signed assertion itself, to be handed back as `acting_for=`. `delegation_id`, `client_name` and `tool_name`
    are None where a person asks through a browser.
    """

    subject: str
    display_name: str
    level: Level
    holdings: Holdings = field(default_factory=lambda: MappingProxyType({}))
    roles: frozenset[Role] | None = None
    deployment_admin: bool = False
    delegation_id: str | None = None
    client_name: str | None = None
    tool_name: str | None = None
    prepared_call_id: str | None = None
    subject_kind: Literal["person", "service_account"] = "person"
    owner_subject: str | None = None
    header: str = field(default="", repr=False)

    @property
    def read(self) -> Accounts:
        """The accounts that may be read here, those that may be written among them."""
        return self._accounts("read")

    @property
    def write(self) -> Accounts:
        """The accounts that may be written here."""
        return self._accounts("write")

    def level_for(self, role: Role) -> Level | None:
        """The level this session carries on `role`; None where it carries none."""
        return self.holdings[role].level if role in self.holdings else None

    def read_for(self, role: Role) -> Accounts:
        """The accounts that may be read by `role`."""
        return self.holdings[role].read if role in self.holdings else NO_ACCOUNTS

    def write_for(self, role: Role) -> Accounts:
        """The accounts that may be written by `role`."""
        return self.holdings[role].write if role in self.holdings else NO_ACCOUNTS

    def on(self, roles: Iterable[Role]) -> Caller:
        """The same caller as a route of `roles` meets them."""
        return self._with(roles=frozenset(roles))

    def in_call(self, header: str, tool_name: str | None = None, prepared_call_id: str | None = None) -> Caller:
        """The same caller in one call, which `header` asserts."""
        return self._with(header=header, tool_name=tool_name, prepared_call_id=prepared_call_id)

    def _with(self, **changes: Any) -> Caller:
        changed = object.__new__(Caller)
        changed.__dict__.update(self.__dict__, **changes)  # two for each request; `replace` takes five times as long
        return changed

    def _accounts(self, which: Literal["read", "write"]) -> Accounts:
        found = NO_ACCOUNTS
        for role, holding in self.holdings.items():
            if self.roles is None or role in self.roles:
                found |= getattr(holding, which)
        return found

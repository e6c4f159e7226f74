"""What a person may lend: each plugin's role at each level they hold, with the tools that a client reaches by it.

A person and the plugins that run enter; rows leave that a form offers to be ticked, and how each is said. The consent page and
Connected clients both offer these, so that what is shown is what is lent. What a delegation of them reaches at a call is
`delegations`' matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from meridian.callers import LEVELS, Accounts, Holding, Level, Role, cut
from meridian.deployment.access import AccessRow, holdings_in
from meridian.deployment.allowing import ALLOWS, Allows, limits_in
from meridian.deployment.delegations import Act
from meridian.deployment.reaching import Hosted, held_on, opening
from meridian.deployment.store import Store
from meridian.pages.tools import Tool
from meridian.plugins import surface_name

__all__ = ["Lendable", "accounts_of", "acts_under", "digest_of", "lendable", "row_in", "row_named", "text_of"]

_NAMED: Final = 8


@dataclass(frozen=True)
class Lendable:
    """A row that a person may tick: a plugin's role at a level they hold, and what a client reaches by it.

    Tools go by their names on the surface. Of the acts, those that are `only_prepared` no client makes, whatever is lent; what
    no client may even prepare is not among them. `of_above` says that the row before it, the same role at write, reaches all
    of that too, and describes it.
    """

    row: AccessRow
    named: str
    accounts: str
    reads: tuple[tuple[str, Tool], ...]
    acts: tuple[tuple[str, Tool], ...]
    only_prepared: frozenset[str] = frozenset()
    of_above: bool = False

    @property
    def may_prepare(self) -> bool:
        """Whether any of its acts can be prepared."""
        return any(tool.checked_by is not None for _, tool in self.acts)

    @property
    def value(self) -> str:
        """The row as a form sends it."""
        return text_of(self.row)


def lendable(store: Store, hosted: Mapping[str, Hosted], subject: str) -> tuple[Lendable, ...]:
    """A row for each plugin's role at each level that the person holds, with the tools that it reaches."""
    found: list[Lendable] = []
    for name in sorted(hosted):
        there = hosted[name]
        held, _ = held_on(store, subject, there)
        far = _how_far(store, there, subject)
        for role in there.roles:
            above: tuple[tuple[str, Tool], ...] = ()
            for level in LEVELS:
                if role not in held or level not in held[role].levels:
                    continue
                lent = cut({role: held[role]}, level)
                tools = [(surface_name(name, each.name), each) for each in there.pages.tools if opening(each, lent)]
                row = AccessRow(name, role, level)
                goes = {each.name: far(each, role, level) for _, each in tools}
                reads = tuple(each for each in tools if each[1].reads)
                found.append(
                    Lendable(
                        row=row,
                        named=row_named(row, hosted),
                        accounts=accounts_of(held[role], level),
                        reads=reads,
                        acts=tuple(each for each in tools if not each[1].reads and goes[each[1].name] != "may_not"),
                        only_prepared=frozenset(each for each, tool in tools if goes[tool.name] == "prepare"),
                        of_above=bool(reads) and {tool for tool, _ in reads} <= {tool for tool, _ in above},
                    )
                )
                above = reads
    return tuple(found)


def _how_far(store: Store, there: Hosted, subject: str) -> Callable[[Tool, Role, Level], Allows]:
    """How far a client goes with an act of the plugin by one role at one level of the person's, if all of that is lent."""
    with store.read() as connection:
        limits = limits_in(connection)
        by = {going: holdings_in(connection, subject, there.name, there.roles, going=going) for going in ALLOWS}

    def far(tool: Tool, role: Role, level: Level) -> Allows:
        def reached(going: Allows) -> bool:
            held = by[going]
            return role in held and opening(tool, cut({role: held[role]}, level)) is not None

        limit = limits.get((there.name, tool.name), "make")
        if tool.reads or (limit == "make" and reached("make")):
            return "make"
        return "prepare" if limit != "may_not" and tool.checked_by is not None and reached("prepare") else "may_not"

    return far


def acts_under(offered: Iterable[Lendable], rows: Collection[AccessRow]) -> frozenset[Act]:
    """The tools that act which were shown under those of the rows that are among `rows`."""
    return frozenset((each.row.instance, tool.name) for each in offered if each.row in rows for _, tool in each.acts)


def digest_of(offered: Iterable[Lendable], *said: str) -> str:
    """The digest of all that a page shows of what may be lent, and of what else it `said`; so that what is lent is that, and
    nothing else."""
    rows = [
        [
            each.value,
            each.named,
            each.accounts,
            [[name, tool.description, tool.reads, name in each.only_prepared] for name, tool in each.reads + each.acts],
        ]
        for each in offered
    ]
    return hashlib.sha256(json.dumps([*said, rows]).encode("utf-8", "replace")).hexdigest()


def text_of(row: AccessRow) -> str:
    """A row as a form sends it: `write operations custody`.

    >>> text_of(AccessRow("operations", "custody", "write"))
    'write operations custody'
    """
    return f"{row.level} {row.instance} {row.role}".rstrip()


def row_in(text: str) -> AccessRow:
    """The row that a form sent, whether or not there is such a plugin, role or level.

    >>> row_in("read desk")
    AccessRow(instance='desk', role='', level='read')
    """
    level, _, rest = text.partition(" ")
    instance, _, role = rest.partition(" ")
    return AccessRow(instance, role, cast("Level", level))


def row_named(row: AccessRow, hosted: Mapping[str, Hosted]) -> str:
    """A row in words: `write on Operations, custody`. The instance is named where its plugin's name does not tell it."""
    there = hosted.get(row.instance)
    if there is None:
        title = f"{row.instance}, which does not run now"
    else:
        twice = sum(each.pages.name == there.pages.name for each in hosted.values()) > 1
        title = f"{there.pages.name} ({row.instance})" if twice else there.pages.name
    return f"{row.level} on {title}, {row.role}" if row.role else f"{row.level} on {title}"


def accounts_of(holding: Holding, level: Level) -> str:
    """Which accounts a level of a holding reaches, in words."""
    if level == "admin":
        return "no account's data"
    reached: Accounts = holding.write if level == "write" else holding.read | holding.write
    if reached.all:
        return "every account"
    ids = list(reached)
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"{', '.join(ids[:_NAMED])}{more}" if ids else "no account yet"

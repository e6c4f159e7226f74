"""The permissions: each joins a user group, an access group and an account group, and so says who holds what on which accounts.

A deployment admin's forms enter; the rules are `meridian.deployment.access`' own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meridian.deployment import access as rules
from meridian.deployment.dashboard.desk import address, again, desk_of, only_people, pages, row_named
from meridian.pages import Response
from meridian.pages.asking import Request
from meridian.records import field

__all__ = ["Grant"]


@dataclass(frozen=True)
class WhatWasDone:
    """What was done just now, for the page to say."""

    done: Literal["", "granted", "withdrawn"] = ""


@dataclass(frozen=True)
class Grant:
    """Three groups to be joined."""

    user_group: str = field(title="These people", description="A user group.", max_length=100)
    access_group: str = field(title="hold these levels", description="An access group.", max_length=100)
    account_group: str = field(title="on these accounts", description="An account group.", max_length=100)


@dataclass(frozen=True)
class Withdraw:
    """The permission that shall be no more."""

    permission: str = field(max_length=100)


@pages.page(
    "/access", levels="admin", params=WhatWasDone, title="Access", name="access", tool=False, why="people look after access"
)
def access(request: Request[WhatWasDone]) -> Response:
    """Every permission there is."""
    desk = desk_of(request)
    people = {each.id: each for each in rules.every_user_group(desk.store)}
    levels = {each.id: each for each in rules.every_access_group(desk.store)}
    accounts = {each.id: each for each in rules.every_account_group(desk.store)}
    return pages.render(
        "access.html",
        permissions=rules.every_permission(desk.store),
        user_groups=people,
        access_groups=levels,
        account_groups=accounts,
        choices={
            "user_group": [(each.id, each.name) for each in people.values()],
            "access_group": [(each.id, each.name) for each in levels.values()],
            "account_group": [(each.id, each.name) for each in accounts.values()],
        },
        named=lambda row: row_named(row, desk.hosted),
        no=again(request, "/access/withdraw"),
        done=request.params.done,
    )


@pages.route("/access/grant", levels="admin", methods=["POST"], params=Grant, tool=False, why=only_people)
def grant(request: Request[Grant]) -> Response:
    """Give the people of a user group an access group's levels, on the accounts of an account group."""
    asked = request.params
    rules.grant(desk_of(request).store, asked.user_group, asked.account_group, asked.access_group)
    return pages.answer(None, None, location=address("/access", done="granted"))


@pages.route("/access/withdraw", levels="admin", methods=["POST"], params=Withdraw, tool=False, why=only_people)
def withdraw(request: Request[Withdraw]) -> Response:
    """Withdraw a permission."""
    rules.withdraw(desk_of(request).store, request.params.permission)
    return pages.answer(None, None, location=address("/access", done="withdrawn"))

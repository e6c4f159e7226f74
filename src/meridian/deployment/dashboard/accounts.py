"""The accounts that the deployment knows, whose IDs plugins and the book name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meridian.deployment import access
from meridian.deployment.dashboard.desk import address, desk_of, only_people, pages, shelved
from meridian.pages import Response
from meridian.pages.asking import Request
from meridian.records import field

__all__ = ["AddAccount"]


@dataclass(frozen=True)
class WhichAccounts:
    """Which accounts are shown: those whose ID or name has `find` in it."""

    find: str = field(default="", max_length=200)
    page: int = field(default=1, min=1, max=10_000)
    done: Literal["", "added"] = ""


@dataclass(frozen=True)
class AddAccount:
    """An account; or another name for the one that has the ID."""

    id: str = field(
        title="ID",
        description="Letters, digits and . _ : / -, like A-1. It stays for as long as there are records of it.",
        max_length=200,
    )
    name: str = field(default="", title="Name", description="What people call it.", max_length=200)


@pages.page(
    "/accounts",
    levels="admin",
    params=WhichAccounts,
    title="Accounts",
    name="accounts",
    tool=False,
    why="people look after access",
)
def accounts(request: Request[WhichAccounts]) -> Response:
    """The accounts there are, with the groups that name them; nothing of what they hold."""
    desk, asked = desk_of(request), request.params
    wanted = asked.find.casefold()
    found = [
        each for each in access.every_account(desk.store) if wanted in each.id.casefold() or wanted in each.name.casefold()
    ]
    groups = access.every_account_group(desk.store)
    return pages.render(
        "accounts.html",
        shelf=shelved(found, asked.page, lambda page: request.path_for("/accounts", find=asked.find or None, page=page)),
        groups_of=lambda account: [each for each in groups if not each.accounts.all and account in each.accounts],
        find=asked.find,
        done=asked.done,
    )


@pages.route("/accounts/add", levels="admin", methods=["POST"], params=AddAccount, tool=False, why=only_people)
def add_account(request: Request[AddAccount]) -> Response:
    """Add an account, or give the one that has the ID another name."""
    access.add_account(desk_of(request).store, request.params.id, request.params.name)
    return pages.answer(None, None, location=address("/accounts", done="added"))

"""The three kinds of groups that permissions join: of people, of accounts, and of levels.

A deployment admin's forms enter, each adding or removing one thing; the rules are `access`' own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from meridian.callers import LEVELS
from meridian.deployment import access, identity, provider_groups
from meridian.deployment.access import AccessGroup, AccessRow, AccountGroup, GroupKind, Permission, UserGroup
from meridian.deployment.allowing import ALLOWS, WORDS
from meridian.deployment.dashboard.desk import Desk, address, again, desk_of, only_people, pages, row_in, row_named, text_of
from meridian.deployment.store import Store
from meridian.errors import Refusal
from meridian.pages import Response
from meridian.pages.asking import Request
from meridian.records import field

__all__ = ["KINDS", "Group", "Membership", "names_of"]

Group: TypeAlias = UserGroup | AccountGroup | AccessGroup

KINDS: Final[Mapping[GroupKind, str]] = {"user": "User group", "account": "Account group", "access": "Access group"}

_BY_HAND: Final = tuple(
    f"/groups/{each}"
    for each in (
        "remove",
        "join",
        "leave",
        "name",
        "unname",
        "put-account",
        "take-account",
        "put-level",
        "take-level",
        "how-far",
    )
)
"""Where the forms go that a group's page draws by hand."""


@dataclass(frozen=True)
class WhichGroup:
    """Which group is shown; all of them where none is named."""

    kind: Literal["user", "account", "access"] = "user"
    group: str = field(default="", max_length=100)
    done: Literal["", "added", "removed", "joined", "left", "named", "unnamed", "put", "taken", "said"] = ""


@dataclass(frozen=True)
class AddGroup:
    """A new group, with nothing in it."""

    kind: Literal["user", "account", "access"] = field(title="Of what")
    name: str = field(title="Name", max_length=200)


@dataclass(frozen=True)
class RemoveGroup:
    """The group that shall be no more."""

    kind: Literal["user", "account", "access"]
    group: str = field(max_length=100)


@dataclass(frozen=True)
class Membership:
    """One person in one user group."""

    group: str = field(max_length=100)
    subject: str = field(title="Person", max_length=100)


@dataclass(frozen=True)
class Naming:
    """A group of the provider, as it calls it, and the user group that is named for it."""

    group: str = field(max_length=100)
    name: str = field(title="Group at the provider", max_length=200)


@dataclass(frozen=True)
class AccountIn:
    """One account in one account group."""

    group: str = field(max_length=100)
    account: str = field(title="Account", max_length=100)


@dataclass(frozen=True)
class RowIn:
    """One plugin's role at a level, in one access group."""

    group: str = field(max_length=100)
    row: str = field(title="Level", max_length=200)


@dataclass(frozen=True)
class HowFar:
    """How far clients may go with the acts of a row."""

    group: str = field(max_length=100)
    row: str = field(title="Level", max_length=200)
    clients: str = field(title="A client may", choices=ALLOWS)


@pages.page(
    "/groups", levels="admin", params=WhichGroup, title="Groups", name="groups", tool=False, why="people look after access"
)
def groups(request: Request[WhichGroup]) -> Response:
    """The groups there are; or one of them, with what is in it."""
    desk, asked = desk_of(request), request.params
    if asked.group:
        return _one(request, _known(desk, asked.kind, asked.group))
    return pages.render(
        "groups.html",
        user_groups=access.every_user_group(desk.store),
        account_groups=access.every_account_group(desk.store),
        access_groups=access.every_access_group(desk.store),
        no=again(request, *_BY_HAND),
        done=asked.done,
    )


@pages.route("/groups/add", levels="admin", methods=["POST"], params=AddGroup, tool=False, why=only_people)
def add_group(request: Request[AddGroup]) -> Response:
    """Add a group."""
    asked = request.params
    made = access.add_group(desk_of(request).store, asked.kind, asked.name)
    return pages.answer(None, None, location=address("/groups", kind=asked.kind, group=made, done="added"))


@pages.route("/groups/remove", levels="admin", methods=["POST"], params=RemoveGroup, tool=False, why=only_people)
def remove_group(request: Request[RemoveGroup]) -> Response:
    """Remove a group, and the permissions that join it."""
    asked = request.params
    access.remove_group(desk_of(request).store, asked.kind, asked.group)
    return pages.answer(None, None, location=address("/groups", done="removed"))


@pages.route("/groups/join", levels="admin", methods=["POST"], params=Membership, tool=False, why=only_people)
def join_group(request: Request[Membership]) -> Response:
    """Make a person a member of a user group."""
    asked = request.params
    access.join(desk_of(request).store, asked.group, asked.subject)
    return pages.answer(None, None, location=address("/groups", kind="user", group=asked.group, done="joined"))


@pages.route("/groups/leave", levels="admin", methods=["POST"], params=Membership, tool=False, why=only_people)
def leave_group(request: Request[Membership]) -> Response:
    """Take a person out of a user group."""
    asked = request.params
    access.leave(desk_of(request).store, asked.group, asked.subject)
    return pages.answer(None, None, location=address("/groups", kind="user", group=asked.group, done="left"))


@pages.route("/groups/name", levels="admin", methods=["POST"], params=Naming, tool=False, why=only_people)
def name_group(request: Request[Naming]) -> Response:
    """Name a user group for a group of the provider."""
    desk, asked = desk_of(request), request.params
    provider_groups.name(desk.store, asked.group, desk.settings.oidc_issuer, asked.name)
    return pages.answer(None, None, location=address("/groups", kind="user", group=asked.group, done="named"))


@pages.route("/groups/unname", levels="admin", methods=["POST"], params=Naming, tool=False, why=only_people)
def unname_group(request: Request[Naming]) -> Response:
    """Let a group of the provider give no membership any more."""
    desk, asked = desk_of(request), request.params
    provider_groups.unname(desk.store, asked.group, desk.settings.oidc_issuer, asked.name)
    return pages.answer(None, None, location=address("/groups", kind="user", group=asked.group, done="unnamed"))


@pages.route("/groups/put-account", levels="admin", methods=["POST"], params=AccountIn, tool=False, why=only_people)
def put_account(request: Request[AccountIn]) -> Response:
    """Name an account in an account group."""
    asked = request.params
    access.add_to_account_group(desk_of(request).store, asked.group, asked.account)
    return pages.answer(None, None, location=address("/groups", kind="account", group=asked.group, done="put"))


@pages.route("/groups/take-account", levels="admin", methods=["POST"], params=AccountIn, tool=False, why=only_people)
def take_account(request: Request[AccountIn]) -> Response:
    """Name an account in an account group no longer."""
    asked = request.params
    access.take_from_account_group(desk_of(request).store, asked.group, asked.account)
    return pages.answer(None, None, location=address("/groups", kind="account", group=asked.group, done="taken"))


@pages.route("/groups/put-level", levels="admin", methods=["POST"], params=RowIn, tool=False, why=only_people)
def put_level(request: Request[RowIn]) -> Response:
    """Name a level on a plugin's role in an access group."""
    asked = request.params
    access.add_to_access_group(desk_of(request).store, asked.group, row_in(asked.row))
    return pages.answer(None, None, location=address("/groups", kind="access", group=asked.group, done="put"))


@pages.route("/groups/take-level", levels="admin", methods=["POST"], params=RowIn, tool=False, why=only_people)
def take_level(request: Request[RowIn]) -> Response:
    """Name a level on a plugin's role in an access group no longer."""
    asked = request.params
    access.take_from_access_group(desk_of(request).store, asked.group, row_in(asked.row))
    return pages.answer(None, None, location=address("/groups", kind="access", group=asked.group, done="taken"))


@pages.route("/groups/how-far", levels="admin", methods=["POST"], params=HowFar, tool=False, why=only_people)
def how_far(request: Request[HowFar]) -> Response:
    """Say how far clients may go with the acts that a level of an access group gives."""
    asked = request.params
    clients = next(each for each in ALLOWS if each == asked.clients)
    access.name_how_far(desk_of(request).store, asked.group, row_in(asked.row), clients)
    return pages.answer(None, None, location=address("/groups", kind="access", group=asked.group, done="said"))


def names_of(desk: Desk) -> dict[tuple[GroupKind, str], str]:
    """The name of each group, by its kind and its id."""
    found: dict[tuple[GroupKind, str], str] = {}
    for kind, every in _EVERY.items():
        for each in every(desk.store):
            found[kind, each.id] = each.name
    return found


def _one(request: Request[WhichGroup], group: Group) -> Response:
    """One group: what is in it, what may be put into it, and the permissions that join it."""
    desk, kind = desk_of(request), request.params.kind
    inside: list[tuple[str, str, str]] = []
    choices: list[tuple[str, str]] = []
    named: tuple[str, ...] | None = None
    going: dict[str, str] = {}
    match group:
        case UserGroup():
            everybody = [
                (each.subject, f"{each.display_name} ({each.signs_in_as})") for each in identity.every_person(desk.store)
            ]
            given = provider_groups.given(desk.store, group.id)
            inside = [
                (subject, f"{text}, by {given[subject]}" if subject in given else text, f"/people?person={subject}")
                for subject, text in everybody
                if subject in group.members
            ]
            choices = [each for each in everybody if each[0] not in group.members]
            if desk.settings.oidc_issuer and not group.built_in:
                named = provider_groups.named(desk.store, group.id, desk.settings.oidc_issuer)
        case AccountGroup() if not group.accounts.all:
            every = [(each.id, f"{each.id} {each.name}".strip()) for each in access.every_account(desk.store)]
            inside = [(*each, "") for each in every if each[0] in group.accounts]
            choices = [each for each in every if each[0] not in group.accounts]
        case AccessGroup():
            going = {text_of(row): WORDS[clients] for row, clients in group.clients.items()}
            inside = [(text_of(each), row_named(each, desk.hosted), "") for each in group.rows]
            choices = [
                (text_of(each), row_named(each, desk.hosted)) for each in _rows_there_are(desk) if each not in group.rows
            ]
        case AccountGroup():
            pass
    return pages.render(
        "group.html",
        kind=kind,
        kind_named=KINDS[kind],
        group=group,
        inside=inside,
        choices=choices,
        named=named,
        permissions=[each for each in access.every_permission(desk.store) if _joins(each, kind, group.id)],
        names=names_of(desk),
        no=again(request, *_BY_HAND),
        done=request.params.done,
        ways=[(each, WORDS[each].capitalize()) for each in ALLOWS],
        going=going,
    )


def _joins(permission: Permission, kind: GroupKind, group: str) -> bool:
    return {"user": permission.user_group, "account": permission.account_group, "access": permission.access_group}[
        kind
    ] == group


def _rows_there_are(desk: Desk) -> list[AccessRow]:
    return [
        AccessRow(name, role, level)
        for name, hosted in sorted(desk.hosted.items())
        for role in hosted.roles
        for level in LEVELS
    ]


def _known(desk: Desk, kind: GroupKind, group: str) -> Group:
    """The group of that kind and id. Raises Refusal where there is none."""
    found = next((each for each in _EVERY[kind](desk.store) if each.id == group), None)
    if found is None:
        raise Refusal("There is no such group.", reason="unknown")
    return found


_EVERY: Final[Mapping[GroupKind, Callable[[Store], Sequence[Group]]]] = {
    "user": access.every_user_group,
    "account": access.every_account_group,
    "access": access.every_access_group,
}

"""The deployment's people: who may sign in, which groups they are in, and what each of them holds by that.

A deployment admin's forms enter; what is said of a person comes from `identity` and `access` at each asking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from meridian.callers import LEVELS
from meridian.deployment import access, identity
from meridian.deployment.dashboard.desk import (
    Desk,
    accounts_of,
    address,
    again,
    desk_of,
    only_people,
    origin_of,
    pages,
    row_named,
    shelved,
)
from meridian.deployment.dashboard.groups import Membership
from meridian.deployment.reaching import held_on
from meridian.errors import Refusal
from meridian.pages import Response
from meridian.pages.asking import Request
from meridian.records import field

__all__ = ["Held"]


_BY_HAND: Final = ("/people/link", "/people/join", "/people/leave", "/people/sign-out", "/people/unlock", "/people/let-go")
"""Where the forms go that a person's page draws by hand."""


@dataclass(frozen=True)
class Held:
    """One level that a person holds on one role, in words, and the accounts it reaches."""

    level: str
    accounts: str


@dataclass(frozen=True)
class WhichPerson:
    """Who is shown; everybody where nobody is named, or those whose names have `find` in them."""

    person: str = field(default="", max_length=100)
    find: str = field(default="", max_length=200)
    page: int = field(default=1, min=1, max=10_000)
    done: Literal["", "added", "joined", "left", "signed_out", "unlocked", "let_go"] = ""


@dataclass(frozen=True)
class AddPerson:
    """Somebody new."""

    display_name: str = field(title="Name", description="What others see.", max_length=200)
    sign_in_name: str = field(title="Sign-in name", description="What they type to sign in.", max_length=200)


@dataclass(frozen=True)
class Somebody:
    """The person that something is done for."""

    subject: str = field(max_length=100)


@pages.page(
    "/people", levels="admin", params=WhichPerson, title="People", name="people", tool=False, why="people look after people"
)
def people(request: Request[WhichPerson]) -> Response:
    """Everybody who may sign in; or one of them, with what they hold."""
    desk, asked = desk_of(request), request.params
    if asked.person:
        return _one(request, _known(desk, asked.person))
    wanted = asked.find.casefold()
    found = [
        each
        for each in identity.every_person(desk.store)
        if wanted in each.display_name.casefold() or wanted in each.signs_in_as.casefold()
    ]
    groups = access.every_user_group(desk.store)
    return pages.render(
        "people.html",
        shelf=shelved(found, asked.page, lambda page: request.path_for("/people", find=asked.find or None, page=page)),
        groups_of=lambda subject: [each for each in groups if subject in each.members],
        no=again(request, *_BY_HAND),
        find=asked.find,
        done=asked.done,
    )


@pages.route("/people/add", levels="admin", methods=["POST"], params=AddPerson, tool=False, why=only_people)
def add_person(request: Request[AddPerson]) -> Response:
    """Add a person, who holds nothing yet."""
    desk, asked = desk_of(request), request.params
    made = identity.add_person(desk.store, asked.sign_in_name, asked.display_name, now=desk.clock())
    return pages.answer(None, None, location=address("/people", person=made.subject, done="added"))


@pages.route(
    "/people/link", levels="admin", methods=["POST"], params=Somebody, tool=False, why="it shows a secret, once, to a person"
)
def make_link(request: Request[Somebody]) -> Response:
    """Make a link that signs the person in once, and show it this once."""
    desk = desk_of(request)
    whose = _known(desk, request.params.subject)
    now, lasts = desk.clock(), desk.settings.link_lasts
    token = identity.sign_in_link(desk.store, whose.subject, now=now, lasts=lasts)
    return pages.render("link.html", whose=whose, link=f"{origin_of(request)}/sign-in/{token}", until=now + lasts)


@pages.route("/people/join", levels="admin", methods=["POST"], params=Membership, tool=False, why=only_people)
def join_by_person(request: Request[Membership]) -> Response:
    """Make the person a member of a user group."""
    asked = request.params
    access.join(desk_of(request).store, asked.group, asked.subject)
    return pages.answer(None, None, location=address("/people", person=asked.subject, done="joined"))


@pages.route("/people/leave", levels="admin", methods=["POST"], params=Membership, tool=False, why=only_people)
def leave_by_person(request: Request[Membership]) -> Response:
    """Take the person out of a user group."""
    asked = request.params
    access.leave(desk_of(request).store, asked.group, asked.subject)
    return pages.answer(None, None, location=address("/people", person=asked.subject, done="left"))


@pages.route("/people/sign-out", levels="admin", methods=["POST"], params=Somebody, tool=False, why=only_people)
def sign_out_everywhere(request: Request[Somebody]) -> Response:
    """End every session of the person."""
    desk = desk_of(request)
    identity.end_sessions_of(desk.store, _known(desk, request.params.subject).subject)
    return pages.answer(None, None, location=address("/people", person=request.params.subject, done="signed_out"))


@pages.route("/people/unlock", levels="admin", methods=["POST"], params=Somebody, tool=False, why=only_people)
def unlock(request: Request[Somebody]) -> Response:
    """Let the person try passwords anew, whose name is locked."""
    desk = desk_of(request)
    identity.unlock(desk.store, _known(desk, request.params.subject).subject)
    return pages.answer(None, None, location=address("/people", person=request.params.subject, done="unlocked"))


@pages.route("/people/let-go", levels="admin", methods=["POST"], params=Somebody, tool=False, why=only_people)
def let_go(request: Request[Somebody]) -> Response:
    """Let the person go; what they recorded stays theirs."""
    desk = desk_of(request)
    access.let_go(desk.store, _known(desk, request.params.subject).subject, now=desk.clock())
    return pages.answer(None, None, location=address("/people", done="let_go"))


def _one(request: Request[WhichPerson], person: identity.Person) -> Response:
    """One person: their groups, and what they hold on each plugin by them."""
    desk = desk_of(request)
    groups = access.every_user_group(desk.store)
    return pages.render(
        "person.html",
        who=person,
        member_of=[each for each in groups if person.subject in each.members],
        other_groups=[(each.id, each.name) for each in groups if person.subject not in each.members],
        held=list(_held(desk, person.subject)),
        deployment_admin=access.is_deployment_admin(desk.store, person.subject),
        no=again(request, *_BY_HAND),
        is_me=person.subject == request.caller.subject,
        locked_until=identity.locked_until(desk.store, person.subject, now=desk.clock()),
        link_hours=desk.settings.sign_in_link_hours,
        done=request.params.done,
    )


def _held(desk: Desk, subject: str) -> Iterator[Held]:
    for name in sorted(desk.hosted):
        hosted = desk.hosted[name]
        held, _ = held_on(desk.store, subject, hosted)
        for role in hosted.roles:
            said = ""
            for level in LEVELS:
                if role not in held or level not in held[role].levels:
                    continue
                reached = accounts_of(held[role], level)
                if level != "read" or reached != said:  # to write them is to read them, too
                    yield Held(row_named(access.AccessRow(name, role, level), desk.hosted), reached)
                said = reached


def _known(desk: Desk, subject: str) -> identity.Person:
    """The person `subject`. Raises Refusal where there is none."""
    found = identity.person(desk.store, subject)
    if found is None:
        raise Refusal("Nobody here is known by that.", reason="unknown")
    return found

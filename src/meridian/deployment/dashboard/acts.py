"""How the acts of a plugin are made: how far clients may go with each, and from whom it needs a second pair of eyes.

An admin of the plugin, or a deployment admin, enters; the rules are `meridian.deployment.allowing`'s own. No tool reaches this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from meridian.deployment import allowing, identity
from meridian.deployment.allowing import ALLOWS, WORDS, Allows
from meridian.deployment.dashboard.desk import address, again, desk_of, pages
from meridian.deployment.reaching import Hosted, held_on
from meridian.errors import Problem, Refusal
from meridian.pages import Response
from meridian.pages.asking import Request
from meridian.pages.tools import Tool
from meridian.plugins import surface_name
from meridian.records import field

_WHY: Final = "people alone say who must look, and how far agents may go"


@dataclass(frozen=True)
class WhichAct:
    """Which plugin's acts are shown, and one of them."""

    instance: str = field(default="", max_length=64)
    tool: str = field(default="", max_length=200)
    done: Literal["", "said"] = ""


@dataclass(frozen=True)
class HowFar:
    """How far clients may go with an act."""

    instance: str = field(max_length=64)
    tool: str = field(max_length=200)
    scope: Literal["deployment", "plugin"] = "plugin"
    clients: str = field(default="make", title="A client may", choices=ALLOWS)


@dataclass(frozen=True)
class FromWhom:
    """From whom an act needs a second pair of eyes."""

    instance: str = field(max_length=64)
    tool: str = field(max_length=200)
    everybody: bool = False
    people: list[str] = field(default_factory=list, max_length=1_000)


@dataclass(frozen=True)
class ShownAct:
    """An act, with what is said of it."""

    tool: Tool
    name: str
    ceiling: Allows
    chosen: Allows
    pair: tuple[str, ...]

    @property
    def may(self) -> str:
        """How far a client may go with it, in words."""
        allowed = allowing.strictest([self.ceiling, self.chosen])
        return WORDS["may_not" if allowed == "prepare" and self.tool.checked_by is None else allowed]


@pages.page("/acts", levels=["read", "write"], params=WhichAct, title="How acts are made", name="acts", tool=False, why=_WHY)
def acts(request: Request[WhichAct]) -> Response:
    """The acts of the plugins that whoever looks is an admin of, or one of them, to say how it is made."""
    desk, asked = desk_of(request), request.params
    if not asked.instance:
        governed = [hosted for hosted in desk.hosted.values() if list(_governed(request, hosted))]
        return pages.render("acts.html", plugins=sorted(governed, key=lambda each: each.name), hosted=None)
    hosted = desk.hosted.get(asked.instance)
    shown = [] if hosted is None else list(_shown(request, hosted))
    if hosted is None or not shown:
        raise Refusal("You are no admin of such a plugin, or it has no act.", reason="not_served")
    people = {each.subject: each.display_name for each in identity.every_person(desk.store)}
    one = next((each for each in shown if each.tool.name == asked.tool), None)
    return pages.render(
        "acts.html",
        hosted=hosted,
        shown=shown,
        one=one,
        people=people,
        words=WORDS,
        ways=[(each, WORDS[each].capitalize()) for each in ALLOWS if each != "prepare" or (one and one.tool.checked_by)],
        done=asked.done,
        no=again(request, "/acts/second-pair", "/acts/clients"),
    )


@pages.route("/acts/clients", levels="write", methods=["POST"], params=HowFar, tool=False, why=_WHY, made_on="/acts")
def clients_may(request: Request[HowFar]) -> Response:
    """Say how far clients may go with an act."""
    desk, asked = desk_of(request), request.params
    act = _act(request, asked.instance, asked.tool)
    if asked.scope == "deployment" and not request.caller.deployment_admin:
        raise Refusal("A deployment admin alone says how far clients may go at most.", reason="not_served")
    if asked.clients == "prepare" and act.checked_by is None:
        raise Refusal(
            f"{act.title} names no check, and only what is checked can be prepared.",
            [Problem("clients", "choose to make it, or neither")],
        )
    allows = next(each for each in ALLOWS if each == asked.clients)
    allowing.name_limit(desk.store, asked.scope, asked.instance, act.name, allows, by=request.caller.subject, now=desk.clock())
    return pages.answer(None, None, location=address("/acts", instance=asked.instance, tool=act.name, done="said"))


@pages.route("/acts/second-pair", levels="write", methods=["POST"], params=FromWhom, tool=False, why=_WHY, made_on="/acts")
def second_pair(request: Request[FromWhom]) -> Response:
    """Say from whom an act needs a second pair of eyes."""
    desk, asked = desk_of(request), request.params
    act = _act(request, asked.instance, asked.tool)
    if act.checked_by is None and (asked.everybody or asked.people):
        raise Refusal(f"{act.title} names no check, so that nobody can prepare it for another to make.")
    known = {each.subject for each in identity.every_person(desk.store)}
    unknown = [each for each in asked.people if each not in known]
    if unknown:
        raise Refusal("Nothing was changed.", [Problem("people", f"nobody here is known by {unknown[0][:80]!r}")])
    subjects = [""] if asked.everybody else asked.people
    allowing.name_second_pair(desk.store, asked.instance, act.name, subjects, by=request.caller.subject, now=desk.clock())
    return pages.answer(None, None, location=address("/acts", instance=asked.instance, tool=act.name, done="said"))


def _governed(request: Request[Any], hosted: Hosted) -> Iterator[Tool]:
    """The acts of a plugin of which whoever asks may say how they are made: a deployment admin, or who holds admin on a role
    that the act serves."""
    held, admin = held_on(desk_of(request).store, request.caller.subject, hosted)
    for tool in hosted.pages.tools:
        if not tool.reads and (admin or any("admin" in held[role].levels for role in tool.roles if role in held)):
            yield tool


def _act(request: Request[Any], instance: str, name: str) -> Tool:
    """The act. Raises Refusal, in the same words where whoever asks may not say so as where there is none."""
    hosted = desk_of(request).hosted.get(instance)
    found = None if hosted is None else next((each for each in _governed(request, hosted) if each.name == name), None)
    if found is None:
        raise Refusal("You are no admin of such a plugin, or it has no such act.", reason="not_served")
    return found


def _shown(request: Request[Any], hosted: Hosted) -> Iterator[ShownAct]:
    store = desk_of(request).store
    limits, pairs = allowing.limits_of(store, hosted.name), allowing.second_pairs_of(store, hosted.name)
    for tool in _governed(request, hosted):
        yield ShownAct(
            tool,
            surface_name(hosted.name, tool.name),
            limits.get(("deployment", tool.name), "make"),
            limits.get(("plugin", tool.name), "make"),
            pairs.get(tool.name, ()),
        )

"""The gateway: a session, or an agent's call, becomes a signed request to a plugin's application.

Enters: a browser's request under `/<instance>/<button>/`, or a tool's call with the caller already cut to its level.
Leaves: the plugin's answer, confined to its own prefix. Between them one call is opened in the store before the plugin is
asked, so that the operations door can see that it is open, and closed after. Who a session or a token belongs to is settled
before, in `signing_in` and `surface`; what a plugin serves to whom is its own guard's matter.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from io import BytesIO
from typing import IO, Any, Final
from urllib.parse import parse_qsl, urlencode

import anyio
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from meridian.callers import Caller, Holdings, Level, cut
from meridian.deployment.allowing import second_pair_in
from meridian.deployment.calls import Opening, StoredCalls, TooMany
from meridian.deployment.confining import Leaves, is_of_this_site, keep_confined, let_in, policies
from meridian.deployment.fingerprints import new_id
from meridian.deployment.identity import Person
from meridian.deployment.prepared import Making
from meridian.deployment.preparing import Preparing, Seen, arguments_in
from meridian.deployment.reaching import BUTTON_OF, BUTTONS, DASHBOARD, Hosted, first_page, held_on, words_of
from meridian.deployment.settings import Settings
from meridian.deployment.store import Store
from meridian.errors import Refusal
from meridian.pages import Pages, assertion
from meridian.pages.answering import refused
from meridian.pages.bodies import BadBody, Limits, read_body
from meridian.pages.declaring import Declaration
from meridian.pages.guarding import FORM_TOKEN_HEADER
from meridian.pages.tools import Tool
from meridian.plugins import surface_name

__all__ = ["KIT_URL", "Changed", "Gateway", "Refused", "Words"]

KIT_URL: Final = "/static/meridian"

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
SPOOL_BYTES: Final = 1 << 20
CHUNK_BYTES: Final = 1 << 16
PREPARED: Final = "meridian.prepared"
"""The name in a page's query of the prepared change that it is opened from."""
LONGEST_ANSWER_BYTES: Final = 16 << 20

log = logging.getLogger(__name__)

Words = Callable[..., Awaitable[Response]]
"""Draws a page of a few words: `words(request, status_code, title, *paragraphs, rule="", onward=())`."""


class Refused(Exception):
    """A request that does not reach its plugin: the status, a title and a sentence for the person, the rule it is by, and
    links to what they may do instead."""

    def __init__(
        self,
        status_code: int,
        title: str,
        detail: str,
        *,
        rule: str = "",
        onward: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.status_code = status_code
        self.title = title
        self.detail = detail
        self.rule = rule
        self.onward = onward
        super().__init__(detail)


class Changed(Exception):
    """Who may ask what was changed since the caller was worked out. Nothing was asked; the caller is to be looked at anew."""


@dataclass
class _Asked:
    """One request on its way to a plugin, once it is known who asks and how far they reach."""

    hosted: Hosted
    caller: Caller
    method: str
    path: str
    query: str
    acts: bool
    body_sha256: str
    headers: list[tuple[bytes, bytes]]
    body: IO[bytes]
    around: Scope
    tool: str | None = None
    revision: int | None = None
    mark: str | None = None
    has_key: bool = False
    only: assertion.Only | None = None
    shows: tuple[str, int] | None = None
    """The prepared change that the page was opened from, and the revision it shows."""
    second_pair: tuple[str, ...] = ()
    """The acts that need a second pair of eyes from this caller."""
    making: Making | None = None
    given: bytearray | None = None
    """What the plugin gave back as JSON, where a browser's form is to be read and not acted on."""


@dataclass(frozen=True)
class _Taken:
    """A browser's body as it was taken: its digest, its form's token, and whether it is to be prepared, with which note."""

    sha256: str
    token: str
    prepares: bool = False
    reason: str = ""


class Gateway:
    """The one way to the plugins of a deployment, by the name of their instance.

    `who` tells whose session a browser's request carries, `words` draws the page of a refusal, `clock` tells the time.
    """

    def __init__(
        self,
        store: Store,
        calls: StoredCalls,
        hosted: Mapping[str, Hosted],
        *,
        settings: Settings,
        deployment_key: bytes,
        clock: Callable[[], datetime],
        who: Callable[[Request], Awaitable[Person | None]],
        words: Words,
        preparing: Preparing,
    ) -> None:
        self.hosted = hosted
        self._preparing = preparing
        self._store = store
        self._calls = calls
        self._settings = settings
        self._deployment_key = deployment_key
        self._clock = clock
        self._who = who
        self._words = words

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of a browser under `/<instance>/<button>/`."""
        request = Request(scope, receive)
        try:
            answer = await self._browse(request, send)
        except Refused as no:
            answer = await self._words(request, no.status_code, no.title, no.detail, rule=no.rule, onward=no.onward)
        except BadBody as bad:
            answer = await self._words(request, bad.status_code, "That was not taken", bad.detail)
        except ClientDisconnect:
            return
        if answer is not None:
            await answer(scope, receive, send)

    async def call_tool(
        self,
        hosted: Hosted,
        tool: Tool,
        arguments: Mapping[str, Any],
        caller: Caller,
        *,
        revision: int,
        record: str | None = None,
        has_key: bool = False,
    ) -> dict[str, Any]:
        """The outcome of a tool's call by `caller`, whose holdings are cut to the level the call opens at already. `record` is
        the digest of what an act is called with, and `has_key` says that its caller gave it a key.

        The plugin is not asked where it raises Changed, as `revision`, under which `caller` was worked out, has passed; or
        TooMany, as the caller's delegation is at one of its limits.
        """
        raw = json.dumps(arguments).encode()
        asked = _Asked(
            hosted=hosted,
            caller=caller,
            method=tool.method,
            path=tool.path,
            query="",
            acts=not tool.reads,
            body_sha256=assertion.digest(raw),
            headers=[(b"content-type", b"application/json"), (b"accept", b"application/json"), (b"host", b"meridian")],
            body=BytesIO(raw),
            around={"scheme": "http", "server": None, "http_version": "1.1"},
            tool=surface_name(hosted.name, tool.name),
            revision=revision,
            mark=None if record is None else self._mark(caller, hosted, tool, record),
            has_key=has_key,
        )
        return await self._call(asked)

    async def only(
        self, hosted: Hosted, tool: Tool, arguments: Mapping[str, Any], caller: Caller, *, only: assertion.Only
    ) -> dict[str, Any]:
        """What the plugin gives back of an act's arguments, read or checked by it instead of acted on; or a refusal. It is no
        call of its own in the list of a client's."""
        raw = json.dumps(arguments).encode()
        return await self._call(
            _Asked(
                hosted=hosted,
                caller=caller,
                method=tool.method,
                path=tool.path,
                query="",
                acts=False,
                body_sha256=assertion.digest(raw),
                headers=[(b"content-type", b"application/json"), (b"accept", b"application/json"), (b"host", b"meridian")],
                body=BytesIO(raw),
                around={"scheme": "http", "server": None, "http_version": "1.1"},
                only=only,
            )
        )

    def _mark(self, caller: Caller, hosted: Hosted, tool: Tool, record: str) -> str:
        """What an act has in common with the same one of the same delegation, and nobody makes who guesses its record."""
        text = f"act/{caller.delegation_id}/{hosted.name}/{tool.name}/{record}"
        return hmac.new(self._deployment_key, text.encode(), hashlib.sha256).hexdigest()

    async def _browse(self, request: Request, send: Send) -> Response | None:
        name, _, rest = request.scope["path"].removeprefix("/").partition("/")
        button, slash, path = rest.partition("/")
        hosted, level = self.hosted.get(name), BUTTONS.get(button)
        if hosted is None or (button and level is None):
            raise Refused(404, "There is nothing here", f"No plugin of this deployment is at {request.scope['path']:.100}.")
        if level is None:
            return RedirectResponse("/", 303)
        if not slash:
            return RedirectResponse(f"/{name}/{button}/", 307)
        person = await self._who(request)
        if person is None:
            return await self._to_sign_in(request)
        prefix = f"/{name}/{button}"
        changes = request.method not in SAFE_METHODS
        origin = str(request.base_url).rstrip("/")
        if changes and not is_of_this_site(dict(request.headers), origin):
            raise Refused(
                403, "That came from elsewhere", "The form was sent from another site. Open the page here and send it."
            )
        caller = await self._caller(person, hosted, level)
        if not path and not changes and (first := first_page(hosted.pages, level, caller.holdings)) not in (None, "/"):
            return RedirectResponse(f"{prefix}{first}", 303)
        query = request.scope["query_string"].decode("latin-1")
        shown: Seen | None = None
        if not changes:
            query, shown = await self._shown(caller, hosted, query)
        with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as body:
            declaration = _declaration(hosted.pages, f"/{path}", request.method)
            taken = await self._take(request, hosted, caller, body, declaration) if changes else _NOTHING_TAKEN
            headers = let_in(request.scope["headers"])
            if changes and (token := request.headers.get(FORM_TOKEN_HEADER)) is not None:
                headers.append((FORM_TOKEN_HEADER.lower().encode(), token.encode("latin-1")))
            asked = _Asked(
                hosted=hosted,
                caller=caller,
                method=request.method,
                path=f"/{path}",
                query=query,
                acts=changes and not (declaration is not None and declaration.reads),
                body_sha256=taken.sha256,
                headers=headers,
                body=body,
                around={key: request.scope[key] for key in ("scheme", "server", "http_version")} | {"root_path": prefix},
                shows=assertion.prepared_in(taken.token) if shown is None else (shown.change.id, shown.change.revision),
                second_pair=_less(shown, await self._store.look(second_pair_in, name, caller.subject)),
            )
            if declaration is None or not asked.acts:
                return await self._show(request, asked, send, origin)
            if taken.prepares and declaration.checked_by is not None:
                return await self._prepare(request, asked, declaration, taken.reason, send, origin)
            if asked.shows is not None:
                return await self._make(request, asked, declaration, send, origin)
            if declaration.name in asked.second_pair:
                raise _needs_a_second_pair(declaration)
            return await self._show(request, asked, send, origin)

    async def _shown(self, caller: Caller, hosted: Hosted, query: str) -> tuple[str, Seen | None]:
        """The query without the name of a prepared change that the page is to be opened from, and that change as it is now."""
        said = parse_qsl(query, keep_blank_values=True)
        named = next((value for name, value in said if name == PREPARED), None)
        if named is None:
            return query, None
        try:
            shown = await self._preparing.opened(caller, hosted, named)
        except Refusal as no:
            raise _not_to_be_made(named, no) from no
        return urlencode([each for each in said if each[0] != PREPARED]), shown

    async def _prepare(
        self, request: Request, asked: _Asked, declaration: Declaration, reason: str, send: Send, origin: str
    ) -> Response | None:
        """Let the plugin read and check the form, and keep the act; what the check refuses is shown on the form."""
        given = bytearray()
        reading = replace(asked, acts=False, only="check", given=given)
        answer = await self._show(request, reading, send, origin)
        if answer is not None or not given:
            return answer
        said = _outcome_in(200, "application/json", bytes(given))
        if "record" not in said:
            return Response(bytes(given), 422, media_type="application/json")
        try:
            change, new = await self._preparing.keep(asked.caller, asked.hosted, declaration.name, said, reason, asked.shows)
        except Refusal as no:
            raise Refused(422, "It was not prepared", no.detail, onward=[_INBOX]) from no
        until = f"It waits until {change.lapses_at:%Y-%m-%d} for somebody who may make it, and changes nothing before."
        if asked.hosted.pages.name and not new:
            until = f"The same change waits already, and this is it. {until}"
        return await self._words(
            request,
            200,
            f"{declaration.title}: prepared",
            until,
            onward=[("See it, and what becomes of it", f"/{DASHBOARD}/view/prepared?change={change.id}"), _INBOX],
        )

    async def _make(
        self, request: Request, asked: _Asked, declaration: Declaration, send: Send, origin: str
    ) -> Response | None:
        """Make the prepared change that the page was opened from, with what the form says, read by its plugin beforehand."""
        assert asked.shows is not None, "the page was opened from a prepared change"  # noqa: S101  ours to be right about
        change, revision = asked.shows
        try:
            seen = await self._preparing.seen(asked.caller, change)
        except Refusal as no:
            raise _not_to_be_made(change, no) from no
        if seen.change.tool != declaration.name:
            if declaration.name in asked.second_pair:
                raise _needs_a_second_pair(declaration)
            return await self._show(request, replace(asked, shows=None), send, origin)
        given = bytearray()
        reading = replace(asked, acts=False, only="read", given=given, second_pair=_less(seen, asked.second_pair))
        answer = await self._show(request, reading, send, origin)
        if answer is not None or not given:
            return answer
        said = _outcome_in(200, "application/json", bytes(given))
        if "record" not in said:
            return Response(bytes(given), 422, media_type="application/json")
        making = Making(change, revision, arguments_in(said))
        if declaration.name in asked.second_pair:
            if seen.needs_another:
                raise _needs_a_second_pair(declaration)
            if making.arguments.alike != seen.change.arguments.alike:
                raise _needs_a_second_pair(declaration, changed=True)
        maker = asked.caller.in_call("", prepared_call_id=change)
        acting = replace(asked, caller=maker, making=making, second_pair=reading.second_pair)
        try:
            return await self._show(request, acting, send, origin)
        except Refusal as no:
            raise _not_to_be_made(change, no) from no

    async def _to_sign_in(self, request: Request) -> Response:
        if request.method not in SAFE_METHODS:
            return await self._words(
                request,
                401,
                "You are signed out",
                "Nothing was done. Sign in again, go back to the page, and send the form anew.",
            )
        query = request.scope["query_string"].decode("latin-1")
        back = request.scope["path"] + (f"?{query}" if query else "")
        return RedirectResponse(f"/sign-in?{urlencode({'next': back})}", 303)

    async def _caller(self, person: Person, hosted: Hosted, level: Level) -> Caller:
        holdings, admin = await self._store.run(held_on, person.subject, hosted)
        carried = cut(holdings, level)
        if not any(level in holding.levels for holding in carried.values()):
            raise _not_held(hosted, level, holdings)
        return Caller(person.subject, person.display_name, level, carried, deployment_admin=admin)

    async def _take(
        self, request: Request, hosted: Hosted, caller: Caller, spool: IO[bytes], declaration: Declaration | None
    ) -> _Taken:
        """Take the whole body into `spool`, within bounds and with the form's token in it."""
        allowed = (declaration.max_body_bytes if declaration else None) or hosted.pages.max_body_bytes
        limits = Limits(body_bytes=min(allowed, self._settings.max_body_bytes))

        async def chunks() -> AsyncIterator[bytes]:
            async for chunk in request.stream():
                spool.write(chunk)
                yield chunk

        token = request.headers.get(FORM_TOKEN_HEADER, "")
        unread: BadBody | None = None
        taken = _NOTHING_TAKEN
        try:
            body = await read_body(chunks(), request.headers.get("content-type", ""), limits)
            token = token or body.value("csrf")
            prepares = any(name == "prepare" for name, _ in body.pairs)
            taken = _Taken(body.sha256, token, prepares, body.value("prepare.reason"))
            await body.close()
        except BadBody as bad:
            if bad.status_code == 413:
                raise
            unread = bad
        if not assertion.check_form_token(token, hosted.key, caller.subject, hosted.name, caller.level):
            raise Refused(
                403,
                "That form is not yours to send",
                "The form's token is missing, or is not of this page. Open the page again and send the form from there.",
            )
        if unread is not None:
            raise unread
        return taken

    async def _show(self, request: Request, asked: _Asked, send: Send, origin: str) -> Response | None:
        """Ask the plugin, and send its answer on to the browser, confined; or a page of words in its place."""
        prefix = f"{asked.around['root_path']}/"
        url = f"{origin}{prefix.rstrip('/')}{asked.path}"
        left: list[Leaves] = []
        started = given = False

        async def confined(call: _Call, message: Message) -> None:
            nonlocal started, given
            if message["type"] == "http.response.start" and not (started or left):
                headers = Headers(raw=[(name.lower(), value) for name, value in message["headers"]])
                if asked.given is not None and headers.get("content-type", "").startswith("application/json"):
                    started = given = True
                    return
                said = assertion.read_outcome(headers.get(assertion.OUTCOME_HEADER, ""), asked.hosted.key, call.call_id)
                if said is not None:
                    call.outcome = said.outcome, said.reason
                try:
                    kept = keep_confined(message["headers"], url=url, prefix=prefix)
                except Leaves as leaves:
                    left.append(leaves)
                    return
                started = True
                own = policies(origin=origin, prefix=prefix, kit_url=KIT_URL)
                await send({"type": "http.response.start", "status": message["status"], "headers": [*kept, *own]})
            elif given and asked.given is not None:
                asked.given.extend(message.get("body", b""))
            elif message["type"] == "http.response.body" and not left:  # a server knows messages that do more than answer
                if not message.get("more_body", False):
                    await self._close(call)  # before the answer is whole, so that whoever asks next finds it so
                await send(message)

        call = await self._open(asked)
        try:
            await self._ask(asked, call.header, partial(confined, call))
        except TimeoutError:
            if started:
                raise
            call.outcome = "refused", "timed_out"
            return await self._words(
                request,
                504,
                "That took too long",
                f"{asked.hosted.pages.name} did not answer within {self._settings.call_seconds} seconds. "
                + ("Look whether it was done before you do it again." if asked.acts else "Try again."),
            )
        except Exception:
            if started:
                raise
            log.exception("call %s of %s failed", call.call_id, asked.hosted.name)
            call.outcome = "refused", "failed"
            return await self._words(
                request,
                500,
                f"{asked.hosted.pages.name} failed",
                f"Whoever runs this deployment can look it up by {call.call_id}.",
            )
        finally:
            await self._close(call)
        if left:
            log.warning("%s answered with a redirect out of its prefix, to %r", asked.hosted.name, left[0].location)
            return await self._words(
                request,
                502,
                "The plugin would have sent you elsewhere",
                f"{asked.hosted.pages.name} answered with a redirect out of its own pages, which is not followed.",
            )
        return None

    async def _call(self, asked: _Asked) -> dict[str, Any]:
        """Ask the plugin for a tool; what it answered, or why that is no answer, as an outcome object."""
        status, kind = 0, ""
        held = bytearray()

        async def keep(message: Message) -> None:
            nonlocal status, kind
            if message["type"] == "http.response.start":
                status = message["status"]
                kind = Headers(raw=message["headers"]).get("content-type", "")
            elif message["type"] == "http.response.body":
                held.extend(message.get("body", b""))
                if len(held) > LONGEST_ANSWER_BYTES:
                    raise _TooLong

        call = await self._open(asked)
        try:
            try:
                await self._ask(asked, call.header, keep)
                said = _outcome_in(status, kind, bytes(held))
            except TimeoutError:
                said = refused("timed_out", self._too_slow(asked))
            except _TooLong:
                said = refused("failed", _perhaps_made(asked, "The plugin's answer was too long to be passed on."))
            except Exception:
                log.exception("call %s of %s failed", call.call_id, asked.hosted.name)
                said = refused("failed", _perhaps_made(asked, f"The plugin failed; its log says more under {call.call_id}."))
            call.outcome = said["outcome"], said.get("reason")
        finally:
            await self._close(call)
        return said

    def _too_slow(self, asked: _Asked) -> str:
        return _perhaps_made(asked, f"The plugin did not answer within {self._settings.call_seconds} seconds.")

    async def _open(self, asked: _Asked) -> _Call:
        """A call opened in the store for `asked`, to be closed however it ends."""
        now, lasts, call_id = self._clock(), self._settings.call_lasts, new_id("C")
        caller = asked.caller
        if asked.only is not None and caller.delegation_id is not None:  # what it is asked for is counted as a call itself
            caller = replace(caller, delegation_id=None)
        opening = Opening(
            id=call_id,
            caller=caller,
            instance=asked.hosted.name,
            acts=asked.acts,
            lasts=lasts,
            now=now,
            tool=asked.tool,
            revision=asked.revision,
            mark=asked.mark,
            has_key=asked.has_key,
            making=asked.making,
        )
        opened = await self._calls.open(opening)
        if opened is None:
            raise Changed
        if isinstance(opened, TooMany):
            raise opened
        claims = assertion.Claims(
            caller=asked.caller,
            instance=asked.hosted.name,
            method=asked.method,
            path=asked.path,
            query=asked.query,
            body_sha256=asked.body_sha256,
            call_id=call_id,
            expires_at=int((now + lasts).timestamp()),
            acts=asked.acts,
            repeat_of=opened.repeat_of,
            only=asked.only,
            shows=asked.shows,
            second_pair=asked.second_pair,
        )
        return _Call(call_id, assertion.write(claims, asked.hosted.key, self._deployment_key), making=asked.making)

    async def _close(self, call: _Call) -> None:
        """Close the call, once."""
        if not call.closed:
            outcome, reason = call.outcome
            await self._calls.close(call.call_id, outcome=outcome, reason=reason, making=call.making, now=self._clock())
            call.closed = True

    async def _ask(self, asked: _Asked, header: str, send: Send) -> None:
        """Ask the plugin's application, with the signed header and with nothing of the request's own scope. Raises TimeoutError
        where it takes too long."""
        asked.body.seek(0, 2)
        length = asked.body.tell()
        asked.body.seek(0)
        done = False

        async def receive() -> Message:
            nonlocal done
            if done:
                await anyio.sleep_forever()
            chunk = asked.body.read(CHUNK_BYTES)
            done = asked.body.tell() >= length
            return {"type": "http.request", "body": chunk, "more_body": not done}

        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": asked.around["http_version"],
            "method": asked.method,
            "scheme": asked.around["scheme"],
            "path": asked.path,
            "raw_path": asked.path.encode("utf-8", "replace"),
            "query_string": asked.query.encode("latin-1"),
            "root_path": asked.around.get("root_path", ""),
            "headers": [
                *asked.headers,
                (b"content-length", str(length).encode()),
                (assertion.HEADER.lower().encode(), header.encode("ascii")),
            ],
            "client": None,
            "server": asked.around["server"],
            "state": {},
            "extensions": {},
        }
        until = asyncio.get_running_loop().time() + self._settings.call_seconds
        with anyio.CancelScope(deadline=until) as waiting:  # as `fail_after` does in half as long again
            try:
                await asked.hosted.app(scope, receive, send)
            except Exception:
                raise
            except BaseException as fault:
                if isinstance(fault, asyncio.CancelledError) and _is_cancelled():
                    raise
                raise _Ended(f"the plugin let a {type(fault).__name__} through") from fault
        if waiting.cancelled_caught:
            raise TimeoutError


@dataclass
class _Call:
    """A call that is open: its id, its signed header, and what came of it, as far as is known."""

    call_id: str
    header: str
    outcome: tuple[str | None, str | None] = (None, None)
    closed: bool = False
    making: Making | None = None


def _needs_a_second_pair(act: Declaration, *, changed: bool = False) -> Refused:
    """The no to an act that needs a second pair of eyes from whoever would make it by themselves."""
    return Refused(
        403,
        "This needs a second pair of eyes",
        f"{act.title}: nothing was changed. "
        + ("You altered what somebody else prepared, and so" if changed else "What you prepare")
        + " somebody else makes it. Go back, and send the form by Prepare.",
        rule="Where an act needs a second pair of eyes from somebody, they do not make what they prepared, or what a client or "
        "a service account of theirs did. An admin of the plugin says which acts do, and from whom.",
        onward=[_INBOX],
    )


_NOTHING_TAKEN: Final = _Taken(assertion.digest(b""), "")
_INBOX: Final = ("Your Inbox", f"/{DASHBOARD}/view/inbox")


def _less(shown: Seen | None, second_pair: tuple[str, ...]) -> tuple[str, ...]:
    """The acts that need a second pair of eyes, without the one of a change that another prepared: here are the second."""
    made = shown.change.tool if shown is not None and shown.may_make else None
    return tuple(each for each in second_pair if each != made)


def _not_to_be_made(change: str, no: Refusal) -> Refused:
    """The no to making a prepared change, which says what became of it."""
    return Refused(
        409,
        "This change is not to be made from here",
        no.detail,
        rule="A prepared change is made once, as its page shows it, by somebody who holds what its act takes.",
        onward=[("See it, and what became of it", f"/{DASHBOARD}/view/prepared?change={change[:40]}"), _INBOX],
    )


_BUTTON_NAMES: Final[Mapping[Level, str]] = {level: button.capitalize() for level, button in BUTTON_OF.items()}


def _not_held(hosted: Hosted, level: Level, holdings: Holdings) -> Refused:
    """The no to a button that is not held, with the buttons that are."""
    held = [(word, path) for word, each in BUTTONS.items() if (path := first_page(hosted.pages, each, holdings)) is not None]
    name = hosted.pages.name
    return Refused(
        403,
        "That is not yours to open",
        f"You do not hold {BUTTON_OF[level].capitalize()} on {name}; there you hold {words_of(holdings, _BUTTON_NAMES)}.",
        rule="View takes read, Open takes write, and Manage takes admin, which reaches no account. A deployment admin says who "
        "holds which, under Access.",
        onward=[(f"{name}, by {button.capitalize()}", f"/{hosted.name}/{button}{path}") for button, path in held],
    )


class _TooLong(Exception):
    """An answer longer than is passed on."""


class _Ended(Exception):
    """A plugin raised what ends more than its own call, as `sys.exit()` does, or the cancelling of a task that it started."""


def _is_cancelled() -> bool:
    """Whether the task that asks a plugin is itself being cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _declaration(pages: Pages, path: str, method: str) -> Declaration | None:
    wanted = "GET" if method == "HEAD" else method
    return next((each for each in pages.declared if each.kind != "tool" and each.path == path and wanted in each.methods), None)


def _outcome_in(status: int, kind: str, body: bytes) -> dict[str, Any]:
    """The outcome object a plugin answered; a refusal that says so where it answered something else."""
    said: Any = None
    if kind.partition(";")[0].strip() == "application/json":
        with suppress(ValueError):
            said = json.loads(body)
    if isinstance(said, dict) and said.get("outcome") in ("made", "unchanged", "refused", "prepared"):
        return said
    return refused(
        "untyped",
        f"The plugin answered {status} with {kind.partition(';')[0][:60] or 'no content type'}, and a tool answers typed data; "
        "what it said is not passed on.",
    )


def _perhaps_made(asked: _Asked, said: str) -> str:
    return f"{said} The act may have been made or not: read before you call it again." if asked.acts else said

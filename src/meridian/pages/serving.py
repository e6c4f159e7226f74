"""One instance of a plugin's pages as an ASGI application. Starlette's door.

A real HTTP request enters, with the signed header that says who asks; HTML leaves for a person and JSON for an agent. The
steps are the same whoever asks: who (assertion), may they (guarding), what (the record's reader), the view, and its answer
drawn. A form that did not read, or was refused, is drawn again on the page it stands on, with every problem on its cell.
"""

from __future__ import annotations

import difflib
import inspect
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import unquote, urlencode

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers, ImmutableMultiDict, QueryParams, UploadFile
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from meridian.errors import Problem, Refusal, Unread
from meridian.pages import answering, assertion, preparing, redrawing
from meridian.pages.answering import Answer, Made, Page
from meridian.pages.asked import NOWHERE, Asked
from meridian.pages.asking import Redraw, Repeat, Request
from meridian.pages.assertion import Claims, NotAsserted
from meridian.pages.bodies import BadBody, Body, Limits, read_body
from meridian.pages.declaring import Declaration, Pages, near
from meridian.pages.guarding import FORM_TOKEN_HEADER, NotServed, guard_caller, guard_form, guard_tool
from meridian.pages.refusing import tell
from meridian.pages.rendering import Kit, Surroundings
from meridian.records import Reading, parse_path, paths, read_form, read_json, read_query, write_json

__all__ = ["Served"]

log = logging.getLogger("meridian.pages")

FAILED: Final = "The plugin failed, and nobody can say here whether anything was changed. It was written to the log."
_THREADS: Final = 40
NOT_PREPARED: Final = "This is not kept as a prepared change here. Nothing was changed; send the form by its own button."


class Served:
    """The pages of one plugin, as the instance `instance` of a deployment: an ASGI application.

    `key` is the instance's own, which the deployment shares with nobody else; `plugin` is what views meet as
    `request.plugin`. `clock` gives Unix seconds. Raises DeclarationError where what was declared does not hold together.
    """

    def __init__(
        self,
        pages: Pages,
        *,
        instance: str,
        key: bytes,
        plugin: Any,
        surroundings: Surroundings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.pages = pages
        self.instance = instance
        self.plugin = plugin
        self.kit = Kit(pages, surroundings or Surroundings())
        self._key = key
        self._clock = clock
        self._threads = CapacityLimiter(_THREADS)
        self._at: dict[str, list[Declaration]] = {}
        self._limits = {most: Limits(most or pages.max_body_bytes) for most in {each.max_body_bytes for each in pages.declared}}
        for declaration in pages.declared:
            self._at.setdefault(declaration.path, []).append(declaration)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        response = await self._respond(scope, receive)
        if scope["method"] == "HEAD":
            send = _without_body(send)
        await response(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The plugin's own lifespan: what it starts is there inside."""
        if self.pages.lifespan is None:
            yield
            return
        async with self.pages.lifespan(self.plugin):
            yield

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self.running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    # who asks, and may they

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        headers = Headers(scope=scope)
        try:
            claims = await self._claims(scope, headers)
        except (NotAsserted, assertion.AccountsWanted) as no:
            return Response(f"{no}.\n", HTTPStatus.UNAUTHORIZED, media_type="text/plain")
        asked = Asked(
            claims, headers, scope.get("root_path", ""), claims.path, scope["method"], claims.query, NOWHERE, Body("none", "")
        )
        self._hear_note(asked)
        try:
            asked.declaration = self._declaration(asked)
            asked.body = await read_body(
                _Chunks(receive), headers.get("content-type", ""), self._limits[asked.declaration.max_body_bytes]
            )
            if asked.body.sha256 and asked.body.sha256 != claims.body_sha256:
                return Response(
                    "The body is not the one that was signed for.\n", HTTPStatus.UNAUTHORIZED, media_type="text/plain"
                )
            return await self._let_in(asked)
        except BadBody as bad:
            return self._refuse(asked, bad.status_code, "bad_body", bad.detail)
        except NotServed as no:
            asked.declaration = no.declaration or asked.declaration
            return self._refuse(asked, HTTPStatus.FORBIDDEN, "not_served", no.detail)
        except _Nothing as nothing:
            response = self._refuse(asked, nothing.status_code, nothing.reason, nothing.detail)
            if nothing.allow:
                response.headers["allow"] = ", ".join(nothing.allow)
            return response
        finally:
            if asked.body.files:
                await asked.body.close()

    async def _claims(self, scope: Scope, headers: Headers) -> Claims:
        values = headers.getlist(assertion.HEADER)
        if len(values) != 1:
            raise NotAsserted("A request here carries one Meridian-Caller header, which the deployment signs")
        now = self._clock()
        try:
            claims = assertion.read(values[0], now=now, instance_key=self._key)
        except assertion.AccountsWanted:
            sets = await self._account_sets(values[0])
            claims = assertion.read(values[0], now=now, instance_key=self._key, sets=sets)
        root, path = scope.get("root_path", ""), scope["path"]
        query = scope.get("query_string", b"").decode("latin-1")
        sent = (self.instance, scope["method"], query)
        if (claims.instance, claims.method, claims.query) != sent or path not in (claims.path, root + claims.path):
            raise NotAsserted("The Meridian-Caller header was signed for another request")
        return claims

    async def _account_sets(self, header: str) -> Mapping[str, frozenset[str]]:
        try:
            sets = await self.plugin.account_sets(acting_for=header)
        except Refusal as refusal:
            raise NotAsserted("The accounts of this call are known no longer") from refusal
        if any(assertion.digest_of_accounts(ids) != digest for digest, ids in sets.items()):
            raise NotAsserted("A set of accounts is not the one that was signed for")
        return cast("Mapping[str, frozenset[str]]", sets)

    def _declaration(self, asked: Asked) -> Declaration:
        at = self._at.get(asked.path)
        if at is None:
            near = difflib.get_close_matches(asked.path, self._at, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise _Nothing(HTTPStatus.NOT_FOUND, "not_found", f"There is nothing at {asked.path[:200]}.{hint}")
        if asked.by_tool:
            declaration = guard_tool(at, asked.claims, asked.method)
        else:
            method = "GET" if asked.method == "HEAD" else asked.method
            routes = [each for each in at if each.kind != "tool"]
            found = next((each for each in routes if method in each.methods), None)
            if found is None and method == "GET" and asked.claims.shows is not None:
                found = next((each for each in routes if each.offered and not each.reads), None)
                asked.alone = found is not None
            if found is None:
                methods = {each for route in routes for each in route.methods}
                allow = sorted(methods | ({"HEAD"} if "GET" in methods else set()))
                detail = f"{asked.path} is asked by {' or '.join(allow)}, not by {asked.method[:20]}."
                raise _Nothing(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", detail, allow)
            declaration = found
        guard_caller(declaration, asked.claims.caller)
        return declaration

    # what is asked

    async def _let_in(self, asked: Asked) -> Response:
        declaration, body = asked.declaration, asked.body
        if asked.by_tool:
            if body.kind == "form":
                raise BadBody(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "A tool is called with JSON, not with a form.")
        elif asked.method not in ("GET", "HEAD"):
            token = asked.headers.get(FORM_TOKEN_HEADER) or body.value("csrf")
            guard_form(asked.claims, asked.headers, token, self._key)
            edited = await redrawing.edited(self, asked)
            if edited is not None:
                return edited
            if body.kind == "form" and asked.claims.only is None and any(name == "prepare" for name, _ in body.pairs):
                return await self._redraw(asked, (), Refusal(NOT_PREPARED, reason="not_prepared"))
        if body.kind == "other":
            raise BadBody(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, body.detail)
        asked.reading = self._read(asked)
        if asked.by_tool and asked.reading is not None and asked.reading.problems:
            return self._not_read(asked, asked.reading.problems)
        try:
            if asked.claims.only is not None:
                return await self._give_back(asked, check=asked.claims.only == "check")
            if asked.claims.shows is not None:
                await self._start_from_prepared(asked)
            if asked.alone:
                context = {"asked": declaration.path, "by": declaration.method, "files": ()}
                return self.html(asked, "meridian/ask.html", context)
            return self._answer(asked, await self.run(declaration, self.request(asked)))
        except Unread as unread:
            return await self._redraw(asked, unread.problems)
        except Refusal as refusal:
            self._tell_misplaced(asked, refusal)
            return await self._redraw(asked, refusal.fields, refusal)
        except Exception:
            log.exception("%s: %s failed", self.instance, declaration)
            return self._refuse(asked, HTTPStatus.INTERNAL_SERVER_ERROR, "failed", FAILED)

    def _read(self, asked: Asked) -> Reading[Any] | None:
        shape, body = asked.declaration.shape, asked.body
        if shape is None or asked.alone:
            return None
        if asked.by_tool:
            return read_json(shape, body.raw or b"{}", lenient=True)
        if asked.method in ("GET", "HEAD"):
            return read_query(shape, asked.query.encode("latin-1"))
        if body.kind == "json":
            return read_json(shape, body.raw)
        reading = read_form(shape, body.pairs)
        blamed = [*body.problems, *_misplaced(asked)]
        if not blamed:
            return reading
        paths = {each.path for each in blamed}
        return Reading(reading.record, (*blamed, *(each for each in reading.problems if each.path not in paths)))

    async def _give_back(self, asked: Asked, *, check: bool) -> Response:
        """The act's record as it was read, instead of the act; once its check passes it, where that is wanted. What its check
        refuses is refused as the act's own."""
        declaration, reading = asked.declaration, asked.reading
        if reading is None or reading.record is None or reading.problems:
            raise Unread(*(reading.problems if reading is not None else ()))
        said = None
        if check:
            checks = next((each for each in self.pages.declared if each.offered and each.name == declaration.checked_by), None)
            if checks is None:
                raise Refusal(f"{declaration.title} has no check, and cannot be prepared.", reason="not_prepared")
            given = await self.run(checks, self.request(replace(asked, declaration=checks, path=checks.path)))
            if not isinstance(given, Answer):
                raise TypeError(f"{checks} checks {declaration}, and answered with {_kind_of(given)}, which is no typed data")
            _check_data(checks, given)
            said = json.loads(answering.write_answer(given, reads=True)).get("data")
        return _json(preparing.given_back(declaration, reading.record, said), HTTPStatus.OK)

    async def _start_from_prepared(self, asked: Asked) -> None:
        """Let the page tell of the prepared change that it was opened from, and its form start from that."""
        asked.prepared = await self.plugin.prepared_change(acting_for=asked.claims.caller.header)
        act = next((each for each in self.pages.declared if each.offered and each.name == asked.prepared.tool_name), None)
        if act is not None and act.shape is not None:
            asked.starts_from = Redraw(act.path, *preparing.pairs_of(act.shape, asked.prepared.arguments_json))

    def request(self, asked: Asked) -> Request[Any]:
        query = QueryParams(asked.query) if asked.query else _NO_QUERY
        return Request(
            method=asked.method,
            path=asked.path,
            caller=asked.caller,
            plugin=self.plugin,
            query=query,
            headers=asked.headers,
            files=ImmutableMultiDict(asked.body.files) if asked.body.files else _NO_FILES,
            repeat_of=None if asked.claims.repeat_of is None else Repeat(*asked.claims.repeat_of),
            read_as=asked.reading,
            pairs=asked.body.pairs or query.multi_items(),
            link=self._link(asked.root_path),
            second_pair_of_eyes=asked.claims.second_pair,
            redraw=asked.starts_from,
            from_prepared=asked.prepared,
        )

    def _link(self, root_path: str) -> Callable[[str], str]:
        def link(path: str) -> str:
            here = path.removeprefix(root_path) if path.startswith(f"{root_path}/") else path
            own, question, query = here.partition("?")
            if own not in self._at:
                near = difflib.get_close_matches(own, self._at, 1)
                raise ValueError(f"nothing is served at {own!r}" + (f"; did you mean {near[0]}?" if near else ""))
            return root_path + own + question + query

        return link

    def run(self, declaration: Declaration, request: Request[Any]) -> Awaitable[object]:
        """What the view gives back; one that is not `async` runs in a thread."""
        return (
            cast("Awaitable[object]", declaration.view(request))
            if declaration.is_async
            else self._threaded(declaration, request)
        )

    async def _threaded(self, declaration: Declaration, request: Request[Any]) -> object:
        """The same in a thread, of which this plugin's views have so many, and no other plugin's fewer for it. A call that is
        over waits for no thread."""
        given = await to_thread.run_sync(declaration.view, request, abandon_on_cancel=True, limiter=self._threads)
        return await given if inspect.isawaitable(given) else given

    # what came of it

    def _answer(self, asked: Asked, given: object) -> Response:
        declaration = asked.declaration
        if isinstance(given, Answer):
            _check_data(declaration, given)
            if asked.wants_json:
                return _carry(given, _json(answering.write_answer(given, reads=declaration.reads), given.status_code))
            came = answering.came_of(given, reads=declaration.reads)
            if given.location is not None:
                response: Response = RedirectResponse(self._way_on(asked, given.location, came), HTTPStatus.SEE_OTHER)
            else:
                template = given.template or "meridian/answered.html"
                context = {"data": given.data, "outcome": None if declaration.reads else came, **given.context}
                outcome = json.loads(answering.write_answer(given, reads=declaration.reads))
                response = self.html(asked, template, context, status_code=given.status_code, ld_json=outcome)
            self._vouch(asked, response, came)
            return _carry(given, response)
        if asked.by_tool:
            what = "a page of HTML" if isinstance(given, Response) else _kind_of(given)
            log.error(
                "%s: %s answered a tool call with %s; give back pages.answer(template, data)", self.instance, declaration, what
            )
            detail = f"The plugin answered with {what} and no typed data, which is not passed on."
            return self._refuse(asked, HTTPStatus.INTERNAL_SERVER_ERROR, "untyped", detail)
        if isinstance(given, Page):
            return _carry(given, self.html(asked, given.template, given.context, status_code=given.status_code))
        if isinstance(given, Response):
            return given
        raise TypeError(
            f"{declaration}: {declaration.name}() gave back {_kind_of(given)}; give back pages.answer(template, data), "
            "pages.render(template) or a Response"
        )

    def _way_on(self, asked: Asked, location: str, came: Made) -> str:
        """Where a browser is sent on to. The page there says of itself that it read and changed nothing, so a form that is a
        browser's agent's tool leaves a note with it, which says what came of the act."""
        address = self._link(asked.root_path)(location)
        if not asked.declaration.offered or asked.declaration.reads:
            return address
        caller, tool = asked.claims.caller, asked.declaration.name
        path = address.removeprefix(asked.root_path)
        said = assertion.note(self._key, caller.subject, caller.level, path, outcome=came, tool=tool, now=self._clock())
        return f"{address}{'&' if '?' in address else '?'}{urlencode({assertion.NOTE: said})}"

    def _hear_note(self, asked: Asked) -> None:
        """Take the note of an act out of the query, which is then the page's own again."""
        own, found, said = asked.query.rpartition(f"{assertion.NOTE}=")
        if not found or (own and not own.endswith("&")):
            return
        asked.query = own.removesuffix("&")
        path = f"{asked.path}?{asked.query}" if asked.query else asked.path
        caller = asked.claims.caller
        asked.led_here = assertion.read_note(unquote(said), self._key, caller.subject, caller.level, path, now=self._clock())

    def _not_read(self, asked: Asked, problems: Sequence[Problem]) -> Response:
        detail = "1 argument did not read." if len(problems) == 1 else f"{len(problems)} arguments did not read."
        said = " ".join(f"{problem}." if not str(problem).endswith(".") else str(problem) for problem in problems[:20])
        return _json(answering.refused("not_read", f"{detail} {said}", problems), HTTPStatus.UNPROCESSABLE_ENTITY)

    def _tell_misplaced(self, asked: Asked, refusal: Refusal) -> None:
        """Tell the author of a refusal that blames a cell which the record lacks: no form can show it there."""
        shape = asked.declaration.shape
        for each in refusal.fields:
            if shape is not None and not redrawing.is_drawn(asked, each.path):
                like = near(each.path, paths(shape))
                log.warning(
                    "%s: %s refused %r, which %s lacks%s", self.instance, asked.declaration, each.path, shape.name, like
                )

    async def _redraw(self, asked: Asked, problems: Sequence[Problem], refusal: Refusal | None = None) -> Response:
        """What did not read, or was refused: JSON for whoever wants it, else the form drawn again."""
        if asked.wants_json and refusal is None:
            return self._not_read(asked, problems)
        if asked.wants_json and refusal is not None:
            return _json(answering.refusal_of(refusal), HTTPStatus.UNPROCESSABLE_ENTITY)
        response = await redrawing.redraw(self, asked, HTTPStatus.UNPROCESSABLE_ENTITY, problems, refusal)
        self._vouch(asked, response, "refused", refusal.reason if refusal else "not_read")
        return response

    def html(
        self,
        asked: Asked,
        template: str,
        context: Mapping[str, Any],
        *,
        status_code: int = 200,
        request: Request[Any] | None = None,
        ld_json: Mapping[str, Any] | None = None,
        error: bool = False,
    ) -> Response:
        caller = asked.claims.caller
        token = assertion.form_token(self._key, caller.subject, self.instance, caller.level, prepared=asked.claims.shows)
        if asked.led_here is not None:
            ld_json = {**asked.led_here, **({} if ld_json is None else {"page": ld_json})}
        html = self.kit.draw(
            template, request or self.request(asked), asked.declared, token, context, ld_json=ld_json, error=error
        )
        return Response(html.encode("utf-8", "replace"), status_code, media_type="text/html")

    def words(self, asked: Asked, status_code: int, reason: str, detail: str, problems: Sequence[Problem] = ()) -> Response:
        told = tell(
            self.pages,
            asked.declared,
            asked.claims.caller,
            status_code=status_code,
            reason=reason,
            detail=detail,
            method=asked.method,
            root_path=asked.root_path,
            problems=problems,
        )
        context = {"told": told, "status_code": status_code, "reason": reason}
        ld_json = answering.refused(reason, detail, problems)
        return self.html(asked, "meridian/refusal.html", context, status_code=status_code, ld_json=ld_json, error=True)

    def _refuse(self, asked: Asked, status_code: int, reason: str, detail: str) -> Response:
        """A no that needs no view: JSON for whoever wants it, words on a page for a browser."""
        if asked.wants_json:
            return _json(answering.refused(reason, detail), status_code)
        return self.words(asked, status_code, reason, detail)

    def _vouch(self, asked: Asked, response: Response, outcome: Any, reason: str | None = None) -> None:
        """Sign behind the HTML what came of it, and of which record, for the gateway."""
        record = asked.reading.record if asked.reading is not None else None
        digest = None if record is None else assertion.digest(write_json(record))
        said = assertion.Outcome(outcome, asked.claims.call_id, digest, reason)
        response.headers[assertion.OUTCOME_HEADER] = assertion.write_outcome(said, self._key)


_NO_QUERY: Final = QueryParams()
_NO_FILES: Final[ImmutableMultiDict[str, UploadFile]] = ImmutableMultiDict()


class _Nothing(Exception):
    def __init__(self, status_code: int, reason: str, detail: str, allow: Sequence[str] = ()) -> None:
        self.status_code, self.reason, self.detail, self.allow = status_code, reason, detail, allow
        super().__init__(detail)


def _check_data(declaration: Declaration, answer: Answer) -> None:
    wanted = declaration.answers
    if wanted is not None and not isinstance(answer.data, wanted.record):
        raise TypeError(f"{declaration}: {declaration.name}() answers {wanted.name}, and its data is {_kind_of(answer.data)}")


def _kind_of(value: object) -> str:
    """What a value is, in words: `None`, `a list`, `an Entry`."""
    if value is None:
        return "None"
    kind = type(value).__name__
    return f"an {kind}" if kind[0] in "AEIOaeio" else f"a {kind}"


def _misplaced(asked: Asked) -> list[Problem]:
    """A file sent under the name of one of the record's fields."""
    shape = asked.declaration.shape
    found: list[Problem] = []
    for name, upload in asked.body.files:
        try:
            steps = parse_path(name)
        except ValueError:
            continue
        if shape is not None and steps and shape.field(str(steps[0])) is not None:
            found.append(
                Problem(name, f"a file came, {json.dumps(str(upload.filename)[:60])}, where a value is written; write it")
            )
    return found


def _json(said: Mapping[str, Any] | bytes, status_code: int) -> Response:
    body = said if isinstance(said, bytes) else _PRINTER.encode(said)
    return Response(body, status_code, media_type="application/json")


_PRINTER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _carry(given: Response, response: Response) -> Response:
    """The drawn response with the headers and cookies that the view set on its own, in place of those of the same name."""
    if given.raw_headers:
        carried = [each for each in given.raw_headers if each[0] not in (b"content-length", b"content-type")]
        names = {name for name, _ in carried}
        response.raw_headers[:] = [*(each for each in response.raw_headers if each[0] not in names), *carried]
    response.background = given.background
    return response


class _Chunks:
    """A request's body as it comes. It is no generator, which an event loop would keep account of for each request."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._more = True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._more:
            raise StopAsyncIteration
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise BadBody(HTTPStatus.BAD_REQUEST, "The body was cut off.")
        self._more = message.get("more_body", False)
        return cast("bytes", message.get("body", b""))


def _without_body(send: Send) -> Send:
    async def bare(message: Any) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return bare

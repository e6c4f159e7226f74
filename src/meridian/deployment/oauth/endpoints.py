"""What a client asks of the authorization server itself, without its person: the metadata, registration, tokens, revocation.

JSON and forms enter, JSON leaves, in the standards' words. No cookie means anything here, and no page of another site is let
read an answer.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from meridian.deployment.drawing import origin_of
from meridian.deployment.oauth import clients, tokens
from meridian.deployment.oauth.declining import Declined
from meridian.deployment.oauth.metadata import SCOPE, Place
from meridian.deployment.oauth.tokens import Given
from meridian.deployment.store import Store
from meridian.pages.bodies import BadBody, Body, Limits, read_body
from meridian.records import Shape, field, read_form, shape_of

__all__ = ["Endpoints"]

R = TypeVar("R")

_LIMITS: Final = Limits(body_bytes=16 << 10, fields=40, files=0)

_GUESSED_TOKEN: Final = "/token"  # noqa: S105  an address
"""Where a client that has not read the metadata renews its tokens: a former revision of MCP said so, and the official Python
client does it each time it is started again."""


@dataclass(frozen=True)
class TokenRequest:
    """What a client asks the token endpoint: what it spends, and as who."""

    grant_type: str = field(max_length=100)
    client_id: str = field(max_length=500)
    code: str = field(default="", max_length=200)
    code_verifier: str = field(default="", max_length=200)
    redirect_uri: str = field(default="", max_length=2_000)
    refresh_token: str = field(default="", max_length=200)
    resource: str = field(default="", max_length=500)


@dataclass(frozen=True)
class RevocationRequest:
    """What a client wants to be of no more use."""

    token: str = field(max_length=400)
    client_id: str = field(max_length=500)


_TOKEN: Final = shape_of(TokenRequest)
_REVOCATION: Final = shape_of(RevocationRequest)


class Endpoints:
    """The addresses at which a client comes by its tokens. `key` is the one its tokens follow by; `documents` says whether
    those are read that describe clients."""

    def __init__(self, store: Store, *, key: bytes, documents: bool, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._key = key
        self._documents = documents
        self._clock = clock

    def routes(self) -> list[BaseRoute]:
        """Their addresses."""
        return [
            Route("/.well-known/oauth-protected-resource", _of_the_resource, methods=["GET"]),
            Route("/.well-known/oauth-protected-resource/mcp", _of_the_resource, methods=["GET"]),
            Route("/.well-known/oauth-authorization-server", self._of_the_server, methods=["GET"]),
            Route("/oauth/register", _declining(self._register), methods=["POST"]),
            Route("/oauth/token", _declining(self._token), methods=["POST"]),
            Route(_GUESSED_TOKEN, _declining(self._token), methods=["POST"]),
            Route("/oauth/revoke", _declining(self._revoke), methods=["POST"]),
        ]

    async def _of_the_server(self, request: Request) -> Response:
        return _public(Place(origin_of(request)).of_the_server(documents=self._documents))

    async def _register(self, request: Request) -> Response:
        body = await _body(request, "json", "invalid_client_metadata")
        try:
            told = json.loads(body.raw)
        except (ValueError, RecursionError) as unread:
            raise Declined("invalid_client_metadata", "The body is no JSON.") from unread
        now = self._clock()
        told_from = (request.client.host if request.client else "")[:64]
        made = await self._store.run(clients.register, told, told_from=told_from, now=now)
        return _answer(
            {
                "client_id": made.id,
                "client_id_issued_at": int(now.timestamp()),
                "client_name": made.name,
                "redirect_uris": made.redirect_uris,
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "scope": SCOPE,
            },
            201,
        )

    async def _token(self, request: Request) -> Response:
        asked = await _form(request, _TOKEN)
        try:
            return _answer(_as_told(await self._give(asked)))
        except Declined as no:
            if no.error == "invalid_grant" and await self._store.run(clients.kept, asked.client_id) is None:
                said = "No client of that client_id is registered here; register again, and ask for access."
                raise Declined("invalid_client", said, status_code=401) from no
            raise

    async def _give(self, asked: TokenRequest) -> Given:
        """The tokens that a client asks for. Raises Declined."""
        match asked.grant_type:
            case "authorization_code":
                return await self._store.run(
                    tokens.exchange, self._key, asked.code,
                    client=asked.client_id, verifier=asked.code_verifier, redirect_uri=asked.redirect_uri,
                    resource=asked.resource, now=self._clock(),
                )  # fmt: skip
            case "refresh_token":
                return await self._store.run(
                    tokens.refresh, self._key, asked.refresh_token,
                    client=asked.client_id, resource=asked.resource, now=self._clock(),
                )  # fmt: skip
            case _:
                raise Declined("unsupported_grant_type", "The grants are authorization_code and refresh_token.")

    async def _revoke(self, request: Request) -> Response:
        asked = await _form(request, _REVOCATION)
        await self._store.run(tokens.revoke, asked.token, client=asked.client_id, now=self._clock())
        return _answer({})


async def _of_the_resource(request: Request) -> Response:
    return _public(Place(origin_of(request)).of_the_resource())


def _as_told(given: Given) -> dict[str, Any]:
    return {
        "access_token": given.access,
        "token_type": "Bearer",
        "expires_in": given.seconds,
        "refresh_token": given.refresh,
        "scope": SCOPE,
    }


def _declining(ask: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint, with each no of its as a client is told it."""

    async def asked(request: Request) -> Response:
        try:
            return await ask(request)
        except Declined as no:
            return _answer({"error": no.error, "error_description": no.said}, no.status_code)

    return asked


async def _body(request: Request, kind: str, error: str) -> Body:
    """The body, where it is of the kind that is read here. Raises Declined."""
    try:
        body = await read_body(request.stream(), request.headers.get("content-type", ""), _LIMITS)
    except BadBody as bad:
        raise Declined(error, bad.detail, status_code=bad.status_code) from bad
    except ClientDisconnect as gone:
        raise Declined(error, "The body was cut off.") from gone
    if body.kind != kind:
        raise Declined(error, f"Send the body as {'JSON' if kind == 'json' else 'application/x-www-form-urlencoded'}.")
    return body


async def _form(request: Request, shape: Shape[R]) -> R:
    """What a form says. Raises Declined for what did not read, or was said twice."""
    body = await _body(request, "form", "invalid_request")
    reading = read_form(shape, list(body.pairs))
    if reading.record is None or reading.problems or body.problems:
        raise Declined("invalid_request", f"{'; '.join(map(str, [*reading.problems, *body.problems][:5]))}.")
    return reading.record


def _answer(said: dict[str, Any], status_code: int = 200) -> Response:
    headers = {"cache-control": "no-store", "pragma": "no-cache", "x-content-type-options": "nosniff"}
    return JSONResponse(said, status_code, headers)


def _public(said: dict[str, Any]) -> Response:
    """A document that anybody may read, a page of another site as well: it says what everyone is told."""
    return JSONResponse(said, headers={"cache-control": "public, max-age=300", "access-control-allow-origin": "*"})

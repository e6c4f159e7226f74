"""The firm's provider, asked by OpenID Connect who somebody is: by authorization code, with PKCE, after a fresh sign-in there.

A browser that sets out to sign in enters; the provider's address and a cookie leave. What the browser brings back enters;
whom the provider vouches for leaves, or a `Refused`. That its token is the provider's own, is for us, and answers what this
browser began, is checked here; who that is to the deployment is `identity`'s matter.

Nothing is kept of a sign-in under way. Its cookie is a random word, with when it was begun and where it leads to; state, nonce
and code verifier are made from the whole cookie by the deployment's key, so that no other browser's answer fits it, and none
at all fits a cookie that was changed.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import logging
import secrets
import unicodedata
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NoReturn
from urllib.parse import quote_plus, urlencode, urlsplit

import anyio
import httpx2
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, KeySet
from joserfc.jws import JWSRegistry

from meridian.deployment.gateway import Refused
from meridian.deployment.identity import Vouched
from meridian.deployment.settings import Settings
from meridian.errors import DeploymentError

__all__ = ["Came", "Provider"]

_MAY_TAKE: Final = timedelta(minutes=10)
"""How long somebody may be away at the provider."""

_CLOCKS_DIFFER: Final = timedelta(seconds=60)
_KNOWN_FOR: Final = timedelta(hours=1)
"""How long the provider's document and keys are taken as read; a key that is not among them is looked for at once."""

_ANSWER_SECONDS: Final = 10
_MOST_BYTES: Final = 1 << 20
_MOST_GROUPS: Final = 1_000
_LONGEST: Final = 200
_LONGEST_SUBJECT: Final = 255

_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519")
"""Those by which only the provider can sign: with a key that is not published, and never with a secret that is shared."""

_KEY_TYPES: Final = ("RSA", "EC", "OKP")

_TITLE: Final = "You were not signed in"
_AGAIN: Final = "Begin again from the sign-in page."

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Came:
    """Somebody who came back from the provider: who they are, when they set out, and where they wanted to go."""

    vouched: Vouched
    begun_at: datetime
    back: str


@dataclass(frozen=True)
class _Begun:
    """A sign-in under way, as its cookie says it."""

    word: str
    at: datetime
    back: str

    def written(self) -> str:
        return _base64(json.dumps([self.word, self.at.isoformat(), self.back]).encode())

    @staticmethod
    def read(cookie: str) -> _Begun:
        """What `written` wrote, which the state has shown it to be."""
        word, at, back = json.loads(urlsafe_b64decode(cookie + "=="))
        return _Begun(word, datetime.fromisoformat(at), back)


@dataclass(frozen=True)
class _Document:
    """What the provider says of itself, as far as it is used here."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    says_issuer: bool
    takes_basic: bool


class Provider:
    """The provider that the settings name; `name` is what people sign in with there. Raises DeploymentError for settings that
    do not do.

    `key` is the deployment's own. What the provider says of itself is read when it is first needed, and again every hour.
    """

    def __init__(self, settings: Settings, *, key: bytes, clock: Callable[[], datetime]) -> None:
        _check(settings)
        self.name = settings.oidc_name
        self.issuer = settings.oidc_issuer
        self._settings = settings
        self._key = key
        self._clock = clock
        self._trusted = httpx2.create_ssl_context()
        self._document: _Document | None = None
        self._keys: KeySet | None = None
        self._read_at = datetime.min.replace(tzinfo=UTC)

    async def begin(self, back: str, *, answer_at: str) -> tuple[str, str]:
        """Where to send a browser that shall sign in anew, and the cookie it is to bring back to the address `answer_at`."""
        document = await self._read_document()
        cookie = _Begun(secrets.token_urlsafe(32), self._clock(), back).written()
        asked = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": answer_at,
            "scope": self._settings.oidc_scope,
            "state": self._made_of(cookie, "state"),
            "nonce": self._made_of(cookie, "nonce"),
            "code_challenge": _base64(hashlib.sha256(self._made_of(cookie, "verifier").encode()).digest()),
            "code_challenge_method": "S256",
            "prompt": "login",
            "max_age": "0",
        }
        joined = "&" if "?" in document.authorization_endpoint else "?"
        return f"{document.authorization_endpoint}{joined}{urlencode(asked)}", cookie

    async def finish(self, cookie: str, answer: Mapping[str, str], *, answer_at: str) -> Came:
        """Whoever came back with this cookie and the provider's answer. Raises Refused, in words for them, and logs why."""
        if not cookie or not _same(answer.get("state", ""), self._made_of(cookie, "state")):
            _refuse("the answer has another state than its browser", "This browser did not begin that sign-in.", 400)
        begun = _Begun.read(cookie)
        if begun.at + _MAY_TAKE <= self._clock():
            _refuse("the answer came too late", "It took longer than ten minutes.", 400)
        document = await self._read_document()
        if answer.get("iss", self.issuer if not document.says_issuer else "") != self.issuer:
            _refuse("the answer names another issuer", "The answer came from elsewhere.", 400)
        if "code" not in answer:
            _refuse(f"the provider answered {answer.get('error', 'nothing')[:60]!r}", "The provider did not sign you in.", 403)
        token = await self._exchange(document, answer["code"], self._made_of(cookie, "verifier"), answer_at)
        claims = await self._read_token(token, document, nonce=self._made_of(cookie, "nonce"), since=begun.at)
        return Came(self._vouched(claims), begun.at, begun.back)

    def _made_of(self, cookie: str, what: str) -> str:
        """A word that only this deployment makes of a cookie."""
        return _base64(hmac.new(self._key, f"oidc/{what}/{cookie}".encode(), hashlib.sha256).digest())

    async def _exchange(self, document: _Document, code: str, verifier: str, answer_at: str) -> str:
        """The ID token for a code, which the provider gives once."""
        name, secret = self._settings.oidc_client_id, self._settings.oidc_client_secret
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": answer_at, "code_verifier": verifier}
        by_header = bool(secret) and document.takes_basic
        if not by_header:
            form |= {"client_id": name} | ({"client_secret": secret} if secret else {})
        told = await self._ask(
            "POST",
            document.token_endpoint,
            data=form,
            auth=httpx2.BasicAuth(quote_plus(name), quote_plus(secret)) if by_header else None,
        )
        token = told.get("id_token")
        if not isinstance(token, str):
            reason = f"the provider gave no ID token but {str(told.get('error'))[:60]!r}"
            _refuse(reason, "The provider did not stand by its answer.", 403)
        return token

    async def _read_token(self, token: str, document: _Document, *, nonce: str, since: datetime) -> dict[str, Any]:
        """The claims of an ID token that the provider signed for us, in answer to `nonce`, of a sign-in later than `since`."""
        try:
            try:
                claims = _signed(token, await self._read_keys(document))
            except InvalidKeyIdError:  # the provider may have taken up a new key
                claims = _signed(token, await self._read_keys(document, anew=True))
            self._check_claims(claims, nonce, since)
        except (JoseError, ValueError, TypeError) as reason:
            _refuse(f"its ID token does not do: {reason}", "What the provider said of you was not to be believed.", 403)
        return claims

    def _check_claims(self, claims: dict[str, Any], nonce: str, since: datetime) -> None:
        """Raises JoseError or ValueError for claims that are not for us, not now, or of an older sign-in."""
        client_id, now, leeway = self._settings.oidc_client_id, self._clock().timestamp(), _CLOCKS_DIFFER.total_seconds()
        registry = jwt.JWTClaimsRegistry(
            now=int(now),
            leeway=int(leeway),
            iss={"essential": True, "value": self.issuer},
            aud={"essential": True, "value": client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
            auth_time={"essential": True},
        )
        registry.validate(claims)
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if several else client_id) != client_id:
            raise ValueError("it was issued to another client")
        signed_in_at = claims["auth_time"]
        is_number = isinstance(signed_in_at, int | float) and not isinstance(signed_in_at, bool)
        if not is_number or not int(since.timestamp()) - leeway <= signed_in_at <= now + leeway:
            raise ValueError("it is of a sign-in at another time than this")

    def _vouched(self, claims: dict[str, Any]) -> Vouched:
        subject = claims["sub"]
        if not _is_word(subject, _LONGEST_SUBJECT):
            _refuse("its ID token's sub is no word", "What the provider said of you was not to be believed.", 403)
        names = (_shown(claims.get(claim)) for claim in ("name", "preferred_username", "sub"))
        listed = _claim(claims, self._settings.oidc_groups_claim)
        groups = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
        return Vouched(
            self.issuer,
            subject,
            next(filter(None, names), subject),
            frozenset(group for group in groups[:_MOST_GROUPS] if _is_word(group, _LONGEST)),
        )

    async def _read_document(self) -> _Document:
        if self._document is None or self._read_at + _KNOWN_FOR <= self._clock():
            told = await self._ask("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
            self._document, self._keys = self._understood(told), None
            self._read_at = self._clock()
        return self._document

    def _understood(self, told: dict[str, Any]) -> _Document:
        if told.get("issuer") != self.issuer:
            _fail(f"its document is of the issuer {str(told.get('issuer'))[:200]!r}, not {self.issuer!r}")
        methods = told.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return _Document(
            authorization_endpoint=self._endpoint(told, "authorization_endpoint"),
            token_endpoint=self._endpoint(told, "token_endpoint"),
            jwks_uri=self._endpoint(told, "jwks_uri"),
            says_issuer=told.get("authorization_response_iss_parameter_supported") is True,
            takes_basic=isinstance(methods, list) and "client_secret_basic" in methods,
        )

    def _endpoint(self, told: dict[str, Any], name: str) -> str:
        endpoint = told.get(name)
        if not isinstance(endpoint, str) or not _is_safe(endpoint, self.issuer):
            _fail(f"its document says {name} {str(endpoint)[:200]!r}, which is no https address")
        return endpoint

    async def _read_keys(self, document: _Document, *, anew: bool = False) -> KeySet:
        if self._keys is None or anew:
            told = await self._ask("GET", document.jwks_uri)
            listed = told.get("keys")
            self._keys = _public_keys(listed if isinstance(listed, list) else [])
        return self._keys

    async def _ask(self, method: str, url: str, **more: Any) -> dict[str, Any]:
        """The JSON object that the provider answers with, an error's too. Raises Refused where there is none in good time."""
        headers = {"accept": "application/json", "accept-encoding": "identity"}  # so that no few bytes become many
        body = b""
        try:
            with anyio.fail_after(_ANSWER_SECONDS):
                async with (
                    httpx2.AsyncClient(
                        headers=headers, timeout=_ANSWER_SECONDS, follow_redirects=False, verify=self._trusted
                    ) as client,
                    client.stream(method, url, **more) as response,
                ):
                    async for chunk in response.aiter_raw():
                        body += chunk
                        if len(body) > _MOST_BYTES:
                            _fail(f"{url} answered more than {_MOST_BYTES} bytes")
            told = json.loads(body)
        except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError) as reason:
            _fail(f"{url} gave no answer to use: {reason!r}", reason)
        if not isinstance(told, dict) or response.status_code not in (200, 400, 401):
            _fail(f"{url} answered {response.status_code}")
        return told


def _check(settings: Settings) -> None:
    """Raises DeploymentError for settings by which no provider can be asked."""
    issuer, parts = settings.oidc_issuer, urlsplit(settings.oidc_issuer)
    if not _is_safe(issuer, issuer) or parts.query or parts.fragment or len(issuer) > 300:
        raise DeploymentError(
            f"settings: oidc_issuer: {issuer[:60]!r} is no issuer; write https://login.example, as the provider spells it"
        )
    if not settings.oidc_client_id:
        raise DeploymentError("settings: oidc_client_id: nothing was given; write what the provider calls this deployment")
    if "openid" not in settings.oidc_scope.split():
        raise DeploymentError(f"settings: oidc_scope: {settings.oidc_scope[:60]!r} lacks openid; write openid profile")


def _is_safe(url: str, issuer: str) -> bool:
    """Whether what is said there is between us and the provider: by https, or, for one on this machine, on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if not host or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host) and issuer.startswith("http:"))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _public_keys(listed: list[Any]) -> KeySet:
    """Those of the listed keys that check signatures; one that cannot be used is no reason to use none."""
    keys = []
    for each in listed:
        if isinstance(each, dict) and each.get("kty") in _KEY_TYPES and each.get("use", "sig") == "sig":
            with suppress(JoseError, ValueError, TypeError, KeyError):
                keys.append(JWKRegistry.import_key(each))
    return KeySet(keys)


def _signed(token: str, keys: KeySet) -> dict[str, Any]:
    """The claims of a token that one of the keys signed. Raises JoseError, ValueError or TypeError."""
    registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
    return jwt.decode(token, keys, registry=registry).claims


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of that name; where there is none, what lies along its dots, as `groups` in `{"access": {"groups": …}}`."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for step in name.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _is_word(value: object, longest: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= longest and value.isprintable()


def _shown(value: object) -> str:
    """A text as a name to show: in one line, and not too long; empty where it is none."""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(each for each in value if unicodedata.category(each) not in ("Cc", "Cs")).split())[:_LONGEST]


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def _refuse(reason: str, said: str, status_code: int) -> NoReturn:
    """Refuse whoever came back: the reason is for the log, what is said for them."""
    log.warning("sign-in through the provider refused: %s", reason)
    raise Refused(status_code, _TITLE, f"{said} {_AGAIN}")


def _fail(reason: str, cause: BaseException | None = None) -> NoReturn:
    """Say that the provider cannot be asked now; the reason is for the log."""
    log.error("the provider cannot be asked: %s", reason)
    said = "The provider could not be asked who you are. Try again in a minute, or tell your deployment's admin."
    raise Refused(502, _TITLE, said) from cause

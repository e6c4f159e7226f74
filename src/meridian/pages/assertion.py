"""The signed `Meridian-Caller` header: who asks, what exactly, and until when.

The gateway writes one for each request to a plugin: who asks and what, as JSON in ASCII, behind two MACs of that text. The
instance's key makes the first, which the plugin checks; the deployment's own key makes the second, which the operations door
checks when the plugin hands the header back as `acting_for=`. So a plugin can read who asks and can never make a caller up, for
itself or for another instance. The claims are bound to instance, method, path, query and body, to one call and a moment of
expiry.

The form's token, the outcome's header and the note of an outcome are made here too: everything that is signed between a
deployment and a plugin is in this module, and nothing else makes a MAC.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal

from meridian.callers import EVERY_ACCOUNT, NO_ACCOUNTS, Accounts, Caller, Holding, Level

__all__ = [
    "HEADER",
    "NOTE",
    "OUTCOME_HEADER",
    "AccountsWanted",
    "Claims",
    "NotAsserted",
    "Only",
    "Outcome",
    "check_form_token",
    "digest",
    "digest_of_accounts",
    "form_token",
    "note",
    "prepared_in",
    "read",
    "read_note",
    "read_outcome",
    "write",
    "write_outcome",
]

HEADER: Final = "Meridian-Caller"
OUTCOME_HEADER: Final = "Meridian-Outcome"
NOTE: Final = "meridian.outcome"
"""The name in a redirect's query of the note that tells the page where it leads what came of the act."""
NOTE_SECONDS: Final = 120
LISTED_ACCOUNTS: Final = 200
"""A set of more accounts than this goes by its digest, and is fetched through the door."""


Only = Literal["read", "check"]
"""What is asked of an act's route instead of the act: what its inputs read as, or that and what its check says of it."""


class NotAsserted(Exception):
    """The header does not vouch for this request; the message says what is wrong with it, never what would be right."""


class AccountsWanted(Exception):
    """The header names sets of accounts by digest which the reader has not; `digests` are to be fetched."""

    def __init__(self, digests: frozenset[str]) -> None:
        self.digests = digests
        super().__init__(f"{len(digests)} sets of accounts are named by digest")


@dataclass(frozen=True)
class Claims:
    """What one header asserts.

    `body_sha256` is the hex digest of the whole body, of the empty one where there is none. `expires_at` is in Unix seconds.
    `acts` says that the call may change something; a read never may.
    """

    caller: Caller
    instance: str
    method: str
    path: str
    query: str
    body_sha256: str
    call_id: str
    expires_at: int
    acts: bool
    repeat_of: tuple[str, str] | None = None
    """The call of an identical act a moment ago, and what came of it."""
    only: Only | None = None
    """Not to be acted on: its record is to be read and given back, or checked first."""
    shows: tuple[str, int] | None = None
    """The prepared change that the page was opened from, and the revision it shows."""
    second_pair: tuple[str, ...] = ()
    """The acts that need a second pair of eyes from this caller."""


def digest(body: bytes) -> str:
    """The hex SHA-256 of `body`."""
    return hashlib.sha256(body).hexdigest()


def digest_of_accounts(ids: frozenset[str]) -> str:
    """The digest by which a large set of accounts is named."""
    return digest(json.dumps(sorted(ids)).encode())


def write(claims: Claims, instance_key: bytes, deployment_key: bytes, *, listed_accounts: int = LISTED_ACCOUNTS) -> str:
    """The header's value for `claims`. Sets of more than `listed_accounts` accounts are named by digest."""
    caller = claims.caller
    asks = _asks(caller) if listed_accounts == LISTED_ACCOUNTS else _printed(_who(caller, listed_accounts))
    what = {
        "instance": claims.instance,
        "method": claims.method,
        "path": claims.path,
        "query": claims.query,
        "body": claims.body_sha256,
        "call": claims.call_id,
        "expires": claims.expires_at,
        "acts": claims.acts,
        "tool": caller.tool_name,
        "prepared": caller.prepared_call_id,
        "shows": claims.shows,
        "repeat": claims.repeat_of,
        "only": claims.only,
        "second": claims.second_pair,
    }
    text = f"{len(asks)}.{asks}{_printed(what)}"
    return f"{_mac(instance_key, 'caller', text)}.{_mac(deployment_key, 'caller-door', text)}.{text}"


def _who(caller: Caller, listed_accounts: int) -> dict[str, Any]:
    """What a header says of the caller, whatever they ask."""
    return {
        "subject": caller.subject,
        "display_name": caller.display_name,
        "level": caller.level,
        "kind": caller.subject_kind,
        "admin": caller.deployment_admin,
        "owner": caller.owner_subject,
        "delegation": caller.delegation_id,
        "client": caller.client_name,
        "holdings": {
            role: [sorted(held.levels), _say(held.read, listed_accounts), _say(held.write, listed_accounts)]
            for role, held in caller.holdings.items()
        },
    }


_ASKED_LAST: Final[dict[int, tuple[Caller, str]]] = {}
_MOST_ASKED_LAST: Final = 256


def _asks(caller: Caller) -> str:
    """The same, printed: once for one that asks again and again."""
    known = _ASKED_LAST.get(id(caller))
    if known is None:
        if len(_ASKED_LAST) >= _MOST_ASKED_LAST:
            _ASKED_LAST.clear()
        known = _ASKED_LAST[id(caller)] = caller, _printed(_who(caller, LISTED_ACCOUNTS))  # kept, or its id were another's
    return known[1]


def read(
    value: str,
    *,
    now: float,
    instance_key: bytes | None = None,
    deployment_key: bytes | None = None,
    sets: Mapping[str, frozenset[str]] | None = None,
) -> Claims:
    """The claims of a header, checked with the one key given: a plugin has its instance's, the door the deployment's.

    `now` is in Unix seconds; `sets` are the sets of accounts already fetched, by digest. Raises NotAsserted, or
    AccountsWanted where a set named by digest is not among `sets`.
    """
    for_plugin, _, rest = value.partition(".")
    for_door, _, text = rest.partition(".")
    if instance_key is not None:
        signed = _same(for_plugin, _mac(instance_key, "caller", text))
    elif deployment_key is not None:
        signed = _same(for_door, _mac(deployment_key, "caller-door", text))
    else:
        raise TypeError("read() needs the instance's key or the deployment's")
    if not signed:
        raise NotAsserted("the Meridian-Caller header is not signed by this deployment")
    claims = _heard(value) if sets is None else _claims(value, sets)
    if claims.expires_at < now:
        raise NotAsserted("the Meridian-Caller header has expired")
    return claims


def _claims(value: str, sets: Mapping[str, frozenset[str]] | None) -> Claims:
    """What a header says, whoever signed it."""
    size, _, both = value.split(".", 2)[2].partition(".")
    who, what = both[: int(size)], json.loads(both[int(size) :])
    caller = _known(who) if sets is None else _caller(who, sets)
    return Claims(
        caller.in_call(value, what["tool"], what["prepared"]),
        what["instance"], what["method"], what["path"], what["query"], what["body"], what["call"], what["expires"],
        what["acts"], None if what["repeat"] is None else tuple(what["repeat"]), what["only"],
        None if what["shows"] is None else tuple(what["shows"]), tuple(what["second"]),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _heard(value: str) -> Claims:
    """The same, of a header in which every account is listed: the plugin reads it, and then the door for each command, each
    once it has checked it by a key of its own."""
    return _claims(value, None)


def _caller(who: str, sets: Mapping[str, frozenset[str]]) -> Caller:
    said, wanted = json.loads(who), set[str]()
    holdings = {
        role: Holding(frozenset(levels), _hear(may_read, sets, wanted), _hear(may_write, sets, wanted))
        for role, (levels, may_read, may_write) in said["holdings"].items()
    }
    if wanted:
        raise AccountsWanted(frozenset(wanted))
    return Caller(
        subject=said["subject"],
        display_name=said["display_name"],
        level=said["level"],
        holdings=MappingProxyType(holdings),
        deployment_admin=said["admin"],
        delegation_id=said["delegation"],
        client_name=said["client"],
        subject_kind=said["kind"],
        owner_subject=said["owner"],
    )


@lru_cache(maxsize=256)
def _known(who: str) -> Caller:
    """A caller of whom everything is listed; who asks is told in the same words, call after call."""
    return _caller(who, {})


def form_token(
    instance_key: bytes,
    subject: str,
    instance: str,
    level: Level,
    *,
    prepared: tuple[str, int] | None = None,
    nonce: str | None = None,
) -> str:
    """A token for the forms of one person on one instance at one level; on a page opened from a prepared change, it carries
    that change's id and the revision that the page shows. It survives a restart; each is spelled otherwise, so that compressed
    pages do not give it away."""
    nonce = nonce or secrets.token_urlsafe(9)
    if prepared is not None:
        nonce = f"{nonce}~{prepared[0]}~{prepared[1]}"
    return f"{nonce}.{_mac(instance_key, 'form', f'{nonce}|{instance}|{level}|{subject}')}"


def check_form_token(token: str, instance_key: bytes, subject: str, instance: str, level: Level) -> bool:
    """Whether `token` was made for that person, instance and level."""
    nonce, _, _ = token.partition(".")
    return token.isascii() and _same(token, form_token(instance_key, subject, instance, level, nonce=nonce or "-"))


def prepared_in(token: str) -> tuple[str, int] | None:
    """The prepared change that a form's token carries, with the revision that was shown. To be asked of a checked token."""
    match token.partition(".")[0].split("~"):
        case [_, change, revision]:
            return change, int(revision)
    return None


def note(instance_key: bytes, subject: str, level: Level, path: str, *, outcome: str, tool: str, now: float) -> str:
    """What came of the act `tool`, told to the page at `path` (its query with it) for a short while, to one person."""
    said = f"{int(now) + NOTE_SECONDS}.{outcome}.{tool}"
    return f"{_mac(instance_key, 'note', json.dumps([said, subject, level, path]))}.{said}"


def read_note(
    value: str, instance_key: bytes, subject: str, level: Level, path: str, *, now: float
) -> dict[Literal["outcome", "tool"], str] | None:
    """What a note tells; None where it is too old, or was made for another person, level or page."""
    mac, _, said = value.partition(".")
    if not _same(mac, _mac(instance_key, "note", json.dumps([said, subject, level, path]))):
        return None
    until, outcome, tool = said.split(".", 2)
    return None if int(until) < now else {"outcome": outcome, "tool": tool}


@dataclass(frozen=True)
class Outcome:
    """What came of a call, as the plugin vouches for it to the gateway behind a browser's HTML.

    `record_sha256` is the digest of the record as it was read, None where the route has none.
    """

    outcome: Literal["made", "unchanged", "refused"]
    call_id: str
    record_sha256: str | None = None
    reason: str | None = None


def write_outcome(outcome: Outcome, instance_key: bytes) -> str:
    """The value of the `Meridian-Outcome` header."""
    said = {"outcome": outcome.outcome, "call": outcome.call_id, "record": outcome.record_sha256, "reason": outcome.reason}
    text = _printed(said)
    return f"{_mac(instance_key, 'outcome', text)}.{text}"


def read_outcome(value: str, instance_key: bytes, call_id: str) -> Outcome | None:
    """The outcome that the plugin signed for the call `call_id`; None where it signed none, or what is none."""
    mac, _, text = value.partition(".")
    if not _same(mac, _mac(instance_key, "outcome", text)):
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match said:
        case {
            "outcome": "made" | "unchanged" | "refused" as outcome,
            "call": str() as call,
            "record": str() | None as record,
            "reason": str() | None as reason,
        } if call == call_id:
            return Outcome(outcome, call_id, record, reason)
    return None


def _printed(said: Mapping[str, Any]) -> str:
    """JSON as a header may hold it: no character of it is beyond ASCII, and none controls anything."""
    return _PRINTER.encode(said).replace("\x7f", "\\u007f")


_PRINTER: Final = json.JSONEncoder(separators=(",", ":"))


def _mac(key: bytes, purpose: str, text: str) -> str:
    mac = _keyed(key).copy()
    mac.update(f"meridian/1/{purpose}\n{text}".encode("utf-8", "surrogatepass"))  # so that no two texts are one
    return mac.hexdigest()


@lru_cache(maxsize=64)
def _keyed(key: bytes) -> hmac.HMAC:
    """What makes the MACs of one key, to be copied for each."""
    return hmac.new(key, digestmod="sha256")


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _say(accounts: Accounts, listed: int) -> Any:
    if accounts.all:
        return "*"
    return sorted(accounts.ids) if len(accounts.ids) <= listed else {"digest": digest_of_accounts(accounts.ids)}


def _hear(said: Any, sets: Mapping[str, frozenset[str]], wanted: set[str]) -> Accounts:
    """The set of accounts that a header says; the digest of one that is not among `sets` is put down in `wanted`."""
    if said == "*":
        return EVERY_ACCOUNT
    if isinstance(said, list):
        return Accounts(frozenset(said))
    if said["digest"] not in sets:
        wanted.add(said["digest"])
        return NO_ACCOUNTS
    return Accounts(sets[said["digest"]])

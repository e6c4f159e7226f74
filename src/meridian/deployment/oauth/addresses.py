"""Redirect addresses: which ones an answer may ever be sent to, and whether one that is asked for is one that was registered.

An address enters as a client wrote it; a yes or a no leaves, and the parts that a person is shown. Pure. Registration is open
to everybody, so that the address is the gate: it is asked here when a client registers, when it asks, and once more when the
browser is sent there, since what was stored may have been stored under other rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

__all__ = ["LONGEST", "Kind", "answered_at", "form_action_of", "host_of", "is_allowed", "is_one_of", "kind_of"]

LONGEST: Final = 2_000

Kind = Literal["web", "loopback", "app"]
"""Where an answer goes: to a server by https, to a program on the person's own computer, or to an app by its scheme."""

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_WRITTEN: Final = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,63}")
_HOST: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")

_NO_APPS: Final = frozenset({
    "about", "blob", "chrome", "chrome-extension", "content", "data", "edge", "file", "filesystem", "intent", "jar",
    "javascript", "livescript", "mhtml", "moz-extension", "res", "resource", "vbscript", "view-source", "wyciwyg",
    "cid", "dav", "feed", "ftp", "git", "gopher", "imap", "ldap", "ldaps", "mailto", "mid", "news", "nfs", "nntp", "pop",
    "rtsp", "sftp", "sip", "sips", "smb", "sms", "ssh", "svn", "tel", "telnet", "tftp", "ws", "wss",
    "facetime", "help", "search", "search-ms", "shell",
})  # fmt: skip
"""Schemes that name no app which waits for an answer: what a browser runs or opens itself, and what a system acts on."""


def is_allowed(address: str) -> bool:
    """Whether an answer may be sent to the address: https, http on this computer's loopback, or the scheme of an app.

    >>> [is_allowed(each) for each in ("https://client.example/cb", "http://127.0.0.1:5151/cb", "com.example.app:/cb")]
    [True, True, True]
    >>> [is_allowed(each) for each in ("http://client.example/cb", "javascript:alert(1)//", "https://client.example/cb#x")]
    [False, False, False]
    """
    said = _split(address)
    if said is None:
        return False
    host = said.hostname or ""
    match said.scheme:
        case "https":
            return _HOST.fullmatch(host) is not None or host in _LOOPBACK
        case "http":
            return host in _LOOPBACK
        case scheme:
            rest = address[len(scheme) + 1 :]
            return scheme not in _NO_APPS and not scheme.startswith("ms-") and rest.startswith("/")


def is_one_of(asked: str, registered: Iterable[str]) -> bool:
    """Whether the address that is asked for is among those registered: letter by letter, but for the port of an http address
    on loopback, which a program is given anew each time it waits for an answer.

    >>> is_one_of("http://127.0.0.1:5151/cb", ["http://127.0.0.1/cb"])
    True
    >>> is_one_of("https://client.example:444/cb", ["https://client.example/cb"])
    False
    """
    return is_allowed(asked) and any(asked == each or _same_but_for_the_port(asked, each) for each in registered)


def kind_of(address: str) -> Kind:
    """Where an allowed address leads."""
    said = urlsplit(address)
    if said.scheme not in ("http", "https"):
        return "app"
    return "loopback" if said.hostname in _LOOPBACK else "web"


def host_of(address: str) -> str:
    """What a person is shown of an allowed address: its host and port, or the scheme that an app answers to.

    >>> (host_of("https://client.example/cb"), host_of("http://127.0.0.1:5151/cb"), host_of("com.example.app:/cb"))
    ('client.example', '127.0.0.1:5151', 'com.example.app:')
    """
    said = urlsplit(address)
    return f"{said.scheme}:" if kind_of(address) == "app" else said.netloc


def form_action_of(address: str) -> str:
    """What a page's policy has to name so that a form on it may lead to the address. No policy can spell an IPv6 address, so
    that there it is the scheme."""
    said = urlsplit(address)
    if kind_of(address) == "app" or "[" in said.netloc:
        return f"{said.scheme}:"
    return f"{said.scheme}://{said.netloc}"


def answered_at(address: str, answer: dict[str, str | None]) -> str:
    """The address with the answer in its query, behind what it says there already; what is None is left out."""
    said = urlsplit(address)
    query = parse_qsl(said.query, keep_blank_values=True) if said.query else []
    query += [(name, value) for name, value in answer.items() if value is not None]
    head = address.partition("?")[0]
    return f"{head}?{urlencode(query)}"


def _split(address: str) -> SplitResult | None:
    """The parts of what can be an address at all, without a fragment, a user's name, or a way around its own path."""
    if not (0 < len(address) <= LONGEST and _WRITTEN.fullmatch(address)):
        return None
    try:
        said = urlsplit(address)
        said.port  # noqa: B018  asked for what it raises
    except ValueError:
        return None
    return said if _SCHEME.fullmatch(said.scheme) and "@" not in said.netloc else None


def _same_but_for_the_port(asked: str, registered: str) -> bool:
    one, other = _split(asked), _split(registered)
    if one is None or other is None or one.scheme != "http" or one.hostname not in _LOOPBACK:
        return False
    return (one.scheme, one.hostname, one.path, one.query) == (other.scheme, other.hostname, other.path, other.query)

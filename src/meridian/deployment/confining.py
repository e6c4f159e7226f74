"""What passes between a browser and a plugin, and what does not: the rules of headers, both ways.

A request's or an answer's headers enter; those that pass leave, with the ones that only the deployment sets. All plugins of
a deployment share one origin with its own pages, so what would reach beyond a plugin's prefix is taken off here: cookies, the
person's credentials, redirects, and every header by which an answer could speak for the whole origin, or to a proxy before
it. Of an answer's headers those pass that are known to tell of the answer alone; browsers learn new ones every year.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import normpath
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

__all__ = ["Leaves", "is_of_this_site", "keep_confined", "let_in", "policies"]

RawHeaders = list[tuple[bytes, bytes]]

_NOT_LET_IN: Final = frozenset(
    b"cookie authorization proxy-authorization referer connection keep-alive te trailer transfer-encoding upgrade "
    b"proxy-connection forwarded x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-prefix x-real-ip "
    b"content-length expect".split()
)
_LET_OUT: Final = frozenset(
    b"content-type content-length content-disposition content-encoding content-language content-range accept-ranges etag "
    b"last-modified vary allow retry-after".split()
)
_OF_ITS_OWN: Final = re.compile(
    rb"x-(?!accel|sendfile|litespeed|lighttpd|reproxy|forwarded|frame|content|xss|dns|permitted|ua-|webkit|sourcemap)[a-z0-9-]{1,100}"
)
"""Headers that mean something to nobody else: not to a browser, nor to a proxy that would send a file for one."""

_BROKEN: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

_POWERFUL: Final = (
    "accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "hid", "magnetometer", "microphone", "midi",
    "payment", "serial", "usb",
)  # fmt: skip


class Leaves(Exception):
    """An answer that would send the browser out of its plugin; `location` is where, shortened."""

    def __init__(self, location: str) -> None:
        self.location = location[:120]
        super().__init__(self.location)


def let_in(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """A request's headers as a plugin gets them: no cookie, no credentials, nothing that speaks for a proxy, not the page the
    person came from, which may be another plugin's, and no `Meridian-` header, since those are the deployment's to make."""
    return [
        (name, value)
        for name, value in ((name.lower(), value) for name, value in headers)
        if name not in _NOT_LET_IN and not name.startswith((b"meridian-", b"meridian_", b"access-control-"))
    ]


def keep_confined(headers: Iterable[tuple[bytes, bytes]], *, url: str, prefix: str) -> RawHeaders:
    """An answer's headers as the browser gets them, with a redirect spelled out.

    `url` is what the browser asked, `prefix` the plugin's own, like `/operations/open/`. Raises Leaves for a redirect to
    anywhere else.
    """
    kept: RawHeaders = []
    for name, value in ((name.lower(), value) for name, value in headers):
        if name in (b"location", b"content-location"):
            target = _within(value.decode("latin-1"), url, prefix)
            if name == b"location":
                kept.append((name, target.encode("latin-1", "replace")))
        elif (name in _LET_OUT or _OF_ITS_OWN.fullmatch(name)) and not _BROKEN.search(value):
            kept.append((name, value))
    return kept


def policies(*, origin: str, prefix: str, kit_url: str, onward: str = "") -> RawHeaders:
    """The headers that the deployment sets on every page under `prefix`: what it may load, send to, and be framed by.

    `origin` is the deployment's as the browser knows it, `kit_url` where the kit's style and script are. `onward` is where else
    a form of this one page may lead, in a policy's own words.
    """
    kit = f"{origin}{kit_url.rstrip('/')}/"
    own = f"{origin}{prefix}"
    directives = {
        "default-src": "'none'",
        "script-src": kit,
        "style-src": kit,
        "font-src": kit,
        "img-src": f"{own} {kit} data:",
        "form-action": f"{own} {onward}".rstrip(),
        "connect-src": own,
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "object-src": "'none'",
    }
    said = {
        "content-security-policy": "; ".join(f"{name} {value}" for name, value in directives.items()),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": ", ".join(f"{feature}=()" for feature in _POWERFUL),
        "cache-control": "private, no-store",
    }
    return [(name.encode(), value.encode("latin-1", "replace")) for name, value in said.items()]


def is_of_this_site(headers: dict[str, str], origin: str) -> bool:
    """Whether a request that changes something comes from one of the deployment's own pages, as the browser tells it.

    `headers` by lowercase name. A browser that says nothing of where a request comes from is taken at its form token alone.
    """
    said = headers.get("origin")
    if said is not None and said != origin:
        return False
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def _within(location: str, url: str, prefix: str) -> str:
    """The address that `location` means to a browser at `url`, from the root; raises Leaves where it is not under `prefix`."""
    if any(ord(character) <= 32 or ord(character) == 127 for character in location) or "\\" in location:
        raise Leaves(location)
    try:
        asked, meant = urlsplit(url), urlsplit(urljoin(url, location))
    except ValueError as unread:
        raise Leaves(location) from unread
    if (meant.scheme, meant.netloc) != (asked.scheme, asked.netloc):
        raise Leaves(location)
    path = meant.path
    home = prefix.rstrip("/")
    spelled = unquote(path)
    if "\\" in spelled or "//" in spelled or normpath(spelled) != (spelled.rstrip("/") or "/"):
        raise Leaves(location)
    if path != home and not path.startswith(f"{home}/"):
        raise Leaves(location)
    return path + (f"?{meant.query}" if meant.query else "") + (f"#{meant.fragment}" if meant.fragment else "")

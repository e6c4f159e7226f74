"""A person at a browser without scripts, as far as lending a client access needs one: they follow, sign in and send forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final, Literal
from urllib.parse import urljoin, urlsplit

import httpx2

__all__ = ["Person"]

SECONDS: Final = 30
CONNECTED: Final = "/dashboard/open/clients"
SIGN_IN, CONSENT, REVOKE = "/sign-in", "/oauth/consent", f"{CONNECTED}/revoke"
_TOOL: Final = re.compile(r'data-label="Tool"><code>([^<]*)</code>')


@dataclass(frozen=True)
class Person:
    """Somebody who signs in by name and password. Each thing they do is in a browser of its own."""

    name: str
    password: str

    @classmethod
    def by_link(cls, name: str, sign_in_link: str, password: str) -> Person:
        """Somebody who signs in by their one-time link, and chooses a password."""
        with _browser() as browser:
            browser.get(sign_in_link).raise_for_status()
            page = browser.get(urljoin(sign_in_link, "/sign-in/password"))
            _send(browser, page, "/sign-in/password", password=password, again=password).raise_for_status()
        return cls(name, password)

    def answer(self, address: str, decision: Literal["allow", "deny"]) -> str:
        """Open the `address` that a client sent the person to, sign in, and allow it all that they hold, or nothing.

        Leaves the address they are at in the end: the client's own, where all went well.
        """
        with _browser() as browser:
            page = self._signed_in(browser, browser.get(address))
            return str(_send(browser, page, CONSENT, covers="everything", decision=decision).url)

    def connected(self, url: str) -> set[str]:
        """The clients that may ask as them, by the ids of their delegations, as the deployment at `url` lists them."""
        with _browser() as browser:
            page = self._signed_in(browser, browser.get(f"{url}{CONNECTED}"))
            return {form.drawn["client"] for form in _forms(page.text, REVOKE)}

    def calls(self, url: str, client: str) -> list[str]:
        """What that client called as them, the latest first, as its page says."""
        with _browser() as browser:
            page = self._signed_in(browser, browser.get(f"{url}{CONNECTED}", params={"client": client}))
            return _TOOL.findall(page.text)

    def revoke(self, url: str, client: str) -> None:
        """Revoke that client."""
        with _browser() as browser:
            page = self._signed_in(browser, browser.get(f"{url}{CONNECTED}", params={"client": client}))
            _send(browser, page, REVOKE).raise_for_status()

    def _signed_in(self, browser: httpx2.Client, page: httpx2.Response) -> httpx2.Response:
        """The page that comes of signing in on `page`."""
        return _send(browser, page, SIGN_IN, sign_in_name=self.name, password=self.password)


@contextmanager
def _browser() -> Iterator[httpx2.Client]:
    with httpx2.Client(follow_redirects=True, timeout=SECONDS) as browser:
        yield browser


def _send(browser: httpx2.Client, page: httpx2.Response, action: str, **chosen: str) -> httpx2.Response:
    """What comes of sending the form of `page` that goes to `action`, with what is `chosen` in place of what is drawn."""
    form = next(_forms(page.text, action), None)
    if form is None:
        raise RuntimeError(f"no form goes to {action} from {page.url}, which answered {page.status_code}:\n{page.text}")
    return browser.post(urljoin(str(page.url), form.action), data={**form.drawn, **chosen})


@dataclass
class _Form:
    """A form of a page: where it is sent, and what is in it as it is drawn. Nothing of these has a name twice."""

    action: str
    drawn: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[_Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(_Form(said.get("action", "")))
        elif tag == "input" and self.found and (said.get("type") not in ("checkbox", "radio") or "checked" in said):
            self.found[-1].drawn[said.get("name", "")] = said.get("value", "on")


def _forms(html: str, action: str) -> Iterator[_Form]:
    forms = _Forms()
    forms.feed(html)
    return (each for each in forms.found if urlsplit(each.action).path == action)

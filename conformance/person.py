"""A person at a browser without scripts, as far as lending a client access needs one: they follow, sign in and send a form."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2

__all__ = ["lend"]

SECONDS: Final = 30
CONSENT: Final = "/oauth/consent"


def lend(address: str, sign_in_link: str) -> str:
    """Open the `address` that a client sent the person to, sign in by their one-time link, and allow it all that they hold.

    Leaves the address they are at in the end: the client's own, where all went well.
    """
    with httpx2.Client(follow_redirects=True, timeout=SECONDS) as browser:
        page = browser.get(address)
        onward = parse_qs(urlsplit(str(page.url)).query).get("next", [address])[0]
        browser.get(sign_in_link).raise_for_status()
        page = browser.get(urljoin(sign_in_link, onward))
        form = _form(page.text, CONSENT)
        if form is None:
            raise RuntimeError(f"there is no consent to give at {page.url}, which answered {page.status_code}:\n{page.text}")
        return str(browser.post(urljoin(str(page.url), form.action), data=form.sent(covers="everything")).url)


class _Form:
    """A form of a page: where it is sent, and what is in it as it is drawn."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.pairs: list[tuple[str, str]] = []
        self.buttons: list[tuple[str, str]] = []

    def sent(self, **chosen: str) -> dict[str, list[str]]:
        """What is sent by its first button, with another choice than is drawn for what is named in `chosen`."""
        sent: dict[str, list[str]] = {}
        for name, value in [*self.pairs, *self.buttons[:1]]:
            if name and name not in chosen:
                sent.setdefault(name, []).append(value)
        return {**sent, **{name: [value] for name, value in chosen.items()}}


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[_Form] = []
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(_Form(said.get("action", "")))
        elif not self.found:
            return
        elif tag == "select":
            self._select = said.get("name", "")
        elif tag == "option" and "selected" in said:
            self.found[-1].pairs.append((self._select, said.get("value", "")))
        elif tag == "button" and said.get("type", "submit") == "submit":
            self.found[-1].buttons.append((said.get("name", ""), said.get("value", "")))
        elif tag == "input" and (said.get("type", "text") not in ("checkbox", "radio") or "checked" in said):
            self.found[-1].pairs.append((said.get("name", ""), said.get("value", "on")))


def _form(html: str, action: str) -> _Form | None:
    forms = _Forms()
    forms.feed(html)
    return next((each for each in forms.found if urlsplit(each.action).path.startswith(action)), None)

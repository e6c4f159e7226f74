"""A client that is given the surface's address and nothing else, through all that comes of it, each time as a new process.

    python -m conformance.connecting URL SIGN-IN-NAME PASSWORD FOLDER COMMAND…

It connects, for which its person signs in and consents in the browser it opens; it comes back with what it kept; it comes back
when its access token is of no more use; and it comes back when its person has revoked it, who denies it then. The last line
printed says whether a document describes it; of each time, whether it asked its person and what it saw of the surface; and what
its person sees that it called.

The command keeps what it is given under FOLDER and prints what it saw as its last line, as the clients of `clients` do. What it
calls is in CONFORMANCE_CALLS.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import parse_qs, urlsplit

import httpx2

from conformance.browser import opening
from conformance.person import Person

__all__ = ["main"]

SECONDS: Final = 60
_ACCESS: Final = re.compile(rb"\bmra_[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Connecting:
    """A client's command, its person, and the folder in which it keeps what it is given."""

    url: str
    person: Person
    folder: Path
    command: Sequence[str]

    def through(self) -> dict[str, Any]:
        """All of it; what was seen each time."""
        before = self.person.connected(self.url)
        connected, client_id = self._run("allow")
        lent = self.person.connected(self.url) - before
        if len(lent) != 1:
            raise RuntimeError(f"it was lent access {len(lent)} times, having seen {json.dumps(connected)}")
        came_back, _ = self._run("deny")
        self._end_access(client_id)
        renewed, _ = self._run("deny", CONFORMANCE_LATER="yes")
        called = self.person.calls(self.url, *lent)
        self.person.revoke(self.url, *lent)
        revoked, _ = self._run("deny")
        return {
            "described": client_id.startswith("https://"),
            "connected": connected,
            "came back": came_back,
            "renewed": renewed,
            "revoked": revoked,
            "called": called,
        }

    def _run(self, decision: Literal["allow", "deny"], **more: str) -> tuple[dict[str, Any], str]:
        """Whether the client asked its person this time, and what it saw; and as who it asked, if it did."""
        env, opened = opening(self.person, decision, self.folder)
        home = {"HOME": str(self.folder), "CONFORMANCE_KEPT": str(self.folder / "kept.json")}
        with subprocess.Popen(
            self.command,
            env={**os.environ, **home, **env, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as running:
            try:
                printed, _ = running.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)  # with what it started, which may listen where the next one does
                raise
        print(f"exit {running.returncode}\n{printed}", flush=True)
        addresses = opened.read_text(encoding="utf-8").splitlines()
        client_id = parse_qs(urlsplit(addresses[-1]).query)["client_id"][0] if addresses else ""
        saw = json.loads(printed.splitlines()[-1]) if running.returncode == 0 else None
        return {"asked": bool(addresses), "saw": saw}, client_id

    def _end_access(self, client_id: str) -> None:
        """Let each access token that the client keeps be of no more use, as it is after ten minutes."""
        kept = {token for path in self.folder.rglob("*") if path.is_file() for token in _ACCESS.findall(path.read_bytes())}
        if not kept:
            raise RuntimeError(f"no access token is kept in {self.folder}")
        for token in kept:
            ending = {"token": token.decode(), "client_id": client_id}
            httpx2.post(f"{self.url}/oauth/revoke", data=ending).raise_for_status()


def main(url: str, name: str, password: str, folder: str, *command: str) -> None:
    """Print what was seen of a client."""
    Path(folder).mkdir(parents=True)
    print(json.dumps(Connecting(url, Person(name, password), Path(folder), command).through()))


if __name__ == "__main__":
    main(*sys.argv[1:])

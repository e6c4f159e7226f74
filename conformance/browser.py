"""The browser that clients open: it notes the address, and a person signs in there and answers.

    python -m conformance.browser ADDRESS

Who they are, what they answer and where it is noted are in the environment, as `opening` puts them there.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from conformance.person import Person

__all__ = ["main", "opening"]

PERSON, DECISION, OPENED = "CONFORMANCE_PERSON", "CONFORMANCE_DECISION", "CONFORMANCE_OPENED"
NO_DESKTOP: Final = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "XDG_CURRENT_DESKTOP": "X-Generic"}
"""What a program is told that asks the desktop for its browser first: there is none, so that it takes BROWSER."""
ROOT: Final = Path(__file__).parents[1]


def opening(person: Person, decision: Literal["allow", "deny"], folder: Path) -> tuple[Mapping[str, str], Path]:
    """The environment of a client whose browser this is, and the file in which it notes each address; in `folder`.

    BROWSER is a command of one word that is found on PATH, since some take one word alone and a folder may have a space.
    """
    command, opened = folder / "conformance-browser", folder / "opened"
    python = f"cd {shlex.quote(str(ROOT))} && exec {shlex.quote(sys.executable)} -m conformance.browser"
    command.write_text(f'#!/bin/sh\n{python} "$@"\n')
    command.chmod(0o700)
    opened.write_text("")
    env = {"BROWSER": command.name, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", **NO_DESKTOP}
    return {**env, PERSON: f"{person.name} {person.password}", DECISION: decision, OPENED: str(opened)}, opened


def main(address: str) -> None:
    """Answer what is asked at the address."""
    with Path(os.environ[OPENED]).open("a", encoding="utf-8") as opened:
        opened.write(f"{address}\n")
    name, _, password = os.environ[PERSON].partition(" ")
    decision: Literal["allow", "deny"] = "deny" if os.environ[DECISION] == "deny" else "allow"
    Person(name, password).answer(address, decision)


if __name__ == "__main__":
    main(*sys.argv[1:])

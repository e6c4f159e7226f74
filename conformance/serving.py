"""A deployment of the suite's plugin and the demo's people, in a process of its own: a real `meridian serve`."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["INSTANCE", "READER", "WRITER", "Deployment", "free_port", "serving"]

INSTANCE: Final = "suite"
"""What the suite's plugin is called in the deployment, and so what its tools' names begin with."""
WRITER, READER = "demo-writer", "demo-reader"
MERIDIAN: Final = str(Path(sys.executable).with_name("meridian"))
SECONDS_TO_END: Final = 20


@dataclass(frozen=True)
class Deployment:
    """A deployment that runs: where it listens, its data, and each demo person's token and one-time link, by subject."""

    url: str
    data: Path
    tokens: dict[str, str]
    links: dict[str, str]

    def over_stdio(self) -> tuple[str, ...]:
        """The command of the same surface over standard input and output; its token is in MERIDIAN_TOKEN."""
        return (MERIDIAN, "mcp", "--data", str(self.data))


@contextmanager
def serving(data: Path, log: Path, *, public_url: str = "", program: Sequence[str] = (MERIDIAN,)) -> Iterator[Deployment]:
    """A deployment on loopback for as long as this is entered; clients reach it at `public_url`, where that is another.

    `program` is what `meridian` is started as.
    """
    port = free_port()
    command = [
        *program,
        "serve",
        f"{INSTANCE}=conformance.suite:pages",
        "--demo",
        "--json",
        "--data",
        str(data),
        "--port",
        str(port),
    ]
    command += ["--public-url", public_url] if public_url else []
    with log.open("wb") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
        try:
            line = process.stdout.readline() if process.stdout else b""
            if not line:
                raise RuntimeError(f"meridian serve ended before it served:\n{log.read_text()}")
            people = json.loads(line)["people"]
            yield Deployment(
                f"http://127.0.0.1:{port}",
                data,
                {each["subject"]: each["client_token"] for each in people},
                {each["subject"]: each["sign_in_url"] for each in people},
            )
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()


def free_port() -> int:
    """A port of loopback that nothing listens on now."""
    with socket.socket() as looking:
        looking.bind(("127.0.0.1", 0))
        return int(looking.getsockname()[1])

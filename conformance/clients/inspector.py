"""The Inspector's command line, which connects anew for each thing that it asks.

    python -m conformance.clients.inspector NODE INSPECTOR URL ERA [OPTION…]

The calls are in CONFORMANCE_CALLS. The Inspector asks for its own tokens, opens a browser, and keeps what it is given under
HOME. The last line printed is what it saw.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Final

__all__ = ["main"]

REFUSED: Final = 5
"""What it exits with for a result that `isError`."""


def main(node: str, program: str, url: str, era: str, *options: str) -> None:
    """Print what the Inspector sees of the surface."""
    told = [node, program, "--cli", url, "--transport", "http", "--protocol-era", era, "--format", "json", *options]
    # Without a terminal it asks its person only where it is told that it may open a browser.
    env = {**os.environ, "MCP_AUTO_OPEN_ENABLED": "true", "MCP_INSPECTOR_SECRET_STORE": "file"}

    def asking(*asked: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
        ended = subprocess.run(
            [*told, *asked], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False
        )
        if ended.returncode not in codes:
            raise SystemExit(f"the Inspector exited with {ended.returncode}:\n{ended.stdout}")
        result: dict[str, Any] = json.loads(ended.stdout.splitlines()[0])["result"]
        return result

    listed = [tool["name"] for tool in asking("--method", "tools/list")["tools"]]
    calls = []
    for name, given in json.loads(os.environ["CONFORMANCE_CALLS"]):
        arguments = [part for key, value in given.items() for part in ("--tool-arg", f"{key}={value}")]
        result = asking("--method", "tools/call", "--tool-name", name, *arguments, codes=(0, REFUSED))
        calls.append([result["structuredContent"], result.get("isError", False)])
    print(json.dumps([{"listed": listed, "calls": calls}]))


if __name__ == "__main__":
    main(*sys.argv[1:])

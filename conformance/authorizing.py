"""The conformance suite's scenarios for an authorization server, with a client registered first and a person who consents.

    python -m conformance.authorizing NODE SUITE URL SIGN-IN-NAME PASSWORD

The suite prints the address that a person is to open and waits; the person opens it. The exit code is the suite's.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Final

import httpx2

from conformance.person import Person
from conformance.serving import free_port

__all__ = ["METADATA", "main"]

METADATA: Final = "/.well-known/oauth-authorization-server"


def main(node: str, suite: str, url: str, name: str, password: str) -> int:
    """Run the scenarios; the suite's exit code."""
    metadata: dict[str, Any] = httpx2.get(f"{url}{METADATA}").raise_for_status().json()
    port = free_port()
    wanted = {
        "client_name": "Conformance suite",
        "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    client_id = httpx2.post(metadata["registration_endpoint"], json=wanted).raise_for_status().json()["client_id"]
    command = [node, suite, "authorization", "--url", metadata["issuer"], "--client-id", client_id]
    command += ["--resource", f"{url}/mcp", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)
            if line.startswith(metadata["authorization_endpoint"]):
                try:
                    print(f"the person ended at {Person(name, password).answer(line.strip(), 'allow')}", flush=True)
                except Exception:
                    running.kill()
                    raise
    return running.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""A document that describes a client, without the internet: a server of it over https, and a `meridian serve` that asks there.

    python -m conformance.describing PORT CERTIFICATE serve …

is `meridian serve …`, but that whatever host a document's address names is asked at that port of loopback, and that the
certificate is trusted.
"""

from __future__ import annotations

import json
import ssl
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final

import httpx2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import meridian.cli
from meridian.cli import serve
from meridian.deployment.app import Deployment
from meridian.deployment.oauth.fetching import Address, Fetching

__all__ = ["DOCUMENT", "documents", "main"]

HOST: Final = "client.example"
DOCUMENT: Final = f"https://{HOST}/described"
"""The address of the one document there is, and so the id of the client that it describes."""
DESCRIBED: Final[Mapping[str, Any]] = {
    "client_id": DOCUMENT,
    "client_name": "A described client",
    "redirect_uris": [
        f"http://{host}{path}" for host in ("localhost", "127.0.0.1") for path in ("/callback", "/oauth/callback")
    ],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}
"""As programs on a person's computer are described, Claude Code among them: they answer on another port each time."""


@contextmanager
def documents(folder: Path) -> Iterator[Sequence[str]]:
    """A server of the document for as long as this is entered; what to start in place of `meridian`, to ask it."""
    certificate = folder / "certificate.pem"
    certificate.write_bytes(_certificate())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Telling) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield (sys.executable, "-m", "conformance.describing", str(server.server_port), str(certificate))
        finally:
            server.shutdown()


def main(port: str, certificate: str, *command: str) -> int:
    """Run the command; its exit code."""

    async def here(host: str, port: int) -> list[Address]:
        return [IPv4Address("127.0.0.1")]

    fetching = Fetching(resolve=here, passes=lambda _: True, trust=ssl.create_default_context(cafile=certificate))

    async def fetch(address: str) -> dict[str, Any]:
        return await fetching(str(httpx2.URL(address).copy_with(port=int(port))))

    vars(serve)["Deployment"] = partial(
        Deployment, fetch=fetch
    )  # as nobody needs it otherwise, the command has no setting for it
    return meridian.cli.main(command)


class _Telling(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        told = json.dumps(DESCRIBED).encode()
        self.send_response(200 if f"https://{HOST}{self.path}" == DOCUMENT else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name that http.server gives it
        """Say nothing: the deployment says what it could not read."""


def _certificate() -> bytes:
    """A certificate of the host that vouches for itself for a day, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return key.private_bytes(*form) + made.public_bytes(serialization.Encoding.PEM)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Documents of strangers, fetched from a real server over TLS: nothing but the public internet is ever asked."""

import contextlib
import gzip
import json
import socket
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from meridian.deployment.oauth.fetching import Fetching, Unfetched, is_public, resolve

pytestmark = pytest.mark.anyio

HOST = "client.example"
LOOPBACK = ip_address("127.0.0.1")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of `client.example`, which vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return file


class Server:
    """A server of one answer, and what it was asked."""

    def __init__(self, certificate):
        self.status, self.headers, self.body, self.slowly = 200, {"content-type": "application/json"}, b'{"a": 1}', 0.0
        self.asked = []
        outer = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                with contextlib.suppress(OSError):
                    self.send_response(outer.status)
                    for name, value in outer.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    for part in (outer.body[at : at + 100] for at in range(0, len(outer.body), 100)):
                        self.wfile.write(part)
                        self.wfile.flush()
                        time.sleep(outer.slowly)

            def log_message(self, *_): ...

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.server.handle_error = lambda *_: None
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path="/document.json", host=HOST):
        return f"https://{host}:{self.port}{path}"


@pytest.fixture
def server(certificate):
    serving = Server(certificate)
    yield serving
    serving.server.shutdown()
    serving.server.server_close()


@pytest.fixture
def fetching(certificate):
    """A function that makes a `Fetching` for which loopback is public and `client.example` is there; parts may be others."""

    async def here(host, port):
        return [LOOPBACK]

    def make(**parts):
        trust = ssl.create_default_context(cafile=str(certificate))
        return Fetching(**{"resolve": here, "passes": lambda _: True, "trust": trust, "seconds": 3, **parts})

    return make


async def unfetched(fetch, url):
    with pytest.raises(Unfetched) as no:
        await fetch(url)
    return no.value.said


async def test_a_document_is_read_by_its_host_s_name_without_cookies_or_credentials(server, fetching):
    assert await fetching()(server.url("/a%20b.json?c=d")) == {"a": 1}
    [(path, headers)] = server.asked
    assert path == "/a%20b.json?c=d"
    assert headers["host"] == f"{HOST}:{server.port}"
    assert not {"cookie", "authorization", "referer"} & set(headers)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.9.1", "0.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8",
        "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "3fff::1", "5f00::1",
    ],
)  # fmt: skip
def test_an_address_of_this_machine_its_network_or_a_way_to_them_is_not_public(address):
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"])
def test_an_address_of_the_internet_is_public(address):
    assert is_public(ip_address(address))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433", "127.1"])
async def test_as_a_deployment_has_it_no_spelling_of_this_machine_is_asked(server, fetching, host):
    real = fetching(resolve=resolve, passes=is_public)
    assert await unfetched(real, server.url(host=host)) in (
        "its host has no public address, or one that is not",
        "it cannot be reached by https",
    )
    assert server.asked == []


async def test_one_address_that_is_not_public_is_enough(server, fetching):
    async def both(host, port):
        return [ip_address("93.184.215.14"), LOOPBACK]

    said = await unfetched(fetching(resolve=both, passes=is_public), server.url())
    assert said == "its host has no public address, or one that is not"


async def test_a_name_that_answers_otherwise_a_moment_later_reaches_nothing_else(server, fetching):
    answers = [[LOOPBACK], [ip_address("127.0.0.9")]]

    async def rebinding(host, port):
        return answers.pop(0)

    assert await fetching(resolve=rebinding, passes=lambda address: address == LOOPBACK)(server.url()) == {"a": 1}
    assert len(answers) == 1


async def test_another_s_certificate_is_not_taken(server, fetching):
    assert await unfetched(fetching(), server.url(host="other.example")) == "it cannot be reached by https"
    assert await unfetched(fetching(trust=None), server.url()) == "it cannot be reached by https"
    assert server.asked == []


@pytest.mark.parametrize("url", ["http://client.example/d", "ftp://client.example/d", "https:///d", "https://[::1/d", "d", ""])
async def test_what_is_not_at_an_https_address_is_not_asked(fetching, url):
    assert await unfetched(fetching(), url) in ("it is not at an https address", "it cannot be reached by https")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(server, fetching, status):
    server.status, server.headers = status, {"location": server.url("/elsewhere")}
    assert await unfetched(fetching(), server.url()) == f"it answered {status} where 200 is needed; redirects are not followed"
    assert [path for path, _ in server.asked] == ["/document.json"]


async def test_a_large_document_is_let_go_of_before_it_is_read_whole(server, fetching):
    server.body = b'{"a": "' + b"x" * (4 << 20) + b'"}'
    assert await unfetched(fetching(), server.url()) == "it is larger than 10,240 bytes"


async def test_one_that_was_packed_unasked_is_not_unpacked(server, fetching):
    server.body = gzip.compress(b'{"a": "' + b"x" * (4 << 20) + b'"}')
    server.headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert len(server.body) < 10_240
    assert await unfetched(fetching(), server.url()) == "it is no JSON"
    [(_, headers)] = server.asked
    assert headers["accept-encoding"] == "identity"


async def test_one_that_comes_drop_by_drop_is_cut_off(server, fetching):
    server.body, server.slowly = b'{"a": 1}'.ljust(5_000), 0.2
    before = time.monotonic()
    assert await unfetched(fetching(seconds=1), server.url()) == "it did not answer within 1 seconds"
    assert time.monotonic() - before < 4


async def test_a_host_that_takes_the_connection_and_says_nothing_is_cut_off(fetching):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://{HOST}:{silent.getsockname()[1]}/d"
        assert await unfetched(fetching(seconds=0.5), url) == "it did not answer within 0.5 seconds"


@pytest.mark.parametrize(
    ("body", "media_type", "said"),
    [
        (b"[1]", "application/json", "it is no JSON object"),
        (b"<p>", "application/json", "it is no JSON"),
        (b"[" * 9_000, "application/json", "it is no JSON"),
        (b"\xff", "application/json", "it is no JSON"),
        (b"{}", "text/html", "it does not say that it is JSON"),
    ],
)
async def test_what_is_no_json_object_is_not_read(server, fetching, body, media_type, said):
    server.body, server.headers = body, {"content-type": media_type}
    assert await unfetched(fetching(), server.url()) == said


async def test_a_document_of_a_json_kind_is_json(server, fetching):
    server.body, server.headers = json.dumps({"b": 2}).encode(), {"content-type": "application/cimd+json; charset=utf-8"}
    assert await fetching()(server.url()) == {"b": 2}

"""A body is read once, within bounds, alike however it is sent; and what cannot be read is refused in words."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meridian
from meridian.testing import PageClient, as_form, records

JSON = {"accept": "application/json"}


@dataclass(frozen=True)
class Line:
    amount: int


@dataclass(frozen=True)
class Note:
    account: str
    note: str = ""
    payload: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)


class Asked:
    """Pages of one route, which keeps what reached its view; `files` is what was uploaded, by input."""

    def __init__(self, **options: Any) -> None:
        self.pages = meridian.Pages("Notes", **options)
        self.records: list[Any] = []
        self.files: list[dict[str, tuple[str | None, bytes]]] = []

        @self.pages.route("/note", levels="write", methods=["POST"], params=Note)
        async def note(request: meridian.Request[Note]) -> meridian.Response:
            self.files.append({name: (each.filename, await each.read()) for name, each in request.files.items()})
            self.records.append(request.params)
            return self.pages.answer(None, request.params)

        self.client = PageClient(self.pages, None)
        self.token = {"Meridian-Form-Token": self.client.form_token("write")}

    def send(self, body: bytes, content_type: str | None, **headers: str | None) -> Any:
        return self.client.request(
            "POST", "/note", "write", body=body, content_type=content_type, headers={**JSON, **self.token, **headers}
        )


@pytest.fixture
def asked() -> Asked:
    return Asked()


def multipart(*parts: bytes, end: bytes = b"--B--\r\n") -> bytes:
    return b"".join(b"--B\r\n" + part + b"\r\n" for part in parts) + end


def part(name: str, value: bytes, *headers: bytes) -> bytes:
    lines = [f'Content-Disposition: form-data; name="{name}"'.encode(), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + value


MULTIPART = "multipart/form-data; boundary=B"
URLENCODED = "application/x-www-form-urlencoded"


# ── Alike, however it is sent ──────────────────────────────────────────────


@pytest.mark.parametrize("files", [None, {}, {"statement": ("s.ofx", b"OFX")}])
def test_a_form_reads_alike_urlencoded_and_multipart(asked: Asked, files: Any):
    form = {"account": "A-1", "note": " two\nlines & é ", "lines[7].amount": "1", 'payload["a \\"b\\" key"]': "%22"}
    assert asked.client.post("/note", "write", form, files=files).status == 200
    assert asked.records == [Note("A-1", "two\nlines & é", {'a "b" key': "%22"}, [Line(1)])]


def test_a_json_body_reads_as_the_form_that_says_the_same(asked: Asked):
    asked.send(b'{"account": "A-1", "lines": [{"amount": 1}]}', "application/json")
    asked.send(b"account=A-1&lines[0].amount=1", URLENCODED)
    assert asked.records == [Note("A-1", lines=[Line(1)])] * 2


def test_an_upload_is_among_the_files_and_not_in_the_record(asked: Asked):
    files = {"statement": ("Übersicht.ofx", b"\x00\xff\r\n--B\r\n")}
    assert asked.client.post("/note", "write", {"account": "A-1"}, files=files).status == 200
    assert (asked.records, asked.files) == ([Note("A-1")], [{"statement": ("Übersicht.ofx", b"\x00\xff\r\n--B\r\n")}])


def test_a_large_upload_arrives_whole(asked: Asked):
    content = bytes(range(256)) * 12_000
    asked.client.post("/note", "write", {"account": "A-1"}, files={"statement": ("s.bin", content)})
    assert asked.files[0]["statement"][1] == content


def test_a_file_input_left_empty_is_nothing(asked: Asked):
    asked.client.post("/note", "write", {"account": "A-1"}, files={"statement": ("", b""), "note": ("", b"")})
    assert (asked.records, asked.files) == ([Note("A-1")], [{}])


def test_a_file_under_the_name_of_a_field_is_a_problem_there(asked: Asked):
    answered = asked.client.request(
        "POST",
        "/note",
        "write",
        form={"account": "A-1"},
        files={"note": ("n.txt", b"words")},
        headers={**JSON, **asked.token},
    )
    assert (answered.status, asked.records) == (422, [])
    assert answered.json["fields"] == [
        {"path": "note", "message": 'a file came, "n.txt", where a value is written; write it'}
    ]  # fmt: skip


# ── Other letters are refused, never guessed (R40) ─────────────────────────


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"account=A-1&note=caf%E9", URLENCODED),
        (b"account=A-1&note=\xff", URLENCODED),
        (multipart(part("account", b"A-1"), part("note", b"caf\xe9")), MULTIPART),
        (multipart(part("account", b"A-1"), part("note", b"x", b"Content-Type: text/plain; charset=unknown-8bit")), MULTIPART),
        (multipart(part("account", b"A-1"), part("note", b"caf\xe9", b"Content-Type: text/plain; charset=latin-1")), MULTIPART),
    ],
    ids=["percent-encoded Latin-1", "a raw byte", "a part in Latin-1", "an unknown charset", "a charset that is named"],
)
def test_a_value_that_is_not_utf8_is_a_problem_at_its_cell(asked: Asked, body: bytes, content_type: str):
    answered = asked.send(body, content_type)
    assert (answered.status, [each["path"] for each in answered.json["fields"]], asked.records) == (422, ["note"], [])
    assert "UTF-8" in answered.json["fields"][0]["message"]


@pytest.mark.parametrize("content_type", [f"{URLENCODED}; charset=iso-8859-1", f"{MULTIPART}; charset=nonsense"])
def test_a_body_in_another_charset_is_refused_in_words(asked: Asked, content_type: str):
    answered = asked.send(b"account=A-1", content_type)
    assert (answered.status, answered.json["reason"], asked.records) == (415, "bad_body", [])


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "us-ascii"])
def test_utf8_may_be_said_in_any_way(asked: Asked, charset: str):
    assert asked.send(b"account=A-1", f"{URLENCODED}; charset={charset}").status == 200


# ── A body that is not whole is never half a form (R41) ────────────────────


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"account=A-1", "multipart/form-data"),
        (b"account=A-1", "multipart/form-data; boundary="),
        (b"account=A-1", f"multipart/form-data; boundary={'b' * 71}"),
        (multipart(part("account", b"A-1"), end=b'--B\r\nContent-Disposition: form-data; name="lines[0].amo'), MULTIPART),
        (multipart(part("account", b"A-1"), part("note", b"half"), end=b""), MULTIPART),
        (b"", MULTIPART),
        (b"account=A-1", MULTIPART),
        (multipart(b"Content-Disposition: form-data\r\n\r\nA-1"), MULTIPART),
        (multipart(b'Content-Disposition: form-data; name="\xff"\r\n\r\nA-1'), MULTIPART),
        (multipart(b'Content-Disposition: form-data; name="' + b"n" * 5000 + b'"\r\n\r\nA-1'), MULTIPART),
    ],
    ids=[
        "no boundary",
        "an empty boundary",
        "a boundary too long",
        "cut off in a header",
        "cut off in a value",
        "nothing",
        "no multipart at all",
        "a part without a name",
        "a name that is no text",
        "a name too long",
    ],
)
def test_a_multipart_body_that_is_not_whole_is_a_400_in_words(asked: Asked, body: bytes, content_type: str):
    answered = asked.send(body, content_type)
    assert (answered.status, answered.json["reason"], asked.records) == (400, "bad_body", [])


def test_a_browser_reads_the_words_on_a_page(asked: Asked):
    answered = asked.client.request(
        "POST", "/note", "write", body=b"account=A-1", content_type="multipart/form-data", headers=asked.token
    )
    words = "The body is multipart and names no boundary, so that its parts cannot be told apart."
    assert (answered.status, answered.headers["content-type"], answered.shows(words)) == (400, "text/html; charset=utf-8", True)


# ── Bounds ─────────────────────────────────────────────────────────────────


def test_a_body_over_the_limit_is_a_413_in_words():
    asked = Asked(max_body_bytes=1000)
    answered = asked.send(b"account=A-1&note=" + b"n" * 1000, URLENCODED)
    assert (answered.status, answered.json["detail"]) == (413, "The body is larger than the 1000 bytes that are read here.")


def test_a_route_may_take_a_larger_body_than_the_plugin():
    pages = meridian.Pages("Notes", max_body_bytes=1000)

    @pages.route("/note", levels="write", methods=["POST"], params=Note, max_body_bytes=3 << 20)
    async def note(request: meridian.Request[Note]) -> meridian.Response:
        return pages.answer(None, {"length": len(request.params.note)})

    client = PageClient(pages, None)
    assert client.post("/note", "write", {"account": "A", "note": "n" * 2000}).status == 200
    answered = client.post("/note", "write", {"account": "A", "note": "n" * (3 << 20)})
    assert (answered.status, answered.shows("The body is larger than the 3 MiB that are read here.")) == (413, True)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"&".join([b"x=1"] * 50_001), URLENCODED),
        (multipart(*[part("x", b"1")] * 50_001), MULTIPART),
    ],
    ids=["urlencoded", "multipart"],
)
def test_more_than_50_000_fields_are_a_413_in_words(asked: Asked, body: bytes, content_type: str):
    answered = asked.send(body, content_type)
    assert (answered.status, answered.json["detail"]) == (413, "The form has more than 50000 fields, and no more are read.")


def test_50_000_fields_are_read(asked: Asked):
    assert asked.send(b"account=A-1" + b"&x=1" * 49_999, URLENCODED).status == 200


def test_more_than_100_files_are_a_413_in_words(asked: Asked):
    files: dict[str, Any] = {f"f{number}": ("f.txt", b"x") for number in range(101)}
    answered = asked.client.request(
        "POST", "/note", "write", form={"account": "A"}, files=files, headers={**JSON, **asked.token}
    )  # fmt: skip
    assert (answered.status, answered.json["detail"]) == (413, "The form has more than 100 files, and no more are read.")


# ── Only what says it is JSON is read as JSON ──────────────────────────────


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", None])
def test_a_body_of_another_kind_is_a_415_in_words(asked: Asked, content_type: str | None):
    answered = asked.send(b'{"account": "A-1"}', content_type)
    assert (answered.status, answered.json["reason"], asked.records) == (415, "bad_body", [])


def test_a_tool_is_called_with_json_and_not_with_a_form(asked: Asked):
    claimed = asked.client.caller("write", tool="note", path="/note", body=b"account=A-1")
    answered = asked.client.request(
        "POST", "/note", "write", body=b"account=A-1", content_type=URLENCODED, headers={"Meridian-Caller": claimed.header}
    )
    assert (answered.status, answered.json["detail"], asked.records) == (
        415,
        "A tool is called with JSON, not with a form.",
        [],
    )


def test_a_json_body_that_is_none_is_a_problem_and_not_a_500(asked: Asked):
    for body in (b"", b"[]", b"{", b'{"account": "A", "account": "B"}', b"\xff", b"null"):
        assert asked.send(body, "application/json").status == 422
    assert asked.records == []


# ── Whatever comes ─────────────────────────────────────────────────────────

PIECES = st.sampled_from(
    [
        b"--B",
        b"\r\n",
        b"--",
        b'Content-Disposition: form-data; name="account"',
        b'; filename="f"',
        b"Content-Type: text/plain; charset=x",
        b"account=A",
        b"&",
        b"lines[0].amount=",
        b"%FF",
        b"[",
        b"{}",
        b'{"account": "A"}',
        b"\x00",
    ]
)


@given(
    body=st.binary(max_size=200) | st.lists(PIECES, max_size=20).map(b"".join),
    content_type=st.sampled_from(
        [URLENCODED, MULTIPART, "multipart/form-data; boundary=\x00", "application/json", "x", ";", ""]
    ),
)
def test_no_body_at_all_makes_the_page_fail(body: bytes, content_type: str):
    answered = ASKED.send(body, content_type)
    assert answered.status in (200, 400, 415, 422)


ASKED = Asked()


@given(records(Note))
def test_a_record_sent_urlencoded_and_multipart_is_the_same_record(note: Note):
    ASKED.records.clear()
    statuses = [ASKED.client.post("/note", "write", as_form(note), files=files).status for files in (None, {})]
    assert (statuses[0], ASKED.records) == (statuses[1], ASKED.records[:1] * 2)


def test_a_body_whose_sender_went_away_reaches_no_view(asked: Asked):
    body = b"account=A-1"
    caller = asked.client.caller("write", method="POST", path="/note", body=body)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/note",
        "query_string": b"",
        "headers": [
            (b"meridian-caller", caller.header.encode()),
            (b"meridian-form-token", asked.token["Meridian-Form-Token"].encode()),
            (b"content-type", URLENCODED.encode()),
        ],
    }
    messages: Any = iter([{"type": "http.request", "body": body, "more_body": True}, {"type": "http.disconnect"}])
    said: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        said.append(message)

    asyncio.run(asked.client.served(scope, receive, send))
    assert (said[0]["status"], asked.records) == (400, [])

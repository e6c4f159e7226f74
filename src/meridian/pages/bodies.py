"""A request's body, read once within bounds: its fields as pairs, its files spooled, and its digest.

Enters: the body's chunks and its content type. Leaves: a `Body`, or a `BadBody` with the status and the words that say what
was wrong with it. What the fields mean is the record's business, not this module's.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Final, Literal

import python_multipart
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, UploadFile

from meridian.errors import Problem
from meridian.records import form_pairs

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

__all__ = ["BadBody", "Body", "Limits", "read_body"]

JSON: Final = "application/json"
URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
SPOOL_BYTES: Final = 1 << 20
"""A file larger than this is kept on disk while the request lasts."""


class BadBody(Exception):
    """A body that cannot be read at all; `status_code` and `detail` are the answer."""

    def __init__(self, status_code: int, detail: str) -> None:
        self.status_code = status_code
        self.detail = detail
        super().__init__(detail)


@dataclass(frozen=True)
class Limits:
    """The bounds of one body: bytes in all, fields, files, and bytes of one field's name."""

    body_bytes: int = 10 << 20
    fields: int = 50_000
    files: int = 100
    name_bytes: int = 4_096


@dataclass
class Body:
    """A body as read: a form's `pairs` keep the order sent; `raw` is a JSON body's bytes. `other` is one of a kind that is read
    nowhere here, and `detail` says so."""

    kind: Literal["form", "json", "none", "other"]
    sha256: str
    detail: str = ""
    raw: bytes = b""
    pairs: Sequence[tuple[str, str]] = ()
    problems: Sequence[Problem] = ()
    files: list[tuple[str, UploadFile]] = field(default_factory=list)

    def value(self, name: str) -> str:
        """What the form says under `name`, the first time it does; empty where it says nothing."""
        return next((value for each, value in self.pairs if each == name), "")

    async def close(self) -> None:
        """Let go of the spooled files."""
        for _, upload in self.files:
            await upload.close()


async def read_body(chunks: AsyncIterable[bytes], content_type: str, limits: Limits) -> Body:
    """Read a whole body. Raises BadBody; a part that is not UTF-8 is one of the body's `problems`."""
    kind, options = parse_options_header(content_type)
    media_type = kind.decode("latin-1")
    charset = options.get(b"charset", b"utf-8").decode("latin-1").lower()
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise BadBody(415, f"The body says it is in {charset[:40]!r}; send UTF-8.")
    if media_type == MULTIPART:
        return await _read_multipart(chunks, options.get(b"boundary", b""), limits)
    held = bytearray()
    async for chunk in chunks:
        held += chunk
        if len(held) > limits.body_bytes:
            raise _too_large(limits)
    raw = bytes(held)
    sha256 = hashlib.sha256(raw).hexdigest()
    if media_type == JSON or media_type.endswith("+json"):
        return Body("json", sha256, raw=raw)
    if media_type == URLENCODED:
        if raw.count(b"&") >= limits.fields:
            raise BadBody(413, f"The form has more than {limits.fields} fields, and no more are read.")
        pairs, problems = form_pairs(raw)
        return Body("form", sha256, pairs=pairs, problems=problems)
    if raw:
        said = media_type or "no content type"
        detail = f"A body is read as {URLENCODED}, {MULTIPART} or {JSON}, and this one came as {said[:60]!r}."
        return Body("other", sha256, detail)
    return Body("none", sha256)


async def _bounded(chunks: AsyncIterable[bytes], limits: Limits) -> AsyncIterable[bytes]:
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > limits.body_bytes:
            raise _too_large(limits)
        yield chunk


def _too_large(limits: Limits) -> BadBody:
    return BadBody(413, f"The body is larger than the {_size(limits.body_bytes)} that are read here.")


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 and count % (1 << 20) == 0 else f"{count} bytes"


async def _read_multipart(chunks: AsyncIterable[bytes], boundary: bytes, limits: Limits) -> Body:
    if not boundary or len(boundary) > 70:
        raise BadBody(400, "The body is multipart and names no boundary, so that its parts cannot be told apart.")
    parts = _Parts(limits)
    digest = hashlib.sha256()
    try:
        parser = python_multipart.MultipartParser(boundary, parts.callbacks())
        async for chunk in _bounded(chunks, limits):
            digest.update(chunk)
            parser.write(chunk)
        parser.finalize()
    except MultipartParseError as fault:
        await parts.body.close()
        raise BadBody(400, "The body is not the multipart form it says it is.") from fault
    except BadBody:
        await parts.body.close()
        raise
    if not parts.ended:
        await parts.body.close()
        raise BadBody(400, "The body ends in the middle of a part; nothing of it was taken.")
    parts.body.sha256 = digest.hexdigest()
    return parts.body


class _Parts:
    """Collects the parts that python-multipart's parser finds: a field's value in memory, a file's in a spooled file."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.body = Body("form", "")
        self.pairs: list[tuple[str, str]] = []
        self.problems: list[Problem] = []
        self.body.pairs, self.body.problems = self.pairs, self.problems
        self.ended = False
        self._start()

    def callbacks(self) -> MultipartCallbacks:
        """What the parser calls, by the names that it knows."""
        return {
            "on_part_begin": self._start,
            "on_part_data": lambda data, start, end: self._write(data[start:end]),
            "on_part_end": self._end_part,
            "on_header_field": lambda data, start, end: self._header(0, data[start:end]),
            "on_header_value": lambda data, start, end: self._header(1, data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._open,
            "on_end": self._end,
        }

    def _start(self) -> None:
        self.header = [b"", b""]
        self.headers: dict[bytes, bytes] = {}
        self.name = ""
        self.value = bytearray()
        self.file: IO[bytes] | None = None
        self.upload: UploadFile | None = None
        self.blames: str | None = None

    def _header(self, which: int, data: bytes) -> None:
        self.header[which] += data
        if len(self.header[which]) > self.limits.name_bytes:
            raise BadBody(400, f"A part's header is longer than {self.limits.name_bytes} bytes.")

    def _end_header(self) -> None:
        name, value = self.header
        self.headers[name.lower()] = value
        self.header = [b"", b""]

    def _open(self) -> None:
        disposition, options = parse_options_header(self.headers.get(b"content-disposition", b""))
        if disposition != b"form-data" or b"name" not in options:
            raise BadBody(400, "A part of the form has no name.")
        try:
            self.name = _unquoted(options[b"name"].decode("utf-8"))
            filename = options[b"filename"].decode("utf-8") if b"filename" in options else None
        except UnicodeDecodeError as fault:
            raise BadBody(400, "A part's name is not in UTF-8.") from fault
        _, said = parse_options_header(self.headers.get(b"content-type", b"text/plain"))
        charset = said.get(b"charset", b"utf-8").lower()
        if filename is None and charset not in (b"utf-8", b"utf8", b"us-ascii"):
            self.blames = f"came in the charset {charset.decode('latin-1')[:40]!r}; send UTF-8"
        if filename is None:
            if len(self.pairs) >= self.limits.fields:
                raise BadBody(413, f"The form has more than {self.limits.fields} fields, and no more are read.")
            return
        if len(self.body.files) >= self.limits.files:
            raise BadBody(413, f"The form has more than {self.limits.files} files, and no more are read.")
        self.file = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115  closed with the body
        headers = Headers(raw=list(self.headers.items()))
        self.upload = UploadFile(self.file, size=0, filename=filename, headers=headers)  # type: ignore[arg-type]
        self.body.files.append((self.name, self.upload))

    def _write(self, data: bytes) -> None:
        if self.file is None:
            self.value += data
        else:
            self.file.write(data)

    def _end_part(self) -> None:
        if self.file is not None and self.upload is not None:
            self.upload.size = self.file.tell()
            self.file.seek(0)
            if not self.upload.filename and not self.upload.size:  # a file input left empty
                self.body.files.pop()
                self.file.close()
            return
        try:
            text = self.value.decode("utf-8")
        except UnicodeDecodeError:
            text, self.blames = "", self.blames or "is not in UTF-8; send UTF-8"
        if self.blames is not None:
            self.problems.append(Problem(self.name, self.blames))
        else:
            self.pairs.append((self.name, text))

    def _end(self) -> None:
        self.ended = True


def _unquoted(name: str) -> str:
    """A part's name as it was before a browser wrote it into the part's header (HTML, "escape a multipart name")."""
    return name.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")

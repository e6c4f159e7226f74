"""A form's pairs and files as the bytes a browser sends.

Pairs and uploads enter; a body and its content type leave, urlencoded or multipart as HTML says it.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

from meridian.records import write_form

__all__ = ["FormData", "Upload", "Uploads", "multipart", "pairs_of", "uploads_of", "urlencoded"]

FormData: TypeAlias = Mapping[str, object] | Iterable[tuple[str, object]] | object
"""What a form says: texts by name, pairs in the order sent, or a record. A list is its name sent once for each value; True is
a ticked box, and False and None are not sent."""

Upload: TypeAlias = bytes | tuple[str, bytes] | tuple[str, bytes, str]
"""A file: its content, or its name with it, or its name, its content and its content type."""

Uploads: TypeAlias = Mapping[str, Upload | Sequence[Upload]]

MULTIPART: Final = "multipart/form-data"
URLENCODED: Final = "application/x-www-form-urlencoded"


def pairs_of(form: FormData) -> list[tuple[str, str]]:
    """The pairs that a form sends."""
    if form is None:
        return []
    if is_dataclass(form) and not isinstance(form, type):
        return list(write_form(form))
    if isinstance(form, (str, bytes)) or not isinstance(form, Iterable):
        raise TypeError(f"a form is texts by name, pairs, or a record, not {form!r:.60}; send bytes as they are with body=")
    pairs: Iterable[Any] = form.items() if isinstance(form, Mapping) else form
    return [
        (name, "on" if each is True else str(each))
        for name, value in pairs
        for each in (value if isinstance(value, (list, tuple)) else [value])
        if each is not None and each is not False
    ]


def uploads_of(files: Uploads) -> list[tuple[str, str, bytes, str]]:
    """Each upload, as its input's name, its own name, its content and its content type."""
    sent: list[tuple[str, str, bytes, str]] = []
    for name, given in files.items():
        for each in given if isinstance(given, list) else [given]:
            said = (each,) if isinstance(each, bytes) else tuple(each)
            match said:
                case (bytes() as content,):
                    sent.append((name, name, content, "application/octet-stream"))
                case (str() as own, bytes() as content):
                    sent.append((name, own, content, mimetypes.guess_type(own)[0] or "application/octet-stream"))
                case (str() as own, bytes() as content, str() as content_type):
                    sent.append((name, own, content, content_type))
                case _:
                    raise TypeError(f'files[{name!r}] is a name and its bytes, as ("statement.ofx", b"…"), not {each!r:.60}')
    return sent


def urlencoded(pairs: Iterable[tuple[str, str]]) -> tuple[bytes, str]:
    """The pairs as an urlencoded body, and its content type."""
    return urlencode([(_lines(name), _lines(value)) for name, value in pairs]).encode("ascii"), URLENCODED


def multipart(pairs: Iterable[tuple[str, str]], files: Uploads) -> tuple[bytes, str]:
    """The pairs and then the files as a multipart body, and its content type."""
    parts = [(f'name="{_quoted(name)}"', "", _lines(value).encode()) for name, value in pairs]
    for name, own, content, content_type in uploads_of(files):
        parts.append((f'name="{_quoted(name)}"; filename="{_quoted(own)}"', f"Content-Type: {content_type}\r\n", content))
    boundary = "----MeridianFormBoundary"
    while any(boundary.encode() in content for _, _, content in parts):
        boundary += "-"
    body = bytearray()
    for said, content_type, content in parts:
        body += f"--{boundary}\r\nContent-Disposition: form-data; {said}\r\n{content_type}\r\n".encode() + content + b"\r\n"
    return bytes(body) + f"--{boundary}--\r\n".encode(), f"{MULTIPART}; boundary={boundary}"


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


def _quoted(name: str) -> str:
    """A name as browsers write it in a part's header."""
    return _lines(name).replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")

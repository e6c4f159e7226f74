"""An author's pattern in the words that others read.

A `pattern=` is a regular expression of Python's, matched against a whole text with ASCII `\\d` and `\\w`. It comes in here and
goes out as JSON Schema, and so a browser or a client, has to have it. The anchors around it are `schema`'s to say.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CONTROLS", "ecma", "keeps_clean"]

CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""What no text may have, as a class has it. A carriage return may come: it reads as a line end."""

_TOKEN: Final = re.compile(r"\\(.)|\(\?P<\w+>|\[\^?\]?|\]|.", re.DOTALL)
_ASCII: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": r" \t-\r"}
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")


def ecma(pattern: str) -> str:
    """An author's pattern, which is Python's, as both Python and a browser read it: `\\d`, `\\w` and `\\s` of ASCII alone, no
    escape that means nothing, no names of groups."""
    inside = False
    made = []
    for found in _TOKEN.finditer(pattern):
        token, escaped = found[0], found[1]
        if escaped is not None:
            made.append(_escape(escaped, inside))
        elif token[0] == "[" and not inside:
            inside = True
            made.append(token.replace("]", r"\]"))
        elif token[0] == "[":
            inside = not token.endswith("]")
            made.append(rf"\{token}")
        elif inside and token.startswith("]"):
            inside = False
            made.append(token)
        else:
            made.append("(" if token.startswith("(?P<") and not inside else token)
    return "".join(made)


def _escape(letter: str, inside: bool) -> str:
    if letter in "dws":
        return _ASCII[letter] if inside else f"[{_ASCII[letter]}]"
    if letter in "DWS" and not inside:
        return f"[^{_ASCII[letter.lower()]}]"
    if letter in "AZ":
        return "^" if letter == "A" else "$"
    if letter.isalnum() or letter in _SYNTAX or (inside and letter == "-"):
        return f"\\{letter}"
    return letter if ord(letter) > 127 else f"\\x{ord(letter):02x}"


_HARMLESS: Final = re.compile(r"(?:\\[dwAZtn]|\\[^A-Za-z0-9\x00-\x1f\x7f-\uffff]|\[(?!\^)|[^\\\[.\x00-\x1f\x7f-\uffff])*")


def keeps_clean(pattern: str) -> bool:
    """Whether `pattern` surely matches no control character, since it is made of printable ASCII that names what it takes."""
    return pattern.isascii() and _HARMLESS.fullmatch(pattern) is not None

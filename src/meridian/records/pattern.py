"""An author's pattern in the words that others read.

A `pattern=` is a regular expression of Python's, matched against a whole text with ASCII `\\d` and `\\w`. It comes in here and
goes out as JSON Schema, and so a browser or a client, has to have it. The anchors around it are `schema`'s to say.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CONTROLS", "ecma", "pythons_own"]

CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""What no text may have, as a class of characters says it. A carriage return may come: it reads as a line end."""

_TOKEN: Final = re.compile(r"\\(.)|\(\?P<\w+>|\[\^?[]-]?|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]*)\}|.", re.DOTALL)
_ASCII: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": r" \t-\r"}
_ANY: Final = r"[^\x00-\x08\x0a-\x1f\x7f-\x9f]"
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")
_GUARD: Final = rf"(?![\s\S]*[{CONTROLS}])"


_OWN: Final = re.compile(r"\(\?(?![:=!]|<[=!]|P<)[^)]{0,3}")


def pythons_own(pattern: str) -> str:
    """What `pattern` has that only Python's regular expressions have, such as flags; empty where it has nothing of the kind."""
    inside = repeated = False
    at = 0
    for found in _TOKEN.finditer(pattern):
        token, escaped = found[0], found[1]
        if escaped is not None and escaped.isalnum() and escaped not in "dDwWsSbBAZtnrfvxu123456789":
            return token
        if inside:
            inside = token not in ("]", "[]", "[^]")
        elif token[0] == "[":
            inside = True
        elif token == "(" and (own := _OWN.match(pattern, found.start())):  # noqa: S105
            return own[0]
        elif token == "+" and repeated:  # noqa: S105
            return pattern[at : found.end()]
        repeated = not (inside or repeated) and escaped is None and token[0] in "*+?{"
        at = found.start()
    return ""


def ecma(pattern: str) -> str:
    """`pattern` as Python and a browser both read it, matching no control character, which no text may have.

    Classes are of ASCII alone, groups lose their names, and an escape that means nothing goes. Only where it cannot be seen
    that the pattern matches no control character does it begin with a look-ahead, which the engines of some clients lack.

    >>> ecma(r"(?P<bank>[A-Z]{4})\\d\\-\\d")
    '([A-Z]{4})[0-9]\\\\x2d[0-9]'
    """
    inside = False
    clean = True
    made = []
    for found in _TOKEN.finditer(pattern):
        token, escaped = found[0], found[1]
        if escaped is not None:
            clean = clean and (escaped in "dwsAZtn" or (escaped in "DWSbB123456789" and not inside) or not escaped.isalnum())
            made.append(_escape(escaped, inside))
        elif token[0] == "[":
            first = rf"\{token[-1]}" if token[-1] in "]-" and not inside else ""
            if inside:
                made.append(rf"\{token}")
                inside = token[-1] != "]"
            else:
                made.append(f"[^{CONTROLS}{first}" if "^" in token else f"[{first}")
                inside = True
        elif inside:
            clean = clean and token.isascii() and token.isprintable()
            inside = token != "]"  # noqa: S105
            made.append(token)
        else:
            clean = clean and token.isprintable()
            made.append(_outside(token))
    whole = "".join(made)
    return whole if clean else f"{_GUARD}(?:{whole})"


def _outside(token: str) -> str:
    if token.startswith("(?P<"):
        return "("
    if token == ".":  # noqa: S105
        return _ANY
    if token.startswith("{,"):
        return f"{{0{token[1:]}"
    return f"\\{token}" if token in ("{", "}", "]") else token


def _escape(letter: str, inside: bool) -> str:
    if letter in "dws":
        return _ASCII[letter] if inside else f"[{_ASCII[letter]}]"
    if letter in "DWS" and not inside:
        return f"[^{_ASCII[letter.lower()]}{CONTROLS}]"
    if letter in "AZ":
        return "^" if letter == "A" else "$"
    if letter.isalnum() or letter in _SYNTAX or (inside and letter == "-"):
        return f"\\{letter}"
    return letter if ord(letter) > 127 else f"\\x{ord(letter):02x}"

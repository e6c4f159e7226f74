"""Secrets that are handed out once, and the fingerprints that are kept of them.

A token is random, long, and known to whoever holds it; the store knows its SHA-256 alone. That is enough because a token
is not a word anybody could guess; a password is, and is `identity`'s matter.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

__all__ = ["fingerprint", "new_id", "new_token", "same"]

_LONGEST_TOKEN: Final = 400


def new_token(prefix: str = "") -> str:
    """A token of 256 random bits, after a prefix that says what it is."""
    return prefix + secrets.token_urlsafe(32)


def new_id(prefix: str) -> str:
    """An id of 120 random bits, such as `D-…`: not secret, and not to be guessed either."""
    return f"{prefix}-{secrets.token_urlsafe(15)}"


def fingerprint(token: str) -> str:
    """What the store keeps of `token`. A token longer than any that was made has the fingerprint of none."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest() if len(token) <= _LONGEST_TOKEN else ""


def same(one: str, other: str) -> bool:
    """Whether two fingerprints are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))

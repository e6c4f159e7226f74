"""The records that commands keep: each with who recorded it, through what, and when."""

from meridian.deployment.book.opening_balances import StoredBook

__all__ = ["StoredBook"]

"""The opening balance of an account: read a statement, check what it makes, record it. Serve it as `opening_balance:pages`."""

from opening_balance.views import pages

__all__ = ["pages"]

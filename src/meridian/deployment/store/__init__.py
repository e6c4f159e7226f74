"""Where a deployment keeps what must outlive it: one `Store`, its tables, and the migrations that make them."""

from meridian.deployment.store.store import Store

__all__ = ["Store"]

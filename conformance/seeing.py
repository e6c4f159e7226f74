"""What each client calls of the suite's plugin, and what the demo's writer and its reader are to see of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from conformance.serving import INSTANCE

__all__ = ["CALLS", "LISTED", "MADE", "NOTE", "REFUSED", "REFUSING", "TEXT", "connects", "differs", "sees"]

READS: Final = [f"{INSTANCE}__{tool}" for tool in ("test_simple_text", "test_error_handling", "json_schema_2020_12_tool")]
NOTE: Final = f"{INSTANCE}__write_note"
BESIDE: Final = [
    f"dashboard__{tool}"
    for tool in (
        "list_prepared_changes",
        "read_prepared_change",
        "count_prepared_changes",
        "prepare_change",
        "amend_prepared_change",
        "recheck_prepared_change",
        "withdraw_prepared_change",
        "list_plugins",
        "read_plugin_summary",
        "read_plugin_access",
        "list_my_delegations",
    )
]
"""What every client that reaches a plugin is listed of the dashboard, after the plugin's own."""
LISTED: Final = [*READS, NOTE, *BESIDE]
"""What the writer is listed; the reader is listed all but the note."""
SIMPLE, REFUSING = READS[:2]

TEXT: Final = "Call back on Monday."
CALLS: Final[list[tuple[str, dict[str, Any]]]] = [(SIMPLE, {}), (NOTE, {"text": TEXT}), (REFUSING, {})]
"""What each client calls, in this order."""

ANSWERED: Final = {"outcome": "unchanged", "data": {"text": "This is a simple text response for testing."}}
MADE: Final = {"outcome": "made", "data": {"text": TEXT}}


def refused(reason: str, detail: str) -> dict[str, Any]:
    """A refusal that blames no cell."""
    return {"outcome": "refused", "reason": reason, "detail": detail, "fields": []}


REFUSED: Final = refused("refused", "This tool intentionally returns an error for testing.")
NOT_SERVED: Final = refused("not_served", f"{NOTE} serves write; your person holds read.")


AS_THE_WRITER: Final = {"listed": LISTED, "calls": [[ANSWERED, False], [MADE, False], [REFUSED, True]]}
AS_THE_READER: Final = {"listed": [*READS, *BESIDE], "calls": [[ANSWERED, False], [NOT_SERVED, True], [REFUSED, True]]}


def sees(protocol: str) -> Callable[[str], str]:
    """What is wrong with what a client printed that it saw: as the writer, and then as the reader."""
    wanted = [{"protocol": protocol, **each} for each in (AS_THE_WRITER, AS_THE_READER)]
    return lambda printed: differs(json.loads(printed.splitlines()[-1]), wanted)


def connects(*, described: bool, **more: str) -> Callable[[str], str]:
    """What is wrong with what was seen of a client that was given the address alone, whose person is the writer.

    It asks its person to connect, and not again until it is revoked; then it sees nothing. Where it is `described`, it is
    known by a document. `more` is what it says of itself.
    """
    saw = [{**AS_THE_WRITER, **more}]
    wanted = {
        "described": described,
        "connected": {"asked": True, "saw": saw},
        "came back": {"asked": False, "saw": saw},
        "renewed": {"asked": False, "saw": saw},
        "revoked": {"asked": True, "saw": None},
        "called": [name for name, _ in reversed(CALLS)] * 3,
    }
    return lambda printed: differs(json.loads(printed.splitlines()[-1]), wanted)


def differs(seen: object, wanted: object) -> str:
    """In words, what was seen and what was to be seen; empty where they are the same."""
    return "" if seen == wanted else f"it saw  {json.dumps(seen)}\n      and not {json.dumps(wanted)}"

"""One peer in a process of its own: asked in lines of JSON, it says what it leaves undone of a piece of work, or times it.

`python -m bench.peers.worker NAME` runs in the peer's environment, where Meridian is not installed.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache, partial
from importlib import import_module

from bench.timing import calls_in, once, only_what_is_made
from bench.work import call, does, left_undone


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    peer = import_module(f"bench.peers.{sys.argv[1]}")
    doing = cache(partial(call, peer))
    for line in sys.stdin:
        work, calls = json.loads(line)
        if not does(peer, work):
            answer: object = None
        elif calls:
            with only_what_is_made():
                answer = once(doing(work), calls)
        else:
            answer = {"undone": _undone(peer, work), "calls": calls_in(0.025, doing(work))}
        print(json.dumps(answer), file=answers)


def _undone(peer: object, work: str) -> str:
    try:
        return left_undone(peer, work)
    except Exception as raised:  # noqa: BLE001  (a peer that raises leaves the work undone, and that is to be shown)
        return f"it raises {type(raised).__name__}"


if __name__ == "__main__":
    main()

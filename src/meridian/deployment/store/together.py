"""Works that wait at the same time, done in one transaction.

Works (functions of a connection) enter; the result of each leaves once its transaction has ended. A thread of this module's
own takes whatever waits, does it in one transaction and ends that once for all, so that many calls at once cost the disk no
more than one does. What a work means is its room's matter.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import anyio
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

__all__ = ["Together", "Work"]

MOST_TOGETHER: Final = 64
"""So many works share a transaction at most, so that a sibling process has its turn."""

Work = Callable[[Connection], Any]

log = logging.getLogger(__name__)


@dataclass
class _Waiting:
    """A work, who waits for it, and, once it is done, what it gave or raised."""

    work: Work
    lasting: bool
    loop: asyncio.AbstractEventLoop
    answered: asyncio.Future[Any]
    given: Any = None
    raised: BaseException | None = None


class Together:
    """What `threads` of a store do, each with a connection of its own that `connect` opens; its transactions are told whether
    they are lasting. `alone(work, lasting)` does a work by itself, over again where a sibling got between; `then(connection)`
    is done when the works were answered."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        alone: Callable[[Work, bool], Any],
        *,
        threads: int,
        then: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        self._connect = connect
        self._alone = alone
        self._then = then
        self._most_threads = threads
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()

    async def run(self, work: Work, *, lasting: bool = False) -> Any:
        """The result of `work`, after its transaction. Who is told to stop waiting stops once it is done."""
        loop = asyncio.get_running_loop()
        one = _Waiting(work, lasting, loop, loop.create_future())
        if not self._threads:
            self._start()
        self._waiting.put(one)
        with anyio.CancelScope(shield=True):
            return await one.answered

    def close(self) -> None:
        """Do what waits, and end the threads; the next work starts others."""
        with self._starting:
            threads, self._threads = self._threads, []
        for _ in threads:
            self._waiting.put(None)
        for thread in threads:
            thread.join()

    def _start(self) -> None:
        with self._starting:
            while len(self._threads) < self._most_threads:
                self._threads.append(threading.Thread(target=self._serve, name="meridian-store", daemon=True))
                self._threads[-1].start()

    def _serve(self) -> None:
        connection: Connection | None = None
        ends = False
        while not ends:
            together, ends = self._take()
            connection = self._do(together, connection)
            for loop in {one.loop for one in together}:
                with suppress(RuntimeError):  # a loop that was closed has nobody on it who waits
                    loop.call_soon_threadsafe(_tell, [one for one in together if one.loop is loop])
            if connection is not None and not self._is_done_after(connection):
                connection = None
        if connection is not None:
            connection.close()

    def _take(self) -> tuple[list[_Waiting], bool]:
        """What waits, as soon as anything does; and whether the thread is to end after it."""
        found: list[_Waiting] = []
        one = self._waiting.get()
        while one is not None:
            found.append(one)
            if len(found) == MOST_TOGETHER:
                return found, False
            try:
                one = self._waiting.get_nowait()
            except queue.Empty:
                return found, False
        return found, True

    def _do(self, together: Sequence[_Waiting], connection: Connection | None) -> Connection | None:
        """Do them in one transaction on `connection`, or a new one; the connection to go on with. Where one of several fails,
        or the database does, nothing of it is kept, and each is done alone."""
        try:
            connection = connection or self._connect()
            connection.execution_options(meridian_lasting=any(one.lasting for one in together))
            with connection.begin():
                for one in together:
                    one.given = one.work(connection)
        except Exception as fault:
            if connection is not None:
                connection.close()
            if len(together) == 1 and not isinstance(fault, DBAPIError):
                together[0].raised = fault
                return None
            log.debug("%d works are done one by one", len(together), exc_info=True)
            for one in together:
                self._do_alone(one)
            return None
        return connection

    def _is_done_after(self, connection: Connection) -> bool:
        """Do what is done when the works were answered; whether that went well. If not, the thread goes on with a connection
        anew, since whoever waits next waits for it."""
        try:
            self._then(connection)
        except Exception:
            log.exception("what follows a transaction failed")
            connection.invalidate()
            connection.close()
            return False
        return True

    def _do_alone(self, one: _Waiting) -> None:
        try:
            one.given = self._alone(one.work, one.lasting)
        except BaseException as fault:  # noqa: BLE001  whoever waits raises it
            one.raised = fault


def _tell(together: Sequence[_Waiting]) -> None:
    for one in together:
        if one.answered.done():
            continue
        if one.raised is None:
            one.answered.set_result(one.given)
        else:
            one.answered.set_exception(one.raised)

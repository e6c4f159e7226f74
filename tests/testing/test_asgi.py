"""An application is asked by real messages, in an event loop that is not the test's."""

import asyncio
import threading
from typing import Any

import pytest

from meridian.testing.asgi import CHUNK_BYTES, Heard, ask, running


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the sizes of the messages that the body came in."""
    sizes, more = [], True
    while more:
        message = await receive()
        sizes.append(len(message["body"]))
        more = message["more_body"]
    said = f"{scope['method']} {scope['path']}?{scope['query_string'].decode()} {sizes} {dict(scope['headers'])[b'x-note']!r}"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Note", b"n"), (b"x-note", b"\xe9")]})
    await send({"type": "http.response.body", "body": said.encode()[:5], "more_body": True})
    await send({"type": "http.response.body", "body": said.encode()[5:]})


def test_a_long_body_comes_in_several_messages_and_an_answer_may_too():
    heard = ask(echo, method="PUT", path="/é", query="a=1", headers=[("X-Note", "é")], body=b"x" * (CHUNK_BYTES + 1))
    said = f"PUT /é?a=1 [{CHUNK_BYTES}, 1] b'\\xe9'"
    assert heard == Heard(200, (("x-note", "n"), ("x-note", "é")), said.encode())


def test_what_the_application_raises_is_raised_here():
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ask(fails, method="GET", path="/")


def test_an_answer_that_is_not_whole_is_told():
    async def silent(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    with pytest.raises(RuntimeError, match=r"^GET /: the application returned before its answer was whole$"):
        ask(silent, method="GET", path="/")


def test_an_application_that_waits_hears_when_its_answer_was_taken():
    async def waits(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})
        assert (await receive())["type"] == "http.disconnect"

    assert ask(waits, method="GET", path="/").status == 204


def test_every_question_of_the_process_is_asked_in_one_loop_of_its_own():
    seen: list[tuple[Any, Any]] = []

    async def looks(scope: Any, receive: Any, send: Any) -> None:
        seen.append((asyncio.get_running_loop(), threading.current_thread()))
        await echo({**scope, "headers": [(b"x-note", b"")]}, receive, send)

    async def main() -> None:
        ask(looks, method="GET", path="/")
        seen.append((asyncio.get_running_loop(), threading.current_thread()))

    ask(looks, method="GET", path="/")
    asyncio.run(main())
    assert (seen[0] == seen[1], seen[1] == seen[2]) == (True, False)


def lifespan(*, fails: str = "") -> tuple[Any, list[str]]:
    told: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for moment in ("startup", "shutdown"):
            assert (await receive())["type"] == f"lifespan.{moment}"
            told.append(moment)
            if fails == moment:
                raise KeyError(moment)
            await send({"type": f"lifespan.{moment}.complete"})

    return app, told


def test_a_lifespan_runs_around_the_block():
    app, told = lifespan()
    with running(app):
        told.append("between")
    assert told == ["startup", "between", "shutdown"]


@pytest.mark.parametrize("moment", ["startup", "shutdown"])
def test_a_lifespan_that_fails_is_raised_here(moment: str):
    app, _ = lifespan(fails=moment)
    with pytest.raises(KeyError, match=moment), running(app):
        pass


def test_a_lifespan_that_says_it_failed_is_raised_here():
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(RuntimeError, match="no database"), running(app):
        pass


def test_a_lifespan_that_never_starts_is_told():
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    with pytest.raises(RuntimeError, match="before it said that it had started"), running(app):
        pass

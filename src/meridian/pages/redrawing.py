"""A form drawn again: where it did not read, was refused, or had a row added or removed.

What was asked enters, with the problems or the refusal; a response leaves. The form is drawn on the page it stands on, with
everything typed in it and every problem on its cell; alone where that page cannot draw it; and its problems in words where it
stands on no page.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, Protocol

from starlette.responses import Response

from meridian.errors import Problem, Refusal, Unread
from meridian.pages import answering
from meridian.pages.answering import Answer, Page
from meridian.pages.asked import Asked
from meridian.pages.asking import Redraw, Request
from meridian.pages.bodies import Body
from meridian.pages.declaring import Declaration, Pages
from meridian.pages.editing import edit_rows
from meridian.pages.guarding import serves
from meridian.pages.places import has_cell
from meridian.pages.showing import humanised
from meridian.pages.typed import Pairs
from meridian.records import as_sent, read_query

__all__ = ["Serving", "edited", "is_drawn", "redraw"]

log = logging.getLogger("meridian.pages")

NO_PAGE: Final = "The form stands on no page here, so that no row can be added or removed. Go back, and send it whole."


class Serving(Protocol):
    """What is asked of the application that serves the pages."""

    pages: Pages
    instance: str

    def request(self, asked: Asked) -> Request[Any]: ...

    def run(self, declaration: Declaration, request: Request[Any]) -> Awaitable[object]: ...

    def html(
        self,
        asked: Asked,
        template: str,
        context: Mapping[str, Any],
        *,
        status_code: int = 200,
        request: Request[Any] | None = None,
        ld_json: Mapping[str, Any] | None = None,
        error: bool = False,
    ) -> Response: ...

    def words(self, asked: Asked, status_code: int, reason: str, detail: str, problems: Sequence[Problem] = ()) -> Response: ...


async def edited(served: Serving, asked: Asked) -> Response | None:
    """The form again, where a button of the kit's own was pressed: a row added or removed, everything typed kept."""
    body, shape = asked.body, asked.declaration.shape
    if body.kind != "form":
        return None
    add, remove = body.value("meridian.add"), body.value("meridian.remove")
    if shape is not None and (add or remove):
        pairs = edit_rows(shape, body.pairs, add=add or None, remove=remove or None)
        again = _again(asked, pairs, focus=add or remove)
        return await _page_again(served, asked, again, HTTPStatus.OK, None) or served.words(
            asked, HTTPStatus.UNPROCESSABLE_ENTITY, "no_page", NO_PAGE
        )
    return None


async def redraw(
    served: Serving, asked: Asked, status_code: int, problems: Sequence[Problem], refusal: Refusal | None = None
) -> Response:
    """The form that was sent, drawn again where it stands; words where it stands nowhere."""
    detail = refusal.detail if refusal else ""
    reason = refusal.reason if refusal else "not_read"
    outcome = answering.refused(reason, detail or "Something did not read.", problems)
    if asked.method in ("GET", "HEAD"):
        return _ask(served, asked, status_code, problems, refusal, outcome)
    if refusal is not None and asked.reading is not None and not asked.reading.problems and asked.declaration.shape:
        problems = as_sent(asked.declaration.shape, asked.body.pairs, problems)
    if refusal is not None:
        problems = [_placed(asked, each) for each in problems]
    again = _again(asked, asked.body.pairs, problems, detail)
    return await _page_again(served, asked, again, status_code, outcome) or served.words(
        asked, status_code, reason, outcome["detail"], problems
    )


def is_drawn(asked: Asked, path: str) -> bool:
    """Whether a form may show a problem at `path`: it is the whole, a cell of the record or an input that was sent, or may be
    the input for a file, which is not sent where none was chosen."""
    shape, body = asked.declaration.shape, asked.body
    if not path or shape is None or has_cell(shape, path) or any(path == name for name, _ in body.pairs):
        return True
    return path.isidentifier() and asked.headers.get("content-type", "").startswith("multipart/form-data")


def _placed(asked: Asked, problem: Problem) -> Problem:
    """A problem at a cell that the record lacks, at the nearest around it, where a person reads its sentence."""
    path = problem.path
    while not is_drawn(asked, path):
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return problem if path == problem.path else replace(problem, path=path)


def _ask(
    served: Serving,
    asked: Asked,
    status_code: int,
    problems: Sequence[Problem],
    refusal: Refusal | None,
    outcome: Mapping[str, Any],
) -> Response:
    """The page that asks for what a page needs: a query that lacks it, or did not read, as a form."""
    if refusal is not None or asked.declaration.shape is None:
        return served.words(asked, status_code, str(outcome["reason"]), str(outcome["detail"]), problems)
    request = served.request(asked)
    if problems:
        request.redraw = Redraw(asked.path, request.pairs, tuple(problems))
    return served.html(
        asked,
        "meridian/ask.html",
        {"asked": asked.path, "by": "GET", "files": ()},
        status_code=status_code if problems else HTTPStatus.OK,
        request=request,
        ld_json=outcome if problems else None,
        error=bool(problems),
    )


async def _page_again(
    served: Serving, asked: Asked, redraw: Redraw, status_code: int, outcome: Mapping[str, Any] | None
) -> Response | None:
    """The page a form stands on, as by GET, with the form as it was sent; the form alone where that page cannot draw it, so
    that nothing typed is lost; None where there is no such page."""
    page = served.pages.page_of(asked.declaration)
    if page is None or not serves(page, asked.claims.caller):
        return None
    path, _, query = asked.body.value("meridian.page").partition("?")
    again = replace(
        asked,
        declaration=page,
        path=page.path,
        method="GET",
        query=query if path == page.path else "",
        body=Body("none", ""),
    )
    again.reading = None if page.shape is None else read_query(page.shape, again.query.encode("utf-8", "replace"))
    request = served.request(again)
    request.redraw = redraw

    def draw(template: str, context: Mapping[str, Any]) -> Response:
        error = outcome is not None
        return served.html(again, template, context, status_code=status_code, request=request, ld_json=outcome, error=error)

    try:
        given = await served.run(page, request)
        if isinstance(given, Page | Answer) and given.template:
            context = given.context if isinstance(given, Page) else {"data": given.data, **given.context}
            response = draw(given.template, context)
            if redraw.drawn or redraw.asked:
                return response
    except (Refusal, Unread):
        pass
    except Exception:
        log.exception("%s: %s failed, and so the form sent to %s stands alone", served.instance, page, asked.declaration)
    again.declaration = asked.declaration
    files = [(name, humanised(name)) for name in redraw.files]
    return draw("meridian/ask.html", {"asked": asked.path, "by": asked.method, "files": files})


def _again(asked: Asked, pairs: Pairs, problems: Sequence[Problem] = (), detail: str = "", focus: str = "") -> Redraw:
    """What a form is drawn again from."""
    files = {name: upload.filename or "the file" for name, upload in asked.body.files}
    return Redraw(asked.path, pairs, tuple(problems), detail, focus, files)

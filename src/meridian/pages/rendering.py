"""The template environment and the kit: a view's page becomes HTML. Jinja's one door.

Escaping is on for every template, whatever its ending. A plugin's templates may extend `meridian/base.html`, and have at
hand: `path("/confirm")`, `form("/confirm", start=record, submit="Record it")`, `form_token()` for a form drawn by hand,
`typed(path)` and `problem(path)` for its cells, `table(rows)`, and `request`, `caller` and `pages`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from meridian.errors import DeclarationError, Problem
from meridian.pages.alike import draw_field, draw_grid, draw_line, draw_rows
from meridian.pages.along import read_words, write_words
from meridian.pages.asking import Request
from meridian.pages.declaring import Declaration, Pages, near
from meridian.pages.drawing import draw_form, option_of
from meridian.pages.form import Form, FormTool
from meridian.pages.guarding import serves
from meridian.pages.showing import draw_record, draw_table, shown
from meridian.records import Shape

__all__ = ["Kit", "Surroundings", "environment"]

LEVEL_NAMES = {"read": "View", "write": "Open", "admin": "Manage"}


@dataclass(frozen=True)
class Surroundings:
    """What is around a plugin's page, which the deployment knows: its own name and address, and how to sign out.

    `sign_out` is the address and the token of the form that ends the session; None where there is no session. An empty token
    makes it a link to a page that asks, since a plugin's pages may send no form out of their prefix. `prepares` says that
    prepared changes are kept, so that forms offer Prepare.
    """

    kit_url: str = "/static/meridian"
    brand: tuple[str, str] = ("Meridian", "/")
    sign_out: tuple[str, str] | None = None
    prepares: bool = False


@dataclass
class Kit:
    """The environment of one plugin's templates, and how each of its pages is drawn."""

    pages: Pages
    surroundings: Surroundings
    links: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def environment(self) -> jinja2.Environment:
        """Jinja's environment: the plugin's own folder first, the kit's templates as `meridian/…`."""
        return environment(self.pages.templates)

    def draw(
        self,
        template: str,
        request: Request[Any],
        declaration: Declaration | None,
        token: str,
        context: Mapping[str, Any],
        *,
        title: str = "",
        ld_json: Mapping[str, Any] | None = None,
        error: bool = False,
    ) -> str:
        """The HTML of `template`. `token` is the form's, `title` the page's where the template names none, `ld_json` what a
        browser's agent is told, `error` that the title says so."""
        drawing = _Drawing(self, request, declaration, token)
        caller = request.caller
        with _told_to_its_author(self, declaration):
            return self.environment.get_template(template).render(
                {
                    "page": title or (declaration.title if declaration else self.pages.name),
                    "plugin": self.pages.name,
                    "tabs": drawing.tabs(),
                    "brand": self.surroundings.brand,
                    "person": caller.display_name or caller.subject,
                    "level_name": LEVEL_NAMES[caller.level],
                    "kit_url": self.surroundings.kit_url,
                    "sign_out": self.surroundings.sign_out,
                    "ld_json": None if ld_json is None else Markup(_script_safe(ld_json)),  # noqa: S704  escaped there
                    "error_prefix": error,
                    "redraw": request.redraw,
                    "request": request,
                    "caller": caller,
                    "pages": self.pages,
                    "path": request.path_for,
                    "form": drawing.form,
                    "form_token": drawing.form_token,
                    "typed": request.typed,
                    "problem": drawing.problem,
                    "table": drawing.table,
                    "record": drawing.record,
                    **context,
                }
            )


def environment(templates: Path | None = None) -> jinja2.Environment:
    """Jinja's environment: the folder `templates` first, then the kit's own as `meridian/…`."""
    own = [] if templates is None else [jinja2.FileSystemLoader(templates)]
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([*own, jinja2.PackageLoader("meridian.pages", "templates")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = shown
    made.globals |= {"draw_field": draw_field, "draw_grid": draw_grid, "draw_line": draw_line, "draw_rows": draw_rows}
    return made


@dataclass
class _Drawing:
    """What one page's template may call."""

    kit: Kit
    request: Request[Any]
    declaration: Declaration | None
    token: str

    def tabs(self) -> list[tuple[str, str, bool]]:
        """The plugin's pages that this session reaches: title, address, whether it is this one."""
        caller, here = self.request.caller, self.request.path
        return [
            (each.title, self.request.link(each.path), each.path == here)
            for each in self.kit.pages.declared
            if each.kind == "page" and serves(each, caller)
        ]

    def form(
        self,
        path: str,
        *,
        start: object = None,
        submit: str = "",
        method: str = "",
        files: Sequence[tuple[str, ...]] = (),
        prepare: bool | None = None,
        save: bool = True,
        again_at: str = "",
        id: str = "",  # noqa: A002
        **words: Any,
    ) -> Markup:
        """The form of the route at `path`: started from the record `start`, or with what was typed where it is drawn again.
        `files` are inputs for uploads: name, label, and what to accept. `again_at` is the page it is drawn again on, with the
        query that tells it what to show beside the form, where that is not this one. `id` tells two forms of one route apart on
        a page. `words` are the author's own for its cells, as `drawing.draw_form` takes them: `labels`, `choices`, `multiline`,
        `totals`, `without`, `zone`. Labels and choices are sent along, for where the form is drawn again without its page."""
        target = self._target(path, method)
        redraw = self.request.redraw
        if redraw is not None:
            if (redraw.path, redraw.form) == (path, id):
                redraw.drawn = True
            else:
                redraw = None
        query = f"?{self.request.query}" if self.request.query else ""
        page = again_at or f"{self.request.path}{query}"
        hidden = [] if target.method == "GET" else [("csrf", self.token), ("meridian.page", page)]
        if id and hidden:
            hidden.append(("meridian.form", id))
        if redraw is not None and target.shape is not None:
            words = {**read_words(target.shape, redraw.pairs), **words}
        if hidden:
            choices = {path: tuple(map(option_of, offered)) for path, offered in (words.get("choices") or {}).items()}
            hidden += write_words(words.get("labels") or {}, choices)
        tool = None
        if target.offered and target.shape is not None:
            tool = FormTool(target.name, target.description, auto_submit=target.reads)
        drawn = _drawn(
            path,
            target.shape,
            action=self.request.link(path),
            method="get" if target.method == "GET" else "post",
            start=start,
            pairs=redraw.pairs if redraw else None,
            problems=redraw.problems if redraw else (),
            detail=redraw.detail if redraw else "",
            submit=submit or target.title,
            id=id,
            hidden=hidden,
            spare_rows=0 if redraw else 2,
            focus=redraw.focus if redraw else "",
            prepare=self.kit.surroundings.prepares and target.checked_by is not None and prepare is not False,
            save=save and target.name not in self.request.second_pair_of_eyes,
            tool=tool,
            files=files,
            chosen=redraw.files if redraw else None,
            **words,
        )
        module: Any = self.kit.environment.get_template("meridian/form.html").module
        return Markup(module.draw(drawn))  # noqa: S704  the kit's own macro, escaped there

    def form_token(self) -> Markup:
        """The hidden input that a form drawn by hand carries."""
        query = f"?{self.request.query}" if self.request.query else ""
        return Markup(
            '<input type="hidden" name="csrf" value="{}"><input type="hidden" name="meridian.page" value="{}">'
        ).format(self.token, f"{self.request.path}{query}")

    def problem(self, path: str) -> str:
        """Why the cell at `path` did not read; empty where it did."""
        redraw = self.request.redraw
        problems: Sequence[Problem] = redraw.problems if redraw else ()
        if redraw is not None:
            redraw.asked = True
        return next((each.message for each in problems if each.path == path), "")

    def table(self, rows: Sequence[object], **words: Any) -> Markup:
        """A table of records, figures to the right."""
        module: Any = self.kit.environment.get_template("meridian/table.html").module
        return Markup(module.draw(draw_table(rows, **words)))  # noqa: S704  the kit's own macro, escaped there

    def record(self, data: object, **words: Any) -> Markup:
        """A record as a list of its fields, and tables of its rows."""
        module: Any = self.kit.environment.get_template("meridian/answer.html").module
        return Markup(module.draw(draw_record(data, **words)))  # noqa: S704  the kit's own macro, escaped there

    def _target(self, path: str, method: str) -> Declaration:
        at = [each for each in self.kit.pages.declared if each.path == path and each.kind != "tool"]
        chosen = [each for each in at if (method or each.method) in each.methods]
        if not chosen:
            like = near(path, {each.path for each in self.kit.pages.declared})
            raise DeclarationError(f"form({path!r}): nothing is declared there{' by ' + method if method and at else like}")
        return max(chosen, key=lambda each: each.method != "GET")


def _drawn(path: str, shape: Shape[Any] | None, **words: Any) -> Form:
    """The form of the route at `path`, by which a mistake in its author's words is told."""
    try:
        return draw_form(shape, **words)
    except DeclarationError as mistake:
        raise DeclarationError(f"form({path!r}): {mistake}") from None


@contextmanager
def _told_to_its_author(kit: Kit, declaration: Declaration | None) -> Iterator[None]:
    """What Jinja raises meanwhile, as a DeclarationError that names the view, the template and its line."""
    try:
        yield
    except jinja2.TemplateError as mistake:
        drawn = f"{declaration}: {declaration.source} draws" if declaration else f"{kit.pages.name}:"
        where = _where(mistake, kit.pages.templates)
        if isinstance(mistake, jinja2.TemplateNotFound):
            missing = ", ".join(getattr(mistake, "templates", ()) or [str(mistake.name)])
            what = f"{where}, which names {missing}" if where else missing
            folder = kit.pages.templates
            lacks = f"{folder} has no such template" if folder else f"Pages({kit.pages.name!r}) names no folder of templates="
            like = near(missing, kit.environment.list_templates())
            raise DeclarationError(f"{drawn} {what}, and {lacks}{like}") from None
        raise DeclarationError(f"{drawn} {where}: {mistake}") from mistake


def _where(mistake: jinja2.TemplateError, folder: Path | None) -> str:
    """The template and the line that a mistake stands in; empty where no template was begun."""
    if isinstance(mistake, jinja2.TemplateSyntaxError):
        return f"{mistake.name}, line {mistake.lineno}"
    found, trace = "", mistake.__traceback__
    while trace is not None:
        if "__jinja_exception__" in trace.tb_frame.f_globals:  # how Jinja marks a frame that it maps to a template's line
            file = Path(trace.tb_frame.f_code.co_filename)
            name = file.relative_to(folder).as_posix() if folder and file.is_relative_to(folder) else file.name
            found = f"{name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _script_safe(data: Mapping[str, Any]) -> str:
    """JSON that may stand inside a script element: no `<`, `>`, `&` and no line separator is left in it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text

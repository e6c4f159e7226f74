"""A drawn form is read as a browser without scripts reads it, and sends what that browser sends."""

from typing import Any

import pytest

from meridian.testing import Form
from meridian.testing.bodies import multipart, pairs_of, uploads_of
from meridian.testing.forms import read_forms


def form_of(inside: str, attributes: str = 'method="post" action="/x"') -> Form[Any]:
    [form] = read_forms(f"<form {attributes}>{inside}</form>")
    return form


@pytest.mark.parametrize(
    ("inside", "sent"),
    [
        ('<input name="a" value="1 &amp; 2">', [("a", "1 & 2")]),
        ('<input name="a">', [("a", "")]),
        ('<input value="no name">', []),
        ('<input name="a" disabled><fieldset disabled><input name="b"></fieldset>', []),
        ('<input type="hidden" name="a" value="1">', [("a", "1")]),
        ('<input type="checkbox" name="a">', []),
        ('<input type="checkbox" name="a" checked>', [("a", "on")]),
        ('<input type=hidden name=a value=0><input type=checkbox name=a value=1 checked>', [("a", "0"), ("a", "1")]),
        ('<input type="radio" name="a" value="1"><input type="radio" name="a" value="2" checked>', [("a", "2")]),
        ("<select name=a><option value=1>One<option value=2 selected>Two</select>", [("a", "2")]),
        ("<select name=a><option>One</option><option>Two</option></select>", [("a", "One")]),
        ("<select name=a multiple><option selected>1</option><option>2</option><option selected>3</option></select>", [
            ("a", "1"), ("a", "3"),
        ]),
        ("<textarea name=a>\n&lt;b&gt;\n two</textarea>", [("a", "<b>\n two")]),
        ("<textarea name=a></textarea>", [("a", "")]),
        ('<template><input name="a"></template><script>var x = "<input name=b>";</script>', []),
        ('<datalist><option value="1"></datalist>', []),
        ("<button name=b value=1>One</button><button name=b value=2>Two</button>", [("b", "1")]),
        ("<button type=button name=b value=1>No</button><button type=reset>No</button><input type=submit name=c value=Go>", [
            ("c", "Go"),
        ]),
    ],
)  # fmt: skip
def test_what_is_sent_is_what_a_browser_sends(inside: str, sent: list[tuple[str, str]]):
    assert list(form_of(inside).sends().pairs) == sent


def test_a_form_says_where_and_how_it_is_sent():
    sent = form_of("<input name=a value=1>", 'action="?x=1"').sends()
    assert (sent.method, sent.action, sent.multipart) == ("GET", "?x=1", False)
    sent = form_of(
        "<button formaction=/y formmethod=get>Go</button>", "method=POST action=/x enctype=multipart/form-data"
    ).sends()
    assert (sent.method, sent.action, sent.multipart) == ("GET", "/y", True)


def test_a_control_may_stand_outside_its_form():
    forms = read_forms(
        "<input name=a form=two value=1><form id=one></form><form id=two></form><button form=one name=b>B</button>"
    )
    assert [(form.id, form.names, [button.words for button in form.buttons]) for form in forms] == [
        ("one", (), ["B"]),
        ("two", ("a",), []),
    ]


FILLED = """
<input name=text value=was><textarea name=area></textarea><input type=checkbox name=box>
<input type=checkbox name=boxes value=1 checked><input type=checkbox name=boxes value=2>
<input type=radio name=radio value=1><input type=radio name=radio value=2>
<select name=select><option>1<option>2</select><select name=several multiple><option>1<option>2</select>
<input type=file name=file><button>Send it</button><button name=row value=lots>Add a row</button>
"""


def test_a_form_is_filled_in_and_says_what_is_in_it():
    form = form_of(FILLED)
    assert {name: form[name] for name in form} == {
        "text": "was", "area": "", "box": False, "boxes": ["1"], "radio": "", "select": "1", "several": [], "file": None,
    }  # fmt: skip
    values = {
        "text": "is", "area": "a\nb", "box": True, "boxes": ["2"], "radio": "2", "select": "2", "several": ["1", "2"],
        "file": ("x.ofx", b"OFX"),
    }  # fmt: skip
    assert form.fill(values) is form
    assert {name: form[name] for name in form} == values
    assert [pair for pair in form.sends().pairs if pair[0] in ("box", "boxes", "several")] == [
        ("box", "on"), ("boxes", "2"), ("several", "1"), ("several", "2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda form: form["txt"], "the form of /x draws no input 'txt'; did you mean 'text'?"),
        (lambda form: form.fill({"select": "3"}), "select offers '1', '2', and not '3'"),
        (lambda form: form.fill({"boxes": ["1", "3"]}), "boxes offers '1', '2', and not '3'"),
        (
            lambda form: form.sends("Delete it"),
            "the form of /x draws no button 'Delete it'; it draws 'Send it', 'Add a row'",
        ),
    ],
)
def test_what_was_not_drawn_cannot_be_used(do: Any, message: str):
    with pytest.raises(LookupError) as refused:
        do(form_of(FILLED))
    assert str(refused.value) == message


@pytest.mark.parametrize("button", ["Add a row", "row", "lots"])
def test_a_button_is_pressed_by_its_words_its_name_or_its_value(button: str):
    assert form_of(FILLED).sends(button).pairs[-1] == ("row", "lots")


def test_a_form_read_from_a_text_alone_is_sent_nowhere():
    with pytest.raises(TypeError, match=r"take it from client\.forms"):
        form_of(FILLED).submit()


@pytest.mark.parametrize(
    ("form", "pairs"),
    [
        (None, []),
        ({"a": "1", "b": ["2", "3"], "c": True, "d": False, "e": None, "f": 4}, [
            ("a", "1"), ("b", "2"), ("b", "3"), ("c", "on"), ("f", "4"),
        ]),
        ([("a", "1"), ("a", "2")], [("a", "1"), ("a", "2")]),
    ],
)  # fmt: skip
def test_a_forms_values_are_what_a_browser_makes_of_them(form: Any, pairs: list[tuple[str, str]]):
    assert pairs_of(form) == pairs


def test_uploads_may_be_bytes_or_have_a_name_and_a_type_and_be_several():
    files: Any = {"a": b"1", "b": ("x.txt", b"2"), "c": [("y", b"3", "text/x"), b"4"]}
    assert uploads_of(files) == [
        ("a", "a", b"1", "application/octet-stream"),
        ("b", "x.txt", b"2", "text/plain"),
        ("c", "y", b"3", "text/x"),
        ("c", "c", b"4", "application/octet-stream"),
    ]
    with pytest.raises(TypeError, match=r"^files\['a'\] is a name and its bytes, as \(\"statement\.ofx\", b\"…\"\), not "):
        uploads_of({"a": ("x.txt", "text")})  # type: ignore[dict-item]


def test_a_boundary_is_none_of_the_content():
    body, content_type = multipart([("a", "----MeridianFormBoundary")], {})
    boundary = content_type.partition("boundary=")[2]
    assert body.count(f"--{boundary}".encode()) == 2

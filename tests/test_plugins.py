"""What an operator types finds a plugin, or says what is near."""

import sys
from pathlib import Path

import pytest

from meridian.errors import DeploymentError
from meridian.plugins import check_name, find, load, warnings_of

ONE = 'import meridian\n\npages = meridian.Pages("Front desk")\n'
TOOL = '''
from dataclasses import dataclass

import meridian

pages = meridian.Pages("Desk")


@dataclass(frozen=True)
class Asked:
    account: str


@pages.route("/confirm", levels="write", methods=["POST"], params=Asked, name="confirm_the_opening_balance_of_an_account")
def confirm(request: meridian.Request[Asked]) -> meridian.Response:
    """Confirm."""
    return pages.answer(None, {})
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that modules are found in, as where `meridian` is typed."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_an_instance_is_named_by_the_operator_or_by_its_pages(home):
    write(home / "one_desk.py", ONE)
    assert [find(target).name for target in ("one_desk:pages", "operations=one_desk:pages", "one_desk")] == [
        "front-desk",
        "operations",
        "front-desk",
    ]


@pytest.mark.parametrize("target", ["packed_desk", "./packed_desk", "project", "packed_desk.inner.views:pages"])
def test_a_package_or_a_folder_that_has_one_pages_is_a_target(home, target):
    for folder in (home / "packed_desk", home / "project" / "src" / "projected_desk"):
        write(folder / "__init__.py")
        write(folder / "inner" / "__init__.py")
        write(folder / "inner" / "views.py", ONE)
    assert find(target).pages.name == "Front desk"


def refusal(target: str) -> str:
    with pytest.raises(DeploymentError) as refused:
        find(target)
    return str(refused.value)


def test_what_is_not_there_is_said_with_what_is_near(home):
    write(home / "near_desk" / "__init__.py")
    write(home / "near_desk" / "views.py", ONE + 'more = meridian.Pages("More")\nother = 1\n')
    assert refusal("near_dusk:pages") == "near_dusk: no module is called near_dusk; did you mean near_desk?"
    assert (
        refusal("near_desk.view:pages") == "near_desk.view: no module is called near_desk.view; did you mean near_desk.views?"
    )
    assert refusal("near_desk.views:page") == (
        "near_desk.views:page: near_desk.views has no page; it has near_desk.views:pages, near_desk.views:more"
    )
    assert refusal("near_desk.views:other").startswith(
        "near_desk.views:other: other is of the kind int, not a meridian.Pages; it has"
    )
    assert refusal("near_desk") == (
        "near_desk: one meridian.Pages is looked for there, and it has several, so name one: "
        "near_desk.views:pages, near_desk.views:more"
    )
    assert refusal("near desk:pages") == (
        "'near desk:pages' names no plugin; write package.module:pages, or a package or folder that has one `pages`"
    )
    assert refusal("near_desk/views.py:pages") == (
        "near_desk/views.py:pages is a file; a target names its module: write near_desk/views:pages"
    )
    assert refusal("./nowhere").startswith(f"{home / 'nowhere'}: there is no such folder")


def test_near_is_only_what_has_a_plugin(home):
    write(home / "slots.py", "x = 1\n")
    write(home / "slots_desk" / "readme.py", "x = 1\n")
    write(home / "lots_desk" / "lots.py", ONE)
    assert refusal("lotz:pages") == "lotz: no module is called lotz; is its package installed here?"
    assert refusal("shot:pages") == "shot: no module is called shot; is its package installed here?"
    assert refusal("./slot_desk") == f"{home / 'slot_desk'}: there is no such folder; did you mean lots_desk?"


def test_a_folder_is_a_target_whatever_stands_beside_its_plugin(home):
    write(home / "folder_desk" / "folded_desk.py", ONE)
    for name in ("test_folded_desk.py", "conftest.py", ".hidden.py", "tests/__init__.py"):
        write(home / "folder_desk" / name, ONE)
    for name in ("records_of_desk.py", "helping/__init__.py", "setup.py"):
        write(home / "folder_desk" / name, "x = 1\n")
    assert find("folder_desk").lasting == f"{home}/folder_desk/folded_desk:pages"
    write(home / "folder_desk" / "second_desk.py", ONE)
    assert refusal("folder_desk") == (
        f"{home / 'folder_desk'}: the folder has folded_desk, second_desk; name one of them; write package.module:pages"
    )


def test_a_target_is_kept_so_that_it_is_found_from_any_folder(home, monkeypatch):
    write(home / "kept" / "__init__.py")
    write(home / "kept" / "views.py", ONE)
    lasting = f"{home}/kept.views:pages"
    assert {find(target).lasting for target in ("a=kept", "kept.views:pages", "./kept", lasting)} == {lasting}
    assert find("operations=opening_balance:pages").lasting == "opening_balance:pages"  # installed, and so found anyway


def test_of_two_folders_with_one_module_of_a_name_the_second_is_told(home):
    for folder in ("one", "two"):
        write(home / folder / "same_desk.py", ONE)
    assert find("a=one/same_desk:pages").pages.name == "Front desk"
    assert refusal("b=two/same_desk:pages") == (
        f"{home / 'two'}: same_desk is loaded from {home / 'one'} already, and one process has one module of a name; rename it"
    )


def test_what_a_plugin_lacks_is_told_from_the_plugin_itself(home):
    write(home / "lacking_desk.py", "import a_library_nobody_has\n")
    assert refusal("lacking_desk:pages") == f"lacking_desk needs a_library_nobody_has, which is not installed in {sys.prefix}"


def test_what_a_plugin_raises_is_its_author_s(home):
    write(home / "raising_desk.py", "raise LookupError('mine')\n")
    with pytest.raises(LookupError, match="mine"):
        find("raising_desk:pages")


@pytest.mark.parametrize("name", ["dashboard", "mcp", "oauth", "static", "sign-in", "sign-out", "first-admin"])
def test_a_name_of_the_deployment_s_own_is_no_instance_s(name):
    with pytest.raises(DeploymentError, match=f"cannot be called {name}: that is an address of the deployment's own"):
        check_name(name)


@pytest.mark.parametrize("name", ["", "Desk", "1desk", "-desk", "front_desk", "desk/", "désk"])
def test_an_instance_s_name_is_small_letters_digits_and_hyphens(name):
    with pytest.raises(DeploymentError, match="small letters, digits and hyphens"):
        check_name(name)


def test_no_two_instances_have_one_name(home):
    write(home / "twice_desk.py", ONE)
    assert [each.name for each in load(["a=twice_desk", "b=twice_desk"])] == ["a", "b"]
    with pytest.raises(DeploymentError, match=r"the instance a is twice_desk already; name one otherwise, a-2=twice_desk"):
        load(["a=twice_desk", "a=twice_desk"])


def test_a_tool_s_whole_name_is_one_that_clients_take(home):
    write(home / "long_desk.py", TOOL)
    assert warnings_of(find("d=long_desk")) == ()
    assert len(warnings_of(find("operations=long_desk"))) == 1
    assert refusal("a-name-of-many-words-too=long_desk") == (
        "a-name-of-many-words-too=long_desk: the tool "
        "a-name-of-many-words-too__confirm_the_opening_balance_of_an_account has 67 characters, "
        "and clients take at most 64; name the instance or the route shorter"
    )

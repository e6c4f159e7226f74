"""Imports run one way through the rooms, read from the sources themselves."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "meridian"

ORDER = ["records", "commands", "pages", "", "plugins", "deployment", "cli"]
"""From left to right; a room imports only what stands to its left. "" is the package itself, which re-exports."""

OPEN_TO_ALL = {"errors", "callers"}

OUTSIDE = {
    "errors": set(),
    "callers": set(),
    "records": {"typing_extensions"},
    "commands": {"typing_extensions"},
    "pages": {"typing_extensions", "starlette", "jinja2", "markupsafe", "python_multipart", "anyio"},
    "": set(),
    "testing": {"typing_extensions", "hypothesis"},
}
"""What a room may import from outside the standard library; a room that is not named here may import what the extras bring."""

ELSEWHERE = ["sqlalchemy", "alembic", "mcp", "uvicorn", "pydantic", "argon2", "joserfc", "httpx2", "hypothesis", "pytest"]
"""What `import meridian` leaves alone."""


class Import(NamedTuple):
    """One import: the module it stands in, the module it names, and the line."""

    importer: str
    imported: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(module: str) -> Iterator[Import]:
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(module, f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base, node.lineno)


def room_of(module: str) -> str:
    return [*module.split("."), ""][1]


IMPORTS = [found for module in MODULES for found in imports_of(module)]
OURS = [found for found in IMPORTS if found.imported.split(".")[0] == "meridian"]
FOREIGN = [found for found in IMPORTS if found.imported.split(".")[0] not in {"meridian", *sys.stdlib_module_names}]


def test_every_module_stands_in_a_room_of_the_map():
    assert {room_of(module) for module in MODULES} <= {*ORDER, *OPEN_TO_ALL, "testing"}


def test_imports_run_one_way():
    def runs_backwards(found: Import) -> bool:
        here, there = room_of(found.importer), room_of(found.imported)
        if there in OPEN_TO_ALL or here == there:
            return False
        if here == "testing":
            return False
        if here in OPEN_TO_ALL or there == "testing":
            return True
        return ORDER.index(there) > ORDER.index(here)

    assert [found.where for found in OURS if runs_backwards(found)] == []


def test_no_two_modules_import_each_other():
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in OURS:
        if found.imported != found.importer:
            graph[found.importer].add(found.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        pytest.fail(" <- ".join(cycle.args[1]))


def test_each_room_imports_only_the_libraries_it_may():
    def is_elsewhere(found: Import) -> bool:
        allowed = OUTSIDE.get(room_of(found.importer))
        return allowed is not None and found.imported.split(".")[0] not in allowed

    assert [found.where for found in FOREIGN if is_elsewhere(found)] == []


@pytest.mark.parametrize(
    ("library", "door"),
    [
        ("jinja2", "meridian.pages.rendering"),
        ("python_multipart", "meridian.pages"),
        ("starlette", ("meridian.pages", "meridian.deployment")),
        ("sqlalchemy", "meridian.deployment"),
        ("alembic", "meridian.deployment.store"),
        ("argon2", "meridian.deployment.identity"),
        ("joserfc", "meridian.deployment.oidc"),
        ("httpx2", ("meridian.deployment.oidc", "meridian.deployment.oauth.fetching")),
        ("mcp", "meridian.deployment"),
        ("uvicorn", ("meridian.deployment", "meridian.cli")),
        ("hypothesis", "meridian.testing"),
    ],
)
def test_each_library_has_its_own_door(library: str, door: str | tuple[str, ...]):
    doors = (door,) if isinstance(door, str) else door
    elsewhere = [
        found.where
        for found in FOREIGN
        if found.imported.split(".")[0] == library
        and not any(found.importer == at or found.importer.startswith(f"{at}.") for at in doors)
    ]
    assert elsewhere == []


def loaded_by(statement: str) -> set[str]:
    ask = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(json.loads(told.stdout))


def test_importing_meridian_loads_nothing_of_the_deployment():
    loaded = loaded_by("import meridian")
    assert [name for name in ELSEWHERE if name in loaded] == []
    assert [name for name in loaded if name.startswith(("meridian.deployment", "meridian.cli", "meridian.testing"))] == []


def test_importing_meridian_loads_no_commands_and_none_of_what_only_serving_needs():
    """An import is paid for by whatever names the package, `meridian plugin check` and every test among them."""
    loaded = loaded_by("import meridian")
    ours = {name for name in loaded if name.startswith("meridian.commands") or name == "meridian.pages.serving"}
    assert ours | (loaded & {"jinja2", "sqlite3", "pydantic", "difflib", "pathlib"}) == set()


def test_records_can_be_used_alone():
    """The sources of `records` and what is open to all, without the package's own front door, are enough."""
    ask = (
        "import importlib.util, sys, types; "
        f"meridian = types.ModuleType('meridian'); meridian.__path__ = [{str(PACKAGE)!r}]; sys.modules['meridian'] = meridian; "
        "import meridian.records"
    )
    loaded = {name.split(".")[0] for name in loaded_by(ask)}
    assert loaded & {"starlette", "jinja2", "python_multipart", "anyio", *ELSEWHERE} == set()


def test_testing_needs_no_extra():
    assert [name for name in ELSEWHERE if name in loaded_by("import meridian.testing")] == []


def test_what_asks_a_provider_is_loaded_only_where_there_is_one():
    assert [name for name in loaded_by("import meridian.deployment.app") if name.startswith("joserfc")] == []

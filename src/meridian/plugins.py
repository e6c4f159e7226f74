"""Find a plugin by its target, load it, and check the names its tools go by on a surface.

What enters is what an operator typed, `[NAME=]package.module:pages`, or a package or a folder that has one `pages`; before
a module may stand the folder it is found in, `/srv/desk/front_desk:pages`. What leaves is a `Loaded`: a name, the Pages served
under it, and a target that finds them again from any folder. Which instances a deployment keeps, and their keys, is the
deployment's.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Final

from meridian.errors import DeploymentError
from meridian.pages import Pages

__all__ = [
    "LONGEST_NAME",
    "LONG_NAME",
    "TAKEN",
    "Loaded",
    "check_name",
    "find",
    "load",
    "look_in",
    "surface_name",
    "warnings_of",
]

TAKEN: Final = frozenset({"dashboard", "mcp", "oauth", "static", "sign-in", "sign-out", "first-admin"})
"""Names no instance may have: each is an address of the deployment's own."""

LONGEST_NAME: Final = 64
"""The longest `instance__tool` that the clients there are take."""
LONG_NAME: Final = 48
"""A longer `instance__tool` leaves some clients no room for the prefix they put before it."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
_PAGES: Final = re.compile(r"\bPages\s*\(")
_NO_PLUGIN: Final = re.compile(r"test_.*|.*_test|tests?|docs|conftest|__main__")
"""Names of modules and packages that are beside a plugin and are none."""

_added: Final[set[str]] = set()
"""The folders that modules are found in because a target, or where a command was typed, said so."""


@dataclass(frozen=True)
class Loaded:
    """A plugin as one deployment serves it: the Pages, under a name of its own.

    `target` is what was typed; `lasting` finds the same Pages from any folder, whatever is typed where.
    """

    name: str
    pages: Pages
    target: str
    lasting: str


def look_in(folder: Path, *, last: bool = False) -> None:
    """Find modules in `folder` too, before any other; or, where nobody chose the folder, after what is installed (`last`)."""
    home = str(folder)
    _added.add(home)
    if home not in sys.path:
        sys.path.insert(len(sys.path) if last else 0, home)
    importlib.invalidate_caches()


def load(targets: Iterable[str]) -> tuple[Loaded, ...]:
    """The instances that `targets` name, in that order. Raises DeploymentError, also where two would have one name."""
    instances: dict[str, Loaded] = {}
    for target in targets:
        instance = find(target)
        if (other := instances.get(instance.name)) is not None:
            raise DeploymentError(
                f"{target}: the instance {instance.name} is {other.target} already; name one otherwise, "
                f"{instance.name}-2={_split(target)[1]}"
            )
        instances[instance.name] = instance
    return tuple(instances.values())


def find(target: str) -> Loaded:
    """The instance that one target names. Raises DeploymentError, naming what is near where nothing is there."""
    named, source = _split(target)
    at, pages = _pages_at(source)
    name = named or _slug(pages.name)
    check_name(name)
    for tool in pages.tools:
        surface = surface_name(name, tool.name)
        if len(surface) > LONGEST_NAME:
            raise DeploymentError(
                f"{target}: the tool {surface} has {len(surface)} characters, and clients take at most {LONGEST_NAME}; "
                f"name the instance or the route shorter"
            )
    return Loaded(name, pages, source, _lasting(at))


def check_name(name: str) -> None:
    """Raise DeploymentError where no instance may be called `name`."""
    if not _NAME.fullmatch(name):
        raise DeploymentError(
            f"an instance cannot be called {name[:60]!r}; a name is small letters, digits and hyphens, from a letter on"
        )
    if name in TAKEN:
        raise DeploymentError(
            f"an instance cannot be called {name}: that is an address of the deployment's own; name it my-{name}=…"
        )


def surface_name(instance: str, tool: str) -> str:
    """What the tool of an instance is called on the deployment's surface."""
    return f"{instance}__{tool}"


def warnings_of(instance: Loaded) -> tuple[str, ...]:
    """What the operator should know of an instance that can be served all the same, a sentence each."""
    names = [surface_name(instance.name, tool.name) for tool in instance.pages.tools]
    return tuple(
        f"the tool {name} has {len(name)} characters; some clients put a prefix before it and then refuse it; "
        f"keep to {LONG_NAME}"
        for name in names
        if len(name) > LONG_NAME
    )


def _split(target: str) -> tuple[str, str]:
    """The name that a target begins with, empty where there is none, and the rest."""
    named, equals, source = target.partition("=")
    return (named, source) if equals and "/" not in named and "\\" not in named else ("", target)


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _pages_at(source: str) -> tuple[str, Pages]:
    """Where the Pages of a target stand, as `package.module:pages`, and the Pages."""
    if _is_a_folder(source):
        home, name = _package_in(Path(source).resolve())
        return _only(_pages_of(_import(name, home)), source)
    folder, slash, dotted = source.rpartition("/")
    found_in = Path(folder or "/").resolve() if slash else None
    if found_in is not None and not found_in.is_dir():
        raise DeploymentError(f"{source}: there is no folder {found_in}{_near(found_in.name, _folders(found_in))}")
    module, colon, attribute = dotted.partition(":")
    if module.endswith(".py"):
        written = f"{folder}{slash}{module.removesuffix('.py')}:{attribute or 'pages'}"
        raise DeploymentError(f"{source} is a file; a target names its module: write {written}")
    if not all(part.isidentifier() for part in module.split(".")) or (colon and not attribute.isidentifier()):
        raise DeploymentError(
            f"{source!r:.60} names no plugin; write package.module:pages, or a package or folder that has one `pages`"
        )
    found = _import(module, found_in)
    if not colon:
        return _only(_pages_of(found), source)
    pages = getattr(found, attribute, None)
    if isinstance(pages, Pages):
        return f"{module}:{attribute}", pages
    there = [name for name, value in vars(found).items() if isinstance(value, Pages)]
    if pages is not None:
        raise DeploymentError(
            f"{source}: {attribute} is of the kind {type(pages).__name__}, not a meridian.Pages{_or_these(module, there)}"
        )
    raise DeploymentError(f"{source}: {module} has no {attribute}{_or_these(module, there)}")


def _is_a_folder(source: str) -> bool:
    return ("/" in source or "\\" in source or source in {".", ".."} or Path(source).is_dir()) and ":" not in source


def _lasting(at: str) -> str:
    """`package.module:pages` with its folder before it, where another process would look in that folder only if told to."""
    top = sys.modules[at.partition(":")[0].partition(".")[0]]
    home = _home_of(top)
    told = {Path.cwd(), *map(Path, _added), *map(Path, filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))}
    return f"{home.as_posix()}/{at}" if home is not None and home in {each.resolve() for each in told} else at


def _home_of(top: ModuleType) -> Path | None:
    """The folder that a module or package of the first rank was found in."""
    if top.__file__ is not None:
        file = Path(top.__file__)
        return (file.parent.parent if file.name == "__init__.py" else file.parent).resolve()
    return next((Path(path).resolve().parent for path in getattr(top, "__path__", ())), None)


def _package_in(folder: Path) -> tuple[Path, str]:
    """The one plugin in `folder`, by where it is found and its name: the folder itself, or what is in it or under its `src`."""
    if not folder.is_dir():
        raise DeploymentError(f"{folder}: there is no such folder{_near(folder.name, _folders(folder))}")
    if (folder / "__init__.py").is_file():
        return folder.parent, folder.name
    home = folder / "src" if (folder / "src").is_dir() else folder
    names = _plugins_in(home)
    if len(names) != 1:
        there = f"has {', '.join(names)}; name one of them" if names else "has no module with a meridian.Pages"
        raise DeploymentError(f"{folder}: the folder {there}; write package.module:pages")
    return home, names[0]


def _plugins_in(home: Path) -> list[str]:
    """The modules and packages of a folder that make a Pages, by what is written in them."""
    return sorted(path.stem for path in home.iterdir() if _is_a_plugin(path)) if home.is_dir() else []


def _is_a_plugin(path: Path) -> bool:
    named = path.stem.isidentifier() and not _NO_PLUGIN.fullmatch(path.stem)
    return named and (path.suffix == ".py" or (path / "__init__.py").is_file()) and _makes_pages(path)


def _makes_pages(path: Path) -> bool:
    files = path.rglob("*.py") if path.is_dir() else (path,)
    return any(_PAGES.search(file.read_text(encoding="utf-8", errors="replace")) for file in files if file.is_file())


def _import(name: str, home: Path | None = None) -> ModuleType:
    """The module `name`, of the folder `home` where one is given. What its own code raises is the author's, and is left as it
    is."""
    if home is not None:
        look_in(home)
        top = sys.modules.get(name.partition(".")[0])
        if top is not None and (other := _home_of(top)) != home:
            raise DeploymentError(
                f"{home}: {top.__name__} is loaded from {other} already, and one process has one module of a name; rename it"
            )
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not (name == missing.name or name.startswith(f"{missing.name}.")):
            raise DeploymentError(f"{name} needs {missing.name}, which is not installed in {sys.prefix}") from missing
        parent, _, last = missing.name.rpartition(".")
        near = _near(last, _modules_of(parent, last), before=f"{parent}." if parent else "")
        raise DeploymentError(
            f"{name}: no module is called {missing.name}{near or '; is its package installed here?'}"
        ) from missing


def _modules_of(package: str, wanted: str) -> Iterator[str]:
    """The modules of a package, or of the first rank, that are near what is wanted and make a Pages."""
    if package:
        spec = importlib.util.find_spec(package)
        homes = list(spec.submodule_search_locations or ()) if spec is not None else []
    else:
        homes = sys.path
    for home in map(Path, homes):
        there = {module.name for module in pkgutil.iter_modules([str(home)])}
        if not package:
            there -= sys.stdlib_module_names
        for name in get_close_matches(wanted, there, n=3):
            file = home / f"{name}.py"
            if _makes_pages(file if file.is_file() else home / name):
                yield name


def _pages_of(module: ModuleType) -> dict[str, Pages]:
    """Every Pages of a module, or of a package and its modules, by where it stands; each once."""
    found: dict[int, tuple[str, Pages]] = {}
    modules = [module]
    if hasattr(module, "__path__") and not any(isinstance(value, Pages) for value in vars(module).values()):
        names = sorted(each.name for each in pkgutil.walk_packages(module.__path__, f"{module.__name__}."))
        modules += [_import(name) for name in names if not any(map(_NO_PLUGIN.fullmatch, name.split(".")[1:]))]
    for each in modules:
        for name, value in vars(each).items():
            if isinstance(value, Pages):
                found.setdefault(id(value), (f"{each.__name__}:{name}", value))
    return dict(found.values())


def _only(found: dict[str, Pages], source: str) -> tuple[str, Pages]:
    if len(found) != 1:
        there = f"has several, so name one: {', '.join(found)}" if found else "has none; write package.module:pages"
        raise DeploymentError(f"{source}: one meridian.Pages is looked for there, and it {there}")
    return next(iter(found.items()))


def _folders(missing: Path) -> list[str]:
    """The folders near a missing one that have a plugin."""
    home = missing.parent
    there = [path.name for path in home.iterdir() if path.is_dir()] if home.is_dir() else []
    near = (home / name for name in get_close_matches(missing.name, there, n=3))
    return [each.name for each in near if _plugins_in(each / "src") or _plugins_in(each) or _is_a_plugin(each)]


def _near(name: str, names: Iterable[str], before: str = "") -> str:
    close = get_close_matches(name, list(names), n=3)
    return f"; did you mean {' or '.join(before + each for each in close)}?" if close else ""


def _or_these(module: str, names: list[str]) -> str:
    return f"; it has {', '.join(f'{module}:{name}' for name in names)}" if names else "; it has no meridian.Pages at all"

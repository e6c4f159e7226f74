"""Find a plugin by its target, load it, and check the names its tools go by on a surface.

What enters is what an operator typed, `[NAME=]package.module:pages`, or a package or a folder that has one `pages`. What
leaves is a `Loaded`: a name, and the Pages served under it. Which instances a deployment keeps, and their keys, is the
deployment's.
"""

from __future__ import annotations

import importlib
import importlib.util
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

__all__ = ["LONGEST_NAME", "LONG_NAME", "TAKEN", "Loaded", "check_name", "find", "load", "surface_name", "warnings_of"]

TAKEN: Final = frozenset({"dashboard", "mcp", "oauth", "static", "sign-in", "sign-out", "first-admin"})
"""Names no instance may have: each is an address of the deployment's own."""

LONGEST_NAME: Final = 64
"""The longest `instance__tool` that the clients there are take."""
LONG_NAME: Final = 48
"""A longer `instance__tool` leaves some clients no room for the prefix they put before it."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True)
class Loaded:
    """A plugin as one deployment serves it: the Pages, under a name of its own."""

    name: str
    pages: Pages
    target: str


def load(targets: Iterable[str]) -> tuple[Loaded, ...]:
    """The instances that `targets` name, in that order. Raises DeploymentError, also where two would have one name."""
    instances: dict[str, Loaded] = {}
    for target in targets:
        instance = find(target)
        if (other := instances.get(instance.name)) is not None:
            raise DeploymentError(
                f"{target}: the instance {instance.name} is {other.target} already; name one otherwise, "
                f"{instance.name}-2={_source(target)}"
            )
        instances[instance.name] = instance
    return tuple(instances.values())


def find(target: str) -> Loaded:
    """The instance that one target names. Raises DeploymentError, naming what is near where nothing is there."""
    named, _, _ = target.rpartition("=")
    source = _source(target)
    pages = _pages_at(source)
    name = named or _slug(pages.name)
    check_name(name)
    for tool in pages.tools:
        surface = surface_name(name, tool.name)
        if len(surface) > LONGEST_NAME:
            raise DeploymentError(
                f"{target}: the tool {surface} has {len(surface)} characters, and clients take at most {LONGEST_NAME}; "
                f"name the instance or the route shorter"
            )
    return Loaded(name, pages, source)


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


def _source(target: str) -> str:
    return target.rpartition("=")[2]


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _pages_at(source: str) -> Pages:
    if _is_a_folder(source):
        return _only(_pages_of(_import(_package_in(Path(source)))), source)
    module, colon, attribute = source.partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or (colon and not attribute.isidentifier()):
        raise DeploymentError(
            f"{source!r:.60} names no plugin; write package.module:pages, or a package or folder that has one `pages`"
        )
    found = _import(module)
    if not colon:
        return _only(_pages_of(found), source)
    pages = getattr(found, attribute, None)
    if isinstance(pages, Pages):
        return pages
    there = [name for name, value in vars(found).items() if isinstance(value, Pages)]
    if pages is not None:
        raise DeploymentError(
            f"{source}: {attribute} is of the kind {type(pages).__name__}, not a meridian.Pages{_or_these(module, there)}"
        )
    raise DeploymentError(f"{source}: {module} has no {attribute}{_or_these(module, there)}")


def _is_a_folder(source: str) -> bool:
    return ("/" in source or "\\" in source or source in {".", ".."} or Path(source).is_dir()) and ":" not in source


def _package_in(folder: Path) -> str:
    """The name of the one package in `folder`, made importable: the folder itself, or what is under its `src`."""
    folder = folder.resolve()
    if not folder.is_dir():
        raise DeploymentError(f"{folder}: there is no such folder{_near(folder.name, _folders(folder.parent))}")
    if (folder / "__init__.py").is_file():
        home, names = folder.parent, [folder.name]
    else:
        home = folder / "src" if (folder / "src").is_dir() else folder
        names = sorted(path.parent.name for path in home.glob("*/__init__.py") if path.parent.name not in {"tests", "docs"})
        names = names or sorted(path.stem for path in home.glob("*.py") if path.stem.isidentifier())
    if len(names) != 1:
        there = f"has {', '.join(names)}; name one of them" if names else "has no package"
        raise DeploymentError(f"{folder}: the folder {there}; write package.module:pages")
    if str(home) not in sys.path:
        sys.path.insert(0, str(home))
    importlib.invalidate_caches()
    return names[0]


def _import(name: str) -> ModuleType:
    """The module `name`. What its own code raises is the author's, and is left as it is."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not (name == missing.name or name.startswith(f"{missing.name}.")):
            raise DeploymentError(f"{name} needs {missing.name}, which is not installed in {sys.prefix}") from missing
        parent, _, last = missing.name.rpartition(".")
        near = _near(last, _modules_of(parent), before=f"{parent}." if parent else "")
        raise DeploymentError(
            f"{name}: no module is called {missing.name}{near or '; is its package installed here?'}"
        ) from missing


def _modules_of(package: str) -> Iterator[str]:
    if not package:
        yield from (module.name for module in pkgutil.iter_modules())
    elif (spec := importlib.util.find_spec(package)) is not None:
        yield from (module.name for module in pkgutil.iter_modules(spec.submodule_search_locations))


def _pages_of(module: ModuleType) -> dict[str, Pages]:
    """Every Pages of a module, or of a package and its modules, by where it stands; each once."""
    found: dict[int, tuple[str, Pages]] = {}
    modules = [module]
    if hasattr(module, "__path__") and not any(isinstance(value, Pages) for value in vars(module).values()):
        names = sorted(each.name for each in pkgutil.walk_packages(module.__path__, f"{module.__name__}."))
        modules += [_import(name) for name in names if not name.endswith("__main__")]
    for each in modules:
        for name, value in vars(each).items():
            if isinstance(value, Pages):
                found.setdefault(id(value), (f"{each.__name__}:{name}", value))
    return dict(found.values())


def _only(found: dict[str, Pages], source: str) -> Pages:
    if len(found) != 1:
        there = f"has several, so name one: {', '.join(found)}" if found else "has none; write package.module:pages"
        raise DeploymentError(f"{source}: one meridian.Pages is looked for there, and it {there}")
    return next(iter(found.values()))


def _folders(home: Path) -> list[str]:
    return [path.name for path in home.iterdir() if path.is_dir()] if home.is_dir() else []


def _near(name: str, names: Iterable[str], before: str = "") -> str:
    close = get_close_matches(name, list(names), n=3)
    return f"; did you mean {' or '.join(before + each for each in close)}?" if close else ""


def _or_these(module: str, names: list[str]) -> str:
    return f"; it has {', '.join(f'{module}:{name}' for name in names)}" if names else "; it has no meridian.Pages at all"

"""The figures kept, as the tables and the drawing of `docs/performance.md`: `python -m bench.showing` writes its pages anew.

`python -m bench --keep` and `python -m bench.peers --run DIR --keep` keep what they measure, in `bench/figures`.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from bench import listing
from bench.drawing import Line, drawn
from bench.judging import Goal, Result
from bench.peers.running import PEERS, Beside
from bench.work import FLOORS, GROWING

__all__ = ["keep", "page", "picture"]

FIGURES = Path(__file__).with_name("figures")
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
LISTINGS = PAGE.with_name("how-a-record-is-read.md")
PICTURE = PAGE.with_name("growth.svg")
STAR = r"\*"
_PLACE = re.compile(r"(<!-- figures: (?P<of>[^>]+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def keep(name: str, results: list[dict[str, Any]]) -> None:
    """Keep what was measured, with the day and the kind of machine."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    measured = {"day": f"{datetime.now(UTC):%Y-%m-%d}", "python": python, "processor": _processor(), "results": results}
    FIGURES.mkdir(exist_ok=True)
    (FIGURES / f"{name}.json").write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def page(text: str) -> str:
    """`text` with each place for figures filled in with those that were kept."""
    return _PLACE.sub(lambda found: f"{found[1]}\n{_part(found['of'])}\n\n", text)


def _part(of: str) -> str:
    """What stands in a place: a benchmark's figures, the peers' at one kind of work, the `machine` or the peers' `versions`."""
    if of == "machine":
        return _machines()
    if of == "versions":
        return "\n".join(f"- **{about.title}** ({', '.join(about.requires)}): {about.note}." for about in PEERS.values())
    benchmark, _, verb = of.partition(" ")
    if benchmark == "peers":
        return _table(_beside_peers(verb))
    return _table(_hostile() if benchmark == "hostile" else _alone(benchmark))


# Meridian alone


def _alone(benchmark: str) -> Iterator[list[str]]:
    yield ["", "Meridian", "beside", "at most", "aim"]
    for result in _results(benchmark):
        goal = result.goal
        held = [f"{goal.at_most:g}" if goal else "", f"{goal.aim:g}" if goal and goal.aim else ""]
        yield [result.case, _figure(result), result.against, *held]


def _hostile() -> Iterator[list[str]]:
    """The time and the memory of an input in one row."""
    yield ["a megabyte of", "ms", "at most", "MB", "at most"]
    for what, both in groupby(_results("hostile"), lambda result: result.case.removesuffix(", memory")):
        cells = [cell for result in both for cell in (_figure(result), f"{result.goal.at_most:g}" if result.goal else "")]
        yield [what.removeprefix("hostile "), *cells]


def _results(benchmark: str) -> Iterator[Result]:
    for each in _kept(benchmark)["results"]:
        yield Result(**each | {"goal": each["goal"] and Goal(**each["goal"])})


def _figure(result: Result) -> str:
    unit = "" if result.unit == "exponent" else f" {result.unit}"
    return f"{_number(result.figure)}{unit}{' (missed)' if result.missed else ''}"


# Meridian beside its peers


def _beside_peers(verb: str) -> Iterator[list[str]]:
    """How many times as long as Meridian each takes; a star where it leaves something undone."""
    results = [each for each in _peers() if each.work.startswith(verb) and each.work not in GROWING]
    works = list(dict.fromkeys(each.work for each in results))
    yield ["", *(work.removeprefix(f"{verb} ").removesuffix(" valid") for work in works)]
    found = {(each.peer, each.work): _number(1 / each.ratio) + (STAR if each.undone else "") for each in results}
    for peer in dict.fromkeys(each.peer for each in results):
        if peer != "Meridian":
            yield [peer, *(found.get((peer, work), "") for work in works)]


def picture() -> str:
    """Microseconds a row at 10 to 10,000 rows, everyone who reads them."""
    panels = {}
    for source in ("json", "form"):
        for record, lots, what in (("M", 1, "lots"), ("L", 5, "lots in positions")):
            lines: dict[str, list[tuple[float, float]]] = {}
            for each in _peers():
                if each.work in GROWING and each.work.startswith(f"{source} {record}"):
                    rows = int(each.work.split()[2]) * lots
                    lines.setdefault(each.peer, []).append((rows, each.microseconds / rows))
            title = f"{'JSON' if source == 'json' else 'A form'}, {what}"
            panels[title] = [Line(peer, sorted(points), _weight(peer)) for peer, points in lines.items()]
    return drawn(panels, "rows", "microseconds a row")


def _weight(peer: str) -> str:
    return "ours" if peer == "Meridian" else "floor" if peer in FLOORS.values() else "peer"


def _peers() -> list[Beside]:
    return [Beside(**each) for each in _kept("peers")["results"]]


# what both need


def _table(rows: Iterable[list[str]]) -> str:
    head, *body = rows
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---", *["---:"] * (len(head) - 1)], *body))


def _number(figure: float) -> str:
    """Three digits that count, and never an exponent."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}"


def _machines() -> str:
    """When and on what each benchmark was run."""
    run: dict[str, list[str]] = {}
    for path in sorted(FIGURES.glob("*.json")):
        kept = _kept(path.stem)
        run.setdefault(f"{kept['day']}, {kept['python']}, {kept['processor']}", []).append(path.stem)
    return "\n".join(f"- {', '.join(names)}: {when}." for when, names in run.items())


def _kept(name: str) -> Any:
    return json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))


def _processor() -> str:
    """The kind of processor, where the system tells."""
    told = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.+)$", told.read_text(encoding="utf-8"), re.MULTILINE) if told.exists() else []
    return f"{len(names)} × {names[0]}" if names else platform.machine()


if __name__ == "__main__":
    for path, filled_in in ((PAGE, page), (LISTINGS, listing.page)):
        path.write_text(filled_in(path.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")

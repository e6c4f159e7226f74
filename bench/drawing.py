"""Lines drawn as an SVG that is read in the light and in the dark: numbers in, text out. Both axes are logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

__all__ = ["Line", "drawn"]

Points = list[tuple[float, float]]

WIDTH, HEIGHT = 480, 340
LEFT, RIGHT, TOP, BOTTOM = 46, 165, 34, 40
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 14px; }
  .faint { fill: #656d76; }
  .grid { stroke: #d1d9e0; stroke-width: 1; }
  path { fill: none; stroke-linejoin: round; }
  path.leader { stroke: #8c959f; stroke-width: 0.5; }
  path.peer { stroke: #8c959f; stroke-width: 1.25; }
  path.floor { stroke: #656d76; stroke-width: 1.5; stroke-dasharray: 3 3; }
  path.ours { stroke: #0969da; stroke-width: 3; }
  text.ours { fill: #0969da; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .faint { fill: #9198a1; }
    .grid { stroke: #3d444d; }
    path.peer { stroke: #7d8590; }
    path.floor { stroke: #9198a1; }
    path.ours { stroke: #58a6ff; }
    text.ours { fill: #58a6ff; }
  }
"""


class Line(NamedTuple):
    label: str
    points: Points
    weight: str
    """`ours`, `floor` or `peer`."""


def drawn(panels: Mapping[str, list[Line]], across: str, up: str) -> str:
    """Panels, two in a row, that share what each axis spans."""
    points = [point for lines in panels.values() for line in lines for point in line.points]
    columns, rows = _span(x for x, _ in points), _span(y for _, y in points)
    height = HEIGHT * math.ceil(len(panels) / 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" role="img">',
        f"<title>{up}, by {across}: {'; '.join(panels)}</title>",
        f"<style>{STYLE}</style>",
    ]
    for n, (title, lines) in enumerate(panels.items()):
        place = f"translate({n % 2 * WIDTH} {n // 2 * HEIGHT})"
        parts += [f'<g transform="{place}">', *_panel(title, lines, columns, rows, f"{up}, by {across}"), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _span(values: Iterable[float]) -> range:
    """The powers of ten around the values."""
    powers = [math.log10(value) for value in values]
    return range(math.floor(min(powers)), math.ceil(max(powers)) + 1)


def _panel(title: str, lines: list[Line], columns: range, rows: range, axes: str) -> Iterator[str]:
    def x(value: float) -> float:
        return LEFT + (math.log10(value) - columns[0]) / (len(columns) - 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(value) - rows[0]) / (len(rows) - 1) * (HEIGHT - TOP - BOTTOM)

    yield f'<text class="title" x="{LEFT}" y="16">{title}</text>'
    for power in rows:
        at = y(10.0**power)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text class="faint" x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:,g}</text>'
    for power in columns:
        at = x(10.0**power)
        yield f'<text class="faint" x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{10**power:,}</text>'
    yield f'<text class="faint" x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{axes}</text>'
    ordered = sorted(lines, key=lambda line: y(line.points[-1][1]))
    for line, label_y in zip(ordered, _apart([y(line.points[-1][1]) for line in ordered]), strict=True):
        path = " ".join(f"{x(across_at):.1f},{y(up_at):.1f}" for across_at, up_at in line.points)
        yield f'<path class="{line.weight}" d="M{path}"/>'
        yield f'<path class="leader" d="M{path.rpartition(" ")[2]} l6,0 L{WIDTH - RIGHT + 18},{label_y:.1f} l4,0"/>'
        yield f'<text class="{line.weight}" x="{WIDTH - RIGHT + 25}" y="{label_y + 4:.1f}">{line.label}</text>'


def _apart(places: list[float], distance: float = 14) -> list[float]:
    """Places in order, moved apart: down as far as it takes, and up again from the end of the panel."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + distance) if moved else place)
    lowest: float = HEIGHT - BOTTOM - 4
    for n in reversed(range(len(moved))):
        moved[n] = min(moved[n], lowest)
        lowest = moved[n] - distance
    return moved

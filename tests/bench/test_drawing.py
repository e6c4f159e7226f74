"""Lines drawn."""

from xml.etree import ElementTree as ET

from bench.drawing import Line, drawn

SVG = "{http://www.w3.org/2000/svg}"


def test_a_level_line_is_level_and_labels_keep_apart():
    lines = [Line("one", [(10, 2), (1000, 2)], "ours"), Line("another", [(10, 3), (1000, 2.01)], "peer")]
    panel = ET.fromstring(drawn({"JSON": lines}, "rows", "microseconds")).find(f"{SVG}g")  # noqa: S314  (drawn here)
    assert panel is not None
    paths = {path.get("class"): path.get("d", "").removeprefix("M").split() for path in panel.iter(f"{SVG}path")}
    heights = [point.partition(",")[2] for point in paths["ours"]]
    labels = [float(text.get("y", "")) for text in panel.iter(f"{SVG}text") if text.get("class") in ("ours", "peer")]
    assert heights[0] == heights[1]
    assert labels[1] - labels[0] >= 14

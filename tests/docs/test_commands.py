"""Every command shown with its output prints that output.

A `console` block holds lines that begin with `$ `, each followed by what the command prints.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = [
    pytest.param(command, output, id=f"{page.stem}: {command}")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for block in BLOCK.finditer(page.read_text(encoding="utf-8"))
    for command, output in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block["text"], re.MULTILINE)
]


@pytest.mark.parametrize(("command", "output"), SHOWN)
def test_a_command_prints_what_its_page_shows(command: str, output: str, tmp_path: Path):
    program, *arguments = shlex.split(command)
    printed = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert printed.stdout + printed.stderr == output

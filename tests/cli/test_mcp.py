"""`meridian mcp`, started by the official client as a client starts its servers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from deployment.running.serving import TO_LOOK
from meridian.deployment.surface import STANDS_NO_LONGER

pytestmark = pytest.mark.anyio

MERIDIAN = str(Path(sys.executable).with_name("meridian"))


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def people(meridian):
    """The demo's people, of a deployment that was served once."""
    served = meridian("serve", "desk=front_desk:pages", "--data", "data", "--port", "0", "--demo", "--json")
    told = served.told()
    served.end()
    return {each["subject"]: each for each in told["people"]}


def started(folder, token, *targets):
    return StdioServerParameters(
        command=MERIDIAN, args=["mcp", *targets, "--data", "data"], env={**os.environ, "MERIDIAN_TOKEN": token}, cwd=folder
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("targets", [(), ("desk=front_desk:pages",)])
async def test_a_client_lists_and_calls_its_person_s_tools_whatever_a_plugin_prints(folder, people, mode, targets):
    async with Client(started(folder, people["demo-writer"]["client_token"], *targets), mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["desk__list_reached", *TO_LOOK]
        answered = await client.call_tool("desk__list_reached", {})
        assert answered.structured_content == {"outcome": "unchanged", "data": {"accounts": ["A-1", "A-2"]}}


@pytest.mark.parametrize("typed", [True, False])
async def test_a_client_starts_it_in_any_folder(folder, people, tmp_path_factory, typed):
    """With the targets that were printed, and with those that the deployment remembers."""
    targets = [f"desk={folder}/front_desk:pages"] if typed else []
    server = StdioServerParameters(
        command=MERIDIAN,
        args=["mcp", *targets, "--data", str(folder / "data")],
        env={**os.environ, "MERIDIAN_TOKEN": people["demo-writer"]["client_token"]},
        cwd=tmp_path_factory.mktemp("elsewhere"),
    )
    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["desk__list_reached", *TO_LOOK]


async def test_no_module_of_the_folder_that_a_client_works_on_stands_in_for_an_installed_one(folder, people, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("opening_balance", "ofxtools", "psycopg", "sniffio", "yaml"):
        (elsewhere / f"{name}.py").write_text(f"open({str(elsewhere / 'ran')!r}, 'a').write({name!r})\nfrom missing import x\n")
    server = StdioServerParameters(
        command=MERIDIAN,
        args=["mcp", "balance=opening_balance:pages", "--data", str(folder / "data")],
        env={**os.environ, "MERIDIAN_TOKEN": people["demo-writer"]["client_token"]},
        cwd=elsewhere,
    )
    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == []
    assert not (elsewhere / "ran").exists()


def test_a_client_that_discovers_and_then_opens_the_older_way_is_served(folder, people):
    """Claude Code asks `server/discover` and goes on with `initialize`."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    opened = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"id": 0, "method": "server/discover", "params": {"_meta": meta}},
        {"id": 1, "method": "initialize", "params": opened},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    with subprocess.Popen(
        [MERIDIAN, "mcp", "--data", "data"],
        cwd=folder,
        env={**os.environ, "MERIDIAN_TOKEN": people["demo-writer"]["client_token"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = {}
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            if "id" in message:
                answer = json.loads(process.stdout.readline())
                answers[answer["id"]] = answer["result"]
        process.stdin.close()
        assert process.wait(30) == 0
    assert answers[0]["supportedVersions"] == ["2026-07-28"]
    assert answers[1]["protocolVersion"] == "2025-11-25"
    assert [tool["name"] for tool in answers[2]["tools"]] == ["desk__list_reached", *TO_LOOK]


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("", "meridian: MERIDIAN_TOKEN is not set; put a client token there, made under Connected clients\n"),
        ("mrd_wrong", f"meridian: MERIDIAN_TOKEN: {STANDS_NO_LONGER}\n"),
    ],
)
def test_without_a_token_that_stands_nothing_is_served(folder, people, token, said):
    ended = subprocess.run(
        [MERIDIAN, "mcp", "--data", "data"],
        cwd=folder,
        env={**os.environ, "MERIDIAN_TOKEN": token},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", said)

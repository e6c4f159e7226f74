"""Ask a deployment with each program there is a check for, and say of each whether it passed.

python -m conformance NODE    with a Node of 22.19 or later; the packages of package.json are installed beside this file
"""

from __future__ import annotations

import secrets
import shutil
import sys
from pathlib import Path
from typing import Final

from conformance.checking import run
from conformance.checks import authorization, clients, connections, inspector, suite
from conformance.describing import DOCUMENT, documents
from conformance.person import Person
from conformance.proxy import listening
from conformance.serving import INSTANCE, WRITER, serving

RUNS: Final = Path(__file__).with_name(".runs")
"""What the last run kept: the deployments' data, and what each program printed."""


def main(node: str) -> int:
    """Run every check; 0 where all passed."""
    shutil.rmtree(RUNS, ignore_errors=True)
    RUNS.mkdir()
    passed: list[bool] = []
    with listening() as proxy, serving(RUNS / "proxied", RUNS / "proxied.log", public_url=proxy.url) as behind:
        proxy.stand_before(behind.url, token=behind.tokens[WRITER], instance=INSTANCE)
        passed += [run(check, RUNS) for check in suite(node, proxy.url, RUNS)]
    with serving(RUNS / "served", RUNS / "served.log") as deployment:
        person = Person.by_link(WRITER, deployment.links[WRITER], secrets.token_urlsafe())
        for checks in (inspector(node, deployment), clients(node, deployment)):
            passed += [run(check, RUNS) for check in checks]
        for checks in (authorization(node, deployment, person), connections(node, deployment, person)):
            passed += [run(check, RUNS) for check in checks]
    with documents(RUNS) as program, serving(RUNS / "asking", RUNS / "asking.log", program=program) as deployment:
        person = Person.by_link(WRITER, deployment.links[WRITER], secrets.token_urlsafe())
        passed += [run(check, RUNS) for check in connections(node, deployment, person, DOCUMENT)]
    print(f"{passed.count(True)} passed, {passed.count(False)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

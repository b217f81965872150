"""What `kubectl edl convert` prints, as the real API server and our webhook take it."""

import io
import os
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from edl import contract
from edl.writes import Json
from kubectl_edl.main import run, this_process
from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parents[2] / "examples" / "convert"
SOURCES = sorted(path for path in EXAMPLES.glob("*.yaml") if not path.name.endswith(".jobs.yaml"))


def converted(source: Path) -> str:
    """By the plugin's own command line, in this process."""
    out, err = io.StringIO(), io.StringIO()
    cli = replace(this_process(), out=out, err=err)
    code = run(["convert", "-f", str(source)], cli, os.environ)
    assert code in (0, 7), err.getvalue()
    return out.getvalue()


def documents(text: str) -> list[Json]:
    return [document for document in yaml.safe_load_all(text) if document]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_api_server_takes_every_conversion(installed: Stage, source: Path) -> None:
    text = converted(source)
    jobs = documents(text)
    said = installed.kubectl(
        *("apply", "--dry-run=server", "--validate=strict", "-o", "yaml", "-f", "-"), text=text
    )
    (answer,) = documents(said)
    stored = answer["items"] if answer["kind"] == "List" else [answer]
    assert [job["metadata"]["name"] for job in stored] == [job["metadata"]["name"] for job in jobs]
    for job in stored:
        assert contract.INJECTED_MAX in job["metadata"]["annotations"]


def test_a_converted_tfjob_runs(installed: Stage) -> None:
    text = converted(EXAMPLES / "dragon.yaml")
    jobs = documents(text)
    for job in jobs:
        job["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    del (
        jobs[1]["metadata"]["labels"][contract.GPU],
        jobs[1]["metadata"]["labels"][contract.GPU_MEMORY],
    )
    del jobs[1]["metadata"]["annotations"][contract.GPU_LIMIT]
    installed.apply(*jobs)
    installed.until_runs("job1-ps", 1)
    installed.until_runs("job1-worker", 4)


@pytest.mark.parametrize("name", ["kueue", "kai"])
def test_the_webhook_takes_converted_teams(installed: Stage, name: str) -> None:
    text = converted(EXAMPLES / "queues" / f"{name}.yaml")
    strict = ("apply", "--dry-run=server", "--validate=strict", "-o", "yaml", "-f", "-")
    (answer,) = documents(installed.cluster.kubectl(*strict, input=text))
    assert answer["data"] == documents(text)[0]["data"]

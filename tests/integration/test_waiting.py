"""docs/tasks/wait-in-scripts.md, its commands as they stand there, by the real kubectl."""

from __future__ import annotations

import re
import shlex
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.support.stage import elastic

if TYPE_CHECKING:
    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[2] / "docs" / "tasks" / "wait-in-scripts.md"
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
COMMANDS = [shlex.split(line)[1:] for line in LINES if line.startswith("kubectl wait ")]
(LOOP,) = (line for line in LINES if not line.startswith("kubectl "))


def test_the_page_has_the_commands_below() -> None:
    assert LINES[3] == LOOP
    assert [(words[0], words[1].removeprefix("job/")) for words in COMMANDS] == [
        *[("wait", "sweep")] * 5,
        ("wait", "job"),
    ]


def test_a_started_job_needs_no_condition_to_be_found_started(installed: Stage) -> None:
    """As one that was started before the Job controller had seen it suspended."""
    manifest = elastic("sweep")
    manifest["metadata"]["labels"] = {}
    installed.apply(manifest)
    assert "condition met" in installed.kubectl(*COMMANDS[0])
    conditions = installed.job("sweep").get("status", {}).get("conditions", ())
    assert not [one for one in conditions if one["type"] == "Suspended"]


def in_shell(stage: Stage, line: str) -> None:
    kubectl = f"{shlex.quote(str(stage.cluster.kubectl_path))} -n {stage.namespace} "
    subprocess.run(
        ["sh", "-c", line.replace("kubectl ", kubectl)],
        env=stage.cluster.kubectl_environment(), check=True,
    )  # fmt: skip


def test_kubectl_waits_for_a_start_sizes_and_the_end(installed: Stage) -> None:
    queued, started, decided, shrunk, *ended = COMMANDS
    said: list[str] = []
    waiting = threading.Thread(target=lambda: said.append(installed.kubectl(*started)))
    labels = {"min": "1", "max": "4", "job": "sweep"}
    spec: Json = {"parallelism": 1, "completions": 4, "completionMode": "Indexed"}
    installed.apply(elastic("sweep", labels=labels, **spec))
    waiting.start()
    said.append(installed.kubectl(*queued))
    in_shell(installed, LOOP)
    waiting.join()
    installed.annotate("sweep", replicas="2")
    said += [installed.kubectl(*words) for words in (decided, shrunk)]
    installed.annotate("sweep", replicas=None)
    ending = threading.Thread(target=lambda: said.extend(installed.kubectl(*w) for w in ended))
    ending.start()
    done: set[str] = set()
    while ending.is_alive():
        for pod in installed.pods("sweep"):
            index = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
            if pod["status"].get("phase") == "Running" and index not in done:
                installed.complete("sweep", int(index))
                done.add(index)
        ending.join(0.1)
    assert said == ["job.batch/sweep condition met\n"] * len(COMMANDS)

"""Refusals of the webhook, as the commands of kubectl print them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from edl import contract
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration

MAX = f"metadata.labels[{contract.MAX}]"
EDITOR = """#!/bin/sh
cp "$1" "{seen}"
sed -i '{change}' "$1"
"""


@pytest.fixture
def teams(installed: Stage) -> Iterator[Stage]:
    document = "teams: [{name: vision, guaranteed: {cpu: 3}}]"
    named = (contract.TEAMS_CONFIG_MAP, "-n", contract.SYSTEM_NAMESPACE)
    text = f"--from-literal={contract.TEAMS_KEY}={document}"
    installed.cluster.kubectl("create", "configmap", *named, text)
    yield installed
    installed.cluster.kubectl("delete", "configmap", *named)


def edited(stage: Stage, folder: Path, change: str, *target: str) -> list[str]:
    """The lines of the file that `kubectl edit` opens again after `change` was refused."""
    seen, editor = folder / "seen", folder / "editor"
    editor.write_text(EDITOR.format(seen=seen, change=change))
    editor.chmod(0o755)
    done = subprocess.run(
        [stage.cluster.kubectl_path, "edit", *target],
        env=stage.cluster.kubectl_environment() | {"KUBE_EDITOR": str(editor)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1, done.stdout
    return seen.read_text().splitlines()


def test_the_editor_shows_why_a_job_was_refused(installed: Stage, tmp_path: Path) -> None:
    installed.apply(elastic("sweep", "100m", {"min": "1", "max": "2"}, completions=9))
    change = f's|{contract.MAX}: "2"|{contract.MAX}: x|'
    seen = edited(installed, tmp_path, change, "job", "sweep", "-n", installed.namespace)
    assert '# jobs.batch "sweep" was not valid:' in seen
    assert [line for line in seen if line.startswith(f'# * {MAX}: "x"; ')]


def test_the_editor_shows_why_the_teams_were_refused(teams: Stage, tmp_path: Path) -> None:
    named = (contract.TEAMS_CONFIG_MAP, "-n", contract.SYSTEM_NAMESPACE)
    seen = edited(teams, tmp_path, "s|cpu: 3}|cpu: 3x}|", "configmap", *named)
    assert [
        line
        for line in seen
        if line.startswith("# * data[teams.yaml]: teams[0] (vision).guaranteed")
    ]


def test_other_commands_print_each_finding_once_as_of_the_api_server(installed: Stage) -> None:
    bad = {"min": "x", "max": "y", "gpu": "lots"}
    head, *findings = installed.refused(elastic("other", labels=bad)).strip().splitlines()
    assert head.endswith('The Job "other" is invalid: ')
    assert sorted(line.partition(": ")[0] for line in findings) == [
        f"* metadata.labels[{contract.PREFIX}{label}]" for label in sorted(bad)
    ]
    installed.apply(elastic("sweep", "100m", {"min": "1", "max": "2"}, completions=9))
    said = installed.kubectl_refused("label", "job", "sweep", "--overwrite", f"{contract.MAX}=x")
    assert said.startswith(f'The Job "sweep" is invalid: {MAX}: "x"; ')
    assert len(said.strip().splitlines()) == 1

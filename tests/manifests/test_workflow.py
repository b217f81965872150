"""The hosted checks call what is there, under names that cannot change beneath them."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from edl.writes import Json

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yaml"
TEXT = WORKFLOW.read_text()
# YAML 1.1 takes `on` for true.
FOUND: Json = {{True: "on"}.get(name, name): value for name, value in yaml.safe_load(TEXT).items()}
STEPS = [(name, step) for name, job in FOUND["jobs"].items() for step in job["steps"]]
COMMANDS = [step["run"] for _, step in STEPS if "run" in step]


def test_it_has_the_shape_of_a_workflow() -> None:
    assert FOUND.keys() == {"name", "on", "permissions", "concurrency", "jobs"}
    assert FOUND["on"].keys() == {"push", "pull_request"}
    assert FOUND["permissions"] == {"contents": "read"}
    for job in FOUND["jobs"].values():
        assert job.keys() <= {"runs-on", "timeout-minutes", "strategy", "needs", "steps"}
        assert job["runs-on"] == "ubuntu-24.04"
        assert 0 < job["timeout-minutes"] <= 120
        assert job.get("needs", "check") in FOUND["jobs"]


@pytest.mark.parametrize(("job", "step"), STEPS)
def test_a_step_is_an_action_or_a_command(job: str, step: Json) -> None:
    assert job
    assert step.keys() <= {"uses", "with", "run", "env"}
    assert ("uses" in step) != ("run" in step)
    # What somebody else wrote, such as a branch's name, must not become part of a command.
    assert "${{" not in step.get("run", "")


def test_actions_are_pinned_by_commit_and_say_their_release() -> None:
    lines = [line.strip() for line in TEXT.splitlines() if "uses:" in line]
    pinned = re.compile(r"- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert lines
    assert [line for line in lines if not pinned.fullmatch(line)] == []


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {
        word
        for command in COMMANDS
        for words in re.findall(r"\bmake ([a-z0-9 -]+)", command)
        for word in words.split()
    }
    assert {"check", "laws", "integration", "test-kind"} <= called
    assert called <= targets


def test_every_module_that_is_run_exists() -> None:
    modules = {
        module for command in COMMANDS for module in re.findall(r"python -m ([\w.]+)", command)
    }
    assert "manifests.dist" in modules
    ours = {module for module in modules if module != "mkdocs"}  # an extra of its own
    assert [module for module in ours if importlib.util.find_spec(module) is None] == []


def test_caches_follow_what_they_hold() -> None:
    for _, step in STEPS:
        if step.get("uses", "").startswith("actions/cache@"):
            assert "hashFiles('sandbox/*/go.sum')" in step["with"]["key"]
    assert list(ROOT.glob("sandbox/*/go.sum"))

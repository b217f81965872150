"""The hosted checks call what is there, under names that cannot change beneath them."""

import re
from pathlib import Path

import pytest
import yaml

from edl.writes import Json
from manifests.krew_archive import PYTHONS

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: path.read_text() for path in (GITHUB / "workflows").glob("*.yaml")}
ACTIONS = {path.parent.name: path.read_text() for path in GITHUB.glob("actions/*/action.yaml")}


def parsed(text: str) -> Json:
    # YAML 1.1 takes `on` for true.
    return {{True: "on"}.get(name, name): value for name, value in yaml.safe_load(text).items()}


FOUND = {name: parsed(text) for name, text in WORKFLOWS.items()}
JOBS = {name: job for workflow in FOUND.values() for name, job in workflow["jobs"].items()}
SET_UP = yaml.safe_load(ACTIONS["setup"])
STEPS = [(name, step) for name, job in JOBS.items() for step in job["steps"]]
STEPS += [("setup", step) for step in SET_UP["runs"]["steps"]]
COMMANDS = [step["run"] for _, step in STEPS if "run" in step]


def test_a_change_is_checked_and_a_night_is_used() -> None:
    triggers = {name: set(workflow["on"]) for name, workflow in FOUND.items()}
    assert triggers == {
        "ci": {"push", "pull_request"},
        "nightly": {"schedule", "workflow_dispatch"},
    }


@pytest.mark.parametrize("name", sorted(FOUND))
def test_it_has_the_shape_of_a_workflow(name: str) -> None:
    workflow = FOUND[name]
    assert workflow.keys() == {"name", "on", "permissions", "concurrency", "jobs"}
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job.keys() <= {"runs-on", "timeout-minutes", "strategy", "needs", "env", "steps"}
        assert job["runs-on"] == "ubuntu-24.04"
        assert 0 < job["timeout-minutes"] <= 120
        assert job.get("needs", next(iter(workflow["jobs"]))) in workflow["jobs"]


def test_every_end_to_end_test_is_in_one_shard() -> None:
    shards = JOBS["e2e"]["strategy"]["matrix"]["include"]
    folder = ROOT / "tests/e2e"
    run = [path for shard in shards for path in folder.glob(shard["tests"])]
    assert sorted(run) == sorted(folder.glob("test_*.py"))


@pytest.mark.parametrize(("job", "step"), STEPS)
def test_a_step_is_an_action_or_a_command(job: str, step: Json) -> None:
    assert job
    assert step.keys() <= {"uses", "with", "run", "env", "if"}
    assert ("uses" in step) != ("run" in step)
    # What somebody else wrote, such as a branch's name, must not become part of a command.
    assert "${{" not in step.get("run", "")


def test_actions_of_others_are_pinned_by_commit_and_say_their_release() -> None:
    texts = (*WORKFLOWS.values(), *ACTIONS.values())
    lines = [line.strip("- ") for text in texts for line in text.splitlines() if "uses:" in line]
    others = [line for line in lines if not line.startswith("uses: ./")]
    pinned = re.compile(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert others
    assert [line for line in others if not pinned.fullmatch(line)] == []


def test_every_job_is_set_up_by_the_same_action() -> None:
    for job in JOBS.values():
        checkout, set_up, *_ = job["steps"]
        assert checkout["uses"].startswith("actions/checkout@")
        assert set_up["uses"] == "./.github/actions/setup"
        assert set_up.get("with", {}).keys() <= SET_UP["inputs"].keys()


def test_unit_tests_run_on_every_python_that_archives_support() -> None:
    assert JOBS["check"]["strategy"]["matrix"]["python"] == list(PYTHONS)
    assert JOBS["laws"]["strategy"]["matrix"]["python"] == [PYTHONS[0], PYTHONS[-1]]


def test_updates_of_actions_are_proposed_where_actions_are_pinned() -> None:
    (update,) = yaml.safe_load((GITHUB / "dependabot.yml").read_text())["updates"]
    assert update["package-ecosystem"] == "github-actions"
    # "/" stands for .github/workflows.
    assert update["directories"] == ["/", *(f"/.github/actions/{name}" for name in ACTIONS)]


@pytest.mark.parametrize("form", sorted(GITHUB.glob("ISSUE_TEMPLATE/*.yaml")), ids=str)
def test_an_issue_form_has_what_github_requires(form: Path) -> None:
    found = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= found.keys()
    fields = [each for each in found["body"] if each["type"] != "markdown"]
    names = [each["id"] for each in fields]
    assert len(set(names)) == len(names)
    assert all(each["attributes"]["label"] for each in fields)
    assert any(each["validations"]["required"] for each in fields)


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {
        word
        for command in COMMANDS
        for words in re.findall(r"\bmake ([a-z0-9 -]+)", command)
        for word in words.split()
    }
    assert {"check", "laws", "integration", "smoke", "e2e", "test-kind", "docs", "dist"} <= called
    assert called <= targets


@pytest.mark.parametrize("name", sorted(JOBS))
def test_a_job_is_one_command_of_make(name: str) -> None:
    """So that it also runs on a developer's machine."""
    (command,) = [step["run"] for step in JOBS[name]["steps"] if "run" in step]
    assert re.search(r"\bmake [a-z]", command)


def test_caches_follow_what_they_hold() -> None:
    caches = [step for _, step in STEPS if step.get("uses", "").startswith("actions/cache@")]
    assert caches
    assert all("hashFiles('sandbox/**/go.sum')" in step["with"]["key"] for step in caches)
    assert list(ROOT.glob("sandbox/*/go.sum"))

"""Jobs that are complete, or half complete, run again if they are adopted: users are told."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from edl import contract
from edl.kube.cluster import PluginCluster
from edl.kube.cluster_decorator import PluginClusterDecorator
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.adopt.finished_work import repeated
from kubectl_edl.output.yaml_writer import dump
from tests.kubectl_edl.create.test_create import completing
from tests.kubectl_edl.stage import Run, Stage, job

OPTIONS = ("--framework", "none", "--min", "1", "--max", "2")
COMPLETE = {"type": "Complete", "status": "True"}


def adopted(status: Json, *more: str, answer: str | None = None) -> tuple[Run, bool]:
    """Adopts a Job of 6 completions with this status; whether it was created again."""
    stage = Stage(answers=answer)
    manifest = job("done")
    manifest["spec"] |= {"completions": 6, "parallelism": 2}
    stage.create(manifest)
    stage.patch("done", {"status": status})
    stage.wrapped = completing()
    found = stage.run("adopt", "done", *OPTIONS, "--recreate", *more)
    return found, contract.FRAMEWORK in stage.job("done")["metadata"]["labels"]


def test_a_job_that_has_ended_needs_more_than_yes() -> None:
    status = {"succeeded": 6, "conditions": [COMPLETE]}
    found, again = adopted(status, "--yes")
    assert (found.code, again) == (1, False)
    assert found.err == (
        'error: Job "done" has ended (Complete) with 6 of 6 completions, and all of it would '
        "run again: add --rerun\n"
    )
    assert adopted(status, "--yes", "--rerun")[1] is True


class Ending(PluginClusterDecorator):
    """A cluster in which the Job completes while its successor is checked by a dry run."""

    def __init__(self, stage: Stage, cluster: PluginCluster) -> None:
        super().__init__(cluster)
        self._stage = stage

    def create(self, target: ObjectRef, manifest: Mapping[str, Any], **how: bool) -> Json:
        if how.get("dry_run"):
            self._stage.patch("done", {"status": {"succeeded": 6, "conditions": [COMPLETE]}})
        return super().create(target, manifest, **how)


def test_a_job_that_ends_after_the_question_is_not_run_again() -> None:
    stage = Stage()
    manifest = job("done")
    manifest["spec"] |= {"completions": 6, "parallelism": 2}
    stage.create(manifest)
    completes = completing()
    stage.wrapped = lambda cluster: Ending(stage, completes(cluster))
    found = stage.run("adopt", "done", *OPTIONS, "--recreate", "--yes")
    assert (found.code, stage.job("done")["status"]["succeeded"]) == (1, 6)
    assert "would run again: add --rerun\n" in found.err


def test_the_question_says_that_a_job_has_ended() -> None:
    failed = {"type": "Failed", "status": "True"}
    found, again = adopted({"conditions": [failed]}, answer="y\n")
    assert found.err.startswith('Job "done" has ended (Failed): delete it and run all of it again?')
    assert again is True


def test_completions_that_run_again_are_part_of_the_question_and_of_a_warning() -> None:
    status = {"succeeded": 1, "active": 2}
    found, again = adopted(status, answer="\n")
    assert found.err.startswith(
        'Job "done" has 2 active pods and 1 of 6 completions, which would run again: delete it'
    )
    assert again is False
    found, again = adopted(status, "--yes")
    assert found.err == "warning: done had 1 of 6 completions, which run again\n"
    assert again is True


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"succeeded": 6, "conditions": [COMPLETE]}, "has ended (Complete) with 6 of 6"),
        ({"succeeded": 1}, "has 1 of 6"),
    ],
)
def test_finished_jobs_of_a_file_are_hints(tmp_path: Path, status: Json, text: str) -> None:
    manifest = job("done") | {"status": status}
    manifest["spec"] |= {"completions": 6}
    file = tmp_path / "jobs.yaml"
    file.write_text(dump(manifest))
    found = Stage().run("adopt", "-f", str(file), *OPTIONS)
    assert found.code == 0
    assert found.err == (
        f"hint: {file}: document 1: job.batch/done {text} completions: kubectl replace --force "
        "starts all of it again; leave it out if that must not run again\n"
    )


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        ({"status": {"succeeded": 3}}, "has 3 pods"),
        ({"status": {"succeeded": 0, "active": 1}}, ""),
        ({"status": {"succeeded": "3", "conditions": 7}}, ""),
        ({"status": {"conditions": ["x", {"type": "Complete"}]}}, ""),
        ({"status": "done", "spec": []}, ""),
    ],
)
def test_malformed_and_unfinished_jobs(manifest: Json, text: str) -> None:
    assert repeated(manifest) == text

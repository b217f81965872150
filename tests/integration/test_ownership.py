"""Whose Job is it: the user's file and plain edits change nothing that is the reconciler's."""

import json
from pathlib import Path

import pytest
import yaml

from edl import contract
from edl.writes import Json
from sandbox.errors import SandboxError
from tests.integration.support.stage import Stage, elastic, tensorflow

pytestmark = pytest.mark.integration

SERVER_SIDE = ("--server-side", "--field-manager=user")


@pytest.fixture
def grown(installed: Stage) -> Stage:
    """A job whose workers have grown from 1 to 4."""
    installed.apply(*tensorflow("mnist", "1..4"))
    installed.until_runs("mnist-worker", 4)
    return installed


def test_applying_the_same_file_again_changes_nothing(grown: Stage) -> None:
    before = _meaning(grown.job("mnist-worker"))
    grown.apply(*tensorflow("mnist", "1..4"))
    assert _meaning(grown.job("mnist-worker")) == before
    assert grown.running("mnist-worker") == 4


def test_server_side_apply_of_a_file_without_sizes_changes_nothing(installed: Stage) -> None:
    jobs = tensorflow("mnist", "1..4")
    for job in jobs:
        del job["spec"]["parallelism"]
    installed.apply(*jobs, flags=SERVER_SIDE)
    installed.until_runs("mnist-worker", 4)
    before = _meaning(installed.job("mnist-worker"))
    installed.apply(*jobs, flags=SERVER_SIDE)
    assert _meaning(installed.job("mnist-worker")) == before


def test_server_side_apply_of_a_size_conflicts_and_changes_nothing_by_force(
    installed: Stage,
) -> None:
    jobs = tensorflow("mnist", "1..4")
    installed.apply(*jobs, flags=SERVER_SIDE)
    installed.until_runs("mnist-worker", 4)
    before = _meaning(installed.job("mnist-worker"))
    with pytest.raises(SandboxError, match='conflict with "kubectl-edl"'):
        installed.apply(*jobs, flags=SERVER_SIDE)
    installed.apply(*jobs, flags=(*SERVER_SIDE, "--force-conflicts"))
    assert _meaning(installed.job("mnist-worker")) == before


@pytest.mark.parametrize("restart", ["", "ExitCode"])
def test_server_side_apply_takes_over_from_client_side_apply(
    installed: Stage, tmp_path: Path, restart: str
) -> None:
    """kubectl then removes what the file does not have, the completion mode of ranks too."""
    file = tmp_path / "job.json"
    job = tensorflow("mnist", "1..4")
    for one in job:
        del one["spec"]["parallelism"]
        if restart:
            one["metadata"]["annotations"][contract.RESTART] = restart
            del one["spec"]["template"]["spec"]["restartPolicy"]
    file.write_text("\n".join(map(json.dumps, job)))
    assert installed.kubectl_warnings("apply", "-f", str(file)) == ""
    installed.until_runs("mnist-worker", 4)
    before = _meaning(installed.job("mnist-worker"))
    line = ("apply", "--server-side", "--force-conflicts", "-f", str(file))
    for _ in range(2):
        assert installed.kubectl_warnings(*line) == ""
        assert _meaning(installed.job("mnist-worker")) == before


FORCED = (*SERVER_SIDE, "--force-conflicts")
PAGE = Path(__file__).parents[2] / "docs" / "operations" / "gitops.md"


def documented() -> Json:
    """The Job of the page on server-side apply."""
    text = PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]
    manifest: Json = yaml.safe_load(text)
    return manifest


def test_the_file_of_the_documentation_is_applied_again_and_again(installed: Stage) -> None:
    manifest = documented()
    name, most = manifest["metadata"]["name"], int(manifest["metadata"]["labels"][contract.MAX])
    installed.apply(manifest, flags=SERVER_SIDE)
    installed.until_runs(name, most)
    before = _meaning(installed.job(name))
    assert "Warning" not in installed.apply(manifest, flags=SERVER_SIDE)
    assert _meaning(installed.job(name)) == before


def test_a_forced_dry_run_of_a_file_with_a_size_sees_no_difference(installed: Stage) -> None:
    """As Flux looks for drift; and a size that leaves the file later is not lost."""
    manifest = documented()
    name, most = manifest["metadata"]["name"], int(manifest["metadata"]["labels"][contract.MAX])
    sized = {**manifest, "spec": {**manifest["spec"], "parallelism": 2}}
    installed.apply(sized, flags=FORCED)
    installed.until_runs(name, most)
    before = _meaning(installed.job(name))
    tried = installed.apply(sized, flags=(*FORCED, "--dry-run=server", "-o", "json"))
    assert _meaning(json.loads(tried)) == before
    installed.apply(sized, flags=FORCED)
    installed.apply(manifest, flags=FORCED)
    assert _meaning(installed.job(name)) == before


def test_a_plain_edit_of_the_size_is_put_back_with_a_hint(grown: Stage) -> None:
    edit = '{"spec": {"parallelism": 2, "completions": 2}}'
    said = grown.kubectl_warnings("patch", "job", "mnist-worker", "--type=merge", "-p", edit)
    assert f"kubectl edl scale mnist -n {grown.namespace} 2" in said
    assert grown.size("mnist-worker") == 4
    assert grown.running("mnist-worker") == 4


def test_suspending_by_hand_pauses_the_whole_training_job(grown: Stage) -> None:
    said = grown.kubectl_warnings(
        "patch", "job", "mnist-worker", "--type=merge", "-p", '{"spec": {"suspend": true}}'
    )
    assert "kubectl edl resume mnist" in said
    grown.until(lambda: not grown.all("Pod"), "chief and ps rest as well")
    assert grown.job("mnist-worker")["metadata"]["annotations"][contract.PAUSED] == "true"


def test_a_queued_job_cannot_be_started_by_hand(installed: Stage) -> None:
    installed.apply(elastic("big", cpu="100"))
    said = installed.kubectl_warnings(
        "patch", "job", "big", "--type=merge", "-p", '{"spec": {"suspend": false}}'
    )
    assert "kubectl edl queue" in said
    assert installed.job("big")["spec"]["suspend"] is True


def test_a_job_created_suspended_stays_paused_until_it_is_resumed(installed: Stage) -> None:
    installed.apply(elastic("rest", suspend=True))
    assert installed.job("rest")["metadata"]["annotations"][contract.PAUSED] == "true"
    installed.annotate("rest", paused=None)
    installed.until_runs("rest", 1)


def test_forged_annotations_are_dropped(grown: Stage) -> None:
    reason = grown.message("mnist-worker")
    said = grown.kubectl_warnings(
        "annotate", "job", "mnist-worker", f"{contract.REASON}=forged", "--overwrite"
    )
    assert contract.REASON in said
    assert grown.message("mnist-worker") == reason


MADE_FROM = (
    f'{{"metadata": {{"labels": {{"{contract.ROLE}": "chief"}}}}}}',
    f'{{"metadata": {{"labels": {{"{contract.JOB}": "other"}}}}}}',
    f'{{"metadata": {{"labels": {{"{contract.FRAMEWORK}": "none"}}}}}}',
    f'{{"metadata": {{"annotations": {{"{contract.ROLES}": "chief=1,worker=1"}}}}}}',
    f'{{"metadata": {{"labels": {{"{contract.MAX}": "5"}}}}}}',
)


def test_what_the_pods_were_made_from_cannot_change(grown: Stage) -> None:
    for edit in MADE_FROM:
        said = grown.kubectl_refused("patch", "job", "mnist-worker", "--type=merge", "-p", edit)
        assert "recreate it" in said, edit
    assert grown.running("mnist-worker") == 4


def test_a_smaller_max_shrinks_the_job(grown: Stage) -> None:
    edit = f'{{"metadata": {{"labels": {{"{contract.MAX}": "2"}}}}}}'
    grown.kubectl("patch", "job", "mnist-worker", "--type=merge", "-p", edit)
    grown.until_runs("mnist-worker", 2)


def test_an_existing_job_cannot_be_labelled(installed: Stage) -> None:
    plain = elastic("plain")
    del plain["metadata"]["labels"]
    installed.apply(plain)
    said = installed.kubectl_refused("label", "job", "plain", f"{contract.FRAMEWORK}=none")
    assert f"kubectl edl adopt plain -n {installed.namespace} --recreate" in said


def _meaning(job: Json) -> Json:
    """A Job without what the API server and kubectl keep for themselves."""
    kept = ("name", "labels", "annotations", "uid", "generation")
    metadata = {name: job["metadata"][name] for name in kept if name in job["metadata"]}
    return {"metadata": metadata, "spec": job["spec"]}

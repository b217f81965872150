from edl import contract
from tests.edl.manifests import annotations, created, job, labels, template


def test_a_plain_job_keeps_everything_but_its_start() -> None:
    given = job("render", framework="none", max="4", spec={"completions": 8})
    stored = created(given)
    assert stored["spec"] | {"template": None} == given["spec"] | {
        "template": None,
        "suspend": True,
        "backoffLimit": 24,
    }
    assert template(stored)["spec"] == template(given)["spec"]


def test_retries_are_counted_a_replica_unless_the_user_counted_them() -> None:
    retries = [
        created(job("render", framework="none", max="4", spec=spec | {"completions": 8}))["spec"]
        for spec in ({}, {"backoffLimit": 6}, {"backoffLimit": 0}, {"backoffLimit": 7})
    ]
    assert [spec["backoffLimit"] for spec in retries] == [24, 24, 0, 7]


def test_its_labels_are_written_out() -> None:
    stored = created(job("render", framework="none", max="4", spec={"parallelism": 2}))
    identity = {contract.FRAMEWORK: "none", contract.JOB: "render", contract.ROLE: "worker"}
    assert labels(stored) == identity | {contract.MIN: "2", contract.MAX: "4"}
    assert labels(template(stored)) == identity
    assert annotations(stored) == {contract.INJECTED_MAX: "4"}


def test_work_items_keep_their_completion_mode() -> None:
    spec = {"completions": 8, "completionMode": "Indexed"}
    stored = created(job("render", framework="none", spec=spec))
    assert stored["spec"]["completionMode"] == "Indexed"
    assert stored["spec"]["completions"] == 8


def test_under_a_generated_name_the_job_label_is_not_guessed() -> None:
    manifest = job("", framework="none")
    manifest["metadata"] = {"generateName": "render-", "labels": manifest["metadata"]["labels"]}
    assert contract.JOB not in labels(created(manifest))

from collections.abc import Mapping

import pytest

from edl import contract
from edl.contract import pod_limits, registry
from edl.errors import Denied
from edl.inject.handlers import AdmissionRequest, mutate, validate
from edl.model import Code
from edl.writes import Json
from tests.edl.manifests import (
    CONTEXT,
    USER,
    annotations,
    changed,
    created,
    horovod,
    job,
    labels,
    role_manifest,
    template,
    update,
)

QUEUED = created(role_manifest("worker"))
RUNNING = changed(
    changed(changed(QUEUED, "spec suspend", value=False), "spec parallelism", 2),
    "spec completions",
    2,
)
SCALED = "kubectl edl scale mnist -n lab --role worker --min 2 --max 3"
OURS = "is written only by kubectl-edl: your value was dropped"


def sizes(manifest: Json) -> Mapping[str, object]:
    return {name: manifest["spec"].get(name) for name in ("parallelism", "completions", "suspend")}


def test_an_update_of_foreign_fields_is_left_alone() -> None:
    new = changed(RUNNING, "metadata labels team", "vision")
    verdict = update(new, RUNNING)
    assert verdict.manifest == new
    assert verdict.warnings == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata labels edl.dev/framework", "none"),
        ("metadata labels edl.dev/framework", None),
        ("metadata labels edl.dev/job", "other"),
        ("metadata labels edl.dev/role", "ps"),
        ("metadata annotations edl.dev/roles", "chief=1,worker=1..3"),
        ("metadata annotations edl.dev/roles", None),
        ("metadata annotations edl.dev/mode", "collective"),
        ("metadata annotations edl.dev/port", "3333"),
        ("metadata labels edl.dev/gpu", "2"),
    ],
)
def test_what_pods_were_made_from_never_changes(path: str, value: str | None) -> None:
    with pytest.raises(Denied, match="it cannot change after creation") as denied:
        update(changed(RUNNING, path, value), RUNNING)
    _, place, name = path.split()
    (finding,) = denied.value.findings
    assert finding.path == f"metadata.{place}[{name}]"
    assert finding.what.startswith(f'"{value or ""}" was ')


@pytest.mark.parametrize(
    ("roles", "way"),
    [
        (
            "chief=1,ps=2,worker=2..3",
            f"change the bounds by {SCALED}; a file with the old edl.dev/roles then keeps them",
        ),
        ("chief=1,ps=2,worker=1..4", "delete the Job and recreate it"),
        ("chief=2,ps=2,worker=1..3", "delete the Job and recreate it"),
        ("chief=1,worker=1..3", "delete the Job and recreate it"),
        ("chief=1,ps=2,worker=x", "delete the Job and recreate it"),
    ],
)
def test_bounds_that_a_running_job_can_get_are_changed_by_scale(roles: str, way: str) -> None:
    with pytest.raises(Denied) as denied:
        update(changed(RUNNING, "metadata annotations edl.dev/roles", roles), RUNNING)
    (finding,) = denied.value.findings
    assert finding.allowed == f"it cannot change after creation: {way}"


def test_a_file_with_the_old_roles_keeps_the_bounds_that_scale_has_set() -> None:
    scaled = changed(RUNNING, "metadata labels edl.dev/min", "2")
    verdict = update(role_manifest("worker"), scaled)
    assert labels(verdict.manifest)["edl.dev/min"] == "2"


def test_every_forbidden_change_is_named_at_once() -> None:
    new = changed(RUNNING, "metadata labels edl.dev/job", "a")
    new = changed(new, "metadata annotations edl.dev/mode", "collective")
    with pytest.raises(Denied) as denied:
        update(new, RUNNING)
    assert len(denied.value.findings) == 2


@pytest.mark.parametrize("name", ["job", "role", "min", "max"])
def test_labels_that_we_wrote_out_need_not_be_in_the_users_file(name: str) -> None:
    file = changed(RUNNING, "metadata annotations edl.dev/injected-max", None)
    verdict = update(changed(file, f"metadata labels edl.dev/{name}", None), RUNNING)
    assert labels(verdict.manifest) == labels(RUNNING)
    assert verdict.warnings == ()


@pytest.mark.parametrize(
    ("name", "warning"),
    [
        (
            "max",
            "edl.dev/max stays 3: kubectl edl scale mnist -n lab --max N --role worker changes it,",
        ),
        (
            "min",
            "edl.dev/min stays 1: kubectl edl scale mnist -n lab --min N --role worker changes it,",
        ),
        ("role", "edl.dev/role stays worker:"),
    ],
)
def test_a_label_that_is_taken_off_comes_back_with_the_way_out(name: str, warning: str) -> None:
    verdict = update(changed(RUNNING, f"metadata labels edl.dev/{name}", None), RUNNING)
    assert labels(verdict.manifest) == labels(RUNNING)
    assert verdict.warnings == (
        f"{warning} kubectl edl release mnist -n lab removes all edl.dev labels",
    )


@pytest.mark.parametrize(
    ("name", "value"), [("min", "2"), ("min", "3"), ("max", "1"), ("max", "2")]
)
def test_bounds_may_change(name: str, value: str) -> None:
    new = changed(RUNNING, f"metadata labels edl.dev/{name}", value)
    assert labels(update(new, RUNNING).manifest)[f"edl.dev/{name}"] == value


def test_max_may_not_leave_what_the_pods_were_made_for() -> None:
    new = changed(RUNNING, "metadata labels edl.dev/max", "4")
    with pytest.raises(Denied) as denied:
        update(new, RUNNING)
    (finding,) = denied.value.findings
    assert finding.path == "metadata.labels[edl.dev/max]"
    assert finding.allowed.startswith("at most 3:")


def test_max_may_come_back_to_what_it_was() -> None:
    lowered = changed(RUNNING, "metadata labels edl.dev/max", "2")
    raised = changed(lowered, "metadata labels edl.dev/max", "3")
    assert update(raised, lowered).manifest == raised


def test_a_min_above_max_is_refused_after_creation_too() -> None:
    new = changed(RUNNING, "metadata labels edl.dev/min", "4")
    with pytest.raises(Denied, match="min 4 is above max 3"):
        update(new, RUNNING)


@pytest.mark.parametrize("name", ["parallelism", "completions"])
def test_a_size_is_put_back_with_the_way_out(name: str) -> None:
    verdict = update(changed(RUNNING, f"spec {name}", 1), RUNNING)
    assert sizes(verdict.manifest) == sizes(RUNNING)
    assert verdict.warnings == (
        (
            f"spec.{name} stays 2: kubectl-edl sets the size of this Job; "
            "kubectl edl scale mnist -n lab 1 --role worker sets a manual size"
        ),
    )


def test_one_size_under_two_names_is_said_once() -> None:
    new = changed(changed(RUNNING, "spec parallelism", 3), "spec completions", 3)
    assert update(new, RUNNING).warnings == (
        (
            "spec.parallelism and spec.completions stay 2: kubectl-edl sets the size of this Job; "
            "kubectl edl scale mnist -n lab 3 --role worker sets a manual size"
        ),
    )


@pytest.mark.parametrize("size", [1, 9])
def test_a_size_beyond_the_bounds_is_not_proposed(size: int) -> None:
    """A file that leaves `spec.parallelism` out asks for 1."""
    old = changed(created(job("r", framework="none", min="2", max="4")), "spec parallelism", 3)
    (said,) = update(changed(old, "spec parallelism", size), old).warnings
    assert said.endswith("; kubectl edl scale r -n lab N sets a manual size")


def test_an_update_to_no_pods_names_the_pause() -> None:
    old = changed(created(job("r", framework="none", max="4")), "spec parallelism", 3)
    assert update(changed(old, "spec parallelism", 0), old).warnings == (
        "spec.parallelism stays 3: kubectl edl pause r -n lab keeps it from running",
    )


def test_a_role_that_is_never_resized_says_so_instead_of_naming_another_one() -> None:
    old = created(role_manifest("ps", spec={"parallelism": 2}))
    new = changed(changed(old, "spec parallelism", 3), "spec completions", 3)
    assert update(new, old).warnings == (
        "spec.parallelism and spec.completions stay 2: ps is never resized",
    )


def test_a_job_alone_needs_no_role_in_its_command() -> None:
    old = created(job("r", framework="none", max="4"))
    assert update(changed(old, "spec parallelism", 3), old).warnings == (
        (
            "spec.parallelism stays 1: kubectl-edl sets the size of this Job; "
            "kubectl edl scale r -n lab 3 sets a manual size"
        ),
    )


def test_the_number_of_work_items_is_immutable() -> None:
    old = created(job("r", framework="none", max="4", spec={"completions": 8}))
    assert update(changed(old, "spec completions", 9), old).warnings == (
        ("spec.completions stays 8: the number of work items is fixed at creation"),
    )


def test_a_manual_size_of_a_role_that_is_never_resized_is_refused_with_that_reason() -> None:
    old = created(role_manifest("chief"))
    with pytest.raises(Denied) as denied:
        update(changed(old, "metadata annotations edl.dev/replicas", "3"), old)
    (finding,) = denied.value.findings
    assert str(finding) == (
        "metadata.annotations[edl.dev/replicas]: a chief is never resized; remove it"
    )


def test_a_removed_size_is_put_back_without_proposing_none() -> None:
    verdict = update(changed(RUNNING, "spec completions", None), RUNNING)
    assert sizes(verdict.manifest) == sizes(RUNNING)
    assert "kubectl edl scale mnist -n lab N" in verdict.warnings[0]


@pytest.mark.parametrize(
    ("manifest", "mode", "retries"),
    [
        (job(framework="pytorch", max="4"), "Indexed", 24),
        (job(framework="none", max="1", min="1"), "NonIndexed", 6),
        (job(framework="pytorch", annotations={"restart": "Never"}), "Indexed", 0),
    ],
)
def test_fields_that_a_file_does_not_have_stay_as_they_were_made(
    manifest: Json, mode: str, retries: int
) -> None:
    """A server-side apply that takes a Job over from `kubectl apply` brings their defaults."""
    old = created(manifest)
    taken_over = changed(changed(old, "spec completionMode", "NonIndexed"), "spec backoffLimit", 6)
    verdict = update(taken_over, old)
    spec = verdict.manifest["spec"]
    assert (spec["completionMode"], spec["backoffLimit"]) == (mode, retries)
    assert verdict.warnings == ()
    more = changed(old, "spec backoffLimit", 9)
    assert update(more, old).manifest["spec"]["backoffLimit"] == 9
    assert update(changed(more, "spec backoffLimit", 6), more).manifest["spec"]["backoffLimit"] == 6


@pytest.mark.parametrize("restart", ["OnFailure", "ExitCode"])
def test_so_does_the_restart_policy_of_the_annotation(restart: str) -> None:
    left_out = {"restartPolicy": "Always"}
    old = created(job(framework="pytorch", annotations={"restart": restart}, pod=left_out))
    taken_over = changed(old, "spec template spec restartPolicy", "Always")
    assert update(taken_over, old).manifest == old


def test_a_replacement_policy_that_the_failure_policy_excludes_stays_out() -> None:
    """A file may have it, which cannot be told from the API server's default at creation."""
    own = {"podReplacementPolicy": "TerminatingOrFailed"}
    old = created(job(framework="pytorch", annotations={"restart": "Never"}, spec=own))
    again = changed(old, "spec podReplacementPolicy", "TerminatingOrFailed")
    assert update(again, old).manifest == old
    notes, pod = {"restart": "OnFailure"}, {"restartPolicy": "Always"}
    simple = created(job(framework="pytorch", annotations=notes, spec=own, pod=pod))
    chosen = changed(simple, "spec podReplacementPolicy", "Failed")
    assert update(simple, chosen).manifest == simple


@pytest.mark.parametrize("notes", [{}, {"restart": "Never"}])
def test_retries_that_are_the_default_count_as_not_set(notes: dict[str, str]) -> None:
    old = created(job(framework="pytorch", max="4", annotations=notes))
    verdict = update(changed(old, "spec backoffLimit", 6), old)
    assert verdict.manifest["spec"]["backoffLimit"] == old["spec"]["backoffLimit"]
    assert verdict.warnings == ()


@pytest.mark.parametrize(("noted", "stored"), [("40", 40), ("39", 6)])
def test_a_limit_that_the_reconciler_has_noted_stays(noted: str, stored: int) -> None:
    """A lower limit than the failures and restarts so far would end the Job at once."""
    old = created(job(framework="pytorch", max="4"))
    noting = changed(old, f"metadata annotations {contract.RAISED_LIMIT}", noted)
    raised = changed(noting, "spec backoffLimit", 40)
    given = changed(changed(old, "spec backoffLimit", 6), "metadata labels team", "vision")
    found = update(given, raised).manifest
    assert found["spec"]["backoffLimit"] == stored
    assert found["metadata"]["annotations"][contract.RAISED_LIMIT] == noted


def test_a_number_of_failures_costs_no_time() -> None:
    """A client that poses as the API server may send any number; this one was once counted to."""
    old = created(job(framework="pytorch", max="4")) | {"status": {"failed": 2**62}}
    unset = changed(old, "spec backoffLimit", None)
    found = update(changed(old, "spec backoffLimit", 6), unset)
    assert found.manifest["spec"]["backoffLimit"] == 6


def test_work_items_are_put_back_too() -> None:
    old = created(job("r", framework="none", max="4", spec={"completions": 8}))
    verdict = update(changed(old, "spec parallelism", 3), old)
    assert sizes(verdict.manifest) == sizes(old)


def test_the_max_of_work_items_may_be_raised() -> None:
    """Their pods have no ranks: none was completed for a number of others."""
    old = created(job("r", framework="none", max="1", spec={"parallelism": 1}))
    new = changed(old, f"metadata labels {contract.MAX}", "4")
    assert update(new, old).manifest == new


def test_suspending_a_running_job_pauses_it() -> None:
    verdict = update(changed(RUNNING, "spec suspend", value=True), RUNNING)
    assert verdict.manifest["spec"]["suspend"] is False
    assert annotations(verdict.manifest)[contract.PAUSED] == contract.TRUE
    (warning,) = verdict.warnings
    assert warning == (
        "paused, as edl.dev/paused: kubectl edl resume mnist -n lab continues it; a manifest with "
        "suspend: true pauses it at each apply: first remove that from the manifest"
    )


@pytest.mark.parametrize("succeeded", [0, 1])
def test_a_work_queue_with_a_success_is_not_said_to_be_paused(succeeded: int) -> None:
    """A suspension would end it, so the request is kept and not carried out."""
    queue = created(job("q", framework="none", spec={"parallelism": 1}))
    old = changed(queue, "spec suspend", value=False) | {
        "status": {"active": 1, "succeeded": succeeded}
    }
    (warning,) = update(changed(old, "spec suspend", value=True), old).warnings
    refused = warning.startswith("edl.dev/paused: not paused, as that would end it: ")
    assert (refused, warning.startswith("paused, as ")) == (bool(succeeded), not succeeded)


def suspended_by(user: str, old: Json) -> Json:
    new = changed(old, "spec suspend", value=True)
    return mutate(AdmissionRequest("UPDATE", new, old, user), CONTEXT).manifest


def test_a_second_pass_still_names_the_controller_that_suspended_the_job() -> None:
    # reinvocationPolicy IfNeeded: another webhook changed the object after the first pass.
    kueue = "system:serviceaccount:kueue-system:kueue-controller-manager"
    once = suspended_by(kueue, RUNNING)
    twice = mutate(AdmissionRequest("UPDATE", once, RUNNING, kueue), CONTEXT)
    assert (twice.manifest, twice.warnings) == (once, ())


@pytest.mark.parametrize("user", ["ann", "system:serviceaccount:lab:builder"])
def test_a_user_cannot_name_another_as_the_one_that_paused_the_job(user: str) -> None:
    kueue = "system:serviceaccount:kueue-system:kueue-controller-manager"
    forged = suspended_by(kueue, RUNNING)
    stored = mutate(AdmissionRequest("UPDATE", forged, RUNNING, user), CONTEXT)
    assert contract.PAUSED_BY not in annotations(stored.manifest)


def test_a_controller_that_suspends_a_job_is_named_until_it_is_resumed() -> None:
    """Kueue suspends Jobs without a queue name where it manages them, too."""
    kueue = "system:serviceaccount:kueue-system:kueue-controller-manager"
    paused = suspended_by(kueue, RUNNING)
    assert annotations(paused)[contract.PAUSED_BY] == kueue
    assert annotations(suspended_by("ann", paused))[contract.PAUSED_BY] == kueue
    verdict = update(changed(paused, f"metadata annotations {contract.PAUSED}", None), paused)
    assert (verdict.manifest, verdict.warnings) == (RUNNING, ())
    assert contract.PAUSED_BY not in annotations(suspended_by("ann", RUNNING))
    by_ann = suspended_by("ann", RUNNING)
    assert contract.PAUSED_BY not in annotations(suspended_by(kueue, by_ann))


def test_a_queued_job_cannot_jump_the_queue() -> None:
    verdict = update(changed(QUEUED, "spec suspend", value=False), QUEUED)
    assert verdict.manifest["spec"]["suspend"] is True
    assert verdict.warnings == (
        "spec.suspend stays true: mnist waits for its turn; see kubectl edl queue -n lab",
    )


def test_a_job_that_is_left_out_of_its_training_job_is_told_why() -> None:
    """The training job may run, and be in no queue."""
    why = "Job copy is left out of mnist: Job mnist is the worker of mnist"
    notes = {contract.REASON: Code.JOB_CONFLICT.value, contract.MESSAGE: why}
    old = changed(QUEUED, "metadata annotations", annotations(QUEUED) | notes)
    verdict = update(changed(old, "spec suspend", value=False), old)
    assert verdict.manifest == old
    assert verdict.warnings == (f"spec.suspend stays true: {why}",)


def test_a_paused_job_is_told_how_to_resume() -> None:
    old = changed(QUEUED, "metadata annotations edl.dev/paused", "true")
    verdict = update(changed(old, "spec suspend", value=False), old)
    assert verdict.manifest == old
    assert "kubectl edl resume mnist" in verdict.warnings[0]
    both = changed(
        changed(old, "metadata annotations edl.dev/paused", None), "spec suspend", value=False
    )
    (warning,) = update(both, old).warnings
    assert warning.startswith("spec.suspend stays true: mnist waits for its turn")


def test_a_user_may_pause_and_resume_by_annotation() -> None:
    paused = changed(RUNNING, "metadata annotations edl.dev/paused", "true")
    assert update(paused, RUNNING).manifest == paused
    assert update(RUNNING, paused).manifest == RUNNING


@pytest.mark.parametrize("name", sorted(registry.OWNED_ANNOTATIONS))
def test_annotations_of_ours_cannot_be_written(name: str) -> None:
    new = changed(RUNNING, f"metadata annotations {name}", "forged")
    verdict = update(new, RUNNING)
    assert annotations(verdict.manifest) == annotations(RUNNING)
    assert verdict.warnings == (f"{name} {OURS}",)


@pytest.mark.parametrize("name", sorted(registry.OWNED_ANNOTATIONS))
def test_nor_on_the_pod_template(name: str) -> None:
    old = created(horovod("launcher"))
    new = changed(old, f"spec template metadata annotations {name}", "forged")
    verdict = update(new, old)
    assert template(verdict.manifest) == template(old)
    assert verdict.warnings == (f"{name} {OURS}",)


def test_annotations_of_ours_that_a_user_removed_come_back() -> None:
    new = changed(RUNNING, "metadata annotations edl.dev/injected-max", None)
    verdict = update(new, RUNNING)
    assert annotations(verdict.manifest) == annotations(RUNNING)


def test_the_message_of_a_reverted_scale_up_goes_with_the_edit_that_removes_it() -> None:
    def edited(code: Code, *others: str) -> dict[str, str]:
        stored = changed(RUNNING, f"metadata annotations {contract.REASON}", code)
        stored = changed(stored, f"metadata annotations {contract.MESSAGE}", "reverted to 2")
        new = stored
        for name in (contract.REASON, contract.MESSAGE, *others):
            new = changed(new, f"metadata annotations {name}", None)
        return annotations(update(new, stored).manifest)

    names = {contract.REASON, contract.MESSAGE}
    assert not names & edited(Code.SCALE_FAILED).keys()
    assert names <= edited(Code.PREEMPTED).keys(), "it explains what the job waits for"
    replaced = edited(Code.SCALE_FAILED, contract.INJECTED_MAX)
    assert names <= replaced.keys(), "a file without our annotations does not mean the revert"


def test_what_admission_added_is_forgotten_by_an_edit_and_by_no_file() -> None:
    name = contract.ADDED_REQUESTS
    stored = changed(RUNNING, f"metadata annotations {name}", '{"cpu":"100m"}')
    forgotten = changed(stored, f"metadata annotations {name}", None)
    file = changed(forgotten, f"metadata annotations {contract.INJECTED_MAX}", None)
    forged = changed(stored, f"metadata annotations {name}", '{"cpu":"1m"}')
    assert name not in annotations(update(forgotten, stored).manifest)
    assert annotations(update(file, stored).manifest) == annotations(stored)
    assert annotations(update(forged, stored).manifest) == annotations(stored)


def test_the_reconciler_may_do_all_that() -> None:
    new = changed(QUEUED, "spec suspend", value=False)
    new = changed(new, "spec parallelism", 3)
    new = changed(new, "metadata annotations edl.dev/reason", "room")
    verdict = update(new, QUEUED, user=contract.RECONCILER_USER)
    assert verdict.manifest is new
    assert verdict.warnings == ()


def test_labelling_an_existing_job_says_how_to_do_it() -> None:
    new = job("train", framework="tensorflow")
    with pytest.raises(Denied) as refused:
        update(new, job("train"))
    (finding,) = refused.value.findings
    assert finding.allowed == (
        "kubectl edl adopt train -n lab --recreate …, or take the names of edl.dev/ out of its file"
    )


def test_a_completed_job_cannot_join_another_queue() -> None:
    new = changed(RUNNING, f"metadata labels {contract.KUEUE_QUEUE}", "team")
    with pytest.raises(Denied, match="exactly one queue"):
        update(new, RUNNING)


def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    broken = changed(RUNNING, "metadata labels edl.dev/min", "x")
    old = changed(broken, "metadata deletionTimestamp", "2026-01-01T00:00:00Z")
    new = changed(old, "metadata finalizers", [])
    assert update(new, old).manifest is new
    validate(AdmissionRequest("UPDATE", new, old, USER), CONTEXT)


def test_what_was_wrong_before_does_not_forbid_other_changes() -> None:
    broken = changed(RUNNING, "metadata labels edl.dev/gpu", "x")
    new = changed(broken, "metadata labels team", "vision")
    assert update(new, broken).manifest == new
    worse = changed(new, "metadata labels edl.dev/min", "x")
    with pytest.raises(Denied) as denied:
        update(worse, broken)
    assert [finding.path for finding in denied.value.findings] == ["metadata.labels[edl.dev/min]"]


def test_the_validation_holds_the_bounds_for_every_user() -> None:
    new = changed(RUNNING, "metadata labels edl.dev/max", "4")
    with pytest.raises(Denied, match="at most 3"):
        validate(AdmissionRequest("UPDATE", new, RUNNING, contract.RECONCILER_USER), CONTEXT)


def test_applying_the_users_own_file_again_changes_nothing() -> None:
    """Client-side apply resets what the file names; server defaults fill in the rest."""
    new = changed(changed(RUNNING, "spec parallelism", 1), "spec suspend", value=False)
    verdict = update(new, RUNNING)
    assert verdict.manifest == RUNNING
    assert len(verdict.warnings) == 1


def _told(name: str, value: str) -> Json:
    env = [{"name": name, "value": value}]
    return {"containers": [{"name": "main", "image": "a", "env": env}]}


@pytest.mark.parametrize(
    ("manifest", "low"),
    [
        (job(framework="pytorch", min="4", max="8"), "3"),
        (job(framework="pytorch", spec={"parallelism": 4}), "3"),
        (role_manifest("trainer", "master=1,trainer=4", framework="paddle"), "2"),
    ],
    ids=["elastic", "fixed", "paddle"],
)
def test_min_may_not_leave_what_pods_wait_for(manifest: Json, low: str) -> None:
    old = created(manifest)
    with pytest.raises(Denied) as denied:
        update(changed(old, "metadata labels edl.dev/min", low), old)
    (finding,) = denied.value.findings
    assert finding.path == "metadata.labels[edl.dev/min]"
    variable = {"pytorch": "PET_NNODES", "paddle": "PADDLE_NNODES"}[labels(old)[contract.FRAMEWORK]]
    assert (finding.what, finding.allowed) == (
        f"{low} is below 4, the number of peers that {variable} makes each pod wait for",
        f"set it to 4 or more, or recreate the Job, with a smaller {variable} if its file has one",
    )


def test_a_job_whose_pods_wait_for_more_peers_than_its_min_is_refused() -> None:
    """At its minimum it would hold its nodes and never train."""
    with pytest.raises(Denied) as denied:
        created(job(framework="pytorch", min="1", max="6", pod=_told("PET_NNODES", "2:8")))
    (finding,) = denied.value.findings
    assert str(finding) == (
        "metadata.labels[edl.dev/min]: 1 is below 2, the number of peers that PET_NNODES makes "
        "each pod wait for; set it to 2 or more, or remove PET_NNODES from the pod template"
    )


@pytest.mark.parametrize(
    "manifest",
    [
        job(framework="tensorflow", min="4", max="8"),
        job(framework="pytorch", min="4", max="8", pod=_told("PET_NNODES", "1:8")),
        role_manifest("trainer", "master=1,trainer=2..4", framework="paddle"),
    ],
    ids=["tensorflow", "own", "paddle"],
)
def test_min_may_be_lowered_where_no_pod_waits_for_more_peers(manifest: Json) -> None:
    old = created(manifest)
    new = changed(old, "metadata labels edl.dev/min", "1")
    assert labels(update(new, old).manifest)["edl.dev/min"] == "1"


def released() -> Json:
    """As `kubectl edl release` leaves it: the template, which is immutable, keeps our labels."""
    plain = {"name": "mnist-worker", "labels": {"job-name": "mnist-worker"}}
    return RUNNING | {"metadata": plain}


def test_a_released_job_that_is_applied_without_labels_stays_an_ordinary_one() -> None:
    """The API server has defaulted them from the pod template."""
    old = released()
    pods = template(old)["metadata"]["labels"] | {"job-name": "mnist-worker"}
    old = changed(old, "spec template metadata labels", pods)
    verdict = update(changed(old, "metadata labels", pods), old)
    assert labels(verdict.manifest) == {"job-name": "mnist-worker"}
    assert verdict.manifest["spec"] == old["spec"]
    (warning,) = verdict.warnings
    assert warning.startswith("mnist-worker was released and stays an ordinary Job")
    assert update(verdict.manifest, old).manifest == verdict.manifest


@pytest.mark.parametrize("more", [{}, {"role": "worker"}, {"min": "1", "max": "4"}])
def test_a_released_job_whose_old_file_is_applied_stays_an_ordinary_one(more: Json) -> None:
    old = changed(released(), "metadata namespace", "lab")
    file = {"team": "vision", contract.FRAMEWORK: "tensorflow"}
    file |= {f"edl.dev/{name}": text for name, text in more.items()}
    verdict = update(changed(old, "metadata labels", {"job-name": "x"} | file), old)
    assert labels(verdict.manifest) == {"job-name": "x", "team": "vision"}
    (warning,) = verdict.warnings
    assert "kubectl edl adopt -f FILE … | kubectl replace --force -n lab -f - makes" in warning


def test_annotations_of_ours_go_from_a_released_job_with_the_labels() -> None:
    old = released()
    new = changed(old, "metadata labels", template(old)["metadata"]["labels"])
    ours = {contract.ROLES: "ps=1,worker=1..4", contract.PAUSED: "true", "team": "vision"}
    verdict = update(changed(new, "metadata annotations", ours), old)
    assert verdict.manifest["metadata"]["annotations"] == {"team": "vision"}


def test_a_released_job_has_a_label_at_least_lest_ours_come_back() -> None:
    old = released()
    verdict = update(changed(old, "metadata labels", template(old)["metadata"]["labels"]), old)
    assert labels(verdict.manifest) == {"batch.kubernetes.io/job-name": "mnist-worker"}


def test_all_labels_of_its_pods_on_a_job_that_was_never_ours_are_refused() -> None:
    old = changed(released(), "spec template metadata labels", {"app": "mnist"})
    pods = {contract.FRAMEWORK: "tensorflow", "app": "mnist"}
    new = changed(changed(old, "metadata labels", pods), "spec template metadata labels", pods)
    with pytest.raises(Denied, match="only takes effect at creation"):
        update(new, old)


def owned_by(kind: str, **more: object) -> Json:
    owner = {"apiVersion": "a/v1", "kind": kind, "name": "old", "uid": "1", "controller": True}
    return changed(released(), "metadata ownerReferences", [owner | more])


@pytest.mark.parametrize(
    ("old", "way"),
    [
        (owned_by("TrainingJob"), "this Job is of TrainingJob old: when that is deleted"),
        (changed(released(), "metadata labels", {"paddle-job": "ctr"}), "of TrainingJob ctr"),
        (owned_by("CronJob"), "kubectl edl adopt mnist-worker --recreate"),
        (owned_by("Experiment", controller=False), "kubectl edl adopt mnist-worker --recreate"),
        (released(), "kubectl edl adopt mnist-worker --recreate"),
    ],
)
def test_a_job_of_another_system_is_waited_for_and_any_other_adopted(old: Json, way: str) -> None:
    old = changed(old, "spec template metadata labels", {"app": "mnist"})
    new = changed(old, "metadata labels", {contract.FRAMEWORK: "tensorflow"})
    with pytest.raises(Denied) as denied:
        update(new, old)
    assert way in str(denied.value)


def test_an_update_gives_pods_no_more_rules_than_plans_follow() -> None:
    path, most = "spec template spec tolerations", pod_limits.MAX_RULES + pod_limits.ADDED

    def tolerating(count: int) -> Json:
        return changed(
            QUEUED, path, [{"key": f"k{one}", "operator": "Exists"} for one in range(count)]
        )

    update(tolerating(most), tolerating(0))
    for before in (0, most):
        with pytest.raises(Denied, match=f"{most + 5} tolerations; at most 128"):
            update(tolerating(most + 5), tolerating(before))
    wrong = changed(tolerating(most + 5), "metadata annotations edl.dev/cooldown", "many")
    with pytest.raises(Denied, match=f"{most + 5} tolerations") as denied:
        update(wrong, tolerating(most))
    assert len(denied.value.findings) == 2

"""The webhook as the API server sees it: over TLS, and who waits for it when it is away."""

import json
import re

import pytest

from dev.installation import IMAGE
from edl.inject import handlers
from edl.inject.handlers import AdmissionRequest, Context
from edl.kube.api.client import connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json
from sandbox.cluster import Cluster
from sandbox.errors import SandboxError
from tests.integration.support.webhook import (
    UNLABELLED,
    Webhook,
    labelled,
    plain,
    pod,
    read,
    stored,
)
from tests.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.long]


def create(cluster: Cluster, namespace: str, manifest: Json) -> str:
    return cluster.kubectl("create", "-n", namespace, "-f", "-", input=json.dumps(manifest))


def refusal(cluster: Cluster, namespace: str, manifest: Json) -> str:
    with pytest.raises(SandboxError) as refused:
        create(cluster, namespace, manifest)
    return str(refused.value)


def test_a_labelled_job_is_stored_as_the_core_completes_it(
    webhook: Webhook, namespace: str
) -> None:
    manifest = labelled("mnist", namespace, framework="tensorflow", min="1", max="3")
    create(webhook.cluster, namespace, manifest)
    found = read(webhook.cluster, ObjectRef("Job", namespace, "mnist"))
    context = Context(frozenset(), IMAGE)
    wanted = handlers.mutate(
        AdmissionRequest("CREATE", manifest, None, "somebody"), context
    ).manifest
    assert holds(found["spec"], wanted["spec"])
    assert holds(found["metadata"]["labels"], wanted["metadata"]["labels"])


def holds(found: object, wanted: object) -> bool:
    """Whether `found` is `wanted` and perhaps more: the API server fills in defaults."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and holds(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list) and isinstance(found, list):
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(holds(one, other) for one, other in pairs)
    return found == wanted


def test_a_user_reads_every_finding_in_one_message(webhook: Webhook, namespace: str) -> None:
    message = refusal(
        webhook.cluster, namespace, labelled("mnist", namespace, min="x", max="0", gpu="lots")
    )
    assert 'The Job "mnist" is invalid: \n* ' in message
    for label in ("min", "max", "gpu"):
        assert f"metadata.labels[edl.dev/{label}]: " in message


def test_an_update_is_held_to_the_contract(webhook: Webhook, namespace: str) -> None:
    create(webhook.cluster, namespace, labelled("mnist", namespace))
    command = ("label", "-n", namespace, "job", "mnist", "--overwrite", "edl.dev/framework=horovod")
    with pytest.raises(SandboxError, match=r"metadata\.labels\[edl\.dev/framework\]"):
        webhook.cluster.kubectl(*command)


def test_a_dry_run_is_answered_and_leaves_nothing(webhook: Webhook, namespace: str) -> None:
    assert "suspend: true" in webhook.dry_run(labelled("mnist", namespace))
    assert webhook.cluster.kubectl("get", "jobs", "-n", namespace, "-o", "name") == ""


def test_a_bare_pod_is_seen_and_a_jobs_pod_is_not(webhook: Webhook, namespace: str) -> None:
    manifest = labelled("mnist", namespace)
    create(webhook.cluster, namespace, manifest)
    before = webhook.reviews()
    create(webhook.cluster, namespace, pod("alone", framework="none"))
    assert webhook.reviews() == before + 2  # to mutate and to validate
    found = read(webhook.cluster, ObjectRef("Job", namespace, "mnist"))
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "mnist",
        "uid": found["metadata"]["uid"],
    }
    owned = pod("owned", framework="none")
    owned["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    before = webhook.reviews()
    create(webhook.cluster, namespace, owned)
    assert webhook.reviews() == before


@pytest.mark.parametrize("kind", UNLABELLED)
def test_what_is_not_labelled_is_stored_byte_for_byte_as_ever(
    webhook: Webhook, untouched: dict[str, str], kind: str
) -> None:
    before = webhook.reviews()
    assert stored(webhook.cluster, kind) == untouched[kind]
    assert webhook.reviews() == before


SLIP = {"edl.dev/framwork": "none"}
MEANT = "edl.dev/framwork is unknown, and does nothing: did you mean edl.dev/framework"


def warned(cluster: Cluster, *command: str, **how: str) -> str:
    with pytest.raises(SandboxError) as refused:
        cluster.kubectl(*command, "--warnings-as-errors", **how)
    return str(refused.value)


def with_slip(manifest: Json) -> Json:
    return manifest | {"metadata": manifest["metadata"] | {"labels": SLIP}}


def test_a_slip_in_our_label_is_a_warning_and_nothing_more(
    webhook: Webhook, namespace: str
) -> None:
    create_it = ("create", "-n", namespace, "-f", "-")
    for manifest in (with_slip(plain("mnist", namespace)), with_slip(pod("mnist"))):
        assert MEANT in warned(webhook.cluster, *create_it, input=json.dumps(manifest))
        found = read(webhook.cluster, ObjectRef(manifest["kind"], namespace, "mnist"))
        assert found["metadata"]["labels"].items() >= SLIP.items()
    label = ("label", "-n", namespace, "job", "later", "edl.dev/framwork=none")
    create(webhook.cluster, namespace, plain("later", namespace))
    assert MEANT in warned(webhook.cluster, *label)


def test_controlled_pods_with_misspelled_labels_and_opted_out_jobs_are_not_reviewed(
    webhook: Webhook, namespace: str
) -> None:
    create(webhook.cluster, namespace, plain("owner", namespace))
    uid = read(webhook.cluster, ObjectRef("Job", namespace, "owner"))["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "owner", "uid": uid}
    owned = with_slip(pod("owned"))
    owned["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    leaves = plain("leaves", namespace)
    leaves["metadata"]["labels"] = {"edl.dev/injection": "disabled", "team": "edl.dev"}
    before = webhook.reviews()
    for manifest in (owned, leaves):
        create(webhook.cluster, namespace, manifest)
    assert webhook.reviews() == before


def test_a_large_job_passes(webhook: Webhook, namespace: str) -> None:
    manifest = labelled("mnist", namespace)
    container = manifest["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": f"V{number}", "value": "x" * 10_000} for number in range(80)]
    create(webhook.cluster, namespace, manifest)
    assert read(webhook.cluster, ObjectRef("Job", namespace, "mnist"))["spec"]["suspend"] is True


def test_labelled_objects_are_refused_with_the_webhooks_name_while_it_is_down(
    webhook: Webhook, namespace: str
) -> None:
    with webhook.dead():
        for manifest in (labelled("mnist", namespace), pod("mnist", framework="none")):
            message = refusal(webhook.cluster, namespace, manifest)
            assert re.search(r'failed calling webhook "(jobs|pods)\.edl\.dev"', message)
            assert "connection refused" in message
    create(webhook.cluster, namespace, labelled("mnist", namespace))


def test_while_it_is_away_nothing_else_notices(
    webhook: Webhook, untouched: dict[str, str], namespace: str
) -> None:
    create(webhook.cluster, namespace, labelled("going", namespace))
    with webhook.dead():
        assert {kind: stored(webhook.cluster, kind) for kind in UNLABELLED} == untouched
        create(webhook.cluster, namespace, with_slip(plain("slip", namespace)))
        for system in ("kube-system", "edl-system"):
            assert "suspend: false" in webhook.dry_run(labelled("mnist", system))
        # Its finalizer comes off by an update of the labelled Job.
        webhook.cluster.kubectl(
            *("delete", "job", "going", "-n", namespace, "--cascade=foreground", "--timeout=30s")
        )
        left = webhook.cluster.kubectl("get", "jobs", "-n", namespace, "-o", "name")
        assert left == "job.batch/slip\n"


def test_running_pods_of_a_labelled_job_do_not_wait_for_it(
    webhook: Webhook, namespace: str
) -> None:
    create(webhook.cluster, namespace, labelled("mnist", namespace))
    reconciler = connect(str(webhook.installation.folder / "reconciler.kubeconfig"))
    reconciler.patch(ObjectRef("Job", namespace, "mnist"), {"spec": {"suspend": False}})
    first = the_pod(webhook.cluster, namespace)
    with webhook.dead():
        webhook.cluster.kubectl("delete", "pod", "-n", namespace, first, "--wait=false")
        until(lambda: the_pod(webhook.cluster, namespace) not in ("", first))


def the_pod(cluster: Cluster, namespace: str) -> str:
    """The name of a pod that stays; empty while there is none."""
    api, pods = connect(str(cluster.kubeconfig)), ListOptions("Pod", namespace)
    until(lambda: api.list(pods).items)
    listed = map(json.loads, api.list(pods).items)
    names = [
        each["metadata"]["name"] for each in listed if "deletionTimestamp" not in each["metadata"]
    ]
    return names[0] if names else ""

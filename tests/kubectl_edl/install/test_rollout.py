"""The wait of `install` until both components are ready and trusted."""

from collections.abc import Mapping
from typing import Any

import pytest

from certs.secrets import WEBHOOK_KINDS
from edl.model import ObjectRef
from edl.writes import Json
from tests.kubectl_edl.install.installations import IMAGE, Judging, install, ours, ready, stage
from tests.kubectl_edl.stage import Stage


def test_install_waits_until_both_are_ready_and_trusted() -> None:
    on = stage()
    install(on)
    for name in ("edl-webhook", "edl-reconciler"):
        ready(on, name)
    run = on.run("upgrade", "--timeout", "0")
    assert run.code == 0, run.err
    assert run.out.splitlines()[-1] == "kubectl-edl is ready: kubectl edl status -A"


@pytest.mark.parametrize("kind", WEBHOOK_KINDS)
def test_install_waits_until_both_webhook_configurations_are_trusted(kind: str) -> None:
    class NotYet(Judging):
        def apply(self, target: ObjectRef, manifest: Mapping[str, Any], **how: bool) -> Json:
            if target.kind == kind:
                return self._cluster.apply(target, manifest, **how)
            return super().apply(target, manifest, **how)

    on = Stage(wrapped=NotYet)
    install(on)
    for name in ("edl-webhook", "edl-reconciler"):
        ready(on, name)
    run = on.run("upgrade", "--timeout", "0")
    assert run.code == 5
    assert f"the API server has no caBundle for it yet ({kind})" in run.err


def test_a_wait_that_times_out_names_component_and_reason() -> None:
    on = stage()
    install(on)
    on.create(ours(on, conditions=[unscheduled("0/3 nodes are available: 3 Insufficient cpu.")]))
    ready(on, "edl-reconciler")
    run = on.run("upgrade", "--timeout", "0", "--context", "prod")
    assert run.code == 5
    assert run.err == (
        "hint: until edl-webhook is ready, the API server refuses new training jobs, and all new "
        "Jobs of namespaces that opted in; other Jobs are not affected; to undo the installation: "
        "kubectl edl uninstall --context prod\n"
        "error: not ready after 0s: edl-webhook is not rolled out; pod edl-webhook-1: "
        "0/3 nodes are available: 3 Insufficient cpu.; kubectl edl doctor --context prod\n"
    )


def test_while_old_pods_of_the_webhook_serve_no_refusals_are_announced() -> None:
    on = stage()
    install(on)
    ready(on, "edl-webhook")
    run = on.run("upgrade", "--timeout", "0")
    assert run.code == 5
    assert "edl-reconciler is not rolled out" in run.err
    assert "hint" not in run.err


def test_a_wait_that_times_out_says_why_pods_are_refused() -> None:
    on = stage()
    install(on)
    why = 'pods "edl-webhook-7-" is forbidden: no PriorityClass with name nosuch was found'
    failed = {"type": "ReplicaFailure", "status": "True", "message": why}
    webhook = ObjectRef("Deployment", "edl-system", "edl-webhook")
    on.cluster.patch(webhook, {"status": {"conditions": [failed]}})
    run = on.run("upgrade", "--timeout", "0")
    assert run.code == 5
    assert f"; {why}; kubectl edl doctor" in run.err
    assert run.err.startswith(
        "hint: values that an admission policy may demand: pods.labels, pods.annotations, "
        "webhook.resources, reconciler.resources: kubectl edl upgrade --set NAME=VALUE\n"
    )


def test_an_unpullable_image_is_refused_at_once_with_a_remedy() -> None:
    on = stage()
    install(on, "--image", "kubectl-edl:0.1.0")
    waiting = {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "kubectl-edl:0.1.0"',
    }
    on.create(ours(on, containerStatuses=[container({"waiting": waiting})]))
    run = on.run("upgrade", "--timeout", "0", "--context", "prod")
    assert run.code == 1
    assert run.err.startswith("hint: until edl-webhook is ready, the API server refuses ")
    assert (
        "error: pod edl-webhook-1 (image kubectl-edl:0.1.0) waits: container webhook: "
        'ImagePullBackOff: Back-off pulling image "kubectl-edl:0.1.0"; build it '
    ) in run.err
    assert (
        "kind load docker-image kubectl-edl:0.1.0 && kubectl edl upgrade --context prod --image "
        in run.err
    )
    assert (
        "docker push REGISTRY/kubectl-edl:0.1.0 && kubectl edl upgrade --context prod --image "
        in run.err
    )


def test_problems_of_old_pods_are_ignored() -> None:
    on = stage()
    install(on, "--image", "nobody.test/none:1")
    on.create(ours(on, containerStatuses=[container({"waiting": {"reason": "ErrImagePull"}})]))
    assert "(image nobody.test/none:1) waits" in on.run("upgrade", "--timeout", "0").err
    run = on.run("upgrade", "--image", IMAGE, "--timeout", "0")
    assert run.code == 5
    assert "edl-webhook-1" not in run.err


@pytest.mark.parametrize(
    "crash",
    [{"waiting": {"reason": "CrashLoopBackOff"}}, {"terminated": {"exitCode": 1}}],
    ids=["delayed", "ended"],
)
def test_a_crashing_webhook_is_refused_at_once_with_its_log_command(crash: Json) -> None:
    on = stage()
    install(on)
    on.create(ours(on, containerStatuses=[container(crash) | {"restartCount": 3}]))
    run = on.run("upgrade", "--timeout", "0", "--context", "prod")
    assert run.code == 1
    assert "waits: container webhook: CrashLoopBackOff" in run.err
    assert "; kubectl logs edl-webhook-1 -c webhook -n edl-system --context prod\n" in run.err


def test_a_wait_that_times_out_names_a_container_that_waits_for_a_secret() -> None:
    on = stage()
    install(on)
    waiting = {"reason": "CreateContainerConfigError", "message": 'secret "pull" not found'}
    on.create(ours(on, containerStatuses=[container({"waiting": waiting})]))
    run = on.run("upgrade", "--timeout", "0")
    assert run.code == 5
    assert 'CreateContainerConfigError: secret "pull" not found; kubectl edl doctor' in run.err


def container(state: Json) -> Json:
    return {"name": "webhook", "state": state}


def unscheduled(message: str) -> Json:
    return {"type": "PodScheduled", "status": "False", "message": message}

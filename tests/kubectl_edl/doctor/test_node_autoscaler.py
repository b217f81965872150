"""Checks that a node autoscaler is detected."""

from edl.model import ObjectRef
from edl.planner.decision_limits import Autoscaler, Limits, Provisioner, ProvisionerSettings
from edl.planner.published_settings import Settings, render
from tests.kubectl_edl.cluster_wrappers import reading
from tests.kubectl_edl.doctor.findings import checked, only
from tests.kubectl_edl.stage import Stage, lease

STATUS = ObjectRef("ConfigMap", "kube-system", "cluster-autoscaler-status")


def test_a_cluster_autoscaler_that_is_not_detected_is_a_warning(stage: Stage) -> None:
    assert "autoscaler" not in checked(stage)
    stage.cluster.create(STATUS, {})
    result, said, fix = only(stage, "autoscaler")
    assert result == "warning"
    assert said.endswith("and the reconciler detects none: queued jobs get no nodes")
    assert "reconciler.planning.autoscaler to present (--autoscaler=present)" in fix
    inner = stage.wrapped
    stage.wrapped = lambda cluster: reading([], STATUS.name)(inner(cluster))
    assert "autoscaler" not in checked(stage)
    stage.wrapped = inner
    lease(stage, render(Settings(limits=Limits(autoscaler=Autoscaler.PRESENT))))
    assert "autoscaler" not in checked(stage)


def test_requests_for_nodes_that_nothing_answers_are_a_warning(stage: Stage) -> None:
    stage.cluster.unserved = frozenset()
    result, said, fix = only(stage, "autoscaler")
    assert (result, said.endswith("nothing else shows an autoscaler")) == ("warning", True)
    assert "(--autoscaler=none), else to present" in fix
    request = ObjectRef("ProvisioningRequest", "default", "one")
    condition = {"type": "Provisioned", "status": "True"}
    stage.cluster.create(request, {"status": {"conditions": [condition]}})
    assert "autoscaler" not in checked(stage)
    stage.cluster.delete(request)
    assert "autoscaler" in checked(stage)
    stage.cluster.create(STATUS, {})
    assert "autoscaler" not in checked(stage)


def test_requests_for_nodes_need_their_api(stage: Stage) -> None:
    assert "provisioner" not in checked(stage), "it asks by provisional pods"
    provisioning = ProvisionerSettings(Provisioner.REQUEST)
    lease(stage, render(Settings(limits=Limits(provisioning=provisioning))))
    verdict, message, fix = only(stage, "provisioner")
    assert verdict == "warning"
    assert "the API server serves no ProvisioningRequest" in message
    assert "--enable-provisioning-requests" in fix
    stage.cluster.unserved = frozenset()
    assert only(stage, "provisioner")[0] == "ok"

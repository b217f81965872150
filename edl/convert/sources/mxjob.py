"""MXJob and MxJob, in all their variants.

| API | replicas |
|---|---|
| mlkube.io, mxnet.mlkube.io v1beta1 (MxJob) | the list `replicaSpecs`, `jobMode` dist or local |
| kubeflow.org v1alpha1 | the same list |
| kubeflow.org v1alpha2, v1beta1, v1 | the map `mxReplicaSpecs`, `jobMode` MXTrain or MXTune |
| qiniu.com, ava.qiniu.com v1alpha1 | the map `replicaSpecs` |

Fields: deepinsight, kubeflow and qiniu-ava mxnet-operator, kubeflow/training-operator.
"""

from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.convert import training_manifest
from edl.convert.parts import (
    object_metadata,
    pod_templates,
    replica_bounds,
    replica_specs,
    restart_policy,
    role_part,
    run_policy,
)
from edl.convert.parts.replica_specs import RendezvousPort, Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.source_kind import SourceKind
from edl.convert.sources import mx_replicas
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest, TrainingManifest
from edl.frameworks import FRAMEWORKS
from edl.writes import Json

_FRAMEWORK: Final = FRAMEWORKS["mxnet"]
_MODES: Final = {"MXTrain": "", "MXTune": "tune", "dist": "dist", "local": "local"}
_PORT: Final = RendezvousPort("mxnet", "mxjob-port", _FRAMEWORK.port)


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document)
    spec = document.fields("spec")
    policy = run_policy.read(spec, clean_up="cleanupPodPolicy")
    found, port = mx_replicas.read(spec)
    run_policy.remark_on_retries(policy, spec, [replica.restart for replica in found])
    roles = [replica.role for replica in found]
    annotations = policy.annotations | _mode(spec, roles) | _port(found, port)
    _drop_the_rest(spec)
    scheduler = spec.text("schedulerName")
    cast = tuple(_part(replica, policy, scheduler) for replica in found)
    return training_manifest.manifests(TrainingManifest(meta, _FRAMEWORK.name, cast, annotations))


def _part(replica: Replica, policy: RunPolicy, scheduler: str) -> RoleManifest:
    main = pod_templates.main_container(replica.template, _PORT.container).get("name", "")
    failing = restart_policy.restarted(replica.restart, policy.retries, main)
    serves = _FRAMEWORK.kinds[replica.role].serves
    restart_policy.remark_on(replica.fields, replica.restart, serves=serves)
    template = pod_templates.with_default(
        replica.fields, replica.template, "schedulerName", scheduler
    )
    replica = replica_specs.with_template(replica, template)
    return role_part.of(replica, replica_bounds.exactly(replica.size), failing, policy)


def _mode(spec: Fields, roles: Sequence[str]) -> dict[str, str]:
    """Only where the roles do not say it themselves."""
    wanted = _MODES.get(spec.choice("jobMode", tuple(_MODES)), "")
    usual = _FRAMEWORK.mode("", roles)
    return {contract.MODE: wanted} if wanted and usual and usual.name != wanted else {}


def _port(found: Sequence[Replica], number: int | None) -> dict[str, str]:
    """The list form says it at a replica, the map form by a container's port."""
    return _PORT.annotations(found) if number is None else replica_specs.said(number, _PORT.usual)


def _drop_the_rest(spec: Fields) -> None:
    if spec.value("RuntimeId") is not None:
        spec.note("RuntimeId", "written by the operator: left out")
    spec.drop("mxImage", instead="each template names its image")
    if spec.choice("successPolicy", ("AllWorkers",)):
        what = "the scheduler ends when all workers have, and it decides"
        spec.note("successPolicy", what)
    for name in ("startWebhook", "finishWebhook"):
        spec.drop(name, instead="watch the Job, or its Events")
    spec.drop("schedulingSpec", instead="kubectl-edl starts a job when all of it fits")
    chief = spec.fields("terminationPolicy").fields("chief")
    name, index = chief.text("replicaName"), chief.whole("replicaIndex")
    if name and (name.lower(), index or 0) != ("scheduler", 0):
        what = f"{name} {index or 0} decided when the job is done"
        chief.lose("replicaName", what, "the scheduler decides here")


SOURCE: Final = SourceKind(
    apis=(
        ("kubeflow.org", "MXJob"),
        ("mlkube.io", "MxJob"),
        ("mxnet.mlkube.io", "MxJob"),
        ("qiniu.com", "MXJob"),
        ("ava.qiniu.com", "MXJob"),
    ),
    versions=("v1alpha1", "v1alpha2", "v1beta1", "v1"),
    read=read,
)

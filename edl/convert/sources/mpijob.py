"""MPIJob: kubeflow.org v1alpha1, v1alpha2, v1 and v2beta1, as a Horovod launcher and workers.

Up to v1 the launcher reaches its workers by exec, from v2beta1 by ssh.
Fields: kubeflow/mpi-operator pkg/apis/kubeflow, kubeflow/training-operator pkg/apis.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.convert import training_manifest
from edl.convert.parts import (
    launcher_and_workers,
    object_metadata,
    pod_templates,
    replica_bounds,
    replica_specs,
    restart_policy,
    run_policy,
    sshd_workers,
)
from edl.convert.parts.replica_specs import Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.source_kind import SourceKind
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest, TrainingManifest
from edl.spec import addresses
from edl.writes import Json

_FRAMEWORK: Final = "horovod"
_NO_PROCESSING_UNITS: Final = ("kubeflow.org/v1", "kubeflow.org/v2beta1")
"""Versions whose default is 1 slot; older ones default to a worker's GPUs, as we do."""
_KEYS: Final = "ssh-auth"
_INSIDE: Final = ".ssh"
"""A subdirectory, because sshd rejects keys in a directory that others can write."""
_KEY_FILES: Final = [
    {"key": addresses.SSH_PRIVATE_KEY, "path": f"{_INSIDE}/id_rsa"},
    {"key": addresses.SSH_PUBLIC_KEY, "path": f"{_INSIDE}/id_rsa.pub"},
    {"key": addresses.SSH_PUBLIC_KEY, "path": f"{_INSIDE}/authorized_keys"},
    {"key": addresses.SSH_CONFIG, "path": f"{_INSIDE}/config"},
]
_ROLE_ENV: Final = "K_MPI_JOB_ROLE"
_PATIENT: Final = "-o ConnectionAttempts=10"
_IMPLEMENTATIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "OpenMPI": {"OMPI_MCA_plm_rsh_args": _PATIENT, "PRTE_MCA_plm_ssh_args": _PATIENT},
    "Intel": {
        "I_MPI_HYDRA_HOST_FILE": contract.EDL_HOSTFILE,
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": _PATIENT,
    },
    "MPICH": {"HYDRA_HOST_FILE": contract.EDL_HOSTFILE, "HYDRA_LAUNCH_EXTRA_ARGS": _PATIENT},
}
"""Launcher variables of v2beta1; Hydra's host list is `host:slots`, like et-operator's."""


def read(document: Fields) -> Sequence[Json]:
    version = document.peek_text("apiVersion")
    meta = object_metadata.read(document)
    spec = document.fields("spec")
    if version == "kubeflow.org/v1alpha1":
        replicas = read_v1alpha1(spec)
    else:
        replicas = replica_specs.read(
            spec.fields("mpiReplicaSpecs"), launcher_and_workers.ROLES, ""
        )
    policy = run_policy.read(spec)
    mode = "ssh" if version == "kubeflow.org/v2beta1" else "kubexec"
    annotations = policy.annotations | _slots(spec, replicas, version)
    annotations |= launcher_and_workers.attached(document, meta, _FRAMEWORK, mode)
    if mode == "ssh":
        spec.drop("runLauncherAsWorker", instead="add one to the workers' replicas")
        replicas = _with_keys(spec, _with_implementation(spec, replicas), meta.name)
    _note_waiting(spec)
    replicas = _with_main_container(spec, sshd_workers.replaced(replicas, mode))
    _note_elastic(document, replicas)
    all_roles = tuple(_part(replica, policy) for replica in replicas)
    return training_manifest.manifests(TrainingManifest(meta, _FRAMEWORK, all_roles, annotations))


def _part(replica: Replica, policy: RunPolicy) -> RoleManifest:
    if replica.role == "worker":
        return launcher_and_workers.workers(replica, replica_bounds.exactly(replica.size), policy)
    restart_policy.remark_on(replica.fields, replica.restart, serves=False)
    failing = restart_policy.counted(replica.restart, policy.retries)
    return launcher_and_workers.launcher(replica, failing, policy)


def _slots(spec: Fields, replicas: Sequence[Replica], version: str) -> dict[str, str]:
    slots = spec.whole("slotsPerWorker", least=1)
    if slots is None and version in _NO_PROCESSING_UNITS:
        gpus = [pod_templates.gpus(replica.template, contract.GPU_RESOURCE) for replica in replicas]
        slots = 1 if max(gpus, default=0) > 1 else None
    return {} if slots is None else {contract.SLOTS: str(slots)}


def _with_keys(spec: Fields, replicas: Sequence[Replica], training_job: str) -> tuple[Replica, ...]:
    """Mount the ssh keys where the source's images expect them, if that path differs from ours."""
    directory = spec.text("sshAuthMountPath").rstrip("/")
    if directory in ("", contract.SSH_DIRECTORY):
        return tuple(replicas)
    volume = {
        "name": _KEYS,
        "secret": {"secretName": addresses.ssh_secret(training_job), "items": _KEY_FILES},
    }
    mount = {"name": _KEYS, "mountPath": directory, "subPath": _INSIDE}
    return replica_specs.with_templates(
        replicas, lambda replica: pod_templates.with_volume(replica.template, volume, mount)
    )


def _with_implementation(spec: Fields, replicas: Sequence[Replica]) -> tuple[Replica, ...]:
    """Variables by which mpi-operator's images know their role and their MPI implementation."""
    name = spec.choice("mpiImplementation", tuple(_IMPLEMENTATIONS)) or "OpenMPI"
    implementation = {"launcher": _IMPLEMENTATIONS[name]}
    env = {one.role: {_ROLE_ENV: one.role, **implementation.get(one.role, {})} for one in replicas}
    return replica_specs.with_templates(
        replicas, lambda replica: pod_templates.with_env(replica.template, env[replica.role])
    )


def _note_waiting(spec: Fields) -> None:
    policy = spec.choice("launcherCreationPolicy", ("AtStartup", "WaitForWorkersReady"))
    if policy == "AtStartup":
        spec.note("launcherCreationPolicy", "the launcher starts when its workers are ready")
    spec.flag("waitForWorkers")


def _note_elastic(document: Fields, replicas: Sequence[Replica]) -> None:
    """Note if its command is elastic: mpi-operator never resized an MPIJob."""
    texts = (text for replica in replicas for text in pod_templates.texts(replica.template))
    if any("min-np" in text or "max-np" in text for text in texts):
        way_out = f"write {contract.MIN} and {contract.MAX} on its Job, worker=MIN..MAX on both"
        document.note("", "horovodrun takes fewer or more workers than this one number", way_out)


def _with_main_container(spec: Fields, replicas: Sequence[Replica]) -> tuple[Replica, ...]:
    """Make this the default container for `kubectl exec`, which kubexec.sh uses."""
    name = spec.text("mainContainer")
    if not name:
        return tuple(replicas)
    note = {contract.DEFAULT_CONTAINER: name}
    return replica_specs.with_templates(
        replicas, lambda replica: pod_templates.annotated(replica.template, note)
    )


# MPIJob v1alpha1: one template for all pods, and a number of GPUs, of other units, or of replicas.
#
# Defaults as in kubeflow/mpi-operator, mpi_job_controller of that version.

_UNITS: Final = ("processingUnits", "gpus")
_UNITS_A_NODE: Final = ("processingUnitsPerNode", "gpusPerNode")
_USUAL_A_NODE: Final = 8
"""The value in the operator's own manifest: `--gpus-per-node 8`."""
_MASTER: Final = "node-role.kubernetes.io/master"


def read_v1alpha1(spec: Fields) -> tuple[Replica, ...]:
    """The launcher and the workers, each with the operator's changes to the template."""
    policy, template = pod_templates.restart_of(spec, pod_templates.read(spec))
    size, units = _workers(spec)
    launcher = pod_templates.with_first(
        template, lambda container: pod_templates.without(container, "resources")
    )
    if spec.flag("launcherOnMaster"):
        launcher = _on_master(launcher)
    worker = pod_templates.with_first(template, lambda container: _waiting(container, units))
    return (
        Replica("launcher", 1, launcher, "Never" if policy == "Never" else "OnFailure", spec),
        Replica("worker", size, worker, "OnFailure", spec),
    )


def _workers(spec: Fields) -> tuple[int, dict[str, int]]:
    """Number of workers, and units per worker; the operator requires an even division."""
    resource = spec.text("processingResourceType") or contract.GPU_RESOURCE
    units, a_node = _first(spec, _UNITS), _first(spec, _UNITS_A_NODE)
    replicas = spec.whole("replicas", least=1)
    if units is None:
        return replicas or 1, {}
    if replicas is not None:
        spec.wrong("replicas", "conflicts with a number of processing units", "keep one of them")
    if a_node is None:
        a_node = _USUAL_A_NODE
        what = f"{_USUAL_A_NODE} a node, as the operator's manifest said"
        spec.note("", what, "write processingUnitsPerNode for another number")
    if units < a_node:
        return 1, {resource: units}
    if units % a_node:
        spec.wrong("", f"{units} units are not a multiple of {a_node} a node", "choose a multiple")
    return units // a_node, {resource: a_node}


def _first(spec: Fields, names: tuple[str, str]) -> int | None:
    new, old = (spec.whole(name, least=1) for name in names)
    if new is not None and old is not None:
        spec.wrong(names[1], f"conflicts with {names[0]}", "keep one of them")
    return old if new is None else new


def _waiting(container: Json, units: dict[str, int]) -> Json:
    """The worker's container, without the launcher's command; units set in the template win."""
    bare = pod_templates.without(pod_templates.without(container, "command"), "args")
    resources = container.get("resources") or {}
    limits = {**units, **(resources.get("limits") or {})}
    return bare | ({"resources": resources | {"limits": limits}} if limits else {})


def _on_master(template: Json) -> Json:
    spec = template["spec"]
    term = {"matchExpressions": [{"key": _MASTER, "operator": "Exists"}]}
    required = {contract.REQUIRED_AFFINITY: {"nodeSelectorTerms": [term]}}
    return template | {
        "spec": spec
        | {
            "tolerations": [{"key": _MASTER, "effect": "NoSchedule"}],
            "affinity": {"nodeAffinity": required},
        }
    }


SOURCE: Final = SourceKind(
    apis=(("kubeflow.org", "MPIJob"),),
    versions=("v1alpha1", "v1alpha2", "v1", "v2beta1"),
    read=read,
)

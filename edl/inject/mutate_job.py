"""Completes a labelled Job or bare pod: the same input always gives the same output."""

from edl import contract
from edl.contract.manifest_parts import metadata, moved, training_position
from edl.frameworks import FRAMEWORKS, success_policy
from edl.frameworks.base import Needs
from edl.inject.pods import env_limits, gpus, kubeshare, mutate_pod, scheduling_gates
from edl.inject.pods.pod_failure_policy import with_retries
from edl.spec import addresses
from edl.spec.job_spec import JobSpec
from edl.writes import Json


def complete(manifest: Json, spec: JobSpec, image: str) -> Json:
    """`manifest` with everything that `spec` needs; `image` has kubectl for launchers.

    Raises Denied if no container could start with it, or if etcd could not store it.
    """
    needs = FRAMEWORKS[spec.framework].describe(spec)
    job = manifest.get("spec") or {}
    template = manifest if manifest.get("kind") == "Pod" else job.get("template") or {}
    env_limits.check(template.get("spec") or {}, spec, needs)
    template = _with_pod(template, spec, needs, image)
    if manifest.get("kind") == "Pod":
        return template
    done = manifest | {"metadata": _labelled(metadata(manifest), spec)}
    policy = success_policy(manifest, spec)
    success = {"successPolicy": policy} if policy else {}
    return done | {"spec": _sized(success | job | {"template": template, "suspend": True}, spec)}


def _labelled(metadata: Json, spec: JobSpec) -> Json:
    """The metadata with its defaults written out.

    The min and max that `spec.parallelism` gave at creation would otherwise be lost with a resize.
    """
    given = metadata.get("labels") or {}
    bounds = {contract.MIN: str(spec.scaling.min), contract.MAX: str(spec.scaling.max)}
    labels = _identity(spec) | bounds | given
    annotations = (metadata.get("annotations") or {}) | {
        contract.INJECTED_MAX: str(spec.scaling.max)
    }
    return metadata | {"labels": labels, "annotations": annotations}


def _identity(spec: JobSpec) -> dict[str, str]:
    identity = {contract.FRAMEWORK: spec.framework, contract.ROLE: spec.role}
    # With generateName the name is unknown yet; the reconciler then uses the Job's own name.
    identity |= {contract.JOB: spec.job} if spec.job else {}
    if spec.rank is None or not spec.indexed:
        return identity
    host = addresses.hostname(addresses.job_name(spec, spec.role), spec.rank)
    return identity | {contract.HOST: host}


def _sized(job: Json, spec: JobSpec) -> Json:
    job = with_retries(job, spec)
    if not spec.indexed:
        return job
    size = job.get("parallelism") or 1
    ranked = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
    return job | ranked


def _with_pod(template: Json, spec: JobSpec, needs: Needs, image: str) -> Json:
    """The completed metadata and spec of a pod template or a bare pod."""
    metadata = kubeshare.with_share(template.get("metadata") or {}, spec)
    labels = dict(needs.labels) | _identity(spec) | (metadata.get("labels") or {})
    completed = _with_containers(template, spec, needs, image)
    metadata = metadata | {"labels": labels}
    if needs.annotations:
        annotations = metadata.get("annotations") or {}
        metadata = metadata | {"annotations": annotations | dict(needs.annotations)}
    if needs.gated:
        kubeshare.check_gated(labels, spec)
    return template | {
        "metadata": metadata,
        "spec": scheduling_gates.with_placement(gpus.placed(completed, labels), spec, labels),
    }


def _with_containers(template: Json, spec: JobSpec, needs: Needs, image: str) -> Json:
    """The completed pod spec. What belongs to one container goes to the training container."""
    pod, position = template.get("spec") or {}, training_position(template)
    if not position:
        return mutate_pod.complete(pod, spec, needs, image)
    first = pod | {"containers": moved(pod["containers"], position, 0)}
    completed = mutate_pod.complete(first, spec, needs, image)
    return completed | {"containers": moved(completed["containers"], 0, position)}

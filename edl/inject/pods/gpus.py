"""Adds GPUs to a pod, and keeps pods with whole GPUs off KubeShare's nodes.

On nodes with `SharedGPU=true` KubeShare assigns the GPUs: a whole GPU that kube-scheduler allocates
there would be in use twice.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from edl import contract, device_templates
from edl.contract.manifest_parts import labels, template, with_first_container
from edl.errors import Finding
from edl.inject.pods import kubeshare
from edl.model import DeviceTemplate
from edl.quantities import quantity
from edl.spec.job_spec import Gpu, JobSpec
from edl.writes import Json

_PLACES: Final = ("affinity", "nodeSelector", "schedulerName")
_APART: Final = {"key": contract.SHARED_GPU_NODE, "operator": "NotIn", "values": [contract.TRUE]}


def with_whole(pod: Json, spec: JobSpec) -> Json:
    """The pod with whole GPUs on its first container, unless a container requests GPUs itself."""
    containers, gpu = pod.get("containers") or [], spec.resources.gpu
    if not gpu or not gpu.whole or not containers or any(map(_has_gpu, containers)):
        return pod
    if device_template := device_templates.template(spec.job, gpu):
        return _with_claim(pod, device_template)
    amount = {contract.GPU_RESOURCE: str(gpu.whole)}
    resources = containers[0].get("resources") or {}
    # Requests of extended resources equal their limits; the API server writes both.
    with_gpu = resources | {
        field: (resources.get(field) or {}) | amount for field in ("limits", "requests")
    }
    return with_first_container(pod, resources=with_gpu)


def _with_claim(pod: Json, template: DeviceTemplate) -> Json:
    """The pod with a claim for devices of a DeviceClass, which its first container uses."""
    claims = pod.get("resourceClaims") or []
    if any(claim.get("name") == contract.GPU_CLAIM for claim in claims):
        return pod
    claim = {"name": contract.GPU_CLAIM, "resourceClaimTemplateName": template.name}
    resources = pod["containers"][0].get("resources") or {}
    used = [*(resources.get("claims") or []), {"name": contract.GPU_CLAIM}]
    pod = with_first_container(pod, resources=resources | {"claims": used})
    return pod | {"resourceClaims": [*claims, claim]}


def findings(pod: Json, gpu: Gpu | None) -> list[Finding]:
    """A finding for a pod with a GPU share and whole GPUs.

    KubeShare assigns shares, the kubelet whole GPUs: a pod cannot have both.
    """
    if not (gpu and gpu.request and any(map(_has_gpu, pod.get("containers") or ()))):
        return []
    what = f'"{gpu.request}" of a GPU beside whole ones of a container\'s own'
    allowed = f"remove it, or {contract.GPU_RESOURCE} from the container's limits"
    return [Finding(f"metadata.labels[{contract.GPU}]", what, allowed)]


def warnings(job: Json, gpu: Gpu | None) -> tuple[str, ...]:
    """A warning for whole GPUs other than those that a Job's containers ask for themselves."""
    containers = (template(job).get("spec") or {}).get("containers") or ()
    amounts = [_gpus(container) for container in containers if _has_gpu(container)]
    if not (gpu and gpu.whole and amounts) or _total(amounts) == gpu.whole:
        return ()
    asked = f"{' and '.join(amounts)} {contract.GPU_RESOURCE}"
    return (f"{contract.GPU}: {gpu.whole} does nothing: its containers ask for {asked} themselves",)


def whole_gpus(pod: Json, gpu: Gpu | None) -> int:
    """The whole GPUs of a pod: those that its containers ask for, else those of its label."""
    amounts = [_gpus(one) for one in pod.get("containers") or () if _has_gpu(one)]
    if amounts:
        return int(_total(amounts) or 0)
    return gpu.whole if gpu else 0


def placed(pod: Json, labels: Mapping[str, str]) -> Json:
    """The pod restricted to KubeShare's nodes for a share, kept off them for whole GPUs.

    `labels` are the pod's. If the user set a node name, or KubeShare's node label, the pod is
    unchanged.
    """
    if kubeshare.is_share(labels):
        pod = kubeshare.with_scheduler(pod)
        return pod if _is_decided(pod) else _on_shared_nodes(pod)
    whole = any(_has_gpu(container) for container in _containers(pod))
    return _off_shared_nodes(pod) if whole and not _is_decided(pod) else pod


def placed_again(template: Json, old: Json) -> Json:
    """A pod template that its user applied again, placed as it was before.

    `kubectl apply` resets the affinity's terms as a whole to those in the file, but the fields that
    place the pods are immutable.
    """
    again = placed(template.get("spec") or {}, labels(template))
    before = old.get("spec") or {}
    same = all(again.get(field) == before.get(field) for field in _PLACES)
    return template | {"spec": again} if same else template


def _has_gpu(container: Json) -> bool:
    """Whether the container has GPUs. Templates that fit any node may have a limit of 0."""
    return _gpus(container) != "0"


def _gpus(container: Json) -> str:
    limits = (container.get("resources") or {}).get("limits") or {}
    return str(limits.get(contract.GPU_RESOURCE, 0))


def _total(amounts: list[str]) -> Decimal | None:
    """Their sum; None if one cannot be read, which the API server refuses."""
    try:
        return sum(map(quantity, amounts), start=Decimal())
    except ValueError:
        return None


def _containers(pod: Json) -> Iterator[Json]:
    for field in ("initContainers", "containers"):
        yield from pod.get(field) or ()


def _is_decided(pod: Json) -> bool:
    if pod.get("nodeName") or contract.SHARED_GPU_NODE in (pod.get("nodeSelector") or {}):
        return True
    expressions = (
        expression for term in _terms(pod) for expression in term.get("matchExpressions") or ()
    )
    return any(expression.get("key") == contract.SHARED_GPU_NODE for expression in expressions)


def _terms(pod: Json) -> list[Json]:
    """The terms of the required node affinity."""
    return list(
        (_node_affinity(pod).get(contract.REQUIRED_AFFINITY) or {}).get("nodeSelectorTerms") or ()
    )


def _node_affinity(pod: Json) -> Json:
    return (pod.get("affinity") or {}).get("nodeAffinity") or {}


def _on_shared_nodes(pod: Json) -> Json:
    selector = pod.get("nodeSelector") or {}
    return pod | {"nodeSelector": selector | {contract.SHARED_GPU_NODE: contract.TRUE}}


def _off_shared_nodes(pod: Json) -> Json:
    """The pod kept off KubeShare's nodes.

    One matching term suffices (core/v1 NodeSelector), so each term gets the requirement.
    """
    affinity = _node_affinity(pod)
    required = affinity.get(contract.REQUIRED_AFFINITY)
    terms = [_apart(term) for term in _terms(pod)]
    if required is not None and not terms:
        return pod  # The API server refuses it, and explains why.
    terms = terms or [{"matchExpressions": [dict(_APART)]}]
    with_terms = affinity | {
        contract.REQUIRED_AFFINITY: (required or {}) | {"nodeSelectorTerms": terms}
    }
    return pod | {"affinity": (pod.get("affinity") or {}) | {"nodeAffinity": with_terms}}


def _apart(term: Json) -> Json:
    expressions = term.get("matchExpressions") or []
    if not expressions and not term.get("matchFields"):
        return term  # It matches no node, and must stay so.
    return term | {"matchExpressions": [*expressions, dict(_APART)]}

"""ProvisioningRequests: one per queued gang, with a PodTemplate per role.

An autoscaler adds all of the nodes or none, and reserves them for pods that name the request.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from edl import contract
from edl.model import CapacityRequest, ObjectRef, Role, TrainingJob
from edl.planner.plan import ProvisioningRequest, RequestClass
from edl.steps.provisioning import provisional_pods
from edl.writes import Create, Delete

_KIND: Final = "ProvisioningRequest"
_TEMPLATE: Final = "PodTemplate"


def name(job: TrainingJob, request: ProvisioningRequest, of: RequestClass) -> str:
    """The request's name, from its content, so that a repeated round makes no second request."""
    content = [(provisional_pods.content(job, role), pods) for role, pods in _asking(job, request)]
    return provisional_pods.named(job, of.name, of.parameters, content)


def creations(
    job: TrainingJob, named: str, request: ProvisioningRequest, of: RequestClass
) -> Iterator[Create]:
    """Creates the PodTemplates, then the request: an autoscaler reads both at once."""
    namespace, pod_sets = job.key.namespace, []
    for (role, pods), target in zip(
        _asking(job, request), _templates(namespace, named, len(request.pods)), strict=True
    ):
        fields = {"template": provisional_pods.template(job, role, request)}
        yield provisional_pods.created(job, target, role.name, fields)
        pod_sets.append({"podTemplateRef": {"name": target.name}, "count": pods})
    spec = {
        "provisioningClassName": of.name,
        "podSets": pod_sets,
        "parameters": dict(of.parameters),
    }
    yield provisional_pods.created(job, ObjectRef(_KIND, namespace, named), "", {"spec": spec})


def deletions(job: TrainingJob, requests: Iterable[CapacityRequest]) -> Iterator[Delete]:
    """Deletes requests, each after its PodTemplates, whose names only the request tells.

    Any user may write a request of another name, for templates that are not ours.
    """
    namespace = job.key.namespace
    for request in requests:
        if provisional_pods.is_own_name(job, request.name):
            yield from map(Delete, _templates(namespace, request.name, request.pod_sets))
        yield Delete(ObjectRef(_KIND, namespace, request.name), uid=request.uid)


def consumption(job: TrainingJob) -> dict[str, str]:
    """The annotations by which pods consume the nodes that were provisioned for their job."""
    request = job.provisioning.provisioned
    if request is None:
        return {}
    return {
        contract.CONSUMES_REQUEST: request.name,
        contract.CONSUMES_CLASS: request.provisioning_class,
    }


def _asking(job: TrainingJob, request: ProvisioningRequest) -> list[tuple[Role, int]]:
    wanted = dict(request.pods)
    return [(role, wanted[role.name]) for role in job.live if wanted.get(role.name)]


def _templates(namespace: str, named: str, count: int) -> list[ObjectRef]:
    return [ObjectRef(_TEMPLATE, namespace, f"{named}-{index}") for index in range(count)]

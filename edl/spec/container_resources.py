"""What the containers of a pod request by themselves, in a manifest that is not checked yet."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from edl import contract
from edl.contract.manifest_parts import default_container, mapping
from edl.quantities import quantity

_WHOLE: Final = re.compile(r"[0-9]{1,9}")
_OF_KUBERNETES: Final = "kubernetes.io"
"""The domain of resources that are CPU and memory, as `kubernetes.io/batch-cpu`."""


def own_gpus(pod: Mapping[str, Any]) -> int:
    """Whole GPUs that the containers of this spec request: the largest amount of one of them."""
    return _devices(pod).get(contract.GPU_RESOURCE, 0)


def other_devices(pod: Mapping[str, Any]) -> dict[str, int]:
    """Extended resources of other names, such as `amd.com/gpu`, with the largest amounts.

    Whether they are GPUs, and whether two of them are one, is unknown.
    """
    return {name: most for name, most in _devices(pod).items() if name != contract.GPU_RESOURCE}


def has_other_devices(pod: Mapping[str, Any]) -> bool:
    """Whether a container has devices of another name, or of a ResourceClaim."""
    claims = any(_resources(container).get("claims") for container in _containers(pod))
    return claims or bool(other_devices(pod))


def _devices(pod: Mapping[str, Any]) -> dict[str, int]:
    """The largest amount of a container, of each extended resource that one has."""
    most: dict[str, int] = {}
    for container in _containers(pod):
        for name, amount in mapping(_resources(container).get("limits")).items():
            domain, slash, _ = str(name).partition("/")
            if slash and not domain.endswith(_OF_KUBERNETES) and _WHOLE.fullmatch(str(amount)):
                most[name] = max(most.get(name, 0), int(amount))
    return {name: amount for name, amount in most.items() if amount}


def own_cpus(pod: Mapping[str, Any], annotations: Mapping[str, Any]) -> int:
    """CPUs that the training container requests, rounded up to whole ones; 0 without a request."""
    containers = _containers(pod)
    names = [str(container.get("name")) for container in containers]
    position = default_container(names, annotations.get(contract.DEFAULT_CONTAINER))
    resources = _resources(containers[position]) if containers else {}
    asked = {**mapping(resources.get("limits")), **mapping(resources.get("requests"))}
    try:
        return ceil(quantity(str(asked.get("cpu", 0))))
    except ValueError:
        return 0  # the API server reports it


def _containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    containers = pod.get("containers")
    return [mapping(one) for one in containers] if isinstance(containers, list) else []


def _resources(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(container.get("resources"))

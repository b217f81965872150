"""What the containers of a pod request by themselves, in a manifest that is not checked yet."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from edl import contract
from edl.contract.manifest_parts import default_container, mapping
from edl.quantities import quantity

_WHOLE: Final = re.compile(r"[0-9]{1,9}")


def own_gpus(pod: Mapping[str, Any]) -> int:
    """Whole GPUs that the containers of this spec request: the largest amount of one of them."""
    limits = (mapping(_resources(container).get("limits")) for container in _containers(pod))
    texts = [str(limit.get(contract.GPU_RESOURCE)) for limit in limits]
    return max((int(text) for text in texts if _WHOLE.fullmatch(text)), default=0)


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

"""Objects of dynamic resource allocation, as drivers, administrators and users write them."""

from typing import Any, Final

from edl.writes import Json

DRIVER: Final = "gpu.example.com"
GROUP: Final = "resource.k8s.io/v1"


def attributes(**values: str | int | bool) -> Json:
    kinds = {str: "string", bool: "bool", int: "int"}
    return {name: {kinds[type(value)]: value} for name, value in values.items()}


def gpus(count: int, memory: str = "40Gi", **values: str | int | bool) -> list[Json]:
    """Devices `gpu-0`, `gpu-1`, … of one model."""
    return [
        {
            "name": f"gpu-{number}",
            "attributes": attributes(model="a100", index=number) | attributes(**values),
            "capacity": {"memory": {"value": memory}},
        }
        for number in range(count)
    ]


def resource_slice(node: str, devices: list[Json], **spec: Any) -> Json:  # noqa: ANN401
    """One that is the whole pool of its node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return _object(
        "ResourceSlice",
        f"{node}-{DRIVER}",
        {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices, **spec},
    )


def device_class(name: str = DRIVER, *expressions: str, extended: str = "") -> Json:
    chosen = expressions or (f'device.driver == "{DRIVER}"',)
    spec: Json = {"selectors": [{"cel": {"expression": one}} for one in chosen]}
    if extended:
        spec["extendedResourceName"] = extended
    return _object("DeviceClass", name, spec)


def asking(
    count: int = 1,
    *expressions: str,
    of: str = DRIVER,
    **more: Any,  # noqa: ANN401
) -> Json:
    """What a request asks for exactly; a count of 0 for all devices."""
    selectors = [{"cel": {"expression": one}} for one in expressions]
    mode = {"allocationMode": "ExactCount", "count": count} if count else {"allocationMode": "All"}
    return {
        "deviceClassName": of,
        **mode,
        **({"selectors": selectors} if selectors else {}),
        **more,
    }


def spec_of(*requests: Json, **devices: Any) -> Json:  # noqa: ANN401
    """A claim's spec: of each request exactly that, or the first available of its list."""
    named = [
        {"name": f"r{number}", **(one if "firstAvailable" in one else {"exactly": one})}
        for number, one in enumerate(requests)
    ]
    return {"devices": {"requests": named, **devices}}


def first_available(*asks: Json) -> Json:
    return {"firstAvailable": [ask | {"name": f"a{number}"} for number, ask in enumerate(asks)]}


def template(name: str, *requests: Json, namespace: str = "web", **devices: Any) -> Json:  # noqa: ANN401
    spec = {"spec": spec_of(*requests, **devices)}
    return _object("ResourceClaimTemplate", name, spec, namespace=namespace)


def claim(name: str, *requests: Json, namespace: str = "web", owner: str = "") -> Json:
    body = _object("ResourceClaim", name, spec_of(*requests), namespace=namespace)
    if owner:
        reference = {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": f"uid-{owner}"}
        body["metadata"]["ownerReferences"] = [reference | {"controller": True}]
    return body


def allocated(claim: Json, node: str, *devices: str, pods: tuple[str, ...] = ()) -> Json:
    """The claim with these devices of a node's pool, reserved for pods."""
    results = [
        {"request": "r0", "driver": DRIVER, "pool": node, "device": name} for name in devices
    ]
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]}
    reserved = [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"} for pod in pods]
    allocation = {"devices": {"results": results}, "nodeSelector": selector}
    return claim | {"status": {"allocation": allocation, "reservedFor": reserved}}


def claiming(*templates: str, claims: tuple[str, ...] = ()) -> Json:
    """The part of a pod's spec that names templates, and claims."""
    entries = [{"resourceClaimTemplateName": name} for name in templates]
    entries += [{"resourceClaimName": name} for name in claims]
    return {"resourceClaims": [{"name": f"c{number}", **one} for number, one in enumerate(entries)]}


def _object(kind: str, name: str, spec: Json, **metadata: str) -> Json:
    return {
        "apiVersion": GROUP,
        "kind": kind,
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            **metadata,
        },
        "spec": spec,
    }

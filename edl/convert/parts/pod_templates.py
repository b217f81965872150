"""Pod templates: copied whole, except for fields whose meaning moves to the Job."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from edl import contract
from edl.contract import manifest_parts
from edl.convert import template_schema
from edl.convert.diagnostics import FieldPath
from edl.convert.parts import operator_names
from edl.convert.tracked_object import Fields
from edl.parsing.yaml_values import whole
from edl.writes import Json

_OLD_GPU: Final = "alpha.kubernetes.io/nvidia-gpu"
_POLICIES: Final = ("Always", "OnFailure", "Never")
_EMPTY: Final[Json] = {"spec": {"containers": []}}


def read(fields: Fields, name: str = "template") -> Json:
    """The template, unchanged; fields that `convert` reads are reported if their type is wrong."""
    template: Json | None = fields.shaped(name, template_schema.TEMPLATE)
    if template is None and fields.has(name):
        return _EMPTY
    template = template or {}
    metadata = template.get("metadata") or {}
    if metadata.get("creationTimestamp", "") is None:
        # `kubectl get` prints a null creationTimestamp in each template.
        template["metadata"] = metadata = without(metadata, "creationTimestamp")
    if not (template.get("spec") or {}).get("containers"):
        fields.wrong(name, "has no containers", "a pod template: spec.containers with one at least")
        return _EMPTY
    operator_names.report(fields, name, template)
    return todays(fields, name, template if metadata else without(template, "metadata"))


def todays(fields: Fields, name: str, template: Json) -> Json:
    """The template with the alpha GPU resource name replaced by the current one."""
    renamed = template | {"spec": _with_todays_gpus(template["spec"])}
    if renamed != template:
        fields.note(name, f"{_OLD_GPU} is {contract.GPU_RESOURCE} today")
    return renamed


def _with_todays_gpus(pod: Json) -> Json:
    return pod | {
        place: [_with_todays_gpu(container) for container in pod[place]]
        for place in ("initContainers", "containers")
        if pod.get(place)
    }


def _with_todays_gpu(container: Json) -> Json:
    resources = container.get("resources") or {}
    renamed = resources | {
        place: {
            contract.GPU_RESOURCE if name == _OLD_GPU else name: amount
            for name, amount in resources[place].items()
        }
        for place in ("limits", "requests")
        if resources.get(place)
    }
    return container if renamed == resources else container | {"resources": renamed}


def restart_of(fields: Fields, template: Json, name: str = "template") -> tuple[str, Json]:
    """The pods' restart policy, and the template without it."""
    spec = template["spec"]
    policy = spec.get("restartPolicy") or ""
    if policy not in ("", *_POLICIES):
        fields.wrong(name, f'unknown restartPolicy "{policy}"', f"one of {', '.join(_POLICIES)}")
    return policy, template | {"spec": without(spec, "restartPolicy")}


def without(part: Json, name: str) -> Json:
    return {field: value for field, value in part.items() if field != name}


def containers(template: Json) -> list[Json]:
    entries: list[Json] = template["spec"]["containers"]
    return entries


def main_container(template: Json, name: str) -> Json:
    """The container with that name, or else the first container."""
    entries = containers(template)
    return next((one for one in entries if one.get("name") == name), entries[0] if entries else {})


def training_in(fields: Fields, template: Json, name: str) -> Json:
    """Annotate the container that the operator knows by its name, if the webhook takes another."""
    names = [container.get("name") for container in containers(template)]
    if name not in names or names.index(name) == manifest_parts.training_position(template):
        return template
    given = manifest_parts.annotations(template).get(contract.DEFAULT_CONTAINER)
    if given and given in names:
        what = f'{contract.DEFAULT_CONTAINER} was "{given}", and "{name}" is the one that trains'
        fields.note("template", what, f'it is "{name}" now')
    note = {contract.DEFAULT_CONTAINER: name}
    return {"metadata": {}} | manifest_parts.annotated(template, note)


def port_named(container: Json, name: str) -> int | None:
    """The containerPort with that name; None if the container has no such port."""
    ports: list[Json] = container.get("ports") or []
    number = next((port.get("containerPort") for port in ports if port.get("name") == name), None)
    return number if isinstance(number, int) else None


def with_default(fields: Fields, template: Json, field: str, value: str) -> Json:
    """Set a default from the training job's spec; a value in the template wins, which is noted."""
    spec = template["spec"]
    given = spec.get(field)
    if given and value and given != value:
        fields.note("", f'{field} "{given}" of the template wins over "{value}"')
    return template if given or not value else template | {"spec": spec | {field: value}}


def with_restart(template: Json, policy: str) -> Json:
    """Set the pods' restart policy, as the first field of the spec."""
    return template | {"spec": {"restartPolicy": policy} | template["spec"]}


def with_env(template: Json, env: Mapping[str, str | Json]) -> Json:
    """Add variables to each container; the user's values win.

    A string becomes `value`, an object `valueFrom`.
    """
    entries = [
        {"name": name, "value" if isinstance(value, str) else "valueFrom": value}
        for name, value in env.items()
    ]
    changed = [manifest_parts.with_env(container, entries) for container in containers(template)]
    return template | {"spec": template["spec"] | {"containers": changed}}


def without_env(template: Json, container: str, variable: str) -> Json:
    """The template without a variable in the container of that name, or else in the first one."""
    main = main_container(template, container)
    env = [entry for entry in main.get("env") or () if entry.get("name") != variable]
    if len(env) == len(main.get("env") or ()):
        return template
    changed = [one | {"env": env} if one is main else one for one in containers(template)]
    return template | {"spec": template["spec"] | {"containers": changed}}


def with_first(template: Json, change: Callable[[Json], Json]) -> Json:
    """Apply `change` to the first container."""
    changed = [change(one) if index == 0 else one for index, one in enumerate(containers(template))]
    return template | {"spec": template["spec"] | {"containers": changed}}


def with_volume(template: Json, volume: Json, mount: Json) -> Json:
    """Add a volume, and mount it into the first container."""
    mounted = with_first(
        template, lambda one: one | {"volumeMounts": [*(one.get("volumeMounts") or []), mount]}
    )
    spec = mounted["spec"]
    return mounted | {"spec": spec | {"volumes": [*(spec.get("volumes") or []), volume]}}


def annotated(template: Json, annotations: Mapping[str, str]) -> Json:
    """Add annotations to the pods; existing values win."""
    metadata = template.get("metadata") or {}
    given = metadata.get("annotations") or {}
    return {"metadata": metadata | {"annotations": {**annotations, **given}}} | without(
        template, "metadata"
    )


def gpus(template: Json, resource: str) -> int:
    """The largest number of whole GPUs in one container's limits."""
    limits = (_limits(container) for container in containers(template))
    return max((whole(str(limit.get(resource, 0))) or 0 for limit in limits), default=0)


def _limits(container: Json) -> Json:
    limits: Json = (container.get("resources") or {}).get("limits") or {}
    return limits


def texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Every string in a part of a template."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def replaced(template: Json, old: str, new: str) -> Json:
    """Replace `old` by `new` in every string of the template."""
    return {name: _replaced(inner, old, new) for name, inner in template.items()}


def _replaced(part: Any, old: str, new: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(part, str):
        return part.replace(old, new)
    if isinstance(part, dict):
        return replaced(part, old, new)
    if isinstance(part, list):
        return [_replaced(inner, old, new) for inner in part]
    return part


def differences(value: Any, other: Any) -> Iterator[FieldPath]:  # noqa: ANN401 - JSON
    """Paths at which `value` has a value that differs from that of `other`."""
    if isinstance(value, dict) and isinstance(other, dict):
        for name, inner in value.items():
            yield from ((name, *place) for place in differences(inner, other.get(name)))
    elif isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        for index, inner in enumerate(value):
            yield from ((index, *place) for place in differences(inner, other[index]))
    elif value != other and value is not None:
        yield ()

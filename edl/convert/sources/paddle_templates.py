"""The pods of PaddlePaddle's TrainingJob, as its controller made them from a few words."""

from collections.abc import Mapping
from typing import Any, Final, Self

import msgspec

from edl.convert import template_schema
from edl.convert.parts import pod_templates
from edl.convert.template_schema import FieldShape
from edl.convert.tracked_object import Fields
from edl.writes import Json

_IMAGE: Final = "paddlepaddle/paddlecloud-job"
_MASTERS_RESOURCES: Final = {
    "limits": {"cpu": "2", "memory": "1Gi"},
    "requests": {"cpu": "1", "memory": "500Mi"},
}
"""The controller's own, for every master."""
_OF_ALL: Final[Mapping[str, tuple[str, FieldShape]]] = {
    "volumes": ("volumes", template_schema.NAMED),
    "imagePullSecrets": ("imagePullSecrets", template_schema.NAMED),
    "schedulerName": ("schedulerName", str),
}
_OF_POD: Final[Mapping[str, tuple[str, FieldShape]]] = {
    "grace_period_seconds": ("terminationGracePeriodSeconds", int),
    "tolerations": ("tolerations", [dict]),
    "node_selector": ("nodeSelector", template_schema.TEXTS),
    "imagePullSecrets": ("imagePullSecrets", template_schema.NAMED),
}
_OF_CONTAINER: Final[Mapping[str, tuple[str, FieldShape]]] = {
    "liveness_probe": ("livenessProbe", dict),
    "readiness_probe": ("readinessProbe", dict),
    "resources": ("resources", template_schema.RESOURCES),
}
"""The source's name, a pod's, and what it must be."""
_HOST_NETWORK: Final = ("host_network", "hostNetwork", "HostNetwork")
_WRITTEN: Final = ("replicaSpec", "index_succeed")
"""By the controller."""


class PaddlePods(msgspec.Struct, frozen=True):
    """What all pods of the training job have in common."""

    image: str
    pod: Json
    mounts: list[Any]

    @classmethod
    def read(cls, spec: Fields) -> Self:
        flags = [spec.flag(name) for name in _HOST_NETWORK]
        network = {"hostNetwork": True} if any(flags) else {}
        mounts = spec.shaped("VolumeMounts", template_schema.MOUNTS) or []
        return cls(spec.text("image") or _IMAGE, network | _renamed(spec, _OF_ALL), mounts)

    def template(self, fields: Fields, role: str, *, mounts: bool, pulls: bool) -> Json:
        """One role's template; `mounts`: with the volumes mounted, `pulls`: the image anew."""
        container: Json = {"name": role, "image": self.image}
        container |= {"imagePullPolicy": "Always"} if pulls else {}
        container |= _renamed(fields, _OF_CONTAINER)
        if role == "master":
            container.setdefault("resources", _MASTERS_RESOURCES)
        container |= {"volumeMounts": self.mounts} if mounts and self.mounts else {}
        container |= _env(fields, role) | _pre_stop(fields)
        for name in _WRITTEN:
            if fields.value(name) is not None:
                fields.note(name, "written by the controller: left out")
        pod = {**self.pod, **_renamed(fields, _OF_POD), "containers": [container]}
        return pod_templates.todays(fields, "resources", {"spec": pod})


def _renamed(fields: Fields, names: Mapping[str, tuple[str, FieldShape]]) -> Json:
    found = {field: fields.shaped(name, shape) for name, (field, shape) in names.items()}
    return {field: value for field, value in found.items() if value is not None}


def _env(fields: Fields, role: str) -> Json:
    envs = fields.fields("envs")
    said = {name: envs.text(name) for name in envs.names()}
    if role == "pserver" and (entry := fields.text("entrypoint")):
        said["ENTRY"] = entry
    return {"env": [{"name": name, "value": said[name]} for name in said]} if said else {}


def _pre_stop(fields: Fields) -> Json:
    command = fields.shaped("pre_stop_cmd", [str])
    return {"lifecycle": {"preStop": {"exec": {"command": command}}}} if command else {}

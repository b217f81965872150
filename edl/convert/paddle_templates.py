"""The pods of PaddlePaddle's TrainingJob, as its controller made them from a few words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from edl.convert import shapes, templates
from edl.convert.fields import Fields
from edl.writes import Json

_IMAGE: Final = "paddlepaddle/paddlecloud-job"
_MASTERS_RESOURCES: Final = {
    "limits": {"cpu": "2", "memory": "1Gi"},
    "requests": {"cpu": "1", "memory": "500Mi"},
}
"""The controller's own, for every master."""
_OF_POD: Final = {
    "grace_period_seconds": "terminationGracePeriodSeconds",
    "tolerations": "tolerations",
    "node_selector": "nodeSelector",
    "imagePullSecrets": "imagePullSecrets",
}
_OF_CONTAINER: Final = {"liveness_probe": "livenessProbe", "readiness_probe": "readinessProbe"}


@dataclass(frozen=True, slots=True)
class Pods:
    """What all pods of the training job have in common."""

    image: str
    pod: Json
    mounts: list[Any]

    @classmethod
    def read(cls, spec: Fields) -> Self:
        pod: Json = {}
        host_network = [spec.flag(name) for name in ("host_network", "hostNetwork", "HostNetwork")]
        if any(host_network):
            pod["hostNetwork"] = True
        for name, field in (
            ("volumes", "volumes"),
            ("imagePullSecrets", "imagePullSecrets"),
            ("schedulerName", "schedulerName"),
        ):
            value = spec.value(name)
            pod |= {field: value} if value else {}
        return cls(spec.text("image") or _IMAGE, pod, spec.array("VolumeMounts"))

    def template(self, fields: Fields, role: str, *, mounts: bool, pulls: bool) -> Json:
        """One role's template; `mounts`: with the volumes mounted, `pulls`: the image anew."""
        container: Json = {"name": role, "image": self.image}
        if pulls:
            container["imagePullPolicy"] = "Always"
        container |= _renamed(fields, _OF_CONTAINER)
        resources = fields.object("resources") or (_MASTERS_RESOURCES if role == "master" else {})
        container |= {"resources": resources} if resources else {}
        if mounts and self.mounts:
            container["volumeMounts"] = self.mounts
        container |= _env(fields, role) | _pre_stop(fields)
        if fields.value("replicaSpec") is not None:
            fields.note("replicaSpec", "written by the controller: left out")
        if fields.value("index_succeed") is not None:
            fields.note("index_succeed", "written by the controller: left out")
        pod = {**self.pod, **_renamed(fields, _OF_POD), "containers": [container]}
        made = fields.checked({"spec": pod}, shapes.TEMPLATE)
        return templates.todays(fields, "resources", made)


def _renamed(fields: Fields, names: Mapping[str, str]) -> Json:
    found = {field: fields.value(name) for name, field in names.items()}
    return {field: value for field, value in found.items() if value is not None}


def _env(fields: Fields, role: str) -> Json:
    envs = fields.fields("envs")
    said = {name: envs.text(name) for name in envs.names()}
    if role == "pserver" and (entry := fields.text("entrypoint")):
        said["ENTRY"] = entry
    return {"env": [{"name": name, "value": said[name]} for name in said]} if said else {}


def _pre_stop(fields: Fields) -> Json:
    command = fields.array("pre_stop_cmd")
    return {"lifecycle": {"preStop": {"exec": {"command": command}}}} if command else {}

"""Adds volumes to a pod: live files and SSH keys. The user's own mounts stay in place."""

from collections.abc import Iterable
from typing import Final

from edl import contract
from edl.frameworks.base import LiveFile
from edl.spec import addresses
from edl.spec.job_spec import JobSpec
from edl.writes import Json


def with_files(pod: Json, files: Iterable[LiveFile]) -> Json:
    """The pod with live files: its annotations, mounted in their directories in every container.

    Sidecars have them too, which may read the host list. Keys and kubectl are for containers only.
    """
    by_directory: dict[str, list[LiveFile]] = {}
    for file in files:
        by_directory.setdefault(file.directory, []).append(file)
    for directory, members in by_directory.items():
        source = {"downwardAPI": {"defaultMode": 0o644, "items": [_item(f) for f in members]}}
        volume, mount = _volume_and_mount(directory, source)
        pod = _with_sidecars(_with_volume(pod, volume, mount), mount)
    return pod


def _item(file: LiveFile) -> Json:
    path = f"metadata.annotations['{file.annotation}']"
    mode = {"mode": 0o755} if file.executable else {}
    return {"path": file.name, "fieldRef": {"apiVersion": "v1", "fieldPath": path}} | mode


def volume_name(directory: str) -> str:
    return "edl" + directory.replace("/", "-")


def with_empty_dir(pod: Json, directory: str) -> Json:
    """The pod with an emptyDir at `directory` in every container that has no mount there."""
    return _with_volume(pod, *_volume_and_mount(directory, {"emptyDir": {}}))


def _volume_and_mount(directory: str, source: Json) -> tuple[Json, Json]:
    name = volume_name(directory)
    return {"name": name} | source, {"name": name, "mountPath": directory}


def _with_volume(pod: Json, volume: Json, mount: Json) -> Json:
    volumes = pod.get("volumes") or []
    if all(entry.get("name") != volume["name"] for entry in volumes):
        pod = pod | {"volumes": [*volumes, volume]}
    return pod | {"containers": [_mounted(container, mount) for container in pod["containers"]]}


def _with_sidecars(pod: Json, mount: Json) -> Json:
    """The pod with this mount in the init containers that run beside the containers."""
    inits = pod.get("initContainers") or []
    if all(init.get("restartPolicy") != "Always" for init in inits):
        return pod
    sidecars = [
        _mounted(init, mount) if init.get("restartPolicy") == "Always" else init for init in inits
    ]
    return pod | {"initContainers": sidecars}


def _mounted(container: Json, mount: Json) -> Json:
    """The container with this mount, unless its own mount uses the same path."""
    mounts = container.get("volumeMounts") or []
    if mount["mountPath"] in map(_path, mounts):
        return container
    return container | {"volumeMounts": [*mounts, mount]}


def own_mount(container: Json, directory: str) -> bool:
    """Whether a volume of the user's own is mounted at `directory`, where ours would be."""
    ours = (volume_name(directory), SSH_VOLUME)
    mounts = container.get("volumeMounts") or ()
    return any(_path(mount) == directory and mount.get("name") not in ours for mount in mounts)


def _path(mount: Json) -> str:
    return (mount.get("mountPath") or "").rstrip("/")


# The training job's key pair in root's .ssh, where et-operator's images expect it.
# `edl.steps.dependents` creates the Secret at the start: the manifest only names it.

SSH_VOLUME: Final = "edl-ssh"
_INSIDE: Final = ".ssh"
_FILES: Final = {
    addresses.SSH_PRIVATE_KEY: ("id_rsa",),
    addresses.SSH_PUBLIC_KEY: ("id_rsa.pub", "authorized_keys"),
    addresses.SSH_CONFIG: ("config",),
}
_OWNER_ONLY: Final = 0o600


def with_keys(pod: Json, spec: JobSpec) -> Json:
    """The pod with the key pair mounted in every container that has no mount at root's .ssh."""
    # sshd rejects directories that others can write, as a volume's root is; a subdirectory is not.
    mount = {"name": SSH_VOLUME, "mountPath": contract.SSH_DIRECTORY, "subPath": _INSIDE}
    return _with_volume(pod, _volume(spec), mount)


def _volume(spec: JobSpec) -> Json:
    items = [
        {"key": key, "path": f"{_INSIDE}/{name}"} for key, names in _FILES.items() for name in names
    ]
    name = addresses.ssh_secret(spec.job)
    return {
        "name": SSH_VOLUME,
        "secret": {"secretName": name, "defaultMode": _OWNER_ONLY, "items": items},
    }

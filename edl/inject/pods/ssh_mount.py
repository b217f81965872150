"""The training job's key pair in root's .ssh, where et-operator's images look for it.

`edl.steps.dependents.ssh_key_requests` makes the Secret at the start: a manifest only names it.
"""

from typing import Final

from edl import contract
from edl.inject.pods.mounts import mounted
from edl.spec import addresses
from edl.spec.job_spec import JobSpec
from edl.writes import Json

VOLUME: Final = "edl-ssh"
_INSIDE: Final = ".ssh"
_FILES: Final = {
    addresses.SSH_PRIVATE_KEY: ("id_rsa",),
    addresses.SSH_PUBLIC_KEY: ("id_rsa.pub", "authorized_keys"),
    addresses.SSH_CONFIG: ("config",),
}
_OWNER_ONLY: Final = 0o600


def with_keys(pod: Json, spec: JobSpec) -> Json:
    """The pod spec with the key pair in every container that has nothing of its own there."""
    volumes = pod.get("volumes") or []
    if all(volume.get("name") != VOLUME for volume in volumes):
        pod = pod | {"volumes": [*volumes, _volume(spec)]}
    # sshd trusts no directory that others can write, as a volume itself is; one inside it is not.
    mount = {"name": VOLUME, "mountPath": contract.SSH_DIRECTORY, "subPath": _INSIDE}
    return pod | {"containers": [mounted(container, mount) for container in pod["containers"]]}


def _volume(spec: JobSpec) -> Json:
    items = [
        {"key": key, "path": f"{_INSIDE}/{name}"} for key, names in _FILES.items() for name in names
    ]
    name = addresses.ssh_secret(spec.job)
    return {
        "name": VOLUME,
        "secret": {"secretName": name, "defaultMode": _OWNER_ONLY, "items": items},
    }

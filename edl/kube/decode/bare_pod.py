"""What a bare pod with our labels says, read once a version."""

import msgspec

from edl.errors import Denied
from edl.parsing.parser import parse
from edl.spec.job_spec import JobSpec


class BarePod(msgspec.Struct, frozen=True, gc=False):
    """A pod that no Job made. `account` is its ServiceAccount."""

    spec: JobSpec
    uid: str
    account: str


def read(raw: bytes) -> BarePod | None:
    """From a whole pod that carries `edl.dev/framework`; None where its labels make no sense."""
    manifest = msgspec.json.decode(raw)
    try:
        spec = parse(manifest | {"kind": "Pod"})
    except Denied:
        return None
    return BarePod(
        spec, manifest["metadata"]["uid"], manifest["spec"].get("serviceAccountName", "")
    )

"""A launcher, and workers that wait for its commands: shared by MPIJob and et-operator."""

from collections.abc import Mapping
from typing import Final

from edl import contract
from edl.convert import training_manifest
from edl.convert.parts import pod_templates, replica_bounds, replica_specs, restart_policy
from edl.convert.parts.object_metadata import SourceMetadata
from edl.convert.parts.replica_bounds import Sizes
from edl.convert.parts.replica_specs import Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest
from edl.frameworks import FRAMEWORKS
from edl.parsing import namespace_policy
from edl.writes import Json

ROLES: Final = {"launcher": "launcher", "worker": "worker"}
_DISCOVERY: Final = ("/etc/mpi/discover_hosts.sh", contract.EDL_DISCOVER_HOSTS)


def launcher(replica: Replica, failing: tuple[str, Json], policy: RunPolicy) -> RoleManifest:
    """`failing` is the pair that `role_part.of` takes."""
    replica = replica_specs.with_template(
        replica, _with_discovery(replica.fields, replica.template)
    )
    return training_manifest.role(replica, replica_bounds.exactly(replica.size), failing, policy)


def workers(replica: Replica, sizes: Sizes, policy: RunPolicy) -> RoleManifest:
    """Failed workers are always replaced, whatever restart policy the source names."""
    restart_policy.remark_on_worker(replica.fields, replica.restart)
    return training_manifest.role(replica, sizes, restart_policy.replaced(replica.restart), policy)


def attached(
    document: Fields, meta: SourceMetadata, framework: str, wanted: str
) -> Mapping[str, str]:
    """The mode annotation, if kubexec or ssh is not the framework's default for these roles."""
    if wanted == "kubexec":
        namespace = meta.namespace or "NAMESPACE"
        what = "the launcher reaches its workers by exec, which their namespace must allow"
        document.note("", what, namespace_policy.allow_kubexec(namespace))
    usual = FRAMEWORKS[framework].mode("", tuple(ROLES))
    return {} if usual and usual.name == wanted else {contract.MODE: wanted}


def _with_discovery(fields: Fields, template: Json) -> Json:
    """Replace the path of the discovery script, which differs from the source operators' path."""
    old, new = _DISCOVERY
    if not any(old in text for text in pod_templates.texts(template)):
        return template
    fields.note("template", f"{old} is {new} here: the command says so now")
    return pod_templates.replaced(template, old, new)

"""A launcher and workers that wait for its commands: what MPIJob and et-operator have in common."""

from collections.abc import Mapping
from typing import Final

from edl import contract, namespaces
from edl.convert import bounds, parts, replicas, restarts, templates
from edl.convert.bounds import Sizes
from edl.convert.fields import Fields
from edl.convert.metadata import Metadata
from edl.convert.policies import RunPolicy
from edl.convert.replicas import Replica
from edl.convert.training import Part
from edl.frameworks import FRAMEWORKS
from edl.writes import Json

ROLES: Final = {"launcher": "launcher", "worker": "worker"}
_DISCOVERY: Final = ("/etc/mpi/discover_hosts.sh", contract.EDL_DISCOVER_HOSTS)


def launcher(replica: Replica, failing: tuple[str, Json], policy: RunPolicy) -> Part:
    """`failing` as `parts.of` takes it."""
    replica = replicas.with_template(replica, _with_discovery(replica.fields, replica.template))
    return parts.of(replica, bounds.exactly(replica.size), failing, policy)


def workers(replica: Replica, sizes: Sizes, policy: RunPolicy) -> Part:
    """A worker that fails is made again, whatever the source says."""
    restarts.remark_on_worker(replica.fields, replica.restart)
    return parts.of(replica, sizes, restarts.replaced(replica.restart), policy)


def attached(document: Fields, meta: Metadata, framework: str, wanted: str) -> Mapping[str, str]:
    """The annotation for kubexec or ssh."""
    if wanted == "kubexec":
        namespace = meta.namespace or "NAMESPACE"
        what = "the launcher reaches its workers by exec, which their namespace must allow"
        document.note("", what, namespaces.allow_kubexec(namespace))
    usual = FRAMEWORKS[framework].mode("", tuple(ROLES))
    return {} if usual and usual.name == wanted else {contract.MODE: wanted}


def _with_discovery(fields: Fields, template: Json) -> Json:
    """The discovery script stands beside et-operator's hostfile here."""
    old, new = _DISCOVERY
    if not any(old in text for text in templates.texts(template)):
        return template
    fields.note("template", f"{old} is {new} here: the command says so now")
    return templates.replaced(template, old, new)

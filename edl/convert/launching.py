"""A launcher and workers that wait for its commands: what MPIJob and et-operator have in common."""

from collections.abc import Mapping
from typing import Final

from edl import contract
from edl.convert import restarts, shares, templates
from edl.convert.fields import Fields
from edl.convert.replicas import Replica
from edl.convert.training import Part
from edl.frameworks import FRAMEWORKS
from edl.writes import Json

ROLES: Final = {"launcher": "launcher", "worker": "worker"}
_DISCOVERY: Final = ("/etc/mpi/discover_hosts.sh", contract.EDL_DISCOVER_HOSTS)


def launcher(replica: Replica, failing: tuple[str, Json], job: Json) -> Part:
    """`failing` are the pods' restart policy and what the Job says of failures."""
    restart, patience = failing
    template = _with_discovery(replica.fields, replica.template)
    return Part(
        role="launcher",
        size=replica.size,
        least=replica.size,
        most=replica.size,
        template=templates.with_restart(template, restart),
        job=job | patience,
    )


def workers(replica: Replica, bounds: tuple[int, int, int], job: Json) -> Part:
    """`bounds` are the least, the first and the most of them. A worker that fails is made again."""
    least, begin, most = bounds
    restart, patience = restarts.replaced(replica.restart)
    restarts.remark_on_worker(replica.fields, replica.restart)
    template, share = shares.on_template(replica.template)
    return Part(
        role="worker",
        size=begin,
        least=least,
        most=most,
        template=templates.with_restart(template, restart),
        job=job | patience,
        labels=share.labels,
        annotations=share.annotations,
    )


def attached(framework: str, wanted: str) -> Mapping[str, str]:
    """The annotation for kubexec or ssh."""
    usual = FRAMEWORKS[framework].mode("", tuple(ROLES))
    return {} if usual and usual.name == wanted else {contract.MODE: wanted}


def _with_discovery(fields: Fields, template: Json) -> Json:
    """The discovery script stands beside et-operator's hostfile here."""
    old, new = _DISCOVERY
    if not any(old in text for text in templates.texts(template)):
        return template
    fields.note("template", f"{old} is {new} here: the command says so now")
    return templates.replaced(template, old, new)

"""The replicas of an MXJob: a map by role, or a list whose entries name their role."""

from collections.abc import Iterator, Sequence
from typing import Final

from edl import contract
from edl.convert.parts import pod_templates, replica_specs
from edl.convert.parts.replica_specs import Replica
from edl.convert.tracked_object import Fields

ROLES: Final = {
    "scheduler": "scheduler",
    "server": "server",
    "worker": "worker",
    "tunertracker": "tunertracker",
    "tunerserver": "tunerserver",
    "tuner": "tuner",
}
_TYPES: Final = ("mxReplicaType", "MxReplicaType")
_PORTS: Final = ("PsRootPort", "psRootPort")
_SERVER: Final = "tunerserver"


def read(spec: Fields) -> tuple[tuple[Replica, ...], int | None]:
    """The replicas, and the scheduler's port where one of them says it."""
    if "mxReplicaSpecs" in spec.names():
        found = replica_specs.read(spec.fields("mxReplicaSpecs"), ROLES, "Never")
    else:
        found = tuple(_entries(spec))
        if not found:
            spec.wrong("", "has no replicas", "mxReplicaSpecs, or replicaSpecs of older versions")
    return _with_key(_with_verbosity(found)), _root_port(found)


def _entries(spec: Fields) -> Iterator[Replica]:
    """Older replica specs: an entry's role is its type, or its name in a map."""
    for fields, said in _named(spec):
        role = ROLES.get(said.lower())
        if role is None:
            fields.wrong("", f'"{said}" is not a role', f"one of {', '.join(ROLES)}")
            continue
        size = fields.whole("replicas", least=1)
        yield replica_specs.by_template(fields, role, 1 if size is None else size)


def _named(spec: Fields) -> Iterator[tuple[Fields, str]]:
    if not spec.is_array("replicaSpecs"):
        specs = spec.fields("replicaSpecs")
        yield from ((specs.fields(name), name) for name in specs.names())
        return
    for fields in spec.entries("replicaSpecs"):
        said = [fields.text(name) for name in _TYPES]
        yield fields, next((text for text in said if text), "worker")


def _root_port(found: Sequence[Replica]) -> int | None:
    """The scheduler's, which any replica may say; None where none does."""
    said = [
        (replica.fields, name, port)
        for replica in found
        for name in _PORTS
        if (port := replica.fields.whole(name, least=1)) is not None
    ]
    first = said[0][2] if said else None
    for fields, name, port in said:
        if port != first:
            fields.lose(name, f"{port} here and {first} in another role", "the first one counts")
    return first


def _with_verbosity(found: Sequence[Replica]) -> tuple[Replica, ...]:
    """ps-lite reads its own variable."""
    said = {replica.role: replica.fields.whole("psVerbose") for replica in found}
    return tuple(
        replica_specs.with_template(
            one, pod_templates.with_env(one.template, {"PS_VERBOSE": str(said[one.role])})
        )
        if said[one.role] is not None
        else one
        for one in found
    )


def _with_key(found: Sequence[Replica]) -> tuple[Replica, ...]:
    """The key of the tuner servers: every pod gets it, as in MX_CONFIG."""
    keys = [key for replica in found for key in _keys(replica)]
    if not keys:
        return tuple(found)
    _, _, first = keys[0]
    for fields, name, key in keys:
        if key != first:
            fields.lose(name, f'"{key}" is another key than "{first}"', "all servers have one key")
    note = {contract.TUNER_SERVER_KEY: first}
    return tuple(
        replica_specs.with_template(one, pod_templates.annotated(one.template, note))
        for one in found
    )


def _keys(replica: Replica) -> Iterator[tuple[Fields, str, str]]:
    """Said by a label of the replicas, in the tuner's spec, or by the pods' annotation."""
    fields = replica.fields
    spec = fields.fields("tunerSpec")
    instead = "write a TunerServer into mxReplicaSpecs"
    spec.drop("tunerServerReplicas", instead=instead)
    spec.drop("tunerServerGPU", instead=f"{instead}, with its GPUs")
    annotations = (replica.template.get("metadata") or {}).get("annotations") or {}
    noted = annotations.get(contract.TUNER_SERVER_KEY, "") if replica.role == _SERVER else ""
    said = (
        (fields, "label", fields.text("label")),
        (spec, "tunerServerKey", spec.text("tunerServerKey")),
        (fields, "template", noted),
    )
    yield from (key for key in said if key[2])

"""Source documents, and what comes out of them."""

import copy
from collections.abc import Iterator
from typing import Any

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import path_of
from edl.convert.source_kind import Converted
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.writes import Json

CONTEXT = Context(trusted=frozenset(), image="example/kubectl-edl:1")


def template(container: str = "main", **fields: Any) -> Json:  # noqa: ANN401 - JSON
    """A pod template; `fields` are its main container's."""
    return {"spec": {"containers": [{"name": container, "image": "train"} | fields]}}


def replica(container: str, replicas: int | None = 1, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    """A replica spec of Kubeflow's; `fields` are its own, such as restartPolicy."""
    sized = {} if replicas is None else {"replicas": replicas}
    return sized | {"template": template(container)} | fields


def tfjob(version: str = "v1", **spec: Any) -> Json:  # noqa: ANN401 - JSON
    """A TFJob with one worker; `spec` replaces fields of its spec."""
    workers = {"tfReplicaSpecs": {"Worker": replica("tensorflow")}}
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "TFJob",
        "metadata": {"name": "mnist", "namespace": "lab"},
        "spec": workers | spec,
    }


def jobs(document: Json) -> Converted:
    """Converted, and accepted by the webhook; the document stays as it was."""
    before = copy.deepcopy(document)
    found = convert(document)
    assert found is not None
    assert document == before
    for manifest in found.manifests:
        admitted(manifest)
    return found


def admitted(manifest: Json) -> Json:
    """The Job as the webhook completes it; raises Denied."""
    return mutate(AdmissionRequest("CREATE", manifest, None, "alice"), CONTEXT).manifest


def by_role(found: Converted) -> dict[str, Json]:
    return {
        manifest["metadata"]["labels"].get(contract.ROLE, "(alone)"): manifest
        for manifest in found.manifests
    }


def only(found: Converted) -> Json:
    (manifest,) = found.manifests
    return manifest


def paths(found: Converted) -> list[str]:
    """Where something was dropped."""
    return [path_of(remark.place) for remark in found.dropped]


def with_value(document: Json, place: tuple[str | int, ...], value: object) -> Json:
    """A copy with another value at a place."""
    copied = copy.deepcopy(document)
    *parents, last = place
    inner: Any = copied
    for step in parents:
        inner = inner[step]
    inner[last] = value
    return copied


def objects(value: object, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of every object in a document."""
    if isinstance(value, dict):
        yield place
        for name, inner in value.items():
            yield from objects(inner, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from objects(inner, (*place, index))


def leaves(value: object, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of every text, number and truth value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*place, index))
    elif value is not None:
        yield place

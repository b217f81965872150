"""Reads of objects that a user may lack the right to read: the result is useful without them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace as with_fields
from http import HTTPStatus
from typing import TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from edl.errors import Forbidden, Gone, NotFound
from edl.kube.cluster import ListOptions, PluginCluster, RawList
from edl.kube.cluster_decorator import PluginClusterDecorator
from edl.kube.decode import object_facts
from edl.kube.decode.object_facts import NamespaceFacts
from edl.model import ObjectRef
from kubectl_edl.cli.context import ClusterConnection

_Fact = TypeVar("_Fact")
Hints: TypeAlias = tuple[str, ...]
"""Lines for stderr, each of which names what could not be read."""


def read_if_allowed(
    read: Callable[[], Sequence[_Fact]], consequence: str
) -> tuple[Sequence[_Fact], Hints]:
    """What is read, or nothing and a hint if that is forbidden."""
    try:
        return read(), ()
    except (Forbidden, Gone) as error:
        return (), (f"hint: {consequence}: {error}",)


class _ReadOnce(PluginClusterDecorator):
    """A cluster of which each list is read once; later ones get the same answer or refusal."""

    def __init__(self, cluster: PluginCluster) -> None:
        super().__init__(cluster)
        self._answers: dict[ListOptions, RawList | Forbidden] = {}

    def list(self, selection: ListOptions) -> RawList:
        answer = self._answers.get(selection) or self._asked(selection)
        if isinstance(answer, Forbidden):
            raise Forbidden(str(answer), answer.status)
        return answer

    def _asked(self, selection: ListOptions) -> RawList | Forbidden:
        try:
            answer: RawList | Forbidden = super().list(selection)
        except Forbidden as error:
            if error.status == HTTPStatus.UNAUTHORIZED:  # new credentials may be accepted
                raise
            answer = error
        self._answers[selection] = answer
        return answer


def asking_once(connection: ClusterConnection) -> ClusterConnection:
    """The connection for many reads of one moment, of which several may need the same list."""
    cluster: PluginCluster = _ReadOnce(connection.cluster)
    return with_fields(connection, cluster=cluster)


def namespaces(connection: ClusterConnection) -> list[NamespaceFacts]:
    """The namespace of the connection, or all. Raises Forbidden, NotFound."""
    cluster, name = connection.cluster, connection.namespace
    if not name:
        return list(map(object_facts.namespace, cluster.list(ListOptions("Namespace")).items))
    manifest = cluster.get(ObjectRef("Namespace", "", name))
    return [object_facts.namespace(msgspec.json.encode(manifest))]


def readable_namespaces(connection: ClusterConnection) -> list[NamespaceFacts]:
    """The namespaces that the user may read, as if each let launchers exec into workers."""
    with suppress(Forbidden, NotFound):
        return [
            replace(facts, policy=replace(facts.policy, kubexec=True, gpu_budget=None, findings=()))
            for facts in namespaces(connection)
        ]
    return []

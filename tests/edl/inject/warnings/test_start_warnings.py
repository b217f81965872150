"""Pods that start before they know their peers, or cannot ask the API server for them."""

import pytest

from edl.writes import Json
from tests.edl.manifests import create, created, horovod, role_manifest

NO_HOSTS = (
    "nodeName: this launcher starts before it is told the workers of the training job: use a "
    "nodeSelector"
)
NO_TOKEN = (
    "automountServiceAccountToken is false: without a token this launcher cannot reach its peers "
    "through the API server: leave it out"
)
ON_NODE = {"nodeName": "node-1"}
WITHOUT_TOKEN = {"automountServiceAccountToken": False}


def said(manifest: Json) -> tuple[str, ...]:
    told = create(manifest).warnings
    return tuple(text for text in told if text.startswith(("nodeName", "automount")))


def test_a_launcher_on_a_node_of_its_users_choice_does_not_wait() -> None:
    manifest = horovod("launcher", pod=ON_NODE)
    assert said(manifest) == (NO_HOSTS,)
    assert said(created(manifest)) == (), "it was warned about before"


def test_a_launcher_without_a_token_cannot_exec() -> None:
    assert said(horovod("launcher", pod=WITHOUT_TOKEN)) == (NO_TOKEN,)


@pytest.mark.parametrize("pod", [ON_NODE, WITHOUT_TOKEN])
def test_workers_need_neither_a_host_list_nor_a_token(pod: Json) -> None:
    assert said(horovod("worker", pod=pod)) == ()
    assert said(role_manifest("ps", pod=pod)) == ()


def test_a_launcher_with_a_token_that_kubernetes_places_is_not_warned_of() -> None:
    manifest = horovod("launcher", pod={"automountServiceAccountToken": True})
    assert said(manifest) == ()


@pytest.mark.parametrize(
    ("source", "warnings"),
    [({"serviceAccountToken": {"path": "token"}}, ()), ({"configMap": {"name": "m"}}, (NO_TOKEN,))],
)
def test_a_launcher_with_a_token_of_its_users_own_is_not_warned_of(
    source: Json, warnings: tuple[str, ...]
) -> None:
    volume = {"name": "token", "projected": {"sources": [source]}}
    assert said(horovod("launcher", pod=WITHOUT_TOKEN | {"volumes": [volume]})) == warnings


def test_a_worker_of_mxnets_fork_is_told_of_workers_not_of_its_own() -> None:
    roles, notes = "scheduler=1,server=1,worker=1..4", {"mode": "fork"}
    manifest = role_manifest("worker", roles, framework="mxnet", annotations=notes, pod=ON_NODE)
    assert said(manifest) == (NO_HOSTS.replace("launcher", "worker"),)

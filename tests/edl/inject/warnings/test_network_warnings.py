"""Pods in the network of their node, which do not find their peers by name."""

from typing import Any

import pytest

from edl.writes import Json
from tests.edl.manifests import create, created, horovod, job, pod, role_manifest

UNKNOWN_NAMES = (
    "hostNetwork: the DNS servers of the nodes do not know the names of the pods: set dnsPolicy to "
    "ClusterFirstWithHostNet"
)
NO_HOST = (
    "hostNetwork: pods have the host names of their nodes, so no worker becomes the host of the "
    "rendezvous: add the role rendezvous in edl.dev/roles"
)
WITH_DNS = "ClusterFirstWithHostNet"


def said(manifest: Json) -> tuple[str, ...]:
    return tuple(text for text in create(manifest).warnings if "names of" in text)


def on_host(**fields: Any) -> Json:  # noqa: ANN401 - JSON
    return {"hostNetwork": True} | fields


@pytest.mark.parametrize("fields", [{}, {"dnsPolicy": "ClusterFirst"}, {"dnsPolicy": "Default"}])
def test_pods_that_ask_the_dns_servers_of_their_nodes_are_told(fields: Json) -> None:
    manifest = role_manifest("worker", pod=on_host(**fields))
    assert said(manifest) == (UNKNOWN_NAMES,)
    assert said(horovod("launcher", pod=on_host(**fields))) == (UNKNOWN_NAMES,)


def test_a_warning_about_the_network_is_given_once() -> None:
    assert said(created(role_manifest("worker", pod=on_host()))) == ()


@pytest.mark.parametrize("policy", [WITH_DNS, "None"])
def test_pods_with_another_dns_policy_are_their_users_business(policy: str) -> None:
    assert said(role_manifest("worker", pod=on_host(dnsPolicy=policy))) == ()


def test_pods_in_a_network_of_their_own_need_no_warning() -> None:
    assert said(role_manifest("worker", pod={"dnsPolicy": "ClusterFirst"})) == ()


def test_pods_that_ask_their_nodes_dns_servers_by_choice_are_told_as_well() -> None:
    own = {"dnsPolicy": "Default"}
    unknown = (
        "dnsPolicy Default: the DNS servers of the nodes do not know the names of the pods: leave "
        "it out"
    )
    assert said(job(framework="pytorch", min="2", max="4", pod=own)) == (unknown,)
    assert said(role_manifest("worker", pod=own)) == (unknown,)
    assert said(job(framework="none", pod=own)) == ()
    assert said(job(framework="tensorflow", min="1", max="1", pod=own)) == ()


def test_a_work_queue_has_no_peers_to_find() -> None:
    assert said(job(framework="none", pod=on_host())) == ()


@pytest.mark.parametrize("role", ["pserver", "trainer"])
def test_pods_that_find_each_other_by_labels_ask_for_no_names(role: str) -> None:
    notes = {"mode": "cloud"}
    manifest = role_manifest(
        role, "pserver=1,trainer=2", framework="paddle", annotations=notes, pod=on_host()
    )
    assert said(manifest) == ()


def test_workers_that_look_up_no_names_are_not_warned_of() -> None:
    assert said(horovod("worker", pod=on_host())) == ()


def test_a_single_pod_has_no_peers_to_look_up() -> None:
    assert said(job(framework="tensorflow", min="1", max="1", pod=on_host())) == ()
    several = job(framework="tensorflow", min="1", max="2", pod=on_host())
    assert said(several) == (UNKNOWN_NAMES,)
    alone = job(framework="pytorch", min="1", max="1", pod=on_host(dnsPolicy=WITH_DNS))
    assert said(alone) == (NO_HOST,), "torchrun looks up the first pod's name, also in that pod"


def test_torchruns_first_agent_would_not_know_itself_in_the_network_of_its_node() -> None:
    alone = job(framework="pytorch", pod=on_host(dnsPolicy=WITH_DNS))
    assert said(alone) == (NO_HOST,)
    roles = "rendezvous=1,worker=1..4"
    several = role_manifest("worker", roles, framework="pytorch", pod=on_host(dnsPolicy=WITH_DNS))
    assert said(several) == ()


def test_a_bare_agent_is_told_by_its_rank_whether_it_is_the_host() -> None:
    notes = {"rank": "0", "size": "2"}
    bare = pod(framework="pytorch", job="mnist", annotations=notes, spec=on_host())
    assert said(bare) == (UNKNOWN_NAMES,)

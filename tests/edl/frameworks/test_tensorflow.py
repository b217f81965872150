"""Whole manifests are in tests/golden/tensorflow; here is the rest."""

import json
from collections.abc import Sequence

import pytest

from edl import contract
from edl.contract import CLUSTER_ENV, COMPLETION_INDEX_ENV, TF_CONFIG_ENV
from edl.errors import Denied
from edl.frameworks import is_leader, is_service
from edl.frameworks.tensorflow import at_start
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import created, environment, job, pod, role_manifest


def hosts(role: str, count: int, port: int = 2222) -> list[str]:
    return [f"mnist-{role}-{index}.mnist.lab.svc:{port}" for index in range(count)]


def as_the_kubelet_expands(text: str, variables: dict[str, str]) -> Json:
    """`$(NAME)` replaced as in a container's env, and the result read as JSON."""
    for name, value in variables.items():
        text = text.replace(f"$({name})", value)
    expanded: Json = json.loads(text)
    return expanded


def tf_config(manifest: Json, index: int = 0, cluster: str = "") -> Json:
    text = environment(created(manifest))[TF_CONFIG_ENV]
    return as_the_kubelet_expands(text, {COMPLETION_INDEX_ENV: str(index), CLUSTER_ENV: cluster})


def test_collective_strategies_read_the_cluster_of_this_start() -> None:
    manifest = job("mnist-worker", framework="tensorflow", job="mnist", max="4")
    found = environment(created(manifest))
    assert list(found) == [COMPLETION_INDEX_ENV, CLUSTER_ENV, TF_CONFIG_ENV]
    assert found[CLUSTER_ENV] == "metadata.annotations['edl.dev/cluster']"
    assert tf_config(manifest, 1, '{"worker":["a:1","b:1"]}') == {
        "cluster": {"worker": ["a:1", "b:1"]},
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }


SPARSE = {"mode": "sparse"}
SPARSE_ROLES = "chief=1,ps=2,worker=1..3,evaluator=1"


@pytest.mark.parametrize("role", ["ps", "evaluator"])
def test_in_sparse_mode_roles_other_than_worker_know_every_host(role: str) -> None:
    sparse = tf_config(role_manifest(role, SPARSE_ROLES, annotations=SPARSE))
    assert sparse == tf_config(role_manifest(role, SPARSE_ROLES))
    assert sparse["cluster"]["worker"] == hosts("worker", 3)


def test_unlisted_sparse_workers_have_no_limit() -> None:
    many = role_manifest("worker", "chief=1,ps=1,worker=1..4000", annotations=SPARSE)
    assert len(environment(created(many))[TF_CONFIG_ENV]) < 1000


def test_parameter_server_strategy_reads_the_running_cluster_from_its_annotation() -> None:
    manifest = role_manifest("ps", SPARSE_ROLES, annotations={"mode": "collective"})
    assert environment(created(manifest))[CLUSTER_ENV] == "metadata.annotations['edl.dev/cluster']"
    told = at_start({"chief": ["a:1"], "worker": ["b:1"], "ps": ["d:1"], "evaluator": ["c:1"]})
    assert tf_config(manifest, cluster=told[contract.CLUSTER]) == {
        "cluster": {"chief": ["a:1"], "worker": ["b:1"], "ps": ["d:1"]},
        "task": {"type": "ps", "index": 0},
        "environment": "cloud",
    }


def test_bare_pods_know_their_cluster_in_every_mode() -> None:
    told = {"rank": "1", "size": "2", "mode": "collective"}
    manifest = pod("any", framework="tensorflow", job="mnist", annotations=told)
    found = environment(created(manifest))
    assert found[COMPLETION_INDEX_ENV] == "1"
    assert tf_config(manifest, 1)["cluster"] == {"worker": hosts("worker", 2)}


def test_a_user_decides_about_success_himself() -> None:
    own = {"rules": [{"succeededCount": 2}]}
    manifest = role_manifest("worker", "ps=1,worker=2..3", spec={"successPolicy": own})
    assert created(manifest)["spec"]["successPolicy"] == own


@pytest.mark.parametrize(
    ("roles", "deciding"),
    [("chief=1,ps=2,worker=1..3", ["chief"]), ("ps=2,worker=1..3,evaluator=1", ["worker"])],
)
def test_the_chief_decides_else_the_workers(roles: str, deciding: Sequence[str]) -> None:
    specs = [parse(role_manifest(part.split("=")[0], roles)) for part in roles.split(",")]
    assert [spec.role for spec in specs if is_leader(spec)] == deciding
    assert [spec.role for spec in specs if is_service(spec)] == ["ps"]


def test_the_cluster_of_a_start_leaves_the_evaluator_out() -> None:
    found = at_start({"chief": ["a:1"], "worker": ["b:1"], "evaluator": ["c:1"]})
    assert found == {contract.CLUSTER: '{"chief":["a:1"],"worker":["b:1"]}'}


def test_more_hosts_than_a_variable_holds_are_refused() -> None:
    with pytest.raises(Denied) as denied:
        created(role_manifest("worker", "ps=1,worker=1..4000"))
    (finding,) = denied.value.findings
    assert finding.path == f"metadata.labels[{contract.MAX}]"
    assert "TF_CONFIG" in finding.what
    assert created(role_manifest("worker", "ps=1,worker=1..1800"))

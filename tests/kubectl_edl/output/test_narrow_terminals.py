"""Realistic names on terminals of 80 and 120 columns."""

import pytest

from edl import contract
from edl.model import ObjectRef
from tests.kubectl_edl.stage import Stage, job, mnist, node, role_manifests

NAME = "resnet-50-imagenet-large-batch"
NODE = "ip-10-0-112-17.eu-central-1.compute.internal"
TEAMS = """teams:
- name: research
  guaranteed: {cpu: 4, memory: 512Gi, nvidia.com/gpu: 16}
- name: vision
  parent: research
  namespaces: [default]
  guaranteed: {cpu: 2, memory: 256Gi, nvidia.com/gpu: 8}
  limit: {cpu: 64, nvidia.com/gpu: 16}
"""


def cluster(width: int) -> Stage:
    stage = Stage(width=width)
    mnist(stage)
    stage.put(job(NAME, framework="none", min="1", max="4"))
    for manifest in role_manifests("bert", "chief=1,ps=4,worker=3..12"):
        stage.put(manifest)
    stage.create(node(NODE))
    document = {"kind": "ConfigMap", "metadata": {"name": contract.TEAMS_CONFIG_MAP}}
    target = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
    stage.cluster.create(target, document | {"data": {contract.TEAMS_KEY: TEAMS}})
    return stage


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", ["status", "queue", "teams", "top", "top nodes", "top cluster"])
def test_no_line_of_a_table_wraps(command: str, width: int) -> None:
    found = cluster(width).run(*command.split())
    assert found.code == 0
    assert [line for line in found.out.splitlines() if len(line) > width] == []


@pytest.mark.parametrize("command", ["status", "queue", "top"])
def test_with_all_namespaces_sizes_are_truncated_last(command: str) -> None:
    stage, namespace = cluster(80), "vision-research"
    for manifest in (job(NAME, framework="none", max="4"), *role_manifests("bert-pretraining")):
        manifest["metadata"]["namespace"] = namespace
        stage.put(manifest)
    lines = stage.run(command, "-A").out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    shown = [set(line.split()) for line in lines]
    for name in ("bert-pretraining", NAME):
        assert any({namespace, name} <= cells for cells in shown), name


@pytest.mark.parametrize("command", ["status", "queue", "teams", "top", "top nodes"])
def test_a_wide_table_is_the_same_on_a_terminal_as_in_a_pipe(command: str) -> None:
    stage = cluster(80)
    found = stage.run(*command.split(), "-o", "wide")
    stage.width = None
    assert stage.run(*command.split(), "-o", "wide").out == found.out

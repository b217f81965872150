"""RuntimeClasses: what they add to pods is planned before there are any, as admission adds it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from edl.model import ObjectRef
from edl.writes import Json
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration


@contextmanager
def runtime_class(stage: Stage, **scheduling: Any) -> Iterator[str]:  # noqa: ANN401
    """A RuntimeClass with 1 CPU of overhead, which is gone after the test."""
    name = f"{stage.namespace}-kata"
    body: Json = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "kata"}
    body |= {"metadata": {"name": name}, "overhead": {"podFixed": {"cpu": "1"}}}
    stage.api.create(ObjectRef("RuntimeClass", "", name), body | {"scheduling": scheduling})
    try:
        yield name
    finally:
        stage.api.delete(ObjectRef("RuntimeClass", "", name))


def kata(name: str, low: int, high: int, runtime: str) -> Json:
    labels = {"min": str(low), "max": str(high)}
    return elastic(name, labels=labels, parallelism=low, pod={"runtimeClassName": runtime})


def some_node(stage: Stage) -> str:
    return stage.kubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}")


def test_growth_counts_the_overhead_on_the_nodes_that_the_class_selects(installed: Stage) -> None:
    """One node of 8 CPU takes four pods of 1 CPU and as much overhead."""
    node = some_node(installed)
    with runtime_class(installed, nodeSelector={"kubernetes.io/hostname": node}) as name:
        installed.apply(kata("mnist", 1, 9, name))
        installed.until_runs("mnist", 4)
        installed.apply(elastic("after", labels={"min": "1", "max": "1"}))
        installed.until_runs("after", 1)
        assert installed.size("mnist") == 4
        assert {pod["spec"]["nodeName"] for pod in installed.pods("mnist")} == {node}


def test_a_gang_that_only_fits_without_its_overhead_is_not_started(installed: Stage) -> None:
    with runtime_class(installed) as name:
        installed.apply(kata("mnist", 17, 17, name))
        installed.until(
            lambda: "Insufficient cpu" in installed.message("mnist"), "it says what lacks"
        )
        assert installed.job("mnist")["spec"]["suspend"]
        assert not installed.pods("mnist")


def test_a_job_of_a_runtime_class_that_does_not_exist_waits_for_it(installed: Stage) -> None:
    missing = f'RuntimeClass "{installed.namespace}-kata" does not exist'
    installed.apply(kata("mnist", 1, 1, f"{installed.namespace}-kata"))
    installed.until(lambda: missing in installed.message("mnist"), "it says what lacks")
    with runtime_class(installed):
        installed.until_runs("mnist", 1)
        installed.kubectl("delete", "job", "mnist")


def test_a_template_that_contradicts_its_runtime_class_waits_and_says_so(installed: Stage) -> None:
    with runtime_class(installed, nodeSelector={"pool": "blue"}) as name:
        mine = kata("mnist", 1, 1, name)
        mine["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "red"}
        installed.apply(mine)
        installed.until(lambda: "pool=blue" in installed.message("mnist"), "it names the conflict")
        assert not installed.pods("mnist")

"""Templates that refer to labels which the replaced operator set, or to another scheduler."""

from typing import Any

import pytest

from edl import contract
from edl.writes import Json
from tests.edl.convert.documents import jobs, paths, replica, tfjob

WORKER = "spec.tfReplicaSpecs.Worker.template"
REPLICA_INDEX = "training.kubeflow.org/replica-index"


def with_template(metadata: Json | None = None, **pod: Any) -> Json:  # noqa: ANN401 - JSON
    workers = replica("tensorflow", 2)
    workers["template"]["spec"] |= pod
    workers["template"] |= {"metadata": metadata} if metadata else {}
    return tfjob(tfReplicaSpecs={"Worker": workers})


def spread(label: str) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {label: "mnist"}},
    }


@pytest.mark.parametrize(
    ("label", "instead"),
    [
        ("training.kubeflow.org/job-name", contract.JOB),
        ("training.kubeflow.org/replica-type", contract.ROLE),
        ("group-name", contract.JOB),
        ("tf-replica-type", contract.ROLE),
        ("mpi_job_name", contract.JOB),
        ("training-job-role", contract.ROLE),
    ],
)
def test_a_selector_of_an_operators_label_counts_as_dropped(label: str, instead: str) -> None:
    (remark,) = jobs(with_template(topologySpreadConstraints=[spread(label)])).dropped
    assert label in remark.place
    assert instead in remark.instead


def test_an_expression_about_an_operators_label_counts_as_dropped() -> None:
    expression = {"key": "training.kubeflow.org/job-name", "operator": "Exists"}
    selector = {"labelSelector": {"matchExpressions": [expression]}, "topologyKey": "zone"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selector]}}
    (remark,) = jobs(with_template(affinity=affinity)).dropped
    assert remark.place[-3:] == ("matchExpressions", 0, "key")


def test_a_variable_from_an_operators_label_counts_as_dropped() -> None:
    field = {"fieldRef": {"fieldPath": f"metadata.labels['{REPLICA_INDEX}']"}}
    document = with_template()
    (container,) = document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["env"] = [{"name": "NODE", "valueFrom": field}]
    (remark,) = jobs(document).dropped
    assert contract.COMPLETION_INDEX_ENV in remark.instead


def test_a_command_that_selects_by_an_operators_label_counts_as_dropped() -> None:
    document = with_template()
    (container,) = document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["args"] = ["kubectl get pods -l training.kubeflow.org/job-name=mnist"]
    assert paths(jobs(document)) == [f"{WORKER}.spec.containers[0].args[0]"]


def test_a_key_of_a_spread_that_an_operator_set_counts_as_dropped() -> None:
    constraint = spread("app") | {"matchLabelKeys": ["group-name"]}
    (remark,) = jobs(with_template(topologySpreadConstraints=[constraint])).dropped
    assert remark.place[-2:] == ("matchLabelKeys", 0)


OF_NODES = {
    "nodeSelectorTerms": [{"matchExpressions": [{"key": "job-role", "operator": "Exists"}]}]
}
OF_NAMESPACES = {
    "labelSelector": {"matchLabels": {"app": "web"}},
    "namespaceSelector": {"matchLabels": {"group-name": "web"}},
    "topologyKey": "zone",
}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    "pod",
    [
        {"nodeSelector": {"job-role": "trainer"}},
        {"tolerations": [{"key": "group-name", "operator": "Exists"}]},
        {"volumes": [{"name": "group-name", "emptyDir": {}}]},
        {"affinity": {"nodeAffinity": {REQUIRED: OF_NODES}}},
        {"affinity": {"podAffinity": {REQUIRED: [OF_NAMESPACES]}}},
    ],
)
def test_the_same_name_for_another_thing_is_carried_without_a_remark(pod: Json) -> None:
    found = jobs(with_template(**pod))
    assert (found.dropped, found.notes) == ((), ())


def test_words_of_a_command_are_not_taken_for_labels() -> None:
    document = with_template()
    (container,) = document["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["args"] = ["--partition-by", "replica-index"]
    container["env"] = [{"name": "MODE", "value": "replica-type"}]
    assert jobs(document).dropped == ()


def test_a_label_that_the_template_has_itself_is_left_alone() -> None:
    document = with_template(
        {"labels": {"group-name": "mnist"}}, topologySpreadConstraints=[spread("group-name")]
    )
    assert jobs(document).dropped == ()


def test_a_label_counts_once_for_each_template() -> None:
    constraints = [spread("group-name"), spread("group-name") | {"topologyKey": "zone"}]
    assert len(jobs(with_template(topologySpreadConstraints=constraints)).dropped) == 1


@pytest.mark.parametrize("name", ["team", "example.com/job-name", "job-name", "app"])
def test_other_labels_are_carried_without_a_remark(name: str) -> None:
    found = jobs(with_template(topologySpreadConstraints=[spread(name)]))
    assert (found.dropped, found.notes) == ((), ())


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {"scheduling.k8s.io/group-name": "mnist"}},
        {"labels": {"kai.scheduler/queue": "vision"}},
    ],
)
def test_the_group_of_another_scheduler_counts_as_dropped(metadata: Json) -> None:
    (remark,) = jobs(with_template(metadata)).dropped
    assert remark.instead == "leave it out"


@pytest.mark.parametrize("name", ["volcano", "kai-scheduler"])
def test_a_scheduler_with_queues_is_noted(name: str) -> None:
    found = jobs(with_template(schedulerName=name))
    assert (found.dropped, len(found.notes)) == ((), 1)


def test_a_scheduler_without_queues_needs_no_note() -> None:
    assert jobs(with_template(schedulerName="default-scheduler")).notes == ()

"""Settings of Kueue, KAI Scheduler and Volcano on ordinary workloads."""

import pytest

from edl.convert import convert
from edl.convert.diagnostics import path_of
from edl.convert.parts.other_schedulers import of_workload
from edl.writes import Json
from tests.edl.convert.documents import jobs, only, paths, tfjob

POD: Json = {
    "metadata": {"annotations": {"gpu-fraction": "0.5"}, "labels": {"kai.scheduler/queue": "a"}},
    "spec": {"schedulerName": "kai-scheduler"},
}
OF_POD = [
    ("metadata.labels[kai.scheduler/queue]", "leave it out"),
    ("metadata.annotations.gpu-fraction", 'label the Job edl.dev/gpu: "0.5", for KubeShare'),
    ("spec.schedulerName", "leave it out: kubectl-edl queues the Job"),
]
KUEUE = {
    "labels": {"kueue.x-k8s.io/priority-class": "prod"},
    "annotations": {"kueue.x-k8s.io/job-min-parallelism": "2"},
}
OF_KUEUE = [
    (
        "metadata.labels[kueue.x-k8s.io/priority-class]",
        "set priorityClassName: prod in the pod template",
    ),
    ("metadata.annotations[kueue.x-k8s.io/job-min-parallelism]", 'label the Job edl.dev/min: "2"'),
]


def workload(kind: str) -> Json:
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind} | POD
    made: Json = {"metadata": KUEUE, "spec": {"template": POD}}
    if kind == "Job":
        return {"apiVersion": "batch/v1", "kind": kind} | made
    return {"apiVersion": "batch/v1", "kind": kind, "spec": {"jobTemplate": made}}


@pytest.mark.parametrize(
    ("kind", "above", "template"),
    [
        ("Pod", "", ""),
        ("Job", "", "spec.template."),
        ("CronJob", "spec.jobTemplate.", "spec.jobTemplate.spec.template."),
    ],
)
def test_an_ordinary_workload_is_left_with_a_note_on_each_setting(
    kind: str, above: str, template: str
) -> None:
    found = convert(workload(kind))
    assert found is not None
    assert (found.manifests, found.dropped) == ((workload(kind),), ())
    of_job = [] if kind == "Pod" else [(f"{above}{path}", way) for path, way in OF_KUEUE]
    expected = [*of_job, *((f"{template}{path}", way) for path, way in OF_POD)]
    assert [(path_of(one.place), one.instead) for one in found.notes] == [
        (path, f"for kubectl-edl: {instead}") for path, instead in expected
    ]
    assert all(one.what.endswith(": left as it is") for one in found.notes)


@pytest.mark.parametrize(
    "manifest",
    [
        {"kind": "Job"},
        {"kind": "Job", "spec": {"template": []}},
        {"kind": "Job", "metadata": {"labels": ["kai.scheduler/queue"]}, "spec": 7},
        {"kind": "CronJob", "spec": {"jobTemplate": None}},
        {"kind": "Pod", "spec": {"schedulerName": ["volcano"]}},
        {"kind": "Pod", "spec": {"schedulerName": "default-scheduler"}},
    ],
)
def test_other_and_malformed_workloads_have_no_note(manifest: Json) -> None:
    assert list(of_workload(manifest)) == []


def test_long_values_are_cut() -> None:
    annotations = {"kueue.x-k8s.io/job-min-parallelism": "9" * 1000}
    (remark,) = of_workload({"kind": "Job", "metadata": {"annotations": annotations}})
    assert len(remark.instead) < 100


def test_the_queue_of_a_custom_resource_counts_as_dropped() -> None:
    document = tfjob()
    document["metadata"]["labels"] = {"kai.scheduler/queue": "a", "team": "vision"}
    document["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "b"}
    found = jobs(document)
    assert paths(found) == [
        "metadata.annotations[scheduling.volcano.sh/queue-name]",
        "metadata.labels[kai.scheduler/queue]",
    ]
    assert only(found)["metadata"]["labels"]["team"] == "vision"
    assert "annotations" not in only(found)["metadata"]

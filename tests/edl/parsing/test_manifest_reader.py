from collections.abc import Mapping

import pytest

from edl.contract import pod_limits
from edl.errors import Finding
from edl.parsing.parser import parse
from edl.parsing.yaml_values import misread
from edl.spec.job_spec import Gpu
from edl.writes import Json
from tests.edl.large_pods import KINDS, Kind
from tests.edl.manifests import annotations, changed, created, horovod, pod, role_manifest
from tests.edl.readings import annotation, elastic, findings, label

GPU_CHOICE = "whole GPUs (1, 2, …) or a share below 1 (0.5)"


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("2", Gpu(whole=2)),
        ("0.5", Gpu(request="0.5", limit="0.5")),
        ("0.25", Gpu(request="0.25", limit="0.25")),
    ],
)
def test_a_gpu_is_whole_or_a_share(text: str, gpu: Gpu) -> None:
    assert parse(elastic(gpu=text)).resources.gpu == gpu


def test_a_share_may_have_a_limit_and_a_memory() -> None:
    manifest = elastic(gpu="0.5", gpu_memory="3Gi", annotations={"gpu-limit": "1.0"})
    assert parse(manifest).resources.gpu == Gpu(request="0.5", limit="1.0", memory=3 * 2**30)


@pytest.mark.parametrize("text", ["1.5", "0", "-1", "abc", "", "0.0", ".5", "1.0"])
def test_a_gpu_that_is_neither_is_refused(text: str) -> None:
    assert findings(elastic(gpu=text)) == (Finding(label("gpu"), f'"{text}"', GPU_CHOICE),)


@pytest.mark.parametrize("limit", ["0.4", "0", "1.1", "2", "abc"])
def test_a_gpu_limit_lies_between_the_share_and_one(limit: str) -> None:
    found = findings(elastic(gpu="0.5", annotations={"gpu-limit": limit}))
    allowed = "from the share 0.5 to 1.0"
    assert found == (Finding(annotation("gpu-limit"), f'"{limit}"', allowed),)


@pytest.mark.parametrize(
    ("labels", "what", "allowed"),
    [
        ({"gpu": "2"}, "belongs to a share, and 2 is whole GPUs", "leave it out"),
        ({}, "belongs to a share, and edl.dev/gpu is absent", "add edl.dev/gpu: 0.5"),
    ],
)
def test_memory_and_limit_belong_to_a_share(
    labels: Mapping[str, str], what: str, allowed: str
) -> None:
    found = findings(elastic(gpu_memory="3Gi", annotations={"gpu-limit": "0.5"}, **labels))
    assert found == (
        Finding(label("gpu-memory"), what, allowed),
        Finding(annotation("gpu-limit"), what, allowed),
    )


@pytest.mark.parametrize("text", ["3 Gi", "lots", "0", "100m", "-1Gi"])
def test_gpu_memory_is_a_quantity_of_whole_bytes(text: str) -> None:
    (found,) = findings(elastic(gpu="0.5", gpu_memory=text))
    assert found.path == label("gpu-memory")
    assert f'"{text}"' in found.what


@pytest.mark.parametrize(
    ("labels", "limits", "slots"),
    [({}, {}, 1), ({"gpu": "2"}, {}, 2), ({}, {"nvidia.com/gpu": "4"}, 4), ({"gpu": "0.5"}, {}, 1)],
)
def test_slots_default_to_the_gpus_of_a_worker(
    labels: Mapping[str, str], limits: Mapping[str, str], slots: int
) -> None:
    containers = [{"name": "main", "image": "busybox", "resources": {"limits": limits}}]
    assert (
        parse(horovod("worker", pod={"containers": containers}, **labels)).resources.slots == slots
    )


@pytest.mark.parametrize("name", ["replicas", "slots"])
@pytest.mark.parametrize("text", ["0", "x", "-2", ""])
def test_numbers_in_annotations_are_whole(name: str, text: str) -> None:
    found = findings(elastic(annotations={name: text}))
    assert found == (Finding(annotation(name), f'"{text}"', "a whole number from 1"),)


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("port", "65536", "a whole number from 1 to 65535"),
        ("clean-up", "Some", "one of Running, All, None"),
        ("paused", "yes", 'write "true", or remove it'),
    ],
)
def test_other_annotations_name_what_is_allowed(name: str, text: str, allowed: str) -> None:
    (found,) = findings(elastic(annotations={name: text}))
    assert (found.path, found.allowed) == (annotation(name), allowed)
    assert f'"{text}"' in found.what


@pytest.mark.parametrize(
    ("manifest", "finding"),
    [
        (elastic(min=2), Finding(label("min"), "2 is not a string", 'quote it: "2"')),
        (
            elastic(annotations={"paused": True}),
            Finding(annotation("paused"), "True is not a string", 'quote it: "true"'),
        ),
        (
            elastic(spec={"parallelism": "2"}),
            Finding("spec.parallelism", "'2'", "a whole number"),
        ),
        (
            changed(elastic(), "metadata name", 7),
            Finding("metadata.name", "7 is not a string", 'quote it: "7"'),
        ),
    ],
    ids=["label", "annotation", "number", "name"],
)
def test_a_value_of_another_type_is_a_finding(manifest: Json, finding: Finding) -> None:
    assert finding in findings(manifest)


def test_foreign_labels_are_left_alone() -> None:
    manifest = elastic(**{"example.com/number": 3})
    assert parse(manifest).scaling.max == 4
    assert annotations(manifest) == {}


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (False, "false"), (8, "8"), (100.0, "100"), (0.5, "0.5")]
)
def test_what_yaml_misreads_is_to_be_quoted_as_it_was_meant(value: object, text: str) -> None:
    found = misread("metadata.labels[a]", value)
    assert (found.what, found.allowed) == (f"{value!r} is not a string", f'quote it: "{text}"')


def test_an_empty_and_a_multiple_value_are_not_text() -> None:
    assert str(misread("a", None)) == "a: is empty; write its value, or remove it"
    assert str(misread("a", ["b"])) == "a: ['b'] is not a string; one value"


LONG = 200_000
"""By the square of it, reading would outlast the test's time."""


@pytest.mark.parametrize(
    "manifest",
    [
        elastic(gpu=f"0.{'1' * LONG}x"),
        elastic(gpu="0.5", gpu_memory=f"{'1' * LONG}x"),
        elastic(gpu="0.5", annotations={"gpu-limit": f"0.{'1' * LONG}x"}),
        role_manifest("worker", ",".join(f"Role{number}" for number in range(LONG // 10))),
    ],
    ids=["share", "memory", "limit", "roles"],
)
def test_a_long_text_is_refused_in_time(manifest: Json) -> None:
    assert 0 < len(findings(manifest)) <= 100


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_template_with_more_of_a_kind_than_plans_follow_is_refused(kind: Kind) -> None:
    allowed = f"at most {kind.most}"
    found = findings(elastic(pod=kind.spec(2 * kind.most)))
    what = f"{2 * kind.most} {kind.name}"
    assert Finding(f"spec.template.{kind.path}", what, allowed) in found
    bare = pod(framework="none", spec=kind.spec(2 * kind.most))
    assert findings(bare) == (Finding(kind.path, what, allowed),)


def test_what_the_webhook_adds_to_a_template_does_not_count() -> None:
    def labelled(count: int) -> Json:
        labels = {str(number): "" for number in range(count)}
        return changed(elastic(), "spec template metadata", {"labels": labels})

    parse(created(labelled(pod_limits.MAX_LABELS)))
    (found,) = findings(labelled(pod_limits.MAX_LABELS + 1))
    assert found.path == "spec.template.metadata.labels"

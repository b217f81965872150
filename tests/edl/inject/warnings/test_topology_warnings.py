"""A topology that can have no effect is said so when the object comes."""

import pytest

from edl.inject.handlers import AdmissionRequest, mutate
from edl.writes import Json
from tests.edl.manifests import CONTEXT, USER, annotations, created, job, pod

REQUIRED = {"required-topology": "example.com/rack"}


def said(manifest: Json, old: Json | None = None) -> tuple[str, ...]:
    request = AdmissionRequest("UPDATE" if old else "CREATE", manifest, old, USER)
    found = mutate(request, CONTEXT).warnings
    return tuple(text for text in found if "topology" in text)


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (
            job(framework="pytorch", annotations=REQUIRED, pod={"nodeName": "n1"}),
            "spec.template.spec.nodeName names their node",
        ),
        (
            job(framework="tensorflow", gpu="0.5", annotations=REQUIRED),
            "KubeShare's scheduler binds them",
        ),
        (
            pod(framework="tensorflow", rank="0", size="2", annotations=REQUIRED),
            "no plan places bare pods",
        ),
    ],
)
def test_pods_that_no_plan_places_have_no_topology(manifest: Json, reason: str) -> None:
    (found,) = said(manifest)
    assert found == f"edl.dev/required-topology does nothing for these pods: {reason}"


def test_both_annotations_are_named() -> None:
    both = REQUIRED | {"preferred-topology": "example.com/block"}
    (found,) = said(job(framework="pytorch", annotations=both, pod={"nodeName": "n1"}))
    assert found.startswith(
        "edl.dev/required-topology and edl.dev/preferred-topology do nothing for"
    )


@pytest.mark.parametrize("notes", [{}, REQUIRED])
def test_pods_with_a_gate_or_without_a_topology_get_no_warning(notes: Json) -> None:
    assert said(job(framework="pytorch", annotations=notes)) == ()
    assert said(created(job(framework="pytorch", annotations=notes))) == ()


def test_a_job_that_gets_a_topology_too_late_is_told() -> None:
    stored = created(job(framework="pytorch"))
    late = stored | {
        "metadata": stored["metadata"]
        | {"annotations": {**annotations(stored), "edl.dev/preferred-topology": "rack"}}
    }
    (found,) = said(late, stored)
    assert found == (
        "edl.dev/preferred-topology does nothing on this Job: its pod template was made without "
        "it; delete the Job and create it again"
    )
    assert said(late, late) == ()

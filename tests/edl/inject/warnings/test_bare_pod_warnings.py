"""A bare pod that asks for what only Jobs have is told so when it comes."""

import pytest

from edl.inject.handlers import AdmissionRequest, mutate
from edl.inject.warnings import bare_pod_warnings
from edl.writes import Json
from tests.edl.manifests import CONTEXT, USER, job, pod

JOBS = "neither queued nor resized: use a Job"


def said(manifest: Json) -> tuple[str, ...]:
    found = mutate(AdmissionRequest("CREATE", manifest, None, USER), CONTEXT).warnings
    return tuple(text for text in found if "bare pods" in text)


@pytest.mark.parametrize(
    ("manifest", "warning"),
    [
        (
            pod(framework="none"),
            f"edl.dev/framework=none does nothing for bare pods: they are {JOBS}",
        ),
        (
            pod(framework="tensorflow", job="m", min="1", max="4"),
            f"worker is 1..4, but bare pods are {JOBS}",
        ),
        (
            pod(framework="pytorch", annotations={"replicas": "1", "cooldown": "5m"}),
            f"edl.dev/replicas, edl.dev/cooldown do nothing on bare pods, which are {JOBS}",
        ),
    ],
)
def test_what_asks_for_elasticity_is_told_that_it_has_none(manifest: Json, warning: str) -> None:
    assert said(manifest) == (warning,)


@pytest.mark.parametrize(
    "manifest",
    [
        pod(framework="pytorch"),
        pod(framework="tensorflow", job="m", annotations={"rank": "0", "size": "3"}),
        pod(framework="none", gpu="0.5"),
        job(framework="none", min="1", max="4", annotations={"cooldown": "5m"}),
    ],
)
def test_pods_that_get_what_they_ask_for_are_not_warned_of(manifest: Json) -> None:
    assert said(manifest) == ()


@pytest.mark.parametrize(
    ("own", "address"),
    [
        ({"hostname": "mine"}, "mine.m"),
        ({"subdomain": "other"}, "m-worker-1.other"),
        ({"hostname": "mine", "subdomain": "other"}, "mine.other"),
    ],
)
def test_an_address_by_which_peers_do_not_look_is_told(own: Json, address: str) -> None:
    told = {"rank": "1", "size": "3"}
    manifest = pod(framework="tensorflow", job="m", annotations=told, spec=own)
    (warning,) = mutate(AdmissionRequest("CREATE", manifest, None, USER), CONTEXT).warnings
    assert warning == (
        f"the address of this pod is {address}, and its peers look for m-worker-1.m: "
        "leave hostname and subdomain out"
    )


@pytest.mark.parametrize("own", [{"hostname": "m-worker-1"}, {"subdomain": "m"}])
def test_the_address_of_the_rank_needs_no_warning(own: Json) -> None:
    told = {"rank": "1", "size": "3"}
    manifest = pod(framework="tensorflow", job="m", annotations=told, spec=own)
    assert mutate(AdmissionRequest("CREATE", manifest, None, USER), CONTEXT).warnings == ()


@pytest.mark.parametrize("name", ["hostname", "subdomain"])
def test_a_pod_without_containers_has_no_address(name: str) -> None:
    spec = {"containers": [], name: "mine"}
    manifest = pod(framework="tensorflow", job="m", annotations={"rank": "0"}, spec=spec)
    assert mutate(AdmissionRequest("CREATE", manifest, None, USER), CONTEXT).warnings == ()


def test_a_pod_that_peers_find_by_labels_may_have_any_address() -> None:
    notes = {"rank": "0", "size": "2", "mode": "cloud", "roles": "pserver=1,trainer=2"}
    labels = {"framework": "paddle", "job": "m", "role": "trainer"}
    manifest = pod(**labels, annotations=notes, spec={"hostname": "mine", "subdomain": "db"})
    told = mutate(AdmissionRequest("CREATE", manifest, None, USER), CONTEXT).warnings
    assert [text for text in told if "address" in text] == []


VALUES = {"duration": "5m", "cooldown": "5m", "scale-timeout": "5m", "paused": "true"}
WORDS = {"provision": "never", "clean-up": "All", "remove": "x"}


@pytest.mark.parametrize("name", bare_pod_warnings.OF_JOBS)
def test_what_is_said_to_do_nothing_leaves_the_pod_as_it_is(name: str) -> None:
    own = name.removeprefix("edl.dev/")
    annotated = pod(framework="pytorch", job="m", annotations={own: (VALUES | WORDS).get(own, "1")})
    stored = mutate(AdmissionRequest("CREATE", annotated, None, USER), CONTEXT).manifest
    plain = pod(framework="pytorch", job="m")
    expected = mutate(AdmissionRequest("CREATE", plain, None, USER), CONTEXT).manifest
    assert stored["spec"] == expected["spec"]

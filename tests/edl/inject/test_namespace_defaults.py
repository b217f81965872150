"""What a namespace gives to Jobs that leave it open."""

from typing import Any

import pytest

from edl import contract
from edl.writes import Json
from tests.edl.inject.policies import create, created, look_again, saying
from tests.edl.manifests import horovod, job, labels, pod, pod_spec, refusals, role_manifest

BOUNDS = saying(default_min=2, default_max=8)


def bounds(manifest: Json) -> tuple[int, int]:
    found = labels(manifest)
    return int(found[contract.MIN]), int(found[contract.MAX])


def torch(spec: Json | None = None, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    return job("net", framework="pytorch", spec=spec, **fields)


def test_a_job_that_says_no_bounds_gets_the_namespaces() -> None:
    stored = created(torch(), BOUNDS)
    assert bounds(stored) == (2, 8)
    look_again(stored, BOUNDS)


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        ({"min": "1", "max": "3"}, (1, 3)),
        ({"min": "3"}, (3, 8)),
        ({"max": "4"}, (2, 4)),
        ({"max": "1"}, (1, 1)),
        ({"min": "12"}, (12, 12)),
    ],
)
def test_what_the_job_says_itself_wins(own: Json, wanted: tuple[int, int]) -> None:
    assert bounds(created(torch(**own), BOUNDS)) == wanted


def test_a_job_that_is_wider_than_the_default_keeps_its_width() -> None:
    assert bounds(created(torch(spec={"parallelism": 12}), BOUNDS)) == (2, 12)


@pytest.mark.parametrize(
    ("fields", "parallelism", "wanted"),
    [
        ({"default_min": 4}, 1, (4, 4)),
        ({"default_min": 4}, 6, (4, 6)),
        ({"default_max": 4}, 1, (1, 4)),
        ({"default_max": 4}, 6, (6, 6)),
    ],
)
def test_one_default_alone(fields: Json, parallelism: int, wanted: tuple[int, int]) -> None:
    stored = created(torch(spec={"parallelism": parallelism}), saying(**fields))
    assert bounds(stored) == wanted


@pytest.mark.parametrize(("completions", "wanted"), [(1, (1, 1)), (5, (2, 5)), (50, (2, 8))])
def test_no_more_pods_than_pieces_of_work(completions: int, wanted: tuple[int, int]) -> None:
    container = {"name": "main", "image": "a", "resources": {"requests": {"cpu": "1"}}}
    pod = {"containers": [container]}
    items = job(framework="none", spec={"completions": completions}, pod=pod)
    verdict = create(items, BOUNDS)
    assert bounds(verdict.manifest) == wanted
    assert verdict.warnings == ()


@pytest.mark.parametrize(
    "manifest", [role_manifest("chief"), role_manifest("worker"), horovod("launcher")]
)
def test_a_list_of_roles_says_everybodys_bounds(manifest: Json) -> None:
    assert created(manifest, BOUNDS) == created(manifest, saying())
    assert create(manifest, BOUNDS).warnings == create(manifest, saying()).warnings


def test_a_role_of_one_size_keeps_it() -> None:
    chief = job("net-chief", framework="tensorflow", job="net", role="chief")
    verdict = create(chief, BOUNDS)
    assert bounds(verdict.manifest) == (1, 1)
    assert verdict.warnings == ()


def test_a_default_that_does_not_fit_is_left_out_with_a_warning() -> None:
    name = "a" * 60
    verdict = create(
        torch() | {"metadata": torch()["metadata"] | {"name": name}}, saying(default_max=1000)
    )
    assert bounds(verdict.manifest) == (1, 1)
    (warning,) = verdict.warnings
    assert warning.startswith('1..1000, namespace "lab": metadata.name: host "')


def test_a_default_min_below_the_peers_that_pods_wait_for_is_left_out_with_a_warning() -> None:
    env = [{"name": "PET_NNODES", "value": "4"}]
    waits = {"containers": [{"name": "main", "image": "a", "env": env}]}
    manifest = job(framework="pytorch", spec={"parallelism": 4}, pod=waits)
    verdict = create(manifest, saying(default_min=1, default_max=8))
    assert bounds(verdict.manifest) == (4, 4)
    assert any("PET_NNODES" in warning for warning in verdict.warnings)


def test_a_bare_pod_takes_no_bounds_from_its_namespace() -> None:
    given = pod(framework="none")
    assert created(given, BOUNDS) == created(given, saying())


def test_a_template_without_a_priority_gets_the_namespaces() -> None:
    policy = saying(default_priority="training")
    for given in (torch(), role_manifest("ps"), horovod("launcher")):
        stored = created(given, policy)
        assert pod_spec(stored)["priorityClassName"] == "training"
        look_again(stored, policy)


@pytest.mark.parametrize("own", [{"priorityClassName": "urgent"}, {"priority": 5}])
def test_a_priority_of_its_own_wins(own: Json) -> None:
    given = job(framework="none", pod=own)
    assert created(given, saying(default_priority="training")) == created(given, saying())


def test_a_bare_pods_priority_was_resolved_before_us() -> None:
    given = pod(framework="none")
    assert created(given, saying(default_priority="training")) == created(given, saying())


def test_defaults_set_after_the_mutation_pass_the_validation() -> None:
    stored = created(torch(), saying())
    later = saying(default_min=2, default_max=8, default_priority="training")
    assert refusals(look_again, stored, later) == []


def warned(manifest: Json, *, kubexec: bool) -> bool:
    allow = "kubectl label namespace lab edl.dev/kubexec=enabled"
    return any(allow in text for text in create(manifest, saying(kubexec=kubexec)).warnings)


def test_a_launcher_that_may_not_exec_in_its_namespace_is_a_warning() -> None:
    assert warned(horovod("launcher"), kubexec=False)
    assert not warned(horovod("launcher"), kubexec=True)
    assert not warned(horovod("worker"), kubexec=False)
    assert not warned(horovod("launcher", annotations={"mode": "ssh"}), kubexec=False)

"""Whole manifests are in tests/golden/horovod; here is the rest."""

import pytest

from edl import contract
from edl.frameworks import FRAMEWORKS, is_leader, is_service
from edl.model import ResizePolicy
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import annotations, created, horovod, pod_spec, template

LAUNCHER = created(horovod("launcher"))


def test_the_scripts_of_the_launchers_pods_name_their_shell() -> None:
    scripts = annotations(template(LAUNCHER))
    assert set(scripts) == {contract.DISCOVER_HOSTS, contract.KUBEXEC_SCRIPT}
    assert all(text.startswith("#!/bin/sh\n") for text in scripts.values())


@pytest.mark.parametrize(
    ("own", "limits", "requests"),
    [
        ({}, ("100m", "128Mi"), ("100m", "128Mi")),
        ({"limits": {"cpu": "1", "memory": "64Mi"}}, ("100m", "64Mi"), ("100m", "64Mi")),
        ({"limits": {"cpu": "0.05"}, "requests": {"cpu": 0}}, ("0.05", "128Mi"), ("0", "128Mi")),
        ({"requests": {"memory": "1M"}}, ("100m", "128Mi"), ("100m", "1M")),
        ({"limits": {"cpu": "much"}}, ("100m", "128Mi"), ("100m", "128Mi")),
    ],
)
def test_the_copy_of_kubectl_fits_into_what_the_pod_has(
    own: Json, limits: tuple[str, str], requests: tuple[str, str]
) -> None:
    """The API server compares requests and limits of containers with those of their pod."""
    (init,) = pod_spec(created(horovod("launcher", pod={"resources": own})))["initContainers"]
    names = ("cpu", "memory")
    assert init["resources"] == {
        "limits": dict(zip(names, limits, strict=True)),
        "requests": dict(zip(names, requests, strict=True)),
    }


@pytest.mark.parametrize(("own", "user"), [(None, None), (1000, None), (0, 65532)])
def test_kubectl_is_copied_by_the_pods_user_unless_that_is_root(
    own: int | None, user: int | None
) -> None:
    given = horovod("launcher")
    if own is not None:
        given["spec"]["template"]["spec"]["securityContext"] = {"runAsUser": own}
    (init,) = pod_spec(created(given))["initContainers"]
    assert init["securityContext"]["runAsNonRoot"]
    assert init["securityContext"].get("runAsUser") == user


def test_a_launcher_runs_its_own_command() -> None:
    assert "command" not in pod_spec(LAUNCHER)["containers"][0]


def test_a_workers_own_command_stays() -> None:
    for own in ({"command": ["train"]}, {"args": ["--fast"]}):
        container = {"name": "main", "image": "busybox"} | own
        (found,) = pod_spec(created(horovod("worker", pod={"containers": [container]})))[
            "containers"
        ]
        assert {name: found.get(name) for name in ("command", "args")} == {
            "command": None,
            "args": None,
        } | own


def test_the_launcher_decides_and_the_workers_serve() -> None:
    launcher, worker = parse(horovod("launcher")), parse(horovod("worker"))
    assert (is_leader(launcher), is_service(launcher)) == (True, False)
    assert (is_leader(worker), is_service(worker)) == (False, True)
    assert (launcher.scaling.resizing, worker.scaling.resizing) == (
        ResizePolicy.FIXED,
        ResizePolicy.LIVE,
    )


def test_workers_are_published() -> None:
    assert FRAMEWORKS["horovod"].publishes == "worker"

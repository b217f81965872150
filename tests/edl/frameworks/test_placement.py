"""Which training jobs the plan places pod by pod."""

import pytest
from msgspec.structs import replace

from edl.frameworks import FRAMEWORKS, mode_of, resizes, resizing
from edl.model import ResizePolicy
from tests.edl import trainings


@pytest.mark.parametrize(
    ("framework", "mode", "roles", "placed"),
    [
        ("tensorflow", "", ("chief", "ps", "worker"), True),
        ("tensorflow", "sparse", ("chief", "ps", "worker"), True),
        ("tensorflow", "collective", ("worker",), True),
        ("mxnet", "fork", ("scheduler", "server", "worker"), True),
        ("mxnet", "local", ("worker",), False),
        ("horovod", "", ("launcher", "worker"), True),
        ("aiacc", "ssh", ("launcher", "worker"), True),
        ("paddle", "elastic", ("master", "trainer"), True),
        ("paddle", "collective", ("trainer",), True),
        ("pytorch", "", ("worker",), False),
        ("none", "", ("worker",), False),
    ],
)
def test_pods_of_a_gang_are_placed_by_the_plan(
    framework: str, mode: str, roles: tuple[str, ...], *, placed: bool
) -> None:
    found = FRAMEWORKS[framework].mode(mode, roles)

    assert found is not None
    assert found.needs_placement(roles) is placed


@pytest.mark.parametrize(("framework", "mode"), [("none", "no such mode"), ("caffe", "")])
def test_what_has_no_known_mode_is_never_resized(framework: str, mode: str) -> None:
    known = trainings.training(trainings.role("worker", 1, 3))
    found = replace(known, framework=framework, mode=mode)

    assert mode_of(found) is None
    assert resizing(found) is ResizePolicy.FIXED
    assert not resizes(found, "worker")


def test_every_mode_that_restarts_is_placed() -> None:
    """Half of its processes would wait for the others, whatever else is known of it."""
    for framework in FRAMEWORKS.values():
        for mode in framework.modes:
            roles = mode.roles or ((mode.role,) if mode.role else (framework.worker,))
            if mode.at_start or mode.resizing == "restart":
                assert mode.needs_placement(roles)

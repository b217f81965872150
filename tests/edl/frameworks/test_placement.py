"""Which training jobs the plan places pod by pod."""

import pytest

from edl.frameworks import FRAMEWORKS, needs_placement


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
        ("none", "no such mode", ("worker",), False),
        ("caffe", "", ("worker", "ps"), False),
    ],
)
def test_pods_of_a_gang_are_placed_by_the_plan(
    framework: str, mode: str, roles: tuple[str, ...], *, placed: bool
) -> None:
    assert needs_placement(framework, mode, roles) is placed


def test_every_mode_that_restarts_is_placed() -> None:
    """Half of its processes would wait for the others, whatever else is known of it."""
    for framework in FRAMEWORKS.values():
        for mode in framework.modes:
            roles = mode.needed or ((mode.role,) if mode.role else (framework.worker,))
            if mode.members_at_start or mode.resizing == "restart":
                assert needs_placement(framework.name, mode.name, roles)

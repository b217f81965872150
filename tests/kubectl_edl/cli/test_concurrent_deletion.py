"""Lists are read one after another: an object of one may be missing in the next."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from edl.kube.cluster import RawList
from kubectl_edl.cli.command_errors import Exit
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.stage import Stage, job, mnist, node, pod

if TYPE_CHECKING:
    from edl.kube.cluster import ListOptions

COMMANDS = (
    "top cluster",
    "top nodes",
    "top jobs -A",
    "status -A",
    "status mnist",
    "queue",
    "plan",
    "explain mnist",
    "doctor",
)
DRAWS = 40


class Torn(ClusterWrapper):
    """Every list lacks some of its objects."""

    draws = Random(0)  # noqa: S311 - no secret

    def list(self, selection: ListOptions) -> RawList:
        found = super().list(selection)
        kept = tuple(item for item in found.items if self.draws.random() < 0.7)
        return RawList(kept, found.version)


@pytest.fixture
def stage() -> Stage:
    """A running job of several roles, one of a single role, and a queued one."""
    stage = Stage(minutes_ago=60, wrapped=Torn)
    for number in range(4):
        stage.create(node(f"node-{number}"))
    stage.create({"kind": "Namespace", "metadata": {"name": "default", "namespace": ""}})
    mnist(stage)
    sweep = stage.put(job("sweep", framework="none", min="1", max="4"), suspend=False)
    for index in range(3):
        stage.create(pod(sweep, index))
    stage.put(job("later", framework="none", min="2", max="4"))
    return stage


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_objects_deleted_between_lists_break_no_command(stage: Stage, command: str) -> None:
    codes = set()
    for _ in range(DRAWS):
        run = stage.run(*command.split())
        assert run.code in (Exit.DONE, Exit.REFUSED, Exit.NOT_FOUND), run.err
        assert run.code == Exit.DONE or run.out or run.err.startswith("error: "), run
        codes.add(run.code)
    assert Exit.DONE in codes or command == "doctor"

"""The watcher publishes states and errors."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from edl.errors import Forbidden, Unreachable
from edl.kube.cache.watched_kinds import DEVICES
from edl.visibility.namespace_queue import TeamCount
from kubectl_edl.dashboard.cluster_reader import (
    ClusterWideReader,
    NamespaceReader,
    Recent,
    choose_reader,
)
from kubectl_edl.dashboard.page_broadcast import PageBroadcast
from kubectl_edl.dashboard.page_state import page
from kubectl_edl.dashboard.watcher import DashboardWatcher
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.dashboard.served_page import connected, read_once, trained, watched
from tests.kubectl_edl.queue.test_published_queue import publish
from tests.kubectl_edl.stage import lease

if TYPE_CHECKING:
    from edl.kube.cluster import ListOptions, PluginCluster, RawList
    from kubectl_edl.dashboard.cluster_reader import DashboardSnapshot
    from tests.kubectl_edl.stage import Stage


def newest(board: PageBroadcast) -> dict[str, object]:
    found: dict[str, object] = json.loads(board.after(b"", 10))
    return found


class Fenced(ClusterWrapper):
    """A cluster of which some kinds may not be read outside a namespace."""

    def __init__(self, cluster: PluginCluster, kinds: tuple[str, ...]) -> None:
        super().__init__(cluster)
        self.kinds = kinds

    def list(self, selection: ListOptions) -> RawList:
        if selection.kind in self.kinds and not selection.namespace:
            raise Forbidden(f"{selection.kind} is forbidden", 403)
        return super().list(selection)


def fenced(*kinds: str) -> Stage:
    stage = trained()
    stage.wrapped = lambda cluster: Fenced(cluster, kinds)
    return stage


def test_a_change_in_the_cluster_publishes_a_new_state() -> None:
    stage, board = trained(), PageBroadcast()
    live = watched(stage, board)
    live.start()
    first = board.after(b"", 10)
    stage.patch("mnist-worker", {"spec": {"parallelism": 2, "completions": 2}})
    second = board.after(first, 10)
    assert json.loads(second)["jobs"]["rows"][0]["size"] == 2
    live.stop()
    stage.cluster.end_watches()


def test_without_the_right_to_read_nodes_the_namespace_is_shown_with_a_hint() -> None:
    stage = fenced("Node")
    look = choose_reader(stage.cli(), connected(stage), time.monotonic)
    assert isinstance(look, NamespaceReader)
    found = look.read()
    assert found is not None
    assert [job.key.name for job in found.jobs] == ["mnist"]
    assert found.hints[-1].endswith("so this is the namespace alone: Node is forbidden")
    lease(stage, minutes_ago=1)
    assert "no reconciler is running" in (look.read() or found).hints[0]


def test_the_page_of_a_namespace_shows_the_queue_that_the_reconciler_published() -> None:
    stage = fenced("Node")
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"spec": {"suspend": True}})
    publish(stage, "mnist", position=2, ahead=(TeamCount(1, "deals"),))
    look = choose_reader(stage.cli(), connected(stage), time.monotonic)
    found = look.read()
    assert found is not None
    (queued,) = page(found, ())["queue"]["rows"]
    shown = {name: queued[name] for name in ("position", "ahead", "starts")}
    assert shown == {"position": 2, "ahead": ["1 job of team deals"], "starts": "in about 30m"}
    assert "places in the queue" not in "".join(found.hints)


def test_quotas_that_may_not_be_read_are_a_hint_only() -> None:
    stage = fenced("ResourceQuota")
    look = choose_reader(stage.cli(), connected(stage), time.monotonic)
    assert isinstance(look, ClusterWideReader)
    found = read_once(stage)
    assert found.state is not None
    assert "what a ResourceQuota adds or forbids is unknown" in found.hints[-1]


def test_a_cluster_without_dynamic_resource_allocation_is_looked_at_as_any_other() -> None:
    stage = trained()
    stage.cluster.unserved = frozenset(DEVICES)
    found = read_once(stage)
    assert found.state is not None
    assert found.hints == ()


def test_without_any_right_the_start_is_refused() -> None:
    stage = trained()
    stage.namespace = ""
    stage.wrapped = lambda cluster: Fenced(cluster, ("Node", "Job"))
    with pytest.raises(Forbidden, match="Job is forbidden"):
        choose_reader(stage.cli(), connected(stage), time.monotonic)


@dataclass
class Script:
    """A reader that returns these snapshots, or raises these errors, in order."""

    found: list[DashboardSnapshot | Exception]

    def start(self, _changed: object) -> None: ...

    def stop(self) -> None: ...

    def read(self) -> DashboardSnapshot | None:
        one = self.found.pop(0)
        if isinstance(one, Exception):
            raise one
        return one


def script(*found: DashboardSnapshot | Exception) -> ClusterWideReader:
    return cast("ClusterWideReader", Script([*found]))


def test_an_error_is_shown_with_the_last_good_state() -> None:
    board, right = PageBroadcast(), read_once(trained())
    live = DashboardWatcher(script(right, Unreachable("no answer"), right), board, time.monotonic)
    live.publish_once()
    assert newest(board)["trouble"] == ""
    live.publish_once()
    shown = newest(board)
    assert shown["trouble"] == "no answer"
    assert shown["jobs"]["all"] == 1  # type: ignore[index]
    live.publish_once()
    assert newest(board)["trouble"] == ""


def test_before_anything_was_read_trouble_is_shown_alone() -> None:
    board = PageBroadcast()
    live = DashboardWatcher(script(Unreachable("no answer")), board, time.monotonic)
    live.publish_once()
    assert newest(board) == {"trouble": "no answer"}
    assert live.snapshot is None


def test_even_a_bug_does_not_end_the_watcher(caplog: pytest.LogCaptureFixture) -> None:
    board = PageBroadcast()
    live = DashboardWatcher(script(KeyError("x"), read_once(trained())), board, time.monotonic)
    live.publish_once()
    assert newest(board)["trouble"] == "unexpected KeyError: 'x'"
    assert "reading the cluster failed" in caplog.text
    live.publish_once()
    assert newest(board)["trouble"] == ""


def test_a_page_that_cannot_be_drawn_does_not_end_the_watcher_either() -> None:
    board, right = PageBroadcast(), read_once(trained())
    wrong = replace(right, jobs=(object(),))  # type: ignore[arg-type]
    live = DashboardWatcher(script(right, wrong, right), board, time.monotonic)
    live.publish_once()
    live.publish_once()
    shown = newest(board)
    assert str(shown["trouble"]).startswith("unexpected AttributeError")
    assert shown["jobs"]["all"] == 1  # type: ignore[index]
    live.publish_once()
    assert newest(board)["trouble"] == ""


def test_a_recent_value_is_of_its_key_alone() -> None:
    kept = Recent[str](lambda: 0.0)
    assert kept.of("one job", lambda: "first") == "first"
    assert kept.of("one job", lambda: "computed again") == "first"
    assert kept.of("two jobs", lambda: "second") == "second"

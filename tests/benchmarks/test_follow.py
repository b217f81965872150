"""What benchmarks see of a control plane."""

import json
from collections.abc import Iterator

import pytest

from benchmarks import follow
from benchmarks.follow import Followers, Observed
from edl.kube.cluster import ListOptions, RawEvent, RawList


def pod(name: str, version: int) -> bytes:
    return json.dumps({"metadata": {"name": name, "resourceVersion": str(version)}}).encode()


class Cluster:
    """One watch whose last event is a deletion; further ones fail."""

    def __init__(self) -> None:
        self.versions: list[str] = []

    def list(self, _selection: ListOptions) -> RawList:
        return RawList((pod("a", 1),), "1")

    def watch(self, _selection: ListOptions, version: str) -> Iterator[RawEvent]:
        self.versions.append(version)
        if len(self.versions) > 1:
            raise LookupError("no further watch")
        yield RawEvent("ADDED", pod("b", 2))
        yield RawEvent("BOOKMARK", pod("", 3))
        yield RawEvent("DELETED", pod("a", 4))


def test_objects_and_events_are_seen_and_the_error_that_ends_a_watch_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, found = Cluster(), list[tuple[str, bool]]()

    def seen(one: Observed, deleted: bool) -> None:  # noqa: FBT001 - as it is called
        found.append((one.metadata.name, deleted))

    monkeypatch.setattr(follow, "connect", lambda _kubeconfig: cluster)
    followers = Followers("kubeconfig", (ListOptions("Pod"), seen))
    followers.check()
    with followers, pytest.raises(LookupError, match="no further watch"):
        followers.check()
    assert found == [("a", False), ("b", False), ("a", True)]
    assert cluster.versions == ["1", "4"]

"""What a writer tells of its writes: a process that watches need not wait for the events."""

from collections.abc import Callable
from typing import Protocol

from edl.model import ObjectRef
from edl.writes import Json


class WrittenCache(Protocol):
    """Takes what the API server answers to writes."""

    def accept(self, kind: str, body: Json) -> None:
        """Takes the response of a write."""

    def deleting(self, target: ObjectRef) -> Callable[[], None]:
        """Called before a deletion; the result is called if the object was gone already."""
        ...


class NoCache:
    """For processes that read the cluster anew before each decision."""

    def accept(self, kind: str, body: Json) -> None:
        pass

    def deleting(self, _target: ObjectRef) -> Callable[[], None]:
        return lambda: None

"""The open connections by client, and which one closes when the limit is reached."""

from collections import OrderedDict
from typing import Protocol


class TrackedConnection(Protocol):
    """A connection, from its acceptance on."""

    @property
    def client(self) -> str: ...

    @property
    def busy(self) -> bool:
        """Whether a request of the connection is being read or answered."""
        ...

    def expel(self) -> None:
        """Closes the connection now, in any state."""
        ...

    def check(self, now: float) -> bool:
        """Closes the connection if it exceeded its timeout, and returns whether it did.

        `now` is the loop's clock.
        """
        ...


class ConnectionTable:
    """At most `most` connections, and at most `each` of one client.

    For one more, the client with the most connections loses the one that has been silent longest.
    So a client that only holds connections loses its own, and never another client with fewer.
    """

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._each = each
        self._size = 0
        self._by_client: dict[str, OrderedDict[TrackedConnection, None]] = {}
        """By client; the connection that has been silent longest comes first."""

    def __len__(self) -> int:
        return self._size

    def enter(self, connection: TrackedConnection) -> None:
        group = self._by_client.get(connection.client, OrderedDict())
        if len(group) >= self._each:
            self._make_room(group)
        elif self._size >= self._most:
            self._make_room(max(self._by_client.values(), key=len))
        self._by_client.setdefault(connection.client, OrderedDict())[connection] = None
        self._size += 1

    def speaks(self, connection: TrackedConnection) -> None:
        """Records that the connection sent the head of a request, or received an answer."""
        if connection in (group := self._by_client.get(connection.client, OrderedDict())):
            group.move_to_end(connection)

    def leave(self, connection: TrackedConnection) -> None:
        group = self._by_client.get(connection.client, OrderedDict())
        if connection in group:
            del group[connection]
            self._size -= 1
        if not group:
            self._by_client.pop(connection.client, None)

    def connections(self) -> tuple[TrackedConnection, ...]:
        return tuple(connection for group in self._by_client.values() for connection in group)

    def _make_room(self, group: OrderedDict[TrackedConnection, None]) -> None:
        # If all are busy, the one that began first is closed: a review takes a millisecond.
        longest = next((peer for peer in group if not peer.busy), next(iter(group)))
        self.leave(longest)
        longest.expel()

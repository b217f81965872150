"""The open connections by client, and which one closes when the limit is reached."""

from collections import OrderedDict
from typing import Protocol


class TrackedConnection(Protocol):
    """A connection, from its acceptance on."""

    @property
    def client(self) -> str: ...

    @property
    def busy(self) -> bool:
        """Whether a request of it is being read or answered."""
        ...

    def expel(self) -> None:
        """Close it now, in any state."""
        ...

    def check(self, now: float) -> bool:
        """Close it if it exceeded its timeout; whether it did. `now` is the loop's clock."""
        ...


class ConnectionTable:
    """At most `most` connections, at most `each` of one client.

    For one more, the client with the most connections loses the one that is silent longest. So a
    client that only holds connections pushes out its own, and never another one with fewer.
    """

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._each = each
        self._size = 0
        self._guests: dict[str, OrderedDict[TrackedConnection, None]] = {}
        """By client; the one that is silent longest first."""

    def __len__(self) -> int:
        return self._size

    def enter(self, guest: TrackedConnection) -> None:
        own = self._guests.get(guest.client, OrderedDict())
        if len(own) >= self._each:
            self._make_room(own)
        elif self._size >= self._most:
            self._make_room(max(self._guests.values(), key=len))
        self._guests.setdefault(guest.client, OrderedDict())[guest] = None
        self._size += 1

    def speaks(self, guest: TrackedConnection) -> None:
        """The connection sent the head of a request, or received an answer."""
        if guest in (own := self._guests.get(guest.client, OrderedDict())):
            own.move_to_end(guest)

    def leave(self, guest: TrackedConnection) -> None:
        own = self._guests.get(guest.client, OrderedDict())
        if guest in own:
            del own[guest]
            self._size -= 1
        if not own:
            self._guests.pop(guest.client, None)

    def connections(self) -> tuple[TrackedConnection, ...]:
        return tuple(guest for own in self._guests.values() for guest in own)

    def _make_room(self, own: OrderedDict[TrackedConnection, None]) -> None:
        # All are busy: close the one that has been longest, since a review takes a millisecond.
        longest = next((guest for guest in own if not guest.busy), next(iter(own)))
        self.leave(longest)
        longest.expel()

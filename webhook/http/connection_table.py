"""The connections that are open, by client; and which has to go when there is no room for more."""

from collections import OrderedDict
from typing import Protocol


class TrackedConnection(Protocol):
    """A connection, from the moment that it was accepted."""

    @property
    def client(self) -> str: ...

    @property
    def busy(self) -> bool:
        """Whether a request of it is being read or answered."""
        ...

    def expel(self) -> None:
        """End it now, whatever it does."""
        ...

    def check(self, now: float) -> bool:
        """End it if it is over its time; whether it was. `now` is the loop's."""
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
        """It has sent the head of a request, or has been answered."""
        if guest in (own := self._guests.get(guest.client, OrderedDict())):
            own.move_to_end(guest)

    def leave(self, guest: TrackedConnection) -> None:
        own = self._guests.get(guest.client, OrderedDict())
        if guest in own:
            del own[guest]
            self._size -= 1
        if not own:
            self._guests.pop(guest.client, None)

    def everybody(self) -> tuple[TrackedConnection, ...]:
        return tuple(guest for own in self._guests.values() for guest in own)

    def _make_room(self, own: OrderedDict[TrackedConnection, None]) -> None:
        # Where all are busy: the one that has been for longest, for a review takes a millisecond.
        longest = next((guest for guest in own if not guest.busy), next(iter(own)))
        self.leave(longest)
        longest.expel()

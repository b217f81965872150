"""Who is connected, and who has to go when there is no room for one more."""

from collections import OrderedDict
from itertools import chain
from typing import Protocol


class Guest(Protocol):
    """A connection, from the moment that it was accepted."""

    @property
    def busy(self) -> bool:
        """Whether a request of it is being read or answered."""
        ...

    def expel(self) -> None:
        """End it now, whatever it does."""
        ...

    def check(self, now: float) -> None:
        """End it if it is over its time; `now` is the loop's."""
        ...


class Room:
    """At most `most` guests. Who has never asked anything goes first, then who is silent longest.

    So whoever only holds connections pushes out its own, and never an API server at work.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._strangers: OrderedDict[Guest, None] = OrderedDict()
        self._known: OrderedDict[Guest, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)

    def enter(self, guest: Guest) -> None:
        if len(self) >= self._most:
            self._make_room()
        self._strangers[guest] = None

    def asks(self, guest: Guest) -> None:
        """It has sent the head of a request."""
        self.leave(guest)
        self._known[guest] = None

    def leave(self, guest: Guest) -> None:
        self._strangers.pop(guest, None)
        self._known.pop(guest, None)

    def check(self, now: float) -> None:
        for guest in (*self._strangers, *self._known):
            guest.check(now)

    def _make_room(self) -> None:
        idle = (guest for guest in self._known if not guest.busy)
        # Where all are busy: who has been for longest, for a review takes a millisecond.
        longest = next(chain(self._strangers, idle, self._known))
        self.leave(longest)
        longest.expel()

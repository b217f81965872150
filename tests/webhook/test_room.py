"""Who goes when there is no room for one more."""

from webhook.room import Room


class Guest:
    def __init__(self, name: str) -> None:
        self.name = name
        self.busy = False
        self.expelled = False
        self.checked: list[float] = []

    def expel(self) -> None:
        self.expelled = True

    def check(self, now: float) -> None:
        self.checked.append(now)


def full_room(count: int) -> tuple[Room, list[Guest]]:
    room, guests = Room(count), [Guest(str(number)) for number in range(count)]
    for guest in guests:
        room.enter(guest)
    return room, guests


def expelled(guests: list[Guest]) -> list[str]:
    return [guest.name for guest in guests if guest.expelled]


def test_while_there_is_room_nobody_goes() -> None:
    room, guests = full_room(3)
    assert len(room) == 3
    assert expelled(guests) == []


def test_who_came_first_and_said_nothing_goes_first() -> None:
    room, guests = full_room(3)
    room.enter(Guest("new"))
    room.enter(Guest("newer"))
    assert expelled(guests) == ["0", "1"]
    assert len(room) == 3


def test_who_asked_stays_however_many_strangers_come() -> None:
    room, guests = full_room(3)
    room.asks(guests[0])
    for _ in range(100):
        room.enter(Guest("stranger"))
    assert expelled(guests) == ["1", "2"]
    assert len(room) == 3


def test_among_those_who_asked_the_longest_idle_one_goes() -> None:
    room, guests = full_room(3)
    for guest in (guests[1], guests[0], guests[2]):
        room.asks(guest)
    guests[1].busy = True
    room.enter(Guest("new"))
    assert expelled(guests) == ["0"]


def test_where_all_are_busy_the_one_that_is_longest_goes() -> None:
    room, guests = full_room(2)
    for guest in guests:
        room.asks(guest)
        guest.busy = True
    room.enter(Guest("new"))
    assert expelled(guests) == ["0"]


def test_who_left_takes_no_room() -> None:
    room, guests = full_room(2)
    room.leave(guests[0])
    room.leave(guests[0])
    room.enter(Guest("new"))
    assert expelled(guests) == []


def test_everybody_is_checked() -> None:
    room, guests = full_room(2)
    room.asks(guests[1])
    room.check(7.0)
    assert [guest.checked for guest in guests] == [[7.0], [7.0]]

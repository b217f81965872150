"""Which connection ends when there is no room for one more."""

from webhook.http.connection_table import ConnectionTable


class Guest:
    def __init__(self, name: str, client: str = "10.0.0.1") -> None:
        self.name = name
        self.client = client
        self.busy = False
        self.expelled = False

    def expel(self) -> None:
        self.expelled = True

    def check(self, now: float) -> bool:
        raise NotImplementedError


def entered(room: ConnectionTable, *guests: Guest) -> list[Guest]:
    for guest in guests:
        room.enter(guest)
    return [*guests]


def full_room(count: int) -> tuple[ConnectionTable, list[Guest]]:
    room = ConnectionTable(count, count)
    return room, entered(room, *(Guest(str(number)) for number in range(count)))


def expelled(guests: list[Guest]) -> list[str]:
    return [guest.name for guest in guests if guest.expelled]


def test_while_there_is_room_no_connection_ends() -> None:
    room, guests = full_room(3)
    assert len(room) == 3
    assert expelled(guests) == []


def test_of_one_client_the_connection_that_is_silent_longest_ends() -> None:
    room, guests = full_room(3)
    room.speaks(guests[0])
    entered(room, Guest("new"))
    assert expelled(guests) == ["1"]
    room.speaks(guests[2])
    entered(room, Guest("newer"))
    assert expelled(guests) == ["0", "1"]
    assert len(room) == 3


def test_a_connection_at_work_stays_while_another_one_is_idle() -> None:
    room, guests = full_room(3)
    guests[0].busy = True
    entered(room, Guest("new"))
    assert expelled(guests) == ["1"]


def test_where_all_are_at_work_the_one_that_is_longest_ends() -> None:
    room, guests = full_room(2)
    for guest in guests:
        guest.busy = True
    entered(room, Guest("new"))
    assert expelled(guests) == ["0"]


def test_a_new_connection_is_not_ended_by_a_client_that_asked_once_and_holds_many() -> None:
    room = ConnectionTable(1_100, 1_100)
    held = entered(room, *(Guest(f"held-{n}", "10.0.0.9") for n in range(1_100)))
    for guest in held:
        room.speaks(guest)
    for number in range(1_000):
        (server,) = entered(room, Guest(f"server-{number}"))
        entered(room, Guest("one more", "10.0.0.9"))
        assert not server.expelled, "its handshake goes on"
        room.leave(server)


def test_a_client_has_its_own_bound() -> None:
    room = ConnectionTable(10, 3)
    (server,) = entered(room, Guest("server"))
    many = entered(room, *(Guest(str(number), "10.0.0.9") for number in range(5)))
    assert expelled(many) == ["0", "1"]
    assert not server.expelled
    assert len(room) == 4


def test_an_answer_may_still_be_on_its_way_when_its_connection_is_ended() -> None:
    room, guests = full_room(1)
    entered(room, Guest("new"))
    room.speaks(guests[0])
    assert expelled(guests) == ["0"]
    assert len(room) == 1


def test_a_connection_that_left_takes_no_room() -> None:
    room, guests = full_room(2)
    room.leave(guests[0])
    room.leave(guests[0])
    entered(room, Guest("new"))
    assert expelled(guests) == []
    assert len(room.connections()) == len(room) == 2

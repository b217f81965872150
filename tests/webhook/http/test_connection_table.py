"""Which connection ends when there is no room for one more."""

from webhook.http.connection_table import ConnectionTable


class FakeConnection:
    def __init__(self, name: str, client: str = "10.0.0.1") -> None:
        self.name = name
        self.client = client
        self.busy = False
        self.expelled = False

    def expel(self) -> None:
        self.expelled = True

    def check(self, now: float) -> bool:
        raise NotImplementedError


def entered(table: ConnectionTable, *peers: FakeConnection) -> list[FakeConnection]:
    for peer in peers:
        table.enter(peer)
    return [*peers]


def full_table(count: int) -> tuple[ConnectionTable, list[FakeConnection]]:
    table = ConnectionTable(count, count)
    return table, entered(table, *(FakeConnection(str(number)) for number in range(count)))


def expelled(peers: list[FakeConnection]) -> list[str]:
    return [peer.name for peer in peers if peer.expelled]


def test_while_there_is_room_no_connection_ends() -> None:
    table, peers = full_table(3)
    assert len(table) == 3
    assert expelled(peers) == []


def test_of_one_client_the_connection_that_is_silent_longest_ends() -> None:
    table, peers = full_table(3)
    table.speaks(peers[0])
    entered(table, FakeConnection("new"))
    assert expelled(peers) == ["1"]
    table.speaks(peers[2])
    entered(table, FakeConnection("newer"))
    assert expelled(peers) == ["0", "1"]
    assert len(table) == 3


def test_a_connection_at_work_stays_while_another_one_is_idle() -> None:
    table, peers = full_table(3)
    peers[0].busy = True
    entered(table, FakeConnection("new"))
    assert expelled(peers) == ["1"]


def test_where_all_are_at_work_the_one_that_is_longest_ends() -> None:
    table, peers = full_table(2)
    for peer in peers:
        peer.busy = True
    entered(table, FakeConnection("new"))
    assert expelled(peers) == ["0"]


def test_a_new_connection_is_not_ended_by_a_client_that_asked_once_and_holds_many() -> None:
    table = ConnectionTable(1_100, 1_100)
    held = entered(table, *(FakeConnection(f"held-{n}", "10.0.0.9") for n in range(1_100)))
    for peer in held:
        table.speaks(peer)
    for number in range(1_000):
        (server,) = entered(table, FakeConnection(f"server-{number}"))
        entered(table, FakeConnection("one more", "10.0.0.9"))
        assert not server.expelled, "its handshake goes on"
        table.leave(server)


def test_a_client_has_its_own_bound() -> None:
    table = ConnectionTable(10, 3)
    (server,) = entered(table, FakeConnection("server"))
    many = entered(table, *(FakeConnection(str(number), "10.0.0.9") for number in range(5)))
    assert expelled(many) == ["0", "1"]
    assert not server.expelled
    assert len(table) == 4


def test_an_answer_may_still_be_on_its_way_when_its_connection_is_ended() -> None:
    table, peers = full_table(1)
    entered(table, FakeConnection("new"))
    table.speaks(peers[0])
    assert expelled(peers) == ["0"]
    assert len(table) == 1


def test_a_connection_that_left_takes_no_room() -> None:
    table, peers = full_table(2)
    table.leave(peers[0])
    table.leave(peers[0])
    entered(table, FakeConnection("new"))
    assert expelled(peers) == []
    assert len(table.connections()) == len(table) == 2

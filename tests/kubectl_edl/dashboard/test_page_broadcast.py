from itertools import islice
from threading import Thread

from kubectl_edl.dashboard.page_broadcast import PageBroadcast, stream


def test_a_new_connection_gets_the_newest_state() -> None:
    board = PageBroadcast()
    board.show(b"old")
    board.show(b"new")
    assert list(islice(stream(board, beat=0), 2))[1] == b"event: state\ndata: new\n\n"


def test_an_unchanged_page_is_not_sent_again() -> None:
    board = PageBroadcast()
    board.show(b"same")
    board.show(b"same")
    found = list(islice(stream(board, beat=0), 3))
    assert found[1:] == [b"event: state\ndata: same\n\n", b"event: beat\ndata:\n\n"]


def test_a_slow_reader_skips_states() -> None:
    board = PageBroadcast()
    board.show(b"1")
    reader = stream(board, beat=0)
    assert list(islice(reader, 2))[1].endswith(b"1\n\n")
    for number in range(2, 100):
        board.show(str(number).encode())
    assert next(reader) == b"event: state\ndata: 99\n\n"


def test_streams_end_when_the_board_is_closed() -> None:
    board = PageBroadcast()
    read: list[bytes] = []
    waiting = Thread(target=lambda: read.extend(stream(board, beat=60)))
    waiting.start()
    board.close()
    waiting.join(timeout=10)
    assert not waiting.is_alive()
    assert read == [b"retry: 2000\n\n"]

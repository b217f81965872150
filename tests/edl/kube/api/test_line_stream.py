"""Lines of an open answer, however they are cut on their way."""

import tracemalloc
from collections.abc import Iterable, Iterator
from typing import cast

import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from edl.errors import Unreachable
from edl.kube.api.api_errors import ApiCall
from edl.kube.api.line_stream import LONGEST, events, text

REQUEST = ApiCall("get", "pods/log", "lab", "worker-0", "https://a")
MIB = 2**20


class Chunks:
    """An answer that comes in these pieces."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks

    def stream(self, _amount: int) -> Iterator[bytes]:
        yield from self._chunks

    def close(self) -> None:
        pass


def answer(chunks: Iterable[bytes]) -> urllib3.BaseHTTPResponse:
    return cast("urllib3.BaseHTTPResponse", Chunks(chunks))


@given(st.lists(st.text("ab \n", max_size=6)))
def test_lines_are_the_same_wherever_the_answer_is_cut(chunks: list[str]) -> None:
    found = list(text(answer([chunk.encode() for chunk in chunks]), REQUEST))
    assert found == [line for line in "".join(chunks).split("\n") if line]


def test_a_line_without_an_end_comes_in_pieces_each_with_its_time() -> None:
    stamp, said = "2026-01-01T00:00:00Z ", "x" * (2 * LONGEST + 10)
    body = f"{stamp}{said}\n{stamp}short\n".encode()
    chunks = [body[start : start + 4096] for start in range(0, len(body), 4096)]
    *pieces, last = text(answer(chunks), REQUEST)
    assert last == f"{stamp}short"
    assert all(piece.startswith(stamp) and len(piece) <= LONGEST for piece in pieces)
    assert "".join(piece.removeprefix(stamp) for piece in pieces) == said


def test_a_chunk_that_is_longer_than_a_line_may_be_comes_in_pieces_too() -> None:
    pieces = list(text(answer([b"t " + b"x" * 5 * LONGEST + b"\n"]), REQUEST))
    assert sum(len(piece) - 2 for piece in pieces) == 5 * LONGEST
    assert max(map(len, pieces)) <= LONGEST


def test_a_line_without_an_end_costs_no_more_than_its_length() -> None:
    """It is copied a few times, and not once more with each chunk, which would be 2 GiB."""
    allocated = []

    def chunks() -> Iterator[bytes]:
        for _ in range(16 * MIB // 4096):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            yield b"x" * 4096
            allocated.append(tracemalloc.get_traced_memory()[1] - before)

    tracemalloc.start()
    try:
        assert sum(map(len, text(answer(chunks()), REQUEST))) >= 16 * MIB
    finally:
        tracemalloc.stop()
    assert sum(allocated) < 16 * 16 * MIB


def test_an_event_without_an_end_breaks_its_watch() -> None:
    endless = (b"x" * MIB for _ in range(1_000_000))
    with pytest.raises(Unreachable, match="the watch of pods/log broke: a line of more than"):
        list(events(answer(endless), REQUEST))

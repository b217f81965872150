"""Pages of lists whose objects differ in size, as an API server cuts them."""

from collections.abc import Sequence

import pytest

from edl.kube.api.list_pages import LONGEST_PAGE, PAGE_SIZE, bounded_pages
from edl.kube.api.transport import AnswerTooLong
from edl.kube.cluster import RawList

SMALL, LARGE = 2_000, 3 * LONGEST_PAGE // 32
"""Ten large objects, but not eleven, fit into a page."""


class Server:
    """Lists objects of these sizes; an item is the object's number, padded to its size."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.limits = list[int]()
        self.longest = 0

    def read(self, query: dict[str, str], longest: int) -> tuple[RawList, str]:
        begin, limit = int(query.get("continue", 0)), int(query["limit"])
        self.limits.append(limit)
        end = min(begin + limit, len(self.sizes))
        size = sum(self.sizes[begin:end])
        if size > longest:
            raise AnswerTooLong("too long")
        self.longest = max(self.longest, size)
        items = (b"%-*d" % (self.sizes[number], number) for number in range(begin, end))
        return RawList(tuple(items), "5"), str(end) if end < len(self.sizes) else ""


def numbers(server: Server) -> list[int]:
    """The objects that a reader of the pages gets, in order."""
    return [int(item) for page in bounded_pages(server.read) for item in page.items]


def test_each_page_of_small_objects_has_as_many_as_a_page_may() -> None:
    server = Server([SMALL] * (2 * PAGE_SIZE + 1))
    assert numbers(server) == list(range(2 * PAGE_SIZE + 1))
    assert server.limits == [PAGE_SIZE] * 3


@pytest.mark.parametrize("before", [0, 1, 700, 2 * PAGE_SIZE])
def test_pages_of_large_objects_have_fewer(before: int) -> None:
    server = Server([SMALL] * before + [LARGE] * 40 + [SMALL] * 3 * PAGE_SIZE)
    assert numbers(server) == list(range(len(server.sizes)))
    assert server.longest <= LONGEST_PAGE
    assert server.limits[-1] == PAGE_SIZE, "later pages of small objects are large again"
    assert len(server.limits) < 50


def test_an_object_that_is_longer_than_a_page_is_read_alone() -> None:
    server = Server([SMALL, LONGEST_PAGE + 1, SMALL])
    assert numbers(server) == [0, 1, 2]


def test_a_server_that_ignores_limits_is_read_at_once() -> None:
    """As metrics-server does."""

    def read(_query: dict[str, str], longest: int) -> tuple[RawList, str]:
        if longest <= LONGEST_PAGE:
            raise AnswerTooLong("too long")
        return RawList((b"{}",) * 3, ""), ""

    assert [len(page.items) for page in bounded_pages(read)] == [3]

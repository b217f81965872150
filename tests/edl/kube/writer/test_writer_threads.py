from collections import Counter
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from edl.kube.writer.writer_threads import WriterThreads


@pytest.fixture
def answer() -> Iterator[Event]:
    """The work hangs until it is set."""
    answer = Event()
    yield answer
    answer.set()


def test_a_namespace_takes_no_more_threads_than_it_leaves_free(answer: Event) -> None:
    threads, begun = WriterThreads(32), Counter[str]()
    for namespace in ("a", "b", "c", "d", "e", "f", "g"):
        while threads.begin(namespace, answer.wait):
            begun[namespace] += 1
    assert begun == {"a": 16, "b": 8, "c": 4, "d": 2, "e": 1, "f": 1}


def test_help_leaves_threads_for_other_work_of_its_namespace(answer: Event) -> None:
    threads, begun = WriterThreads(32), 0
    while threads.help("a", answer.wait):
        begun += 1
    assert begun == 11
    while threads.begin("a", answer.wait):
        begun += 1
    assert begun == 16


def test_a_thread_whose_work_has_ended_is_free_for_any_namespace(answer: Event) -> None:
    threads = WriterThreads(2)
    for _ in range(3):
        done = threads.begin("a", int)
        assert done
        assert done.result(60) == 0
    assert threads.begin("a", answer.wait)
    assert not threads.begin("a", answer.wait)
    assert threads.begin("b", answer.wait)


def test_work_that_fails_gives_its_thread_back() -> None:
    threads = WriterThreads(1)
    failed = threads.begin("a", lambda: int("one"))
    assert failed
    assert isinstance(failed.exception(60), ValueError)
    assert threads.begin("a", int)


def test_work_needs_no_thread_that_the_machine_may_refuse(
    answer: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads = WriterThreads(2)
    monkeypatch.setattr(Thread, "start", refused)
    assert threads.begin("a", answer.wait)
    assert threads.begin("b", answer.wait)

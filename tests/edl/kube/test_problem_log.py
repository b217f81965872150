"""Problems of what is tried again: when they are logged."""

import logging

import pytest

from edl.kube.problem_log import ProblemLog


@pytest.fixture
def problems() -> ProblemLog:
    return ProblemLog(logging.getLogger("test"))


def test_each_problem_is_logged_once_until_it_works_again(
    problems: ProblemLog, caplog: pytest.LogCaptureFixture
) -> None:
    for code in (500, 403, 500, 403):
        problems.report("failed with %d", code)
    assert caplog.messages == ["failed with 500", "failed with 403"]
    assert problems.clear()
    assert not problems.clear()
    problems.report("failed with %d", 500)
    assert caplog.messages[2:] == ["failed with 500"]


def test_a_bug_is_logged_with_its_traceback(
    problems: ProblemLog, caplog: pytest.LogCaptureFixture
) -> None:
    problems.report("unexpected", bug=ValueError("100% wrong"))
    assert "ValueError: 100% wrong" in caplog.text


def test_texts_that_never_recur_take_no_more_memory(problems: ProblemLog) -> None:
    for number in range(100):
        problems.report("request %d failed", number)
    assert len(problems._logged) < 10  # noqa: SLF001 - unseen from outside

"""`python -m tests.lane PYTEST-ARGUMENTS`: tests of clusters; few that fail run once more, alone.

These tests run beside each other and beside the laws, and judge real processes by what they do
within a time. A test that fails there and passes alone was short of processor time, or has found a
race: its first result stays in the output, to be looked into, but does not end the lane.
"""

import os
import sys
from typing import Final

import pytest

MAX_RETRIED: Final = 3
"""Failures that run once more. More failures have another cause than a lack of processor time."""


class Outcomes:
    """A pytest plugin that records which tests failed and passed, and how many must pass."""

    def __init__(self) -> None:
        self.failed: dict[str, None] = {}
        self.passed: set[str] = set()
        self.least = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed[report.nodeid] = None
        if report.passed and report.when == "call":
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.least = session.config.getoption("least")

    @property
    def few_failed(self) -> bool:
        """Whether few tests failed, and no other one was lost."""
        few = 0 < len(self.failed) <= MAX_RETRIED
        return few and len(self.passed.union(self.failed)) >= self.least


def main(arguments: list[str]) -> int:
    """pytest's exit code; a second run takes the place of this process."""
    outcomes = Outcomes()
    code = pytest.main(arguments, plugins=[outcomes])
    if code != pytest.ExitCode.TESTS_FAILED or not outcomes.few_failed:
        return code
    tests = list(outcomes.failed)
    print("\nFailed beside others, once more alone:", *tests, sep="\n  ", flush=True)  # noqa: T201
    # A report, such as that of `tests.matrix`, is the first run's.
    alone = ("-q", "-n", "0", "--least", str(len(tests)), f"--junit-xml={os.devnull}")
    return os.execv(sys.executable, [sys.executable, "-m", "pytest", *alone, *tests])  # noqa: S606


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

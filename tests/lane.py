"""`python -m tests.lane PYTEST-ARGUMENTS`: tests of clusters; few that fail run once more, alone.

These tests run beside each other and beside the laws, and judge real processes by what they do
within a time. A test that fails there and passes alone was short of processor time, or has found a
race: its first result stays in the output, to be looked into, but does not end the lane.
"""

import os
import sys
from typing import Final

import pytest

MOST: Final = 3
"""Failures that run once more. More of them are no matter of processor time."""


class Failures:
    """A pytest plugin that records which tests failed."""

    def __init__(self) -> None:
        self.tests: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests[report.nodeid] = None


def main(arguments: list[str]) -> int:
    """pytest's exit code; a second run takes the place of this process."""
    failures = Failures()
    code = pytest.main(arguments, plugins=[failures])
    tests = list(failures.tests)
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(tests) <= MOST:
        return code
    print("\nFailed beside others, once more alone:", *tests, sep="\n  ", flush=True)  # noqa: T201
    return os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-n", "0", *tests])  # noqa: S606


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

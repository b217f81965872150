"""What holds for all tests: none asserts a time, and those that take minutes begin first."""

import functools
import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from tests.figures import by_title

CLUSTERS = [Path(__file__).with_name(name) for name in ("integration", "e2e")]
_YOUNG: Final = 100_000
"""Allocations between two garbage collections; with 700 they took a twelfth of a law's time."""

# `make test` draws the same examples at each run, so that a change is judged by what it changes;
# `make laws` draws anew, also in hosted CI, where hypothesis itself would not.
settings.register_profile(
    "untimed",
    deadline=None,
    derandomize=os.environ.get("EDL_DRAWS") == "fixed",
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def default_interrupt() -> None:
    """A background shell ignores SIGINT, and children inherit that: restore the default."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--least", type=int, default=0, metavar="N", help="Fail if fewer than N tests passed."
    )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run that is green because tests were lost or skipped is not green."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    least = session.config.getoption("least")
    if reporter is None or session.config.option.collectonly:
        return
    passed = len(reporter.stats.get("passed", ()))
    if passed < least and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"\n{passed} tests passed; at least {least} must", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests measured; only here is the hook known before any worker collects them."""
    tests = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    called = (report for report in tests if report.when == "call")
    properties = (found for report in called for found in report.user_properties)
    for title, rows in by_title(properties).items():
        terminalreporter.section(title)
        terminalreporter.write_line("\n".join(rows))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tens of thousands of objects that stay: the collector neither looks for waste in them now
    nor goes through them again during the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(_YOUNG)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Else one of two processes would wait for the last long file of the other."""
    if lost := [item.nodeid for item in items if _is_lost(item)]:
        raise pytest.UsageError(f"no lane runs {', '.join(lost)}: a unit test, in {CLUSTERS}")
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def _is_lost(item: pytest.Item) -> bool:
    """The lanes without a cluster do not read these folders."""
    marked = any(map(item.get_closest_marker, ("integration", "e2e", "torture")))
    return not marked and _is_of_clusters(item.path)


@functools.cache
def _is_of_clusters(file: Path) -> bool:
    return any(folder in file.parents for folder in CLUSTERS)

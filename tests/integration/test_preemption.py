"""Pods of a higher priority: a polite class kills nobody, a pushy one takes extras alone."""

from collections.abc import Callable, Iterator

import pytest

from tests.integration.support.stage import Stage, tensorflow, web

pytestmark = pytest.mark.integration

_WEB = 8


@pytest.fixture
def priority_class(installed: Stage) -> Iterator[Callable[[str], str]]:
    """Makes PriorityClasses of 1000 with a preemptionPolicy; returns their names."""
    made: list[str] = []

    def make(policy: str) -> str:
        name = f"{installed.namespace}-{len(made)}"
        flags = ("--value=1000", f"--preemption-policy={policy}")
        installed.kubectl("create", "priorityclass", name, *flags)
        made.append(name)
        return name

    yield make
    for name in made:
        installed.kubectl("delete", "priorityclass", name)


@pytest.fixture
def full(installed: Stage) -> Stage:
    """A training job that fills the cluster: 2 of its 13 workers are its minimum."""
    installed.apply(*tensorflow("mnist", "2..13", cpu="2"))
    installed.until_runs("mnist-worker", 13)
    return installed


def test_a_class_that_never_preempts_gets_capacity_without_a_preemption(
    full: Stage, priority_class: Callable[[str], str]
) -> None:
    full.apply(web(_WEB, priority_class=priority_class("Never")))
    full.until(lambda: full.web_running() == _WEB, "the service runs")
    assert full.preempted() == []
    size = full.size("mnist-worker")
    assert 2 <= size < 13
    full.until_runs("mnist-worker", size)


def test_a_pushy_class_preempts_extras_alone_and_the_job_shrinks_to_what_runs(
    full: Stage, priority_class: Callable[[str], str]
) -> None:
    protected = full.uids("mnist-chief") | full.uids("mnist-ps")
    first = {index: uid for index, uid in full.uids("mnist-worker").items() if index in "01"}
    full.apply(web(_WEB, priority_class=priority_class("PreemptLowerPriority")))
    full.until(lambda: full.web_running() == _WEB, "the service runs")
    # A preempted index may be missing for minutes: the Job controller backs off first.
    full.until(
        lambda: (
            full.size("mnist-worker") < 13
            and full.running("mnist-worker") == len(full.pods("mnist-worker"))
        ),
        "none of its pods is left pending",
    )
    assert full.uids("mnist-chief") | full.uids("mnist-ps") == protected
    assert first.items() <= full.uids("mnist-worker").items()
    assert full.size("mnist-worker") >= 2

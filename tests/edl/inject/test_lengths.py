"""No Job is taken whose pods could not start at its max: Linux bounds a variable's length."""

import pytest

from edl import contract
from edl.errors import Denied
from edl.writes import Json
from tests.edl.manifests import annotations, cast, created, job, pod

_CASTS = {
    "tensorflow": ("collective", "chief=1,worker=1..{most}", "chief", "TF_CONFIG"),
    "mxnet": ("", "scheduler=1,server=1,worker=1..{most}", "scheduler", "MX_CONFIG"),
    "paddle": ("ps", "pserver=1,trainer=1..{most}", "trainer", "PADDLE_TRAINER_ENDPOINTS"),
}


def member(framework: str, most: int) -> Json:
    mode, roles, role, _ = _CASTS[framework]
    told = {"mode": mode} if mode else {}
    return cast(role, roles.format(most=most), framework=framework, annotations=told)


@pytest.mark.parametrize("framework", _CASTS)
def test_a_cluster_that_a_start_at_max_could_not_tell_is_refused(framework: str) -> None:
    with pytest.raises(Denied) as denied:
        created(member(framework, 5000))
    assert {finding.path for finding in denied.value.findings} == {
        f"metadata.labels[{contract.MAX}]"
    }
    *_, last = denied.value.findings
    assert last.what.startswith(f"{_CASTS[framework][-1]} would name so many hosts")


@pytest.mark.parametrize("framework", _CASTS)
def test_a_cluster_that_fits_is_taken(framework: str) -> None:
    given = member(framework, 1500)
    assert contract.INJECTED_MAX in annotations(created(given))


def test_a_variable_is_as_long_as_what_the_kubelet_writes_into_it() -> None:
    # The cluster alone would fit: TF_CONFIG is it and the task.
    assert created(job("w", framework="tensorflow", max="5502"))
    with pytest.raises(Denied) as denied:
        created(job("w", framework="tensorflow", max="5503"))
    (finding,) = denied.value.findings
    assert finding.what == "TF_CONFIG would name so many hosts that it has 131065 characters"


def test_a_framework_that_tells_nobody_takes_any_max() -> None:
    assert created(job("w", framework="none", max="90000"))
    assert created(job("w", framework="pytorch", max="90000"))


def test_bare_pods_are_told_the_whole_cast() -> None:
    told = {"roles": "worker=4000", "rank": "0", "mode": "collective"}
    given = pod("any", framework="tensorflow", job="mnist", role="worker", annotations=told)
    with pytest.raises(Denied, match="TF_CONFIG would name so many hosts"):
        created(given)

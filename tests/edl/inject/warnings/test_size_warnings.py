"""A parallelism that the bounds exclude causes a warning when the Job comes."""

from typing import Any

import pytest

from edl.writes import Json
from tests.edl.manifests import create, job, role_manifest


def said(manifest: Json) -> tuple[str, ...]:
    return tuple(text for text in create(manifest).warnings if "parallelism" in text)


def ps(size: int | None, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    return role_manifest("ps", "chief=1,ps=1,worker=1..4", spec={"parallelism": size}, **fields)


def test_a_fixed_role_whose_parallelism_disagrees_with_the_roles_is_named() -> None:
    (found,) = said(ps(3))
    assert found == (
        "spec.parallelism 3 has no effect, because ps is 1 by edl.dev/roles: "
        "write the same in both, or leave it out"
    )
    assert said(create(ps(3)).manifest) == (), "it was warned about before"


def test_the_labels_are_named_where_they_set_the_bounds() -> None:
    (found,) = said(job(framework="none", min="1", max="4", spec={"parallelism": 9}))
    assert "worker is 1..4 by edl.dev/min and edl.dev/max" in found


def test_no_pods_do_not_hold_a_job_and_the_way_to_hold_it_is_named() -> None:
    (found,) = said(job(framework="none", min="1", max="2", spec={"parallelism": 0}))
    assert found == (
        "spec.parallelism 0 has no effect, because worker is 1..2 by edl.dev/min and edl.dev/max: "
        "suspend: true or kubectl edl pause keeps the Job from starting"
    )
    held = job(framework="none", min="1", max="2", spec={"parallelism": 0, "suspend": True})
    assert said(held) == ()


@pytest.mark.parametrize("size", [None, 1])
def test_the_default_of_the_api_server_contradicts_nothing(size: int | None) -> None:
    roles = "chief=1,ps=2,worker=1..4"
    assert said(role_manifest("ps", roles, spec={"parallelism": size})) == ()


@pytest.mark.parametrize("size", [2, 4])
def test_a_size_within_the_bounds_is_only_where_the_job_begins(size: int) -> None:
    assert said(job(framework="none", min="2", max="4", spec={"parallelism": size})) == ()

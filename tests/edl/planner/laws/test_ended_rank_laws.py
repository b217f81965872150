"""Laws of jobs of which ranks have ended, in any small cluster."""

import pytest
from hypothesis import assume
from msgspec.structs import replace

from edl.model import ClusterState, ResizePolicy, Role
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.clusters import states
from tests.edl.planner.plans import plan_for
from tests.edl.reached import drawn

pytestmark = pytest.mark.laws


@packed
def partly_ended(draw: Draw) -> ClusterState:
    """Any small cluster; the pods of ranks that have ended are gone."""
    state = draw.of(states())
    jobs = [
        replace(one, roles=tuple(_ended(draw, part) for part in one.roles)) for one in state.jobs
    ]
    return replace(state, jobs=tuple(jobs))


def _ended(draw: Draw, part: Role) -> Role:
    """With some of its first ranks ended, at any size where it waits to start again."""
    bits, size, spec = draw.between(0, 15), part.status.size, part.spec
    if part.status.suspended and spec.resizing is ResizePolicy.LIVE:
        size = draw.between(spec.min, spec.max)
    ranks = min(size, 4) if spec.indexed else 0
    over = frozenset(index for index in range(ranks) if bits >> index & 1)
    left = tuple(one for one in part.status.pods if one.index not in over)
    return part.changed(size=size, finished_indexes=over, pods=left)


@drawn(state=partly_ended())
def test_no_size_leaves_fewer_ranks_to_train_than_the_min(state: ClusterState) -> None:
    """Unless fewer are left: then the size leaves all of them."""
    plan = plan_for(state)
    starts = [(one.job, name, size) for one in plan.admissions for name, size in one.sizes]
    shrinks = [(one.job, one.role, one.after) for one in plan.resizes if one.after < one.before]
    parts = {(one.key, part.name): part for one in state.jobs for part in one.roles}
    found = [(parts[key, name], size) for key, name, size in (*starts, *shrinks)]
    assume(any(part.status.finished_indexes for part, _ in found))
    for part, size in found:
        left = _left(part, max(part.status.size, part.spec.min))
        assert len(_left(part, size)) >= min(part.spec.min, len(left))


@drawn(state=partly_ended())
def test_no_plan_adds_ranks_to_those_that_each_have_to_succeed(state: ClusterState) -> None:
    finishing = {
        (one.key, part.name)
        for one in state.jobs
        for part in one.roles
        if part.status.finished_indexes and not part.spec.is_service
    }
    assume(finishing)
    grown = [one for one in plan_for(state).resizes if one.after > one.before]
    assert not finishing & {(one.job, one.role) for one in grown}


def _left(part: Role, size: int) -> set[int]:
    return set(range(size)) - part.status.finished_indexes

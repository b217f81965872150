"""Which pods wait until the plan gives them a node, and that their users' changes leave that."""

import pytest

from edl import contract
from edl.inject.handlers import AdmissionRequest, Context, validate
from edl.writes import Json
from tests.edl.manifests import (
    CONTEXT,
    USER,
    annotations,
    changed,
    created,
    horovod,
    job,
    labels,
    pod,
    pod_spec,
    refusals,
    role_manifest,
    update,
)

PLACEMENT, HOSTS = contract.PLACEMENT_GATE, contract.HOSTS_GATE
AT = "spec template spec schedulingGates"


def gates(manifest: Json) -> list[str]:
    return [gate["name"] for gate in pod_spec(manifest).get("schedulingGates", ())]


def named(*names: str) -> list[Json]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (role_manifest("chief"), [PLACEMENT]),
        (role_manifest("ps"), [PLACEMENT]),
        (role_manifest("worker"), [PLACEMENT]),
        (horovod("launcher"), [HOSTS, PLACEMENT]),
        (horovod("launcher", pod={"nodeName": "n1"}), []),
        (horovod("worker"), [PLACEMENT]),
        (job(framework="tensorflow", max="3"), [PLACEMENT]),
        (job(framework="pytorch", max="3"), []),
        (job(framework="pytorch", max="3", annotations={"required-topology": "rack"}), [PLACEMENT]),
        (job(framework="none", annotations={"preferred-topology": "rack"}), [PLACEMENT]),
        (job(framework="none", max="3"), []),
        (job(framework="tensorflow", max="3", pod={"nodeName": "n1"}), []),
        (job(framework="tensorflow", max="3", gpu="0.5"), []),
        (job(framework="pytorch", gpu="0.5", pod={"schedulerName": "shares"}), [PLACEMENT]),
    ],
    ids=lambda found: "" if isinstance(found, dict) else None,
)
def test_pods_of_a_gang_wait_behind_the_placement_gate(manifest: Json, expected: list[str]) -> None:
    stored = created(manifest)
    assert gates(stored) == expected
    assert created(stored) == stored


def test_a_bare_pod_is_placed_by_kube_scheduler() -> None:
    whole = {"roles": "chief=1,worker=2", "rank": "0"}
    alone = pod(framework="tensorflow", job="mnist", role="worker", annotations=whole)
    assert "schedulingGates" not in created(alone)["spec"]


def test_the_users_own_gates_come_first() -> None:
    own = horovod("launcher", pod={"schedulingGates": named("example.com/quota", PLACEMENT)})
    assert gates(created(own)) == ["example.com/quota", PLACEMENT, HOSTS]


QUEUED = created(horovod("launcher", pod={"schedulingGates": named("example.com/quota")}))
RUNNING = changed(QUEUED, "spec suspend", value=False)


@pytest.mark.parametrize("old", [QUEUED, RUNNING])
@pytest.mark.parametrize("left", [None, [], named(HOSTS), named("example.com/quota")])
def test_no_update_takes_our_gates_off(old: Json, left: list[Json] | None) -> None:
    """Suspended, a Job may lose gates: its pods would run where nobody has planned."""
    stored = update(changed(old, AT, left), old).manifest
    kept = [one["name"] for one in left or ()]
    assert gates(stored) == [
        name for name in gates(old) if name in kept or name.startswith(contract.PREFIX)
    ]


def test_a_gate_of_the_users_own_comes_as_well() -> None:
    stored = update(changed(QUEUED, AT, named("example.com/budget")), QUEUED).manifest
    assert gates(stored) == [HOSTS, PLACEMENT, "example.com/budget"]


def test_no_update_makes_pods_wait_that_were_completed_by_a_release_without_the_gate() -> None:
    old = changed(QUEUED, AT, named(HOSTS))
    new = changed(old, "metadata labels team", "vision")
    assert update(new, old).manifest == new


def test_a_job_without_gates_of_an_older_release_is_accepted() -> None:
    older = changed(QUEUED, AT, named("example.com/quota", HOSTS))
    marked = changed(older, f"metadata annotations {contract.COMPLETED_BY}", "0.1.0")
    newer = Context(CONTEXT.trusted, CONTEXT.image, release="0.2.0")
    assert refusals(validate, AdmissionRequest("CREATE", marked, None, USER), newer) == []


def handed_back(old: Json) -> Json:
    rest = {name: text for name, text in labels(old).items() if "edl.dev" not in name}
    notes = {name: text for name, text in annotations(old).items() if "edl.dev" not in name}
    return changed(changed(old, "metadata labels", rest), "metadata annotations", notes)


def test_releasing_a_queued_job_removes_our_gates_and_keeps_others() -> None:
    assert gates(update(handed_back(QUEUED), QUEUED).manifest) == ["example.com/quota"]


def test_where_the_template_may_not_change_it_stays_as_it_is() -> None:
    """The API server would refuse the whole update."""
    stopping = changed(QUEUED, "status", {"startTime": "2026-01-01T00:00:00Z", "active": 1})
    for old in (RUNNING, stopping):
        new = handed_back(old)
        assert update(new, old).manifest == new

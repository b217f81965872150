"""No Job is taken whose pods could not start at its max: Linux bounds a variable's length."""

import pytest

from edl import contract
from edl.errors import Denied
from edl.frameworks.base import Env, Needs
from edl.inject.pods import env_limits
from edl.parsing.parser import parse
from edl.spec import addresses
from edl.steps.host_lists import publish
from edl.writes import Json
from tests.edl import trainings
from tests.edl.manifests import annotations, created, job, pod, refusals, role_manifest

_ROLES = {
    "tensorflow": ("collective", "chief=1,worker=1..{most}", "chief"),
    "mxnet": ("", "scheduler=1,server=1,worker=1..{most}", "scheduler"),
    "paddle": ("ps", "pserver=1,trainer=1..{most}", "trainer"),
}


def member(framework: str, most: int) -> Json:
    mode, roles, role = _ROLES[framework]
    told = {"mode": mode} if mode else {}
    return role_manifest(role, roles.format(most=most), framework=framework, annotations=told)


@pytest.mark.parametrize("framework", _ROLES)
def test_a_cluster_that_a_start_at_max_could_not_tell_is_refused(framework: str) -> None:
    with pytest.raises(Denied) as denied:
        created(member(framework, 5000))
    assert {finding.path for finding in denied.value.findings} == {
        f"metadata.labels[{contract.MAX}]"
    }
    *_, last = denied.value.findings
    assert "the list of hosts in" in last.what


@pytest.mark.parametrize("framework", _ROLES)
def test_a_cluster_that_fits_is_taken(framework: str) -> None:
    given = member(framework, 1500)
    assert contract.INJECTED_MAX in annotations(created(given))


def test_a_variable_is_as_long_as_what_the_kubelet_writes_into_it() -> None:
    # The cluster alone would fit: TF_CONFIG is it and the task.
    def long(most: int) -> Json:
        found = job("w" * 48, framework="tensorflow", max=str(most))
        found["metadata"]["namespace"] = "n" * 63
        return found

    assert created(long(740))
    with pytest.raises(Denied) as denied:
        created(long(741))
    (finding,) = denied.value.findings
    assert finding.what == "the list of hosts in TF_CONFIG would have 131150 characters"


def test_the_addresses_in_all_pods_of_a_job_are_bounded_together() -> None:
    assert created(job("train", framework="tensorflow", max="1500"))
    with pytest.raises(Denied) as denied:
        created(job("train", framework="tensorflow", max="3000"))
    (finding,) = denied.value.findings
    assert finding.path == f"metadata.labels[{contract.MAX}]"
    what = "3000 pods with 95007 characters of addresses each are 271 MiB in etcd"
    assert finding.what == what
    assert finding.allowed == "at most 128 MiB: a smaller max, or shorter names"


@pytest.mark.parametrize("role", ["ps", "worker"])
def test_addresses_that_only_servers_have_do_not_count_for_workers(role: str) -> None:
    told = {"mode": "sparse"}
    given = role_manifest(role, "ps=4,worker=1..2500", framework="tensorflow", annotations=told)
    assert refusals(created, given) == []


@pytest.mark.parametrize("role", ["ps", "worker"])
def test_addresses_that_never_change_are_bounded_in_every_container(role: str) -> None:
    def static(containers: int) -> Json:
        pod = {"containers": [{"name": f"c{at}", "image": "i"} for at in range(containers)]}
        return role_manifest(role, "ps=1,worker=1..1000", framework="tensorflow", pod=pod)

    assert created(static(1))
    (finding,) = refusals(created, static(8))
    assert "1001 pods with" in finding


def test_a_framework_without_host_variables_takes_any_max() -> None:
    for framework in ("none", "pytorch"):
        assert refusals(created, job("w", framework=framework, max="90000")) == []


def ring(most: int, role: str = "worker") -> Json:
    return role_manifest(role, f"launcher=1,worker=1..{most}", framework="horovod")


@pytest.mark.parametrize("role", ["launcher", "worker"])
def test_hosts_that_the_annotations_of_a_launcher_cannot_hold_are_refused(role: str) -> None:
    with pytest.raises(Denied) as denied:
        created(ring(5000, role))
    (finding,) = denied.value.findings
    assert finding.path == f"metadata.labels[{contract.MAX}]"
    assert "the lists of hosts on the leader's pod would have" in finding.what


def test_hosts_at_the_largest_max_fit_into_the_annotations_of_a_launcher() -> None:
    """The API server accepts 256 KiB (TotalAnnotationSizeLimitB)."""
    most = max(count for count in range(1000, 5000, 100) if not refusals(created, ring(count)))
    waits = trainings.pod("launcher", 0, ready=False, gates=(contract.HOSTS_GATE,))
    workers = trainings.pods("worker", range(most))
    job = trainings.training(
        trainings.role("launcher", pods=(waits,)),
        trainings.role("worker", 1, most, size=most, pods=workers),
        framework="horovod",
    )
    (patch,) = publish(job, (), trainings.NOW).writes
    characters = sum(len(name) + len(text) for name, text in trainings.written(patch).items())
    assert 200 * 1024 < characters < 256 * 1024


def test_bare_pods_are_told_all_roles() -> None:
    told = {"roles": "worker=4000", "rank": "0", "mode": "collective"}
    given = pod("any", framework="tensorflow", job="mnist", role="worker", annotations=told)
    with pytest.raises(Denied, match="the list of hosts in"):
        created(given)


@pytest.mark.parametrize("count", [1, 10, 11, 1_000, 4_263])
def test_hosts_that_a_variable_holds_are_as_long_as_computed(count: int) -> None:
    spec = parse(role_manifest("worker"))
    hosts = addresses.hosts(spec, "worker", count)
    assert len(hosts) == count
    assert sum(map(len, hosts)) == addresses.length(spec, {"worker": count})


@pytest.mark.parametrize("count", [4_264, 100_000])
def test_hosts_that_no_variable_holds_are_not_written(count: int) -> None:
    with pytest.raises(Denied, match="the list of hosts in a variable"):
        addresses.hosts(parse(role_manifest("worker")), "worker", count)


def test_hosts_of_roles_that_no_variable_holds_together_are_not_written() -> None:
    spec = parse(role_manifest("worker", "chief=1,ps=3000,worker=3000"))
    assert len(addresses.hosts(spec, "ps", 3000)) == 3000
    with pytest.raises(Denied, match="the list of hosts in a variable"):
        addresses.members(spec)


def test_host_variables_in_too_many_containers_are_refused() -> None:
    containers = [{"name": f"c{n}", "image": "busybox"} for n in range(900)]
    given = role_manifest("worker", "chief=1,ps=1000,worker=1..2")
    given["spec"]["template"]["spec"]["containers"] = containers
    with pytest.raises(Denied, match=r"spec\.containers: 900 containers with"):
        created(given)


def test_variables_may_fill_what_an_etcd_stores_and_no_character_more() -> None:
    spec, needs = parse(role_manifest("worker")), Needs(env=(Env("E", "v" * 2_047),))
    fill = 1_572_864 // 2_048
    env_limits.check({"containers": [{}] * (fill - 1), "initContainers": [{}]}, spec, needs)
    with pytest.raises(Denied, match="containers with 2048 characters"):
        env_limits.check({"containers": [{}] * (fill + 1)}, spec, needs)


@pytest.mark.parametrize("framework", ["none", "pytorch"])
def test_a_pod_has_no_more_containers_than_a_short_review_can_pay_for(framework: str) -> None:
    def given(count: int) -> Json:
        ours = job("ring", framework=framework, max="3")
        ours["spec"]["template"]["spec"]["containers"] = [{} for _ in range(count)]
        ours["spec"]["template"]["spec"]["initContainers"] = [{}]
        return ours

    assert refusals(created, given(999)) == []
    with pytest.raises(Denied, match=r"spec\.containers: 1001 containers; at most 1000"):
        created(given(1_000))


def test_a_pod_as_large_as_may_be_is_taken_again_with_what_was_added() -> None:
    given = role_manifest("launcher", "launcher=1,worker=1..3", framework="horovod")
    given["spec"]["template"]["spec"]["containers"] = [{} for _ in range(1_000)]
    done = created(given)
    assert len(done["spec"]["template"]["spec"]["initContainers"]) == 1
    assert created(done) == done


def test_the_names_of_our_containers_make_no_room_for_more_of_them() -> None:
    given = role_manifest("launcher", "launcher=1,worker=1..3", framework="horovod")
    named = [{"name": contract.KUBECTL_CONTAINER} for _ in range(1_002)]
    given["spec"]["template"]["spec"]["containers"] = named
    with pytest.raises(Denied, match=r"1001 containers; at most 1000"):
        created(given)

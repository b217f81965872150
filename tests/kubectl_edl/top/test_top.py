import json
import re
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl import contract
from edl.errors import EdlError, NotFound, Unreachable
from edl.kube.cluster import ListOptions, PluginCluster, RawList
from edl.writes import Json
from kubectl_edl.output.cell_quantities import cores, memory, percent
from kubectl_edl.top.cluster_costs import INSTANCE_TYPE
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, fenced
from tests.kubectl_edl.stage import NOW, Stage, job, mnist, node, pod

HISTORY = "2026-11-21T11:00:00Z Started 4 4 fits\n2026-11-21T11:30:00Z ScaledDown 4 2 others"
GPU = {"resources": {"requests": {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "2"}}}


def without_metrics(error: EdlError) -> Callable[[PluginCluster], PluginCluster]:
    class Without(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            if selection.kind.endswith("Metrics"):
                raise error
            return super().list(selection)

    return Without


def measured(stage: Stage, name: str, *usage: tuple[str, str]) -> None:
    containers = [
        {"name": f"c{number}", "usage": {"cpu": cpu, "memory": size}}
        for number, (cpu, size) in enumerate(usage)
    ]
    stage.create({"kind": "PodMetrics", "metadata": {"name": name}, "containers": containers})


@pytest.fixture
def stage() -> Stage:
    """An hour of one role with GPUs: 4 replicas, then 2; max 4."""
    stage = Stage(minutes_ago=60)
    manifest = job("sweep", framework="none", min="1", max="4")
    manifest["spec"]["template"]["spec"]["containers"][0] |= GPU
    owner = stage.put(manifest, suspend=False, parallelism=2)
    stage.patch("sweep", {"metadata": {"annotations": {contract.HISTORY: HISTORY}}})
    for index in range(2):
        made = pod(owner, index)
        made["spec"]["containers"][0] |= GPU
        stage.create(made)
    for number in (1, 2):
        made = node(f"node-{number}")
        made["status"]["allocatable"]["nvidia.com/gpu"] = "4"
        stage.create(made)
    return stage


def cells(line: str) -> list[str]:
    return re.split("  +", line.strip())


def test_jobs_show_requests_and_usage(stage: Stage) -> None:
    measured(stage, "sweep-0-x0", ("250m", "1Gi"), ("1500000000n", "524288Ki"))
    measured(stage, "sweep-1-x1", ("750m", "512Mi"))
    titles, line = stage.run("top").out.splitlines()
    assert cells(titles)[2:8] == ["PODS", "CPU-REQ", "CPU-USED", "MEM-REQ", "MEM-USED", "GPU-REQ"]
    assert cells(line)[:8] == ["sweep", "Running", "2", "2", "2.5", "4Gi", "2Gi", "4"]


def test_unmeasured_pods_make_usage_a_lower_bound(stage: Stage) -> None:
    measured(stage, "sweep-0-x0", ("1", "1Gi"))
    assert cells(stage.run("top").out.splitlines()[1])[4] == ">1"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NotFound("not found", 404), "the cluster has no metrics-server (metrics.k8s.io)"),
        (Unreachable("it is ill", 503), "it is ill"),
    ],
)
def test_without_metrics_usage_is_unknown(stage: Stage, error: EdlError, said: str) -> None:
    stage.wrapped = without_metrics(error)
    found = stage.run("top")
    assert found.code == 0
    assert found.err == f"hint: usage is unknown: {said}\n"
    assert cells(found.out.splitlines()[1])[4] == "<unknown>"
    assert json.loads(stage.run("top", "-o", "json").out)["items"][0]["usage"] is None


def hours(stage: Stage, *args: str) -> Json:
    found: Json = json.loads(stage.run("top", "sweep", *args, "-o", "json").out)["resourceHours"]
    return found


def test_hours_of_gpus_are_sizes_over_time(stage: Stage) -> None:
    assert hours(stage) == {"unit": "GPU", "used": 6.0, "atMaxReplicas": 6.0, "complete": True}


def test_work_that_does_not_divide_costs_more_at_the_maximum(stage: Stage) -> None:
    """Half an hour each at 4 and at 2, a third serial: speeds 2 and 1.5 of one replica."""
    found = hours(stage, "--serial", "0.3333333333333333")
    assert found["used"] == 6.0
    assert found["atMaxReplicas"] == pytest.approx((0.5 * 2 + 0.5 * 1.5) / 2 * 4 * 2)


def test_a_truncated_history_is_a_lower_bound(stage: Stage) -> None:
    later = "2026-11-21T11:30:00Z ScaledDown 4 2 others"
    stage.patch("sweep", {"metadata": {"annotations": {contract.HISTORY: later}}})
    assert hours(stage)["complete"] is False
    assert cells(stage.run("top").out.splitlines()[1])[8] == ">2 GPU-h"


def test_fixed_roles_wait_longer_and_jobs_without_gpus_count_cpus() -> None:
    """Six minutes: 7 pods of 2 CPUs, 4 of them workers; 12 workers would take a third of it."""
    stage = Stage(minutes_ago=6)
    mnist(stage)
    found = json.loads(stage.run("top", "mnist", "-o", "json").out)["resourceHours"]
    assert found == {"unit": "CPU", "used": 1.4, "atMaxReplicas": 1.0, "complete": True}
    titles, line = stage.run("top", "jobs", "--serial", "1e-9").out.splitlines()
    assert cells(titles)[-4:] == ["HOURS", "AT-MAX", "VS-MAX", "AGE"]
    assert cells(line)[-4:-1] == ["1.4 CPU-h", "1 CPU-h", "40% more"]
    so_far = "Resource-hours: 1.4 CPU-h, 40% more than the 1 of fixed maximum sizes\n"
    assert so_far in stage.run("top", "cluster", "--serial", "1e-9").out


def test_work_that_does_not_divide_at_all_takes_less_than_the_maximum(stage: Stage) -> None:
    line = stage.run("top", "jobs", "--serial", "1").out.splitlines()[1]
    assert cells(line)[-4:-1] == ["6 GPU-h", "8 GPU-h", "25% less"]


def test_prices_say_what_hours_cost_instead_of_those_of_fixed_maximum_sizes(stage: Stage) -> None:
    """Four GPUs for 8 an hour; the node without a price does not count."""
    stage.patch("node-1", {"metadata": {"labels": {INSTANCE_TYPE: "large"}}}, "Node")
    priced = ("top", "cluster", "--price", "large=8")
    six = "Resource-hours: 6 GPU-h"
    assert f"{six}: a cost of 12\n" in stage.run(*priced).out
    compared = f"{six}, 25% less than the 8 of fixed maximum sizes: a cost of 12 instead of 16\n"
    assert compared in stage.run(*priced, "--serial", "1").out
    found = json.loads(stage.run(*priced, "--serial", "1", "-o", "json").out)["resourceHours"][0]
    assert (found["cost"], found["costAtMaxReplicas"]) == (12, 16)
    cheap = stage.run("top", "cluster", "--price", "large=0.1", "--serial", "1").out
    assert "a cost of 0.15 instead of 0.20\n" in cheap
    other = json.loads(stage.run("top", "cluster", "--price", "tiny=8", "-o", "json").out)
    assert other["resourceHours"][0]["cost"] is None


def test_without_knowing_how_the_work_divides_nothing_is_compared() -> None:
    stage = Stage(minutes_ago=6)
    mnist(stage)
    assert cells(stage.run("top").out.splitlines()[0])[-2:] == ["HOURS", "AGE"]
    assert "fixed maximum" not in stage.run("top", "cluster").out
    assert "Resource-hours: 1.4 CPU-h\n" in stage.run("top", "cluster").out


def test_paused_time_and_time_after_the_end_do_not_count(stage: Stage) -> None:
    lines = (HISTORY, "2026-11-21T11:45:00Z Suspended 2 2 paused")
    stage.patch("sweep", {"metadata": {"annotations": {contract.HISTORY: "\n".join(lines)}}})
    stage.patch("sweep", {"spec": {"suspend": True}})
    assert hours(stage)["used"] == 5.0
    over = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-21T11:30:00Z"}
    stage.patch(
        "sweep", {"metadata": {"annotations": {contract.HISTORY: HISTORY.partition("\n")[0]}}}
    )
    stage.patch("sweep", {"spec": {"suspend": False}, "status": {"conditions": [over]}})
    assert hours(stage)["used"] == 4.0


def test_nodes_show_requested_and_idle_resources(stage: Stage) -> None:
    stage.create({"kind": "NodeMetrics", "metadata": {"name": "node-1"}, "usage": {"cpu": "300m"}})
    stage.patch("node-2", {"spec": {"unschedulable": True}}, "Node")
    lines = [cells(line) for line in stage.run("top", "nodes").out.splitlines()]
    assert lines[1] == [
        *("node-1", "Ready", "2", "2/110", "2 (12%)", "14", "300m"),
        *("4Gi (6%)", "60Gi", "0", "4 (100%)", "0"),
    ]
    assert lines[2][:3] == ["node-2", "Ready,SchedulingDisabled", "0"]
    assert lines[2][5:7] == ["0", "<unknown>"]
    wide = stage.run("top", "node", "node-1", "-o", "wide").out.splitlines()
    assert len(wide) == 2
    assert cells(wide[0])[4:6] == ["CPU", "CPU-REQ"]
    assert stage.run("top", "nodes", "nowhere").code == 3


def test_the_cluster_is_the_sum(stage: Stage) -> None:
    stage.put(job("waits", framework="none", min="3", max="9"))
    lines = stage.run("top", "cluster").out.splitlines()
    assert cells(lines[1]) == ["cpu", "32", "2 (6%)", "2", "0", "6", "30", "<unknown>"]
    assert cells(lines[3]) == ["gpu", "8", "4 (50%)", "4", "0", "0", "4", "<unknown>"]
    assert lines[6:] == [
        "Nodes: 2",
        "Training jobs: 2 (1 Running, 1 Queued)",
        "Nodes by use: 2 (0.5 by minimums, 0.5 by extras, 0 by others, 1 idle)",
        "Resource-hours: 6 GPU-h",
    ]
    found = json.loads(stage.run("top", "cluster", "-o", "json").out)
    assert found["resources"]["gpu"]["trainingRequests"] == "4"


def test_unready_nodes_offer_nothing_and_have_the_status_of_kubectl(
    stage: Stage,
) -> None:
    silent = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    stage.create(node("node-3"))
    stage.patch("node-1", silent, "Node")
    stage.patch("node-2", silent | {"spec": {"unschedulable": True}}, "Node")
    stage.patch("node-3", {"spec": {"unschedulable": True}}, "Node")
    lines = [cells(line)[1] for line in stage.run("top", "nodes").out.splitlines()]
    assert lines[1:] == ["NotReady", "NotReady,SchedulingDisabled", "Ready,SchedulingDisabled"]
    lines = stage.run("top", "cluster").out.splitlines()
    assert cells(lines[1])[:5] == ["cpu", "16", "0 (0%)", "0", "0"]
    assert "Nodes: 3, 2 of them not ready, 1 of them cordoned" in lines


def test_flags_may_precede_the_view_which_defaults_to_jobs(stage: Stage) -> None:
    assert stage.run("top").out == stage.run("top", "job").out
    assert stage.run("top", "-n", "default", "nodes").out == stage.run("top", "nodes").out
    assert stage.run("top", "sweep").out == stage.run("top").out
    assert stage.run("top", "swep").code == 3
    assert stage.run("top", "-n", "empty").err == "No training jobs found in empty namespace.\n"


def test_nodes_need_the_right_to_see_them(stage: Stage) -> None:
    stage.wrapped = fenced("Node")
    found = stage.run("top", "nodes")
    assert (found.code, found.out) == (1, "")
    assert "may not list Node" in found.err


def test_amounts_have_one_figure_and_one_unit() -> None:
    assert [cores(amount) for amount in (0, 250, 1000, 1500, 12000)] == [
        "0",
        "250m",
        "1",
        "1.5",
        "12",
    ]
    sizes = (0, 1023, 2**20, 3 * 2**29, 2**60)
    assert [memory(size) for size in sizes] == ["0", "1023", "1Mi", "1.5Gi", "1024Pi"]
    assert (percent(1, 4), percent(0, 0)) == ("25%", "")


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(1, 9) | st.just(9), min_size=1, max_size=6)
    | st.lists(st.just(9), min_size=1, max_size=6),
    serial=st.floats(0, 1),
)
def test_a_constant_maximum_saves_nothing(sizes: list[int], serial: float) -> None:
    """One elastic role alone: a smaller size never needs more for the same work."""
    stage = Stage(minutes_ago=60)
    stage.put(
        job("sweep", framework="none", min="1", max="9"), suspend=False, parallelism=sizes[-1]
    )
    begin = NOW - timedelta(minutes=59)
    lines = [f"{begin:%Y-%m-%dT%H:%M:%SZ} started {sizes[0]} {sizes[0]} fits"]
    for number, (before, after) in enumerate(pairwise(sizes), 1):
        at = begin + timedelta(minutes=5 * number)
        lines.append(f"{at:%Y-%m-%dT%H:%M:%SZ} grown {before} {after} room")
    stage.patch("sweep", {"metadata": {"annotations": {contract.HISTORY: "\n".join(lines)}}})
    found = hours(stage, "--serial", str(serial))
    assert found["atMaxReplicas"] >= found["used"] - 0.002
    if set(sizes) == {9}:
        assert found["atMaxReplicas"] == pytest.approx(found["used"], abs=0.002)


@pytest.mark.parametrize("form", ["table", "json", "yaml"])
def test_the_cluster_is_watched_in_lines_too(stage: Stage, form: str) -> None:
    once = stage.run("top", "cluster", "-o", form)
    stage.between = [lambda: None]
    watched = stage.run("top", "cluster", "-w", "-o", form)
    assert (watched.code, watched.err) == (0, once.err)
    assert watched.out.strip().removeprefix("---\n") == once.out.strip()

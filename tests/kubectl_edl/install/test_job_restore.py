"""Jobs whose gates and time to live `uninstall` gives back."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from certs.secrets import WEBHOOK_KINDS
from edl import contract
from edl.errors import Invalid
from edl.inject import ttl_after_finished
from edl.kube.cluster import ListOptions, PluginCluster
from edl.model import ObjectRef
from edl.spec.job_spec import HELD_TTL
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.install.installations import HELD, install, stage
from tests.kubectl_edl.stage import Stage, job


def holding(times: int, held: Json = HELD) -> Callable[[PluginCluster], PluginCluster]:
    """The webhook restores the field while it is configured, and for some patches after that."""
    left = [times]

    class Holding(ClusterWrapper):
        def patch(
            self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            written = super().patch(target, body, dry_run=dry_run)
            if target.kind != "Job":
                return written
            there = super().list(ListOptions(WEBHOOK_KINDS[0])).items
            left[0] -= not there
            return super().patch(target, held) if there or left[0] >= 0 else written

    return Holding


def gates(on: Stage, name: str) -> object:
    return on.job(name)["spec"]["template"]["spec"].get("schedulingGates")


def test_the_fence_is_deleted_after_all_rights_that_it_limits() -> None:
    on = stage()
    install(on)
    kinds = [line.partition(".")[0] for line in on.run("uninstall", "-y").out.splitlines()]
    rights = [kinds.index(kind) for kind in ("clusterrolebinding", "clusterrole")]
    fence = kinds.index("validatingadmissionpolicybinding")
    assert max(rights) < fence < kinds.index("validatingadmissionpolicy")


REMOVES = (
    """kubectl patch pod POD -p '{"spec":{"schedulingGates":["""
    """{"$patch":"delete","name":"edl.dev/hosts"},"""
    """{"$patch":"delete","name":"edl.dev/placement"}]}}'"""
)
"""Gates of other controllers stay."""


def test_gated_pods_are_named_before_uninstalling() -> None:
    """The template of a running Job is immutable: a hint; other Jobs lose their gates."""
    on = stage()
    install(on)
    on.put(job("runs", framework="tensorflow", max="2"), suspend=False)
    on.put(job("waits", framework="tensorflow", max="2"))
    assert gates(on, "waits") == [{"name": contract.PLACEMENT_GATE}]
    run = on.run("uninstall", "--yes")
    assert gates(on, "waits") is None
    assert gates(on, "runs") == [{"name": contract.PLACEMENT_GATE}]
    assert run.err.splitlines()[-2] == (
        "1 with scheduling gates (default/runs): a pod behind them, now or later, is not scheduled "
        f"until you remove its gate: {REMOVES} -n NAMESPACE"
    )


def gated_again() -> Json:
    gate = {"name": contract.PLACEMENT_GATE}
    return {"spec": {"template": {"spec": {"schedulingGates": [gate]}}}}


def test_gates_that_the_webhook_puts_back_are_taken_off_again() -> None:
    on = stage()
    install(on)
    on.put(job("waits", framework="tensorflow", max="2"))
    wrapped = on.wrapped
    on.wrapped = lambda cluster: holding(3, gated_again())(wrapped(cluster))
    on.run("uninstall", "--yes")
    assert gates(on, "waits") is None


def refusing_jobs(cluster: PluginCluster) -> PluginCluster:
    """A policy of the cluster lets no Job change."""

    class Refusing(ClusterWrapper):
        def patch(
            self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            if target.kind == "Job":
                raise Invalid("Jobs stay as they are")
            return super().patch(target, body, dry_run=dry_run)

    return Refusing(cluster)


def refusing_templates(cluster: PluginCluster) -> PluginCluster:
    """A policy of the cluster lets no template change."""

    class Refusing(ClusterWrapper):
        def patch(
            self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            if target.kind == "Job" and "template" in body.get("spec", {}):
                raise Invalid("templates stay as they are")
            return super().patch(target, body, dry_run=dry_run)

    return Refusing(cluster)


def test_a_template_that_is_refused_keeps_its_gates_and_no_time_to_live() -> None:
    on = stage()
    install(on)
    on.put(job("waits", framework="tensorflow", max="2"))
    on.patch("waits", HELD)
    wrapped = on.wrapped
    on.wrapped = lambda cluster: refusing_templates(wrapped(cluster))
    run = on.run("uninstall", "--yes")
    assert on.job("waits")["spec"]["ttlSecondsAfterFinished"] == 600
    assert (
        "default/waits keeps its scheduling gates: templates stay as they are. By hand: "
        "kubectl patch job waits -n default --type=merge -p "
        """'{"spec":{"template":{"spec":{"schedulingGates":null}}}}'"""
    ) in run.err


@pytest.mark.parametrize("accepts", [True, False])
def test_a_suspended_job_loses_its_gates_if_its_template_is_mutable(*, accepts: bool) -> None:
    """As from Kubernetes 1.36; the update is tried, whatever the version."""
    on = stage()
    install(on)
    on.put(job("stopped", framework="tensorflow", max="2"))
    on.patch("stopped", {"status": {"startTime": "2026-01-01T00:00:00Z"}})
    if not accepts:
        wrapped = on.wrapped
        on.wrapped = lambda cluster: refusing_templates(wrapped(cluster))
    run = on.run("uninstall", "--yes")
    assert gates(on, "stopped") == (None if accepts else [{"name": contract.PLACEMENT_GATE}])
    said = (
        "default/stopped keeps its scheduling gates: templates stay as they are. A pod behind "
        "them, now or later, is not scheduled until you remove its gate: kubectl patch pod POD"
    )
    assert (said in run.err) is not accepts
    before = next(line for line in run.err.splitlines() if "with scheduling gates" in line)
    assert before.startswith(
        "1 suspended with scheduling gates (default/stopped): unless the API server lets their "
        "templates change, a pod behind them, now or later, is not scheduled until you remove its "
        "gate: "
    )


def test_a_suspended_job_that_keeps_gates_and_ttl_gets_a_hint() -> None:
    on = stage()
    install(on)
    on.put(job("stopped", framework="tensorflow", max="2"))
    on.patch("stopped", {"status": {"startTime": "2026-01-01T00:00:00Z"}} | HELD)
    wrapped = on.wrapped
    on.wrapped = lambda cluster: refusing_jobs(wrapped(cluster))
    run = on.run("uninstall", "--yes")
    assert (
        "default/stopped keeps edl.dev/ttl-seconds-after-finished and its scheduling gates: Jobs "
        "stay as they are. By hand: kubectl patch job stopped -n default --type=merge -p "
        """'{"spec":{"ttlSecondsAfterFinished":600}}'. A pod behind them, now or later, is not """
        "scheduled until you remove its gate: kubectl patch pod POD"
    ) in run.err


@pytest.mark.parametrize(("times", "seconds"), [(0, 600), (3, 600), (99, HELD_TTL)])
def test_a_ttl_is_restored_after_the_webhook_is_deleted(times: int, seconds: int) -> None:
    on = stage()
    install(on)
    on.put(job("waits", framework="none"))
    on.patch("waits", HELD)
    wrapped = on.wrapped
    on.wrapped = lambda cluster: holding(times)(wrapped(cluster))
    run = on.run("uninstall", "--yes")
    assert run.code == 0
    assert on.job("waits")["spec"][ttl_after_finished.FIELD] == seconds
    by_hand = """waits -n default --type=merge -p '{"spec":{"ttlSecondsAfterFinished":600}}'"""
    assert (by_hand in run.err) == (seconds == HELD_TTL)


def test_a_gang_is_started_by_hand_with_no_fewer_pods_than_its_minimum() -> None:
    on = stage()
    install(on)
    on.put(job("gang", framework="pytorch", min="40", max="40"))
    on.put(job("waits", framework="none"))
    start = """  kubectl patch job {} -n default -p '{{"spec":{}}}'"""
    assert on.run("uninstall", "--yes").err.splitlines()[:-1] == [
        "2 suspended: no longer started. To start them by hand:",
        start.format("gang", '{"parallelism":40,"completions":40,"suspend":false}'),
        start.format("waits", '{"suspend":false}'),
    ]


def test_a_command_starts_each_suspended_job_also_after_uninstalling() -> None:
    """A running Job, and a Job that has ended, have none."""
    on = stage()
    install(on)
    on.put(job("runs", framework="none"), suspend=False)
    for index in range(9):
        on.put(job(f"waits-{index}", framework="none", min="3", max="4"))
    on.patch("waits-8", {"status": {"conditions": [{"type": "Failed", "status": "True"}]}})
    before = on.run("uninstall", "--yes").err.splitlines()[:-1]
    assert [line.partition(" -n ")[0] for line in before[1:]] == [
        "8 suspended: no longer started. To start them by hand:",
        *(f"  kubectl patch job waits-{index}" for index in range(5)),
        "  and 3 more: kubectl edl uninstall --start-commands",
    ]
    run = on.run("uninstall", "--start-commands", "--context", "prod")
    body = """'{"spec":{"parallelism":3,"suspend":false}}'"""
    assert (run.code, run.err) == (0, "")
    assert run.out.splitlines() == [
        f"kubectl patch job waits-{index} -n default -p {body} --context prod" for index in range(8)
    ]


def started(on: Stage, *words: str) -> list[str]:
    run = on.run("uninstall", "--start-commands", *words)
    assert (run.code, run.err) == (0, "")
    return run.out.splitlines()


def test_start_commands_name_the_gates_that_a_stopped_job_keeps() -> None:
    on = stage()
    placed = job("stopped", framework="none")
    placed["metadata"]["annotations"] = {contract.REQUIRED_TOPOLOGY: "rack"}
    on.put(placed)
    on.patch("stopped", {"status": {"startTime": "2026-01-01T00:00:00Z"}})
    on.put(job("waits", framework="none"))
    start = """kubectl patch job {} -n default -p '{{"spec":{{"suspend":false}}}}' --context prod"""
    gated = (
        "# default/stopped keeps scheduling gates: a pod behind them, now or later, is not "
        f"scheduled until you remove its gate: {REMOVES} -n default --context prod"
    )
    lines = [start.format("stopped"), gated, start.format("waits")]
    assert started(on, "--context", "prod") == lines


def test_start_commands_of_paused_jobs_say_so() -> None:
    on = stage()
    for name in ("paused", "waits"):
        on.put(job(name, framework="none"))
    on.patch("paused", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    assert [line.endswith("  # paused") for line in started(on)] == [True, False]


@pytest.mark.parametrize(
    ("stored", "fields"),
    [
        ({"parallelism": 0}, '{"parallelism":1,"suspend":false}'),
        (
            {"parallelism": 0, "completions": 0, "completionMode": "Indexed"},
            '{"parallelism":1,"completions":1,"suspend":false}',
        ),
        ({"parallelism": 2}, '{"suspend":false}'),
    ],
)
def test_a_job_with_an_invalid_request_starts_with_a_pod(stored: Json, fields: str) -> None:
    on = stage()
    on.put(job("spoilt", framework="none"), **stored)
    on.patch("spoilt", {"metadata": {"labels": {contract.FRAMEWORK: "caffe"}}})
    assert started(on) == [f"""kubectl patch job spoilt -n default -p '{{"spec":{fields}}}'"""]


@pytest.mark.parametrize("words", [("-y",), ("--dry-run", "client"), ("--dry-run", "server")])
def test_start_commands_delete_nothing_and_need_no_confirmation(words: tuple[str, ...]) -> None:
    run = stage().run("uninstall", "--start-commands", *words)
    assert (run.code, run.out) == (2, "")
    assert run.err == ("error: --start-commands deletes nothing: leave out --yes and --dry-run\n")

"""Every command that an output suggests reaches the same cluster, user and installation."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import pytest

from certs.secrets import CONFIGURATION, WEBHOOK_KINDS
from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.errors import Unreachable
from edl.kube.create_failures import CreateFailure, create_failure
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.adopt.job_labels import LabelOptions
from kubectl_edl.cli.context import Scope
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed
from tests.kubectl_edl.stage import NOW, Stage, event, job, lease, mnist, node, pod

FLAGS: Final = (
    "--context",
    "prod",
    "--kubeconfig",
    "k",
    "--as",
    "ann",
    "--system-namespace",
    "ops",
)
OFFLINE: Final = re.compile(r"kubectl edl (adopt|release) -f \S+( --roles …)? \|")
"""Filters of manifests: they read no cluster."""


@dataclass(frozen=True)
class Situation:
    """A cluster, and the command whose output suggests other commands."""

    set_up: Callable[[Stage], object]
    command: tuple[str, ...]


def commands(text: str) -> Iterator[tuple[str, bool]]:
    """Each command of a text, up to the next one or the end of the line; whether the user's own."""
    for line in text.splitlines():
        for command in re.findall(r"(?:kubectl|helm) .*?(?=; kubectl |kubectl |helm |$)", line):
            yield command, " administrator" not in line


def queued(stage: Stage, **annotations: str) -> Json:
    made = stage.put(job("mnist", framework="none", min="1", max="2"))
    stage.patch("mnist", {"metadata": {"annotations": annotations}})
    return made


def started(stage: Stage) -> Json:
    return stage.put(job("mnist", framework="none", min="1", max="2"), suspend=False)


def refused(text: str) -> Callable[[Stage], object]:
    def set_up(stage: Stage) -> None:
        queued(stage, **{contract.LAST_CHANGE: json_text(reasons.GANG_UNSCHEDULABLE_CREATION)})
        stage.patch("mnist", {"metadata": {"annotations": {contract.REASON: "BackOff"}}})
        stage.create(event("mnist", "FailedCreate", text, minutes_ago=1, warning=True))

    return set_up


def waits(**waiting: str) -> Callable[[Stage], object]:
    def set_up(stage: Stage) -> None:
        statuses = [{"name": "main", "state": {"waiting": waiting}}]
        status: Json = {"phase": "Pending", "conditions": [], "containerStatuses": statuses}
        stage.create(pod(started(stage), 0, **status))

    return set_up


def failed_pod(stage: Stage) -> None:
    ended = {"reason": "Error", "exitCode": 1, "finishedAt": "2026-11-21T11:59:00Z"}
    statuses = [{"name": "main", "state": {"terminated": ended}}]
    owner = started(stage)
    stage.create(pod(owner, 0, phase="Failed", conditions=[], containerStatuses=statuses))


def ended(reason: str) -> Callable[[Stage], object]:
    def set_up(stage: Stage) -> None:
        started(stage)
        over = {"type": "Failed", "status": "True", "reason": reason}
        over["lastTransitionTime"] = "2026-11-21T11:59:00Z"
        stage.patch("mnist", {"status": {"conditions": [over]}})

    return set_up


def lower_priority_runs(stage: Stage) -> None:
    lease(stage)
    stage.create(node("node-1", cpu="16"))
    stage.create({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})
    low = stage.put(job("low", framework="none", min="7", max="7"), suspend=False, parallelism=7)
    for index in range(7):
        stage.create(pod(low, index))
    high = job("mnist", framework="none", min="4", max="4")
    high["spec"]["template"]["spec"]["priorityClassName"] = "high"
    stage.put(high)


def borrower_runs(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    for name in ("default", "other"):
        stage.cluster.create(ObjectRef("Namespace", "", name), {})
    teams = "teams: [{name: vision, namespaces: [default], guaranteed: {cpu: 12}}]"
    place = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
    stage.cluster.create(place, {"data": {contract.TEAMS_KEY: teams}})
    lent = job("lent", framework="none", min="7", max="7")
    lent["metadata"]["namespace"] = "other"
    borrower = stage.put(lent, suspend=False, parallelism=7)
    for index in range(7):
        stage.create(pod(borrower, index))
    stage.put(job("mnist", framework="none", min="4", max="4"))


def gone_chief(stage: Stage) -> None:
    mnist(stage)
    stage.delete("mnist-chief")


def manual_size(stage: Stage) -> None:
    stage.create(node("node-1", cpu="64"))
    stage.create(pod(started(stage), 0))
    stage.patch("mnist", {"metadata": {"annotations": {contract.REPLICAS: "1"}}})


def no_reconciler(stage: Stage) -> None:
    queued(stage)
    lease(stage, minutes_ago=1)


def by_helm(stage: Stage) -> None:
    installed(stage, FakeApi(frozenset({("edl-reconciler", "patch", "jobs")})))
    notes = {"meta.helm.sh/release-name": "edl", "meta.helm.sh/release-namespace": "ops"}
    configuration = ObjectRef(WEBHOOK_KINDS[0], "", CONFIGURATION)
    stage.cluster.patch(configuration, {"metadata": {"annotations": notes}})


def without_webhook(stage: Stage) -> None:
    """The webhook does not answer, clocks differ, and the API server's release is unknown."""
    refusal = Unreachable("failed calling webhook jobs.edl.dev: connection refused", 500)
    installed(stage, FakeApi(refusal=refusal))
    stage.now = [NOW - timedelta(minutes=10)]
    inner = stage.wrapped

    class Unknown(ClusterWrapper):
        def version(self) -> str:
            return "unknown"

    stage.wrapped = lambda cluster: Unknown(inner(cluster))


def broken(stage: Stage) -> None:
    """An installation with problems in most checks of `doctor`."""
    installed(stage, FakeApi(frozenset({("", "patch", "jobs"), ("", "list", "nodes")})))
    stage.create(node("node-1", cpu="1") | {"spec": {"unschedulable": True}})
    gone_chief(stage)
    unknown = job("typo", framework="none", minn="3")
    unknown["spec"]["template"]["spec"]["containers"][0].pop("resources")
    near = job("near", framework="none", max="3")
    near["metadata"]["annotations"] = {contract.REQUIRED_TOPOLOGY: "example.com/rack"}
    for manifest in (unknown, near):
        stage.put(manifest)
    labels = {contract.FRAMEWORK: "none", f"{contract.PREFIX}minn": "3"}
    template = {"metadata": {"labels": labels}, "spec": {"template": {"spec": {}}}}
    cron = {"metadata": {"name": "nightly", "labels": labels}, "spec": {"jobTemplate": template}}
    stage.create({"kind": "CronJob"} | cron)
    ours = {contract.JOB: "gone", "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    stage.create({"kind": "Service", "metadata": {"name": "gone", "labels": ours}})


REFUSALS: Final = {
    CreateFailure.SERVICE_ACCOUNT: 'error looking up service account default/a: "a" not found',
    CreateFailure.PRIORITY_CLASS: 'no PriorityClass with name "a" was found',
    CreateFailure.RUNTIME_CLASS: 'pod rejected: RuntimeClass "a" not found',
    CreateFailure.QUOTA: "exceeded quota: team",
    CreateFailure.LIMIT_RANGE: "maximum cpu usage per Container is 1",
    CreateFailure.POD_SECURITY: 'violates PodSecurity "restricted:latest"',
    CreateFailure.WEBHOOK: 'admission webhook "a" denied the request',
    CreateFailure.NAMESPACE_TERMINATING: "unable to create new content in namespace default "
    "because it is being terminated",
    CreateFailure.OTHER: "something else",
}
EXPLAIN: Final = ("explain", "mnist")
STATUS: Final = ("status", "mnist")
PAUSED: Final = {contract.PAUSED: "true"}
SITUATIONS: Final[Mapping[str, Situation]] = {
    "preemption would help": Situation(lower_priority_runs, EXPLAIN),
    "a team's setting would help": Situation(borrower_runs, EXPLAIN),
    "paused, explained": Situation(lambda stage: queued(stage, **PAUSED), EXPLAIN),
    "paused": Situation(lambda stage: queued(stage, **PAUSED), STATUS),
    "paused, resumed twice": Situation(started, ("resume", "mnist")),
    "paused now": Situation(started, ("pause", "mnist")),
    "at its manual size": Situation(manual_size, EXPLAIN),
    "manual size": Situation(manual_size, STATUS),
    "outside its bounds": Situation(mnist, ("scale", "mnist", "worker=90")),
    "resized": Situation(mnist, ("scale", "mnist", "worker=6")),
    "never observed": Situation(queued, STATUS),
    "queued": Situation(lambda stage: queued(stage, **{contract.REASON: "QueueOrder"}), STATUS),
    "without a reconciler": Situation(no_reconciler, STATUS),
    "without a reconciler, queued": Situation(no_reconciler, ("queue",)),
    "without a reconciler, planned": Situation(no_reconciler, ("plan",)),
    "failed": Situation(ended("BackoffLimitExceeded"), STATUS),
    "a Job is gone": Situation(gone_chief, STATUS),
    "a pod is not ready": Situation(
        lambda stage: stage.create(pod(started(stage), 0, conditions=[])), STATUS
    ),
    "no image": Situation(waits(reason="ImagePullBackOff"), STATUS),
    "no ConfigMap": Situation(waits(reason="CreateContainerConfigError"), STATUS),
    "a pod failed": Situation(failed_pod, EXPLAIN),
    "one Job of several": Situation(mnist, ("delete", "mnist-worker", "-y")),
    "not elastic": Situation(lambda stage: stage.create(job("mnist")), STATUS),
    "exists": Situation(
        lambda stage: stage.create(job("mnist")), ("adopt", "mnist", "--framework", "none")
    ),
    "unknown": Situation(started, ("status", "mnst")),
    "doctor": Situation(broken, ("doctor",)),
    "doctor without a webhook": Situation(without_webhook, ("doctor",)),
    "doctor by Helm": Situation(by_helm, ("doctor",)),
    "upgrade by Helm": Situation(by_helm, ("upgrade",)),
    "uninstall by Helm": Situation(by_helm, ("uninstall", "-y")),
    "not installed": Situation(queued, ("doctor",)),
    "not in time": Situation(queued, ("status", "--for", "Running", "--timeout", "0")),
    **{
        f"refused by {failure}, {command[0]}": Situation(refused(text), command)
        for failure, text in REFUSALS.items()
        for command in (STATUS, EXPLAIN)
    },
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_suggested_commands_keep_the_users_flags(name: str) -> None:
    stage = Stage()
    situation = SITUATIONS[name]
    situation.set_up(stage)
    found = stage.run(*situation.command, *FLAGS)
    suggested = [*commands(found.out + found.err)]
    assert suggested, found
    for command, own in suggested:
        check(command, own=own)


def check(command: str, *, own: bool) -> None:
    if OFFLINE.match(command):
        return
    if command.startswith("helm "):
        assert command.endswith(" --kubeconfig k --kube-context prod --kube-as-user ann"), command
        return
    assert " --context prod --kubeconfig k" in command, command
    assert (" --as ann" in command) is own, command
    ours = command.startswith("kubectl edl ")
    assert (" --system-namespace ops" in command) is ours, command


def test_the_table_has_every_cause_of_a_refused_pod() -> None:
    assert {create_failure(text): failure for failure, text in REFUSALS.items()} == {
        failure: failure for failure in CreateFailure
    }


def test_a_shell_reads_a_suggested_option_as_one_word() -> None:
    assert Scope(namespace="a; reboot").flags == " -n 'a; reboot'"
    assert LabelOptions(job="a; reboot").flags == "--job 'a; reboot'"

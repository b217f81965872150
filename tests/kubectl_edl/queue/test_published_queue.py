"""Users with rights in one namespace only see the queue that the reconciler publishes there."""

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from edl import contract
from edl.forecast.estimate import Certainty
from edl.model import ObjectRef
from edl.visibility.namespace_queue import (
    CONFIG_MAP,
    KEY,
    NamespaceQueue,
    PublishedBlocker,
    PublishedBlockers,
    PublishedEstimate,
    PublishedJob,
    TeamCount,
    render,
)
from tests.kubectl_edl.cluster_wrappers import fenced, hidden, reading
from tests.kubectl_edl.stage import NOW, Stage, lease, mnist, node, role_manifests

if TYPE_CHECKING:
    from edl.writes import Json

SILENT = "the reconciler has published nothing for 83s"


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    for name in ("node-1", "node-2"):
        stage.create(node(name, cpu="8"))
    lease(stage)
    mnist(stage)
    stage.minutes_ago = 2
    for manifest in role_manifests("bert", "chief=1,ps=4,worker=3..12"):
        stage.put(manifest)
    return stage


def test_without_the_right_to_read_the_cluster_the_published_queue_is_shown(stage: Stage) -> None:
    publish(stage, "bert", position=4, ahead=(TeamCount(2, "vision"), TeamCount(1)))
    stage.wrapped = fenced("Node")
    found = stage.run("queue")
    assert found.code == 0
    assert found.out.splitlines()[1].split()[:2] == ["4", "bert"]
    assert "   vision+2,+1   ~30m   " in found.out
    assert "Insufficient CPU" in found.out
    assert found.err == (
        "hint: the queue is shown as the reconciler published it 40s ago (ConfigMap "
        'default/edl-queue): "ann" may not list Node (kubectl auth can-i …)\n'
    )


@pytest.mark.parametrize(
    ("estimate", "seconds_ago", "shown"),
    [
        (
            PublishedEstimate(Certainty.ABOUT, NOW - timedelta(seconds=50)),
            83,
            f"unknown: its estimated start has passed, and {SILENT}",
        ),
        (PublishedEstimate(Certainty.LATEST, NOW - timedelta(seconds=50)), 83, "unknown: its"),
        (
            PublishedEstimate(Certainty.NOW),
            83,
            f"unknown: it was to start, and {SILENT}",
        ),
        (
            PublishedEstimate(Certainty.LATER, NOW - timedelta(seconds=50)),
            83,
            "unknown: it was not",
        ),
        (PublishedEstimate(Certainty.ABOUT, NOW - timedelta(seconds=5)), 20, "in about 1s"),
        (PublishedEstimate(Certainty.NOW), 20, "now"),
    ],
)
def test_a_start_that_has_passed_is_not_promised_again(
    stage: Stage, estimate: PublishedEstimate, seconds_ago: int, shown: str
) -> None:
    """A student may not read the Lease, and the age alone says nothing of the reconciler."""
    publish(stage, "bert", position=1, estimate=estimate, seconds_ago=seconds_ago)
    fence, veil = fenced("Node"), hidden("Lease")
    stage.wrapped = lambda cluster: veil(fence(cluster))
    assert f"starts {shown}" in stage.run("status", "bert").out
    assert shown in " ".join(stage.run("explain", "bert").out.split())
    cell = shown.split(":", maxsplit=1)[0] if ":" in shown else {"now": "now"}.get(shown, "~1s")
    assert f"   {cell}   " in stage.run("queue").out


def test_an_estimate_that_has_passed_blames_no_reconciler_that_confirms_the_queue(
    stage: Stage,
) -> None:
    passed = PublishedEstimate(Certainty.ABOUT, NOW - timedelta(seconds=50))
    publish(stage, "bert", position=1, estimate=passed, seconds_ago=10)
    stage.wrapped = fenced("Node")
    assert "starts unknown: its estimated start has passed (as" in stage.run("status", "bert").out


def test_a_published_bound_is_shown_as_a_bound_and_never_rounded_up(stage: Stage) -> None:
    bound = PublishedEstimate(Certainty.LATER, NOW + timedelta(minutes=29))
    publish(stage, "bert", position=4, estimate=bound)
    stage.wrapped = fenced("Node")
    assert "   >25m   " in stage.run("queue").out
    (one,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert one["estimatedStart"] == {
        "certainty": "LaterThan",
        "time": "2026-11-21T12:29:00Z",
        "message": "it was not computed within the time limit",
    }
    text = " ".join(stage.run("explain", "bert").out.split())
    assert "in more than 25m, it was not computed within the time limit" in text


@pytest.mark.parametrize("words", [("queue",), ("explain", "bert")])
def test_a_published_queue_does_not_prove_a_running_reconciler(
    stage: Stage, words: tuple[str, ...]
) -> None:
    publish(stage, "bert", position=1)
    lease(stage, minutes_ago=1)
    stage.wrapped = fenced("Node")
    assert "no reconciler is running" in stage.run(*words).err


@pytest.mark.parametrize("words", [("queue",), ("explain", "bert"), ("plan",)])
def test_without_the_lease_it_is_said_that_the_age_of_the_queue_is_unconfirmed(
    stage: Stage, words: tuple[str, ...]
) -> None:
    """As with every other missing right: the command answers, and names the refusal."""
    publish(stage, "bert", position=1)
    fence, veil = fenced("Node"), hidden("Lease")
    stage.wrapped = lambda cluster: veil(fence(cluster))
    found = stage.run(*words)
    assert found.code == 0
    assert "bert" in found.out
    assert "no reconciler is running" not in found.err
    assert (
        "hint: whether a reconciler runs and the published queue is current is unknown: "
        '"ann" may not get Lease (kubectl auth can-i …)\n'
    ) in found.err


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("status", "bert"),
        ("pause", "bert"),
        ("scale", "mnist", "worker=3"),
        ("plan",),
        ("explain", "bert"),
        ("queue",),
        ("top",),
    ],
    ids=" ".join,
)
def test_no_command_needs_the_lease(stage: Stage, words: tuple[str, ...]) -> None:
    """An installation lets only cluster-wide viewers read it."""
    stage.wrapped = hidden("Lease")
    found = stage.run(*words)
    assert found.code == 0, found.err
    assert "no reconciler is running" not in found.err


def test_the_published_queue_has_its_age_and_counts_in_json(stage: Stage) -> None:
    publish(stage, "bert", position=2, ahead=(TeamCount(1, "vision"),))
    stage.wrapped = fenced("Node")
    (one,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert (one["position"], one["blockedBy"], one["observedTime"]) == (
        2,
        [],
        "2026-11-21T11:59:20Z",
    )
    assert one["blockedByTeam"] == [{"team": "vision", "jobs": 1}]
    assert one["estimatedStart"]["time"] == "2026-11-21T12:30:00Z"


@pytest.mark.parametrize(
    ("ahead", "place"),
    [
        ((TeamCount(2, "speech"),), 1),
        ((TeamCount(2, "vision"), TeamCount(5)), 3),
        ((TeamCount(2, "speech"), TeamCount(5)), None),
    ],
)
def test_the_position_in_the_team_needs_its_count(
    stage: Stage, ahead: tuple[TeamCount, ...], place: int | None
) -> None:
    publish(stage, "bert", position=8, ahead=ahead, team="vision")
    stage.wrapped = fenced("Node")
    (one,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert (one["team"], one["positionInTeam"], one["share"]) == ("vision", place, None)


def test_the_share_of_the_team_is_the_published_one(stage: Stage) -> None:
    publish(stage, "bert", position=1, team="vision", share=0.167)
    stage.wrapped = fenced("Node")
    (one,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert one["share"] == 0.167
    assert " 16.7% " in stage.run("queue", "-o", "wide").out


@pytest.mark.parametrize("published", [1000, None], ids=["now", "an earlier release"])
def test_a_priority_that_may_not_be_read_is_the_published_one(
    stage: Stage, published: int | None
) -> None:
    spec = {"template": {"spec": {"priorityClassName": "high"}}}
    for name in ("bert-chief", "bert-ps", "bert-worker"):
        stage.patch(name, {"spec": spec})
    publish(stage, "bert", position=1, priority=published)
    stage.wrapped = fenced("Node", "PriorityClass")
    hint = "hint: priorities of queued jobs are assumed to be 0"
    for words in (("queue",), ("status", "bert"), ("status",)):
        found = stage.run(*words, "-o", "json")
        shown = json.loads(found.out)
        of = {one["metadata"]["name"]: one["priority"] for one in shown.get("items", [shown])}
        assert of["bert"] == (published or 0)
        assert (hint in found.err) is (published is None)


@pytest.mark.parametrize(
    ("remediation", "fix"),
    [
        ("smaller pods, or a node with 6 CPU", "smaller pods, or a node with 6 CPU; see "),
        ("x" * 101, ""),
        ("", ""),
    ],
)
def test_the_fix_of_a_blocker_is_the_published_remedy_if_it_is_short(
    stage: Stage, remediation: str, fix: str
) -> None:
    notes = {contract.REASON: "NeverFits", contract.MESSAGE: "Insufficient cpu"}
    stage.patch("bert-chief", {"metadata": {"annotations": notes}})
    publish(stage, "bert", position=None, reason="NeverFits", remediation=remediation)
    (blocker,) = json.loads(stage.run("status", "bert", "-o", "json").out)["blockers"]
    assert blocker["remediation"] == f"{fix}kubectl edl explain bert -n default"


def test_an_exceeded_quota_has_its_published_usage_or_the_command_that_shows_it(
    stage: Stage,
) -> None:
    stored = 'exceeded ResourceQuota "compute", requested: cpu=8, limited: cpu=16'
    notes = {contract.REASON: "QuotaExceeded", contract.MESSAGE: stored}
    stage.patch("bert-chief", {"metadata": {"annotations": notes}})
    (blocker,) = json.loads(stage.run("status", "bert", "-o", "json").out)["blockers"]
    command = "kubectl edl explain bert -n default"
    assert blocker == {"message": stored, "remediation": f"{command} shows what is used"}
    exact = 'exceeded ResourceQuota "compute", requested: cpu=8, used: cpu=12, limited: cpu=16'
    cause = PublishedBlocker("QuotaExceeded", exact, "more")
    publish(stage, "bert", position=None, reason="QuotaExceeded", causes=(cause,))
    (blocker,) = json.loads(stage.run("status", "bert", "-o", "json").out)["blockers"]
    assert blocker == {"message": exact, "remediation": f"more; see {command}"}


def test_a_confirmed_queue_has_the_age_of_its_confirmation(stage: Stage) -> None:
    publish(stage, "bert", position=2, seconds_ago=3600)
    notes = {contract.QUEUE_AS_OF: "2026-11-21T11:59:55+00:00"}
    target = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
    stage.cluster.patch(target, {"metadata": {"annotations": notes}})
    stage.wrapped = fenced("Node")
    assert "published it 5s ago" in stage.run("queue").err


def test_a_job_that_is_not_published_yet_has_no_known_position(stage: Stage) -> None:
    publish(stage, "other", position=1)
    stage.wrapped = fenced("Node")
    assert stage.run("queue").out.splitlines()[1].split()[:2] == ["<unknown>", "bert"]


@pytest.mark.parametrize("text", ["", "{", '{"apiVersion": "edl.dev/v9"}', "[" * 100_000])
def test_an_invalid_published_queue_is_a_hint(stage: Stage, text: str) -> None:
    put_queue(stage, text)
    stage.wrapped = fenced("Node")
    found = stage.run("queue")
    assert found.out.splitlines()[1].split()[:2] == ["<unknown>", "bert"]
    assert "hint: ConfigMap default/edl-queue is not read: " in found.err


def test_published_text_has_no_control_characters(stage: Stage) -> None:
    steering = "\x1b[2J\x1b]0;owned\x07"
    ahead = (TeamCount(1, steering),)
    publish(stage, "bert", position=2, message=steering, ahead=ahead, team=steering)
    stage.wrapped = fenced("Node")
    for command in (("queue",), ("explain", "bert"), ("status", "bert")):
        assert "\x1b" not in stage.run(*command).out


def test_with_the_right_to_read_the_cluster_the_published_queue_is_not_read(stage: Stage) -> None:
    publish(stage, "bert", position=9)
    assert stage.run("queue").out.splitlines()[1].split()[:2] == ["1", "bert"]


def test_a_job_that_is_wrong_itself_does_not_wait_for_the_end_of_others(stage: Stage) -> None:
    wrong: Json = {"reason": "Invalid", "message": "no such class"}
    publish(stage, "bert", position=None, estimate=PublishedEstimate(Certainty.UNKNOWN), **wrong)
    assert "Queue:      starts unknown: no such class (as of 40s ago)\n" in (
        stage.run("status", "bert").out
    )


def test_a_job_that_waits_for_nodes_does_not_wait_for_the_end_of_others(stage: Stage) -> None:
    waits: Json = {"reason": "WaitingForNodes", "message": "waiting for nodes"}
    publish(stage, "bert", position=1, estimate=PublishedEstimate(Certainty.UNKNOWN), **waits)
    found = stage.run("status", "bert").out
    assert "starts unknown: waiting for nodes" in found
    assert "whose end is not known" not in found


def test_a_job_that_does_not_fit_an_empty_cluster_never_starts(stage: Stage) -> None:
    publish(stage, "bert", position=None, estimate=PublishedEstimate(Certainty.NEVER))
    assert (
        "Queue:      never starts with today's nodes and quotas: Insufficient CPU: needs 3 (as of"
    ) in stage.run("status", "bert").out


def test_a_running_job_has_the_published_team_and_nothing_else_of_the_queue(stage: Stage) -> None:
    publish(stage, "mnist", position=3, team="vision")
    read: list[ObjectRef] = []
    stage.wrapped = reading(read, contract.TEAMS_CONFIG_MAP)
    status = stage.run("status", "mnist")
    assert sum(one.kind == "Lease" for one in read) == 1
    stage.wrapped = fenced("Node")
    explained = stage.run("explain", "mnist")
    assert "Team:       vision (as of 40s ago)\n" in status.out
    assert "Team:        vision\n" in explained.out
    for found in (status, explained):
        assert "Queue:" not in found.out
        assert "published" not in found.err
    document = json.loads(stage.run("explain", "mnist", "-o", "json").out)
    assert (document["team"], document["observedTime"]) == ("vision", None)


@pytest.mark.parametrize(
    ("teams", "team"),
    [
        ("[{name: speech, namespaces: [default]}, {name: vision}]", "speech"),
        ("[{name: speech, namespaces: {matchLabels: {of: speech}}}]", "speech"),
        ("[{name: speech}]", "default"),
    ],
)
def test_a_running_job_has_the_team_that_its_namespace_has_now(
    stage: Stage, teams: str, team: str
) -> None:
    publish(stage, "mnist", position=3, team="vision", seconds_ago=5 * 86_400)
    metadata = {"name": contract.TEAMS_CONFIG_MAP, "namespace": contract.SYSTEM_NAMESPACE}
    data = {contract.TEAMS_KEY: f"teams: {teams}"}
    stage.create({"kind": "ConfigMap", "metadata": metadata, "data": data})
    stage.create({"kind": "Namespace", "metadata": {"name": "default", "labels": {"of": "speech"}}})
    read: list[ObjectRef] = []
    stage.wrapped = reading(read)
    assert f"Team:       {team}\n" in stage.run("status", "mnist").out
    assert [one.name for one in read if one.kind in {"ConfigMap", "Lease"}] == [
        contract.RECONCILER_LEASE,
        contract.TEAMS_CONFIG_MAP,
    ]
    assert f"Team:        {team}" in stage.run("explain", "mnist").out


def test_status_and_explain_show_the_published_queue(stage: Stage) -> None:
    publish(stage, "bert", position=3, ahead=(TeamCount(2, "vision"),), team="vision")
    stage.wrapped = fenced("Node")
    assert "Team:       vision (as of 40s ago)\n" in stage.run("status", "bert").out
    assert "Team:        vision\n" in stage.run("explain", "bert").out
    place = "position 3, behind 2 jobs of team vision"
    assert f"Queue:      {place}; starts in about 30m (as of 40s ago)\n" in (
        stage.run("status", "bert").out
    )
    explained = stage.run("explain", "bert")
    assert f"Queue:       {place}\n" in explained.out
    assert "Starts:      in about 30m\n" in explained.out
    assert explained.out.endswith(
        "Why bert does not start:\n"
        "  1. Insufficient CPU for 3 worker\n"
        "     would help: room for 3 more pods\n"
    )
    assert "as the reconciler published it 40s ago" in explained.err
    document = json.loads(stage.run("explain", "bert", "-o", "json").out)
    assert (document["complete"], document["position"]) == (False, 3)
    assert document["start"] == {
        "complete": True,
        "blockers": [
            {
                "type": "InsufficientResources",
                "message": "Insufficient CPU for 3 worker",
                "remediation": "room for 3 more pods",
            }
        ],
    }


def publish(
    stage: Stage,
    name: str,
    *,
    position: int | None,
    ahead: tuple[TeamCount, ...] = (),
    **changed: Any,  # noqa: ANN401 - fields of the job
) -> None:
    """The ConfigMap as the reconciler leaves it, with one job."""
    remediation = changed.pop("remediation", "room for 3 more pods")
    cause = PublishedBlocker("InsufficientResources", "Insufficient CPU for 3 worker", remediation)
    seconds_ago = changed.pop("seconds_ago", 40)
    team, share = changed.pop("team", ""), changed.pop("share", None)
    one = PublishedJob(
        name,
        changed.pop("reason", "InsufficientCapacity"),
        changed.pop("message", "Insufficient CPU: needs 3"),
        position,
        ahead,
        changed.pop("estimate", PublishedEstimate(Certainty.ABOUT, NOW + timedelta(minutes=30))),
        PublishedBlockers(complete=True, blockers=changed.pop("causes", (cause,))),
        changed.pop("priority", None),
    )
    moment = NOW - timedelta(seconds=seconds_ago)
    put_queue(stage, render(NamespaceQueue(moment, 1, (one,), team, share)))


def put_queue(stage: Stage, text: str) -> None:
    metadata = {"name": CONFIG_MAP, "namespace": stage.namespace}
    stage.create({"kind": "ConfigMap", "metadata": metadata, "data": {KEY: text}})

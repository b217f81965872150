from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import pytest
from msgspec import structs
from msgspec.structs import replace

from edl import contract, reasons
from edl.contract import CleanUp
from edl.feasibility.eligibility import Eligibility
from edl.job_state.phases import unready
from edl.kube.decode import job_facts, object_facts
from edl.kube.decode.object_facts import NamespaceFacts, OwnedObjectRef
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.jobs.training_jobs import jobs_of
from edl.model import (
    Assignment,
    ClusterState,
    Code,
    JobEnd,
    JobKey,
    ObjectRef,
    Reason,
    Restart,
    Topology,
    TrainingJob,
)
from edl.quantities import Resources
from edl.spec.job_spec import HELD_TTL
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.manifests import job, job_pod, member
from tests.edl.kube.whole_state import ManyFacts, observed
from tests.reasons import problem_of

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
MNIST = [member("chief"), member("ps"), member("worker")]


def snapshot(
    jobs: Sequence[Json] = (), pods: Sequence[Json] = (), **others: Sequence[Any]
) -> ManyFacts:
    shapes = ShapeInterner()
    nodes = others.get("nodes", [manifests.node("n1"), manifests.node("n2")])
    encode = msgspec.json.encode
    return ManyFacts(
        nodes=[object_facts.node(encode(body)) for body in nodes],
        pods=[object_facts.pod(encode(body), shapes) for body in pods],
        jobs=[job_facts.job(encode(body), shapes) for body in jobs],
        priorities=[object_facts.priority(encode(body)) for body in others.get("priorities", ())],
        namespaces=[object_facts.namespace(encode(body)) for body in others.get("namespaces", ())],
        owned_objects=[
            object_facts.owned_object(kind, encode(body)) for kind, body in others.get("tags", ())
        ],
    )


look = partial(observed, now=NOW)


def only(state: ClusterState) -> TrainingJob:
    (found,) = state.jobs
    return found


def test_a_node_is_filled_by_every_bound_pod_that_has_not_ended() -> None:
    pods = [
        manifests.pod("a", node="n1", phase="Running"),
        manifests.pod("b", node="n1", metadata={"deletionTimestamp": manifests.CREATED}),
        manifests.pod("c", node="n1", phase="Succeeded"),
        manifests.pod("d"),
    ]
    first, second = look(snapshot(pods=pods)).nodes
    assert first.used == Resources.of({"cpu": 2000, "pods": 2})
    assert first.releasing == Resources.of({"cpu": 1000, "pods": 1})
    assert second.used == Resources()


def test_a_role_asks_for_what_its_pods_really_ask_for() -> None:
    """A LimitRange adds requests to pods that their template does not have."""
    template = {"containers": [{"name": "main"}]}
    jobs = [job("sweep", labels={"edl.dev/framework": "none"}, pod=template, suspend=False)]
    pods = [job_pod("sweep-a", 0, "sweep", cpu="3", node="n1")]
    before, after = only(look(snapshot(jobs))), only(look(snapshot(jobs, pods)))
    assert before.roles[0].template.shape.requests == Resources.of({"pods": 1})
    assert after.roles[0].template.shape.requests == Resources.of({"cpu": 3000, "pods": 1})


@pytest.mark.parametrize(
    ("cores", "expected"),
    [
        (["1", "1", "6"], "1"),  # the newest was resized in place
        (["3", "1"], "1"),  # an older one was
        (["1", "3", "3"], "3"),  # a webhook has added to each pod for some time
        (["6", "3"], "3"),  # so it does to all
    ],
)
def test_a_pod_that_was_resized_in_place_does_not_tell_what_the_next_ones_ask_for(
    cores: list[str], expected: str
) -> None:
    jobs = [job("sweep", labels={"edl.dev/framework": "none"}, suspend=False)]
    pods = [
        job_pod(f"sweep-{index}", index, "sweep", cpu=cpu, node="n1", phase="Running")
        for index, cpu in enumerate(cores)
    ]
    for index, pod in enumerate(pods):
        pod["metadata"]["creationTimestamp"] = f"2025-12-31T20:0{index}:00Z"
    (role,) = only(look(snapshot(jobs, pods))).roles
    assert role.template.shape.requests.get("cpu") == 1000 * int(expected)


@pytest.mark.parametrize("state", ["suspended", "ended", "terminating"])
def test_pods_of_an_earlier_run_do_not_tell_what_the_next_ones_ask_for(state: str) -> None:
    """While a Job is suspended its containers' resources may change; completed items' pods stay."""
    ends = {"metadata": {"deletionTimestamp": manifests.CREATED}} if state == "terminating" else {}
    phase = "Succeeded" if state == "ended" else "Running"
    suspended = state == "suspended"
    pods = [job_pod("sweep-a", 0, "sweep", cpu="3", node="n1", phase=phase, **ends)]
    labels = {"edl.dev/framework": "none"}
    jobs = [job("sweep", labels=labels, suspend=suspended)]
    found = only(look(snapshot(jobs, pods))).roles[0].template.shape
    assert found.requests == Resources.of({"cpu": 1000, "pods": 1})


def test_pods_whose_template_names_a_node_may_use_that_node_only() -> None:
    """The API server binds them: kube-scheduler does not see that the node is full."""
    other = {"matchExpressions": [{"key": "absent", "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [other]}}
    affinity = {"affinity": {"nodeAffinity": required}}
    labels = {"edl.dev/framework": "none"}
    for spec, kept_off in (({}, False), (affinity, True)):
        template = {"nodeName": "n2", **spec}
        state = look(snapshot([job("sweep", labels=labels, pod=template, suspend=True)]))
        shape = only(state).roles[0].template.shape
        assert Eligibility(state.nodes).mask(shape).tolist() == [False, not kept_off]


def test_pending_pods_of_others_ask_together_by_shape_and_priority() -> None:
    pods = [
        manifests.pod("b"),
        manifests.pod("a"),
        manifests.pod("big", cpu="3"),
        manifests.pod("urgent", priority=9),
    ]
    demands = look(snapshot(pods=pods)).demands
    assert [(d.example, d.count, d.priority) for d in demands] == [
        ("web/urgent", 1, 9),
        ("web/a", 2, 0),
        ("web/big", 1, 0),
    ]


def test_pending_pods_of_others_ask_apart_if_their_class_preempts_no_pod() -> None:
    pods = [manifests.pod("a"), manifests.pod("b"), manifests.pod("c")]
    for pod, policy in zip(pods[1:], ("Never", "PreemptLowerPriority"), strict=True):
        pod["spec"]["preemptionPolicy"] = policy
    demands = look(snapshot(pods=pods)).demands
    assert [(d.example, d.count, d.preempts) for d in demands] == [
        ("web/a", 2, True),
        ("web/b", 1, False),
    ]


def test_jobs_of_one_name_form_one_training_job_in_the_casts_order() -> None:
    found = only(look(snapshot(reversed_jobs())))
    assert found.key == JobKey("web", "mnist")
    assert [role.name for role in found.roles] == ["chief", "ps", "worker"]
    assert [(role.spec.is_leader, role.spec.is_service) for role in found.roles] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    assert [(role.spec.min, role.spec.max) for role in found.roles] == [(1, 1), (1, 1), (1, 4)]
    assert (found.missing, problem_of(found), found.mode) == ((), "", "ps")
    assert found.queued_at == datetime(2026, 1, 1, tzinfo=UTC)


def reversed_jobs() -> list[Json]:
    return MNIST[::-1]


def test_a_role_without_its_job_is_missing() -> None:
    assert only(look(snapshot([member("chief"), member("worker")]))).missing == ("ps",)


def test_a_job_that_is_being_deleted_is_left_out() -> None:
    leaving = member("ps", metadata={"deletionTimestamp": manifests.CREATED})
    assert only(look(snapshot([member("chief"), leaving, member("worker")]))).missing == ("ps",)


def test_a_job_that_has_ended_decides_also_while_it_is_being_deleted() -> None:
    """`ttlSecondsAfterFinished: 0` leaves but a moment to see it."""
    gone = {"deletionTimestamp": manifests.CREATED}
    ended = member("chief", metadata=gone, conditions=["Complete"])
    found = only(look(snapshot([ended, running("ps"), running("worker")])))
    assert (found.roles[0].status.ending, found.missing) == (JobEnd.COMPLETE, ())
    anew = only(look(snapshot([ended, running("ps"), member("worker")])))
    assert anew.missing == ("chief",)
    assert look(snapshot([ended])).jobs == ()


@pytest.mark.parametrize(("seconds", "held"), [(None, 60), (HELD_TTL, 60), (60, None)])
def test_a_time_to_live_counts_from_the_end_of_all_jobs(
    seconds: int | None, held: int | None
) -> None:
    """The annotation says it, whether the webhook wrote it for the field, or the user alone."""
    noted = member("chief", notes={contract.TTL: "60"})
    noted["spec"] |= {} if seconds is None else {"ttlSecondsAfterFinished": seconds}
    found = only(look(snapshot([noted, member("ps"), member("worker")])))
    assert [role.spec.held_ttl for role in found.roles] == [held, None, None]


def test_a_job_alone_is_a_training_job_of_its_own_name() -> None:
    labels = {"edl.dev/framework": "none", "edl.dev/min": "1", "edl.dev/max": "3"}
    found = only(look(snapshot([job("items", labels=labels, completions=9)])))
    assert found.key == JobKey("web", "items")
    assert [
        (role.job, role.spec.min, role.spec.max, role.spec.indexed) for role in found.roles
    ] == [("items", 1, 3, False)]


def test_pods_come_with_the_role_that_owns_them_by_index() -> None:
    pods = [job_pod(f"mnist-worker-{index}", index, "mnist-worker") for index in (2, 0, 1)]
    state = look(snapshot(MNIST, pods))
    assert [pod.index for pod in only(state).roles[2].status.pods] == [0, 1, 2]
    assert state.demands == ()


def test_a_pod_in_another_namespace_with_a_jobs_uid_is_foreign() -> None:
    """Whoever knows a Job's uid can write it on a pod of any namespace."""
    mine = job_pod("mnist-worker-0", 0, "mnist-worker")
    forged = job_pod("mnist-worker-1", 1, "mnist-worker")
    forged["metadata"]["namespace"] = "strangers"
    found = only(look(snapshot(MNIST, [mine, forged])))
    assert found == only(look(snapshot(MNIST, [mine])))
    assert [pod.name for pod in found.roles[2].status.pods] == ["mnist-worker-0"]


def test_sizes_times_and_reasons_are_read_from_the_job() -> None:
    notes = {
        "edl.dev/replicas": "3",
        "edl.dev/paused": "true",
        "edl.dev/resized-at": "2026-01-01T00:10:00Z",
        "edl.dev/started-at": "2026-01-01T00:05:00Z",
        "edl.dev/reason": "Reclaimed",
        "edl.dev/message": "room for others",
        "edl.dev/last-change": '{"code":"Reclaimed","restart":"Stopped"}',
    }
    worker = member("worker", notes=notes, parallelism=2, completions=2, suspend=False)
    found = only(look(snapshot([member("chief"), member("ps"), worker])))
    role = found.roles[2]
    assert (role.status.size, role.status.suspended, role.request.replicas) == (2, False, 3)
    assert role.record.resized_at == datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
    assert (role.record.reason, role.record.message) == (Code.RECLAIMED, "room for others")
    assert role.record.last == Reason(Code.RECLAIMED, restart=Restart.STOPPED)
    assert found.paused
    assert found.started_at == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


def test_a_start_that_is_still_to_come_was_written_by_a_wrong_clock() -> None:
    worker = member("worker", notes={"edl.dev/started-at": "2026-01-02T00:00:00Z"}, suspend=False)
    found = only(look(snapshot([member("chief"), member("ps"), worker])))
    assert found.started_at
    assert found.started_at < NOW


def test_a_manual_size_that_makes_no_sense_is_ignored_with_a_reason() -> None:
    worker = member("worker", notes={"edl.dev/replicas": "many"})
    found = only(look(snapshot([member("chief"), member("ps"), worker])))
    assert problem_of(found) == ""
    assert found.roles[2].request.replicas is None
    assert 'edl.dev/replicas]: "many"' in found.roles[2].request.problem


def test_a_wish_that_makes_no_sense_hides_nothing_that_was_written() -> None:
    """Why a job waits would be written, and told by an Event, in every round anew."""
    told = {"edl.dev/reason": "NeverFits", "edl.dev/message": "no room"}
    worker = member("worker", notes={"edl.dev/replicas": "many"} | told)
    role = only(look(snapshot([member("chief"), member("ps"), worker]))).roles[2]
    assert (role.record.reason, role.record.message) == (Code.NEVER_FITS, "no room")


@pytest.mark.parametrize(
    ("condition", "ending"),
    [
        ("Complete", JobEnd.COMPLETE),
        ("SuccessCriteriaMet", JobEnd.COMPLETE),
        ("Failed", JobEnd.FAILED),
        ("FailureTarget", JobEnd.FAILED),
        ("Suspended", None),
    ],
)
def test_a_job_has_ended_as_soon_as_that_is_certain(condition: str, ending: JobEnd | None) -> None:
    chief = member("chief", conditions=[condition])
    assert only(look(snapshot([chief, *MNIST[1:]]))).roles[0].status.ending is ending


@pytest.mark.parametrize(
    ("conditions", "spec", "wedged"),
    [
        (["Suspended", "SuccessCriteriaMet"], {}, True),
        (["Suspended", "FailureTarget"], {}, True),
        (["Suspended", "SuccessCriteriaMet"], {"suspend": False}, False),
        (["Suspended", "SuccessCriteriaMet", "Complete"], {}, False),
        (["Suspended"], {}, False),
    ],
)
def test_a_suspended_job_cannot_be_finished(
    conditions: list[str], spec: dict[str, object], *, wedged: bool
) -> None:
    chief = member("chief", conditions=conditions, **spec)
    assert only(look(snapshot([chief, *MNIST[1:]]))).roles[0].status.end_unrecorded is wedged


def test_a_job_with_a_start_time_will_be_finished() -> None:
    chief = member("chief", conditions=["SuccessCriteriaMet"])
    chief["status"]["startTime"] = "2026-01-01T00:00:00Z"
    assert not only(look(snapshot([chief, *MNIST[1:]]))).roles[0].status.end_unrecorded


def test_the_priority_is_the_highest_of_the_roles() -> None:
    classes = [
        {"metadata": manifests.metadata("low"), "value": 5, "globalDefault": True},
        {"metadata": manifests.metadata("high"), "value": 100},
    ]
    high = member("worker", pod={"priorityClassName": "high"})
    assert only(look(snapshot(MNIST, priorities=classes))).priority == 5
    assert only(look(snapshot([*MNIST[:2], high], priorities=classes))).priority == 100
    assert only(look(snapshot(MNIST))).priority == 0


def test_a_job_preempts_unless_the_class_of_a_role_forbids_it() -> None:
    classes: list[Json] = [
        {"metadata": manifests.metadata("spares"), "value": 9, "preemptionPolicy": "Never"},
        {"metadata": manifests.metadata("high"), "preemptionPolicy": "PreemptLowerPriority"},
    ]

    def preempts(name: str, **of: Any) -> bool:  # noqa: ANN401
        worker = member("worker", pod={"priorityClassName": name} if name else {})
        given = [one | of for one in classes]
        return only(look(snapshot([*MNIST[:2], worker], priorities=given))).preempts

    assert (preempts("high"), preempts("spares"), preempts("")) == (True, False, True)
    assert not preempts("", globalDefault=True)


def test_a_job_whose_class_was_deleted_preempts_as_its_pods_do() -> None:
    deleted = {"pod": {"priorityClassName": "deleted"}}
    jobs = [running("chief", **deleted), running("ps"), running("worker")]
    for policy, preempts in (("Never", False), ("PreemptLowerPriority", True)):
        found = job_pod("p0", 0, "mnist-chief", node="n1")
        found["spec"]["preemptionPolicy"] = policy
        assert only(look(snapshot(jobs, [found]))).preempts is preempts


def test_a_priority_class_that_is_missing_is_to_be_created() -> None:
    all_roles = [member(role, pod={"priorityClassName": "x"}) for role in ("chief", "ps", "worker")]
    found = only(look(snapshot(all_roles)))
    assert problem_of(found) == (
        'PriorityClass "x" does not exist: '
        "create it (kubectl create priorityclass x --value=VALUE), "
        "or recreate the Jobs with another"
    )


def test_a_missing_priority_class_that_its_namespace_gives_names_the_annotation() -> None:
    giving = {"metadata": {"name": "web", "annotations": {contract.DEFAULT_PRIORITY: "x"}}}
    given = [member(role, pod={"priorityClassName": "x"}) for role in ("chief", "ps", "worker")]
    assert problem_of(only(look(snapshot(given, namespaces=[giving])))) == (
        'PriorityClass "x" does not exist, which is the edl.dev/default-priority of namespace '
        '"web": create it (kubectl create priorityclass x --value=VALUE), or recreate the Jobs '
        "with a priorityClassName, or after a correction of that annotation"
    )


def test_the_clean_up_is_the_deciding_roles() -> None:
    chief = member("chief", notes={"edl.dev/clean-up": "None"})
    assert only(look(snapshot([chief, *MNIST[1:]]))).clean_up is CleanUp.NONE
    assert only(look(snapshot(MNIST))).clean_up is CleanUp.RUNNING


def test_what_stands_around_a_job_is_known_by_its_label() -> None:
    ours = {"metadata": manifests.metadata("mnist", "web", labels={"edl.dev/job": "mnist"})}
    others = {"metadata": manifests.metadata("x", "web", labels={"edl.dev/job": "other"})}
    tags = [("Service", ours), ("PodDisruptionBudget", others)]
    found = only(look(snapshot(MNIST, tags=tags)))
    assert set(found.existing_dependents) == {ObjectRef("Service", "web", "mnist")}
    assert problem_of(found) == ""


def test_a_job_that_no_webhook_completed_is_a_problem() -> None:
    """Its pods would not find each other, and the API server would refuse each new size."""
    raw = member("worker", suspend=False, completionMode="NonIndexed")
    del raw["metadata"]["annotations"][contract.INJECTED_MAX]
    found = only(look(snapshot([member("chief"), member("ps"), raw])))
    assert problem_of(found) == (
        "mnist-worker was created while no webhook completed it: "
        "once one runs, recreate it: kubectl edl adopt mnist-worker -n web --recreate"
    )
    raw["metadata"]["ownerReferences"] = [{"kind": "CronJob", "name": "daily", "controller": True}]
    found = only(look(snapshot([member("chief"), member("ps"), raw])))
    assert problem_of(found).endswith(": once one runs, delete it")
    del raw["metadata"]["ownerReferences"]
    raw["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert problem_of(only(look(snapshot([member("chief"), member("ps"), raw])))) == ""


def torch(name: str) -> Json:
    labels = {contract.FRAMEWORK: "pytorch", contract.MIN: "2", contract.MAX: "4"}
    return job(name, labels=labels)


@pytest.mark.parametrize(
    ("waits", "service", "owner", "problem"),
    [
        ("train", "train-0", "train-0", "is that of the training job train-0, and its name"),
        ("train-0", "train-0", "train", "is that of the training job train, and its name"),
        ("train", "train-0", "", 'the Service "train-0" is not ours'),
        ("train", "train-0", "train", ""),
        ("train-0", "train-0", "train-0", ""),
        ("train", "train-1", "train-1", ""),
    ],
)
def test_train_and_train_0_do_not_take_each_others_service(
    waits: str, service: str, owner: str, problem: str
) -> None:
    tag = manifests.metadata(service, "web", labels={contract.JOB: owner} if owner else {})
    found = problem_of(only(look(snapshot([torch(waits)], tags=[("Service", {"metadata": tag})]))))
    assert problem in found
    assert bool(problem) == bool(found)


def test_a_foreign_service_with_the_jobs_name_is_a_problem() -> None:
    tags = [("Service", {"metadata": manifests.metadata("mnist", "web")})]
    assert 'the Service "mnist" is not ours' in problem_of(only(look(snapshot(MNIST, tags=tags))))


@pytest.mark.parametrize(
    ("jobs", "problem"),
    [
        (
            [member("chief"), member("ps", notes={"edl.dev/roles": "chief=1,ps=2"})],
            (
                "its Jobs disagree on edl.dev/roles: chief=1,ps=1,worker=1..4 on mnist-chief; "
                "chief=1,ps=2 on mnist-ps: recreate them with the same"
            ),
        ),
        (
            [
                job("m", labels={"edl.dev/framework": "pytorch", "edl.dev/job": "m"}),
                job(
                    "copy",
                    labels={"edl.dev/framework": "pytorch", "edl.dev/job": "m", "edl.dev/max": "9"},
                ),
            ],
            "several Jobs are its worker: copy, m; delete all but one",
        ),
        ([member("worker", pod={"priorityClassName": "x"})], 'PriorityClass "x" does not exist'),
        (
            [job("bad", labels={"edl.dev/framework": "caffe"})],
            'metadata.labels[edl.dev/framework]: unknown "caffe"',
        ),
    ],
)
def test_what_cannot_be_planned_says_why(jobs: list[Json], problem: str) -> None:
    assert problem in problem_of(only(look(snapshot(jobs))))


def test_launchers_exec_only_where_the_namespace_lets_them() -> None:
    notes = {"edl.dev/roles": "launcher=1,worker=1..2"}
    labels = {"edl.dev/framework": "horovod", "edl.dev/job": "h"}
    jobs = [
        job(f"h-{role}", labels=labels | {"edl.dev/role": role}, notes=notes)
        for role in ("launcher", "worker")
    ]
    asked = {"metadata": manifests.metadata("web", labels={"edl.dev/kubexec": "enabled"})}
    assert "kubectl label namespace web edl.dev/kubexec" in problem_of(only(look(snapshot(jobs))))
    assert problem_of(only(look(snapshot(jobs, namespaces=[asked])))) == ""


def test_the_order_of_objects_does_not_matter() -> None:
    pods = [job_pod(f"p{index}", index, "mnist-worker", node="n1") for index in range(3)]
    pods += [manifests.pod("a"), manifests.pod("b", priority=3)]
    forwards = snapshot(MNIST, pods)
    backwards = snapshot(MNIST[::-1], pods[::-1], nodes=[manifests.node("n2"), manifests.node()])
    assert look(forwards) == look(backwards)


def test_pods_of_a_deleted_job_of_ours_ask_for_nothing() -> None:
    """Its last event comes before those of its pods."""
    labels = {"labels": {"edl.dev/framework": "tensorflow"}}
    ours = job_pod("mnist-worker-3", 3, "mnist-worker", metadata=labels)
    assert look(snapshot(pods=[ours])).demands == ()
    assert [found.count for found in look(snapshot(pods=[job_pod("x", 0, "x")])).demands] == [1]


def running(role: str, **spec: Any) -> Json:  # noqa: ANN401
    return member(role, suspend=False, **spec)


def test_a_job_that_runs_goes_on_without_what_only_its_start_needed() -> None:
    """It must still shrink, end, and be paused."""
    urgent = {"pod": {"priorityClassName": "deleted"}}
    jobs = [running("chief", **urgent), running("ps", **urgent), running("worker", **urgent)]
    pods = [job_pod("p0", 0, "mnist-chief", node="n1", priority=7)]
    stranger = [("Service", {"metadata": manifests.metadata("mnist", "web")})]
    found = only(look(snapshot(jobs, pods, tags=stranger)))
    assert (problem_of(found), found.priority) == ("", 7)
    waits = only(look(snapshot([member(role, **urgent) for role in ("chief", "ps", "worker")])))
    assert 'PriorityClass "deleted" does not exist' in problem_of(waits)


def test_a_job_that_cannot_be_read_hides_no_other() -> None:
    good = job("items", labels={"edl.dev/framework": "none"})
    found = snapshot([*MNIST, good])
    odd = [
        structs.replace(fact, spec=replace(fact.spec, framework="caffe"))
        if fact.spec and fact.key.name == "mnist"
        else fact
        for fact in found.jobs
    ]
    items, mnist = look(structs.replace(found, jobs=odd)).jobs
    assert (problem_of(items), problem_of(mnist)) == ("", "it cannot be read: KeyError: 'caffe'")
    deleted = NamespaceFacts("web", terminating=True)
    _, mnist = look(structs.replace(found, jobs=odd, namespaces=[deleted])).jobs
    assert unready(mnist) == reasons.NAMESPACE_TERMINATING


def test_jobs_that_cannot_be_compared_hide_no_other() -> None:
    """A Job that has not started is compared with those that have."""
    started, new = running("ps"), member("worker")
    found = snapshot([started, new, job("items", labels={"edl.dev/framework": "none"})])
    ps, worker, items = found.jobs
    assert worker.spec
    unreadable: Any = None
    odd = structs.replace(worker, spec=replace(worker.spec, all_roles=unreadable))
    two, mnist = look(structs.replace(found, jobs=[ps, odd, items])).jobs
    assert problem_of(two) == ""
    assert problem_of(mnist).startswith("it cannot be read: ")


@pytest.mark.parametrize(
    ("limit", "raised", "retries"),
    [(24, "", 24), (27, "27", 24), (27, "", 0), (28, "27", 0), (3, "", 0), (0, "", 0)],
)
def test_only_a_limit_that_is_ours_is_known_as_such(limit: int, raised: str, retries: int) -> None:
    notes = {contract.INJECTED_MAX: "4", contract.RAISED_LIMIT: raised}
    body = member("chief", notes=notes, backoffLimit=limit)
    (role,) = only(look(snapshot([body]))).roles
    assert (role.spec.backoff_limit, role.spec.retries) == (limit, retries)


def test_a_limit_of_the_user_of_pods_that_never_restart_is_not_ours() -> None:
    notes = {contract.INJECTED_MAX: "4", contract.RESTART: "Never"}
    body = member("chief", notes=notes, backoffLimit=24)
    body["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    (role,) = only(look(snapshot([body]))).roles
    assert (role.spec.backoff_limit, role.spec.retries) == (24, 0)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [({}, 30), ({"terminationGracePeriodSeconds": 600}, 600)]
    + [({"terminationGracePeriodSeconds": more}, 86_400) for more in (86_401, 2**63 - 1)]
    + [({"terminationGracePeriodSeconds": less}, 0) for less in (0, -1)],
)
def test_the_grace_period_of_pods_is_known_up_to_a_day(given: dict[str, int], seconds: int) -> None:
    body = member("chief")
    body["spec"]["template"]["spec"] |= given
    (role,) = only(look(snapshot([body]))).roles
    assert role.template.grace_period == timedelta(seconds=seconds)


@pytest.mark.parametrize(("noted", "retries"), [("40", 24), ("41", 0), ("", 0)])
def test_a_limit_that_was_raised_for_restarts_is_still_ours(noted: str, retries: int) -> None:
    """The pods that were restarted may be gone by then."""
    notes = {contract.INJECTED_MAX: "4", contract.RAISED_LIMIT: noted}
    (role,) = only(look(snapshot([member("chief", notes=notes, backoffLimit=40)]))).roles
    assert role.spec.retries == retries
    assert role.template.restarts_in_place


@pytest.mark.parametrize(
    "notes",
    [
        {contract.FAILURES_AT_START: "9" * 5_000},
        {contract.INJECTED_MAX: "9" * 5_000},
        {contract.SCALING: f"2026-01-01T00:00:00Z {'9' * 5_000} 3"},
    ],
)
def test_a_number_of_any_length_keeps_no_job_out_of_the_plan(notes: dict[str, str]) -> None:
    roles = {contract.ROLES: "scheduler=1,server=1,worker=1..4"}
    labels = {contract.FRAMEWORK: "mxnet", contract.JOB: "mnist", contract.ROLE: "worker"}
    found = only(look(snapshot([job("mnist-worker", labels=labels, notes=roles | notes)])))
    (role,) = found.roles
    assert "cannot be read" not in problem_of(found)
    assert (role.has_new_failures, role.spec.retries, role.request.scaling) == (False, 0, None)


def test_jobs_that_disagree_in_many_ways_are_counted() -> None:
    jobs = [
        member(name, notes={"edl.dev/roles": f"chief=1,ps=1,worker=1..{size},evaluator=1"})
        for size, name in enumerate(("chief", "ps", "worker", "evaluator"), 2)
    ]
    found = problem_of(only(look(snapshot(jobs))))
    assert found.endswith("evaluator=1 on mnist-worker and 1 more: recreate them with the same")


@pytest.mark.parametrize(("name", "values"), [("mode", ["ssh", ""]), ("port", ["22", "23"])])
def test_jobs_that_disagree_on_how_they_meet_do_not_start(name: str, values: list[str]) -> None:
    notes = {"edl.dev/roles": "launcher=1,worker=1..2"}
    labels = {"edl.dev/framework": "horovod", "edl.dev/job": "h"}
    mode = {"edl.dev/mode": "ssh"} if name == "port" else {}
    jobs = [
        job(
            f"h-{role}",
            labels=labels | {"edl.dev/role": role},
            notes=notes | mode | ({f"edl.dev/{name}": value} if value else {}),
        )
        for role, value in zip(("launcher", "worker"), values, strict=True)
    ]
    assert f"its Jobs disagree on edl.dev/{name}" in problem_of(only(look(snapshot(jobs))))
    both = [*jobs[:1], jobs[1] | {"metadata": jobs[1]["metadata"] | {"annotations": {}}}]
    both[1]["metadata"]["annotations"] = jobs[0]["metadata"]["annotations"]
    assert "disagree" not in problem_of(only(look(snapshot(both))))
    jobs[1]["metadata"]["annotations"]["edl.dev/started-at"] = "2026-01-01T00:10:00Z"
    assert "disagree" not in problem_of(only(look(snapshot(jobs)))), "it has trained so"


def test_a_role_that_is_created_anew_does_not_start_without_those_that_have_ended() -> None:
    ended = {"conditions": ["Complete"], "suspend": False}
    servers = member("ps", **ended)
    servers["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-01T00:10:00Z"
    late = member("chief")
    late["metadata"]["creationTimestamp"] = "2026-01-01T00:20:00Z"
    found = only(look(snapshot([late, servers, member("worker")])))
    assert "mnist-ps has ended before others were recreated: delete it" in problem_of(found)
    assert problem_of(only(look(snapshot([member("chief"), servers, running("worker")])))) == ""
    late["metadata"]["annotations"]["edl.dev/started-at"] = "2026-01-01T00:21:00Z"
    assert problem_of(only(look(snapshot([late, servers, member("worker")])))) == "", "it ran so"


def test_shapes_of_jobs_that_are_gone_are_not_kept_for_ever() -> None:
    shapes, rule = ShapeInterner(most=8), {"topologyKey": "zone", "labelSelector": {}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}
    spec = {"containers": [], "affinity": {"podAntiAffinity": required}}
    for number in range(30):
        shapes.of_json(spec, identity=shapes.identity("lab", {"job": str(number)}))
    assert 0 < len(shapes) <= 8


def test_a_role_is_gated_as_its_template_says_and_keeps_the_nodes_of_its_plan() -> None:
    gate = {"schedulingGates": [{"name": contract.PLACEMENT_GATE}]}
    other = {"schedulingGates": [{"name": contract.HOSTS_GATE}]}
    notes = {contract.ASSIGNED_NODES: "2:n1*2,n2"}
    members = [
        member("chief", pod=other, notes={contract.ASSIGNED_NODES: "0:n1*x"}),
        member("ps"),
        member("worker", pod=gate, notes=notes),
    ]
    roles = only(look(snapshot(members))).roles
    assert [role.template.gated for role in roles] == [False, False, True]
    assert [role.record.assigned for role in roles] == [
        Assignment(),
        Assignment(),
        Assignment(2, ("n1", "n1", "n2")),
    ]


def test_a_topology_counts_where_the_pods_wait_for_their_nodes() -> None:
    gate = {"schedulingGates": [{"name": contract.PLACEMENT_GATE}]}
    notes = {contract.REQUIRED_TOPOLOGY: "worker=rack"}
    gated = only(look(snapshot([member("ps", pod=gate), member("worker", pod=gate, notes=notes)])))
    assert gated.topology == Topology(required=(("worker", "rack"),))
    late = only(look(snapshot([member("ps"), member("worker", notes=notes)])))
    assert not late.topology
    assert [bool(role.request.problem) for role in late.roles] == [False, True]


def test_jobs_that_disagree_on_their_topology_do_not_start() -> None:
    members = [
        member(role, notes={contract.PREFERRED_TOPOLOGY: text})
        for role, text in (("ps", "rack"), ("worker", "zone"))
    ]
    assert "its Jobs disagree on edl.dev/required-topology" in problem_of(
        only(look(snapshot(members)))
    )
    members[1] = member("worker")
    assert "disagree" not in problem_of(only(look(snapshot(members))))


def test_a_service_without_a_label_belongs_to_no_training_job_without_a_name() -> None:
    """A namespace may have thousands of them."""
    stranger = OwnedObjectRef("Service", "web", "shop", "")
    assert list(jobs_of(stranger)) == [JobKey("web", "shop")]


def test_a_long_spec_is_read_and_not_kept() -> None:
    """Any user may write a megabyte of affinity, another one on each pod."""
    shapes, nodes = ShapeInterner(), [f"node-{number:05}" for number in range(2_000)]
    term = {"matchExpressions": [{"key": "host", "operator": "In", "values": nodes}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    spec = {"containers": [], "affinity": {"nodeAffinity": required}}
    found = shapes.of_json(spec)
    assert found == shapes.of_json(spec)
    assert len(found.affinity[0][0].values) == 2_000
    assert len(shapes) == 0

from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import chain
from threading import Barrier, Event, current_thread
from typing import TYPE_CHECKING, cast

import pytest

from edl import contract
from edl.errors import Forbidden, Unreachable
from edl.kube.cluster import ListOptions, Log, LogRequest, PluginCluster, RawList
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.completion_main import answer
from kubectl_edl.logs.follow_logs import MAX_LOGS, FollowedPods, Follower, Output
from kubectl_edl.logs.log_targets import LogTarget
from kubectl_edl.logs.read_logs import elastic_pods
from kubectl_edl.main import run
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.stage import Stage, job, mnist, pod, role_manifests

if TYPE_CHECKING:
    import io
    from threading import Thread


def target(name: str) -> ObjectRef:
    return ObjectRef("Pod", "default", name)


def write(stage: Stage, name: str, *texts: str, previous: bool = False) -> None:
    """Lines of the pod's only container, one a second."""
    lines = [f"2026-11-21T11:59:{at:02}.000000000Z {text}" for at, text in enumerate(texts)]
    stage.cluster.logs.write(target(name), "main", *lines, previous=previous)


@pytest.fixture
def stage() -> Stage:
    """The chief, two ps and three of four workers have said something."""
    stage = Stage()
    mnist(stage)
    write(stage, "mnist-chief-0-x0", "step 1", "step 2")
    for index in range(2):
        write(stage, f"mnist-ps-{index}-x{index}", "serving")
    for index in range(3):
        write(stage, f"mnist-worker-{index}-x{index}", f"I am {index}", "  indented", "bye")
    return stage


def started(stage: Stage, name: str, **status: object) -> None:
    stage.patch(name, {"status": {"phase": "Running"} | status}, kind="Pod")


def status_of_main(**fields: object) -> Json:
    return {"containerStatuses": [{"name": "main"} | fields]}


def test_lines_of_all_roles_are_printed_in_order_with_their_pod(stage: Stage) -> None:
    found = stage.run("logs", "mnist", "--tail", "1")
    assert found.code == 0
    assert found.out.splitlines() == [
        "[chief-0] step 2",
        "[ps-0] serving",
        "[ps-1] serving",
        "[worker-0] bye",
        "[worker-1] bye",
        "[worker-2] bye",
    ]
    assert found.err == "hint: worker-3 has no log yet: it is Pending\n"


def test_a_pod_with_a_malformed_index_hides_no_other(stage: Stage) -> None:
    index = {contract.COMPLETION_INDEX_ANNOTATION: "9" * 5_000}
    stage.patch("mnist-worker-0-x0", {"metadata": {"annotations": index}}, kind="Pod")
    found = stage.run("logs", "mnist", "--role", "worker", "--no-prefix")
    assert "I am 1" in found.out


def test_a_role_and_an_index_choose_one_pod(stage: Stage) -> None:
    found = stage.run("logs", "mnist", "--role", "worker", "--index", "1", "--no-prefix")
    assert (found.code, found.err) == (0, "")
    assert found.out == "I am 1\n  indented\nbye\n"


def test_the_name_of_a_job_selects_its_role(stage: Stage) -> None:
    found = stage.run("logs", "mnist-ps")
    assert found.out == "[ps-0] serving\n[ps-1] serving\n"
    assert stage.run("logs", "job/mnist-chief").out.startswith("[chief-0] step 1\n")
    assert stage.run("logs", "jobs/mnist-ps").out == found.out
    assert stage.run("logs", "job.batch/mnist-ps").out == found.out


def test_timestamps_are_printed_on_request(stage: Stage) -> None:
    found = stage.run("logs", "mnist-chief", "--timestamps", "--since", "61s")
    assert found.out.splitlines() == [
        "[chief-0] 2026-11-21T11:59:00.000000000Z step 1",
        "[chief-0] 2026-11-21T11:59:01.000000000Z step 2",
    ]


@pytest.mark.parametrize(
    ("since", "lines"), [("58s", 0), ("59s", 1), ("1m", 2), ("1h1m", 2), ("0h1m1s", 2)]
)
def test_since_counts_back_from_now(since: str, lines: int) -> None:
    stage = Stage(minutes_ago=0)
    mnist(stage)
    write(stage, "mnist-chief-0-x0", "step 1", "step 2")
    found = stage.run("logs", "mnist-chief", "--since", since)
    assert (found.code, len(found.out.splitlines())) == (0, lines)


def test_a_container_that_was_restarted_has_a_previous_log(stage: Stage) -> None:
    write(stage, "mnist-chief-0-x0", "it broke", previous=True)
    found = stage.run("logs", "mnist-chief", "-p")
    assert found.out == "[chief-0] it broke\n"
    refused = stage.run("logs", "mnist-worker", "--index", "0", "--previous")
    assert refused.code == 1
    assert refused.err == (
        'error: worker-0 has no log: previous terminated container "main" in pod '
        '"mnist-worker-0-x0" not found\n'
    )


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (
            {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/4 nodes are available",
                    }
                ]
            },
            "Unschedulable: 0/4 nodes are available",
        ),
        (
            status_of_main(state={"waiting": {"reason": "ErrImagePull", "message": "no train"}}),
            "ErrImagePull: no train",
        ),
        (status_of_main(state={"waiting": {}}), "it is waiting to start"),
    ],
)
def test_a_pod_without_a_log_is_a_hint_with_the_reason(
    stage: Stage, status: Json, why: str
) -> None:
    stage.patch("mnist-worker-3-x3", {"status": status}, kind="Pod")
    found = stage.run("logs", "mnist", "--role", "worker", "--index", "3")
    assert (found.code, found.out) == (1, "")
    assert found.err == f"error: worker-3 has no log yet: {why}\n"


def test_a_gated_launcher_is_named() -> None:
    stage = Stage()
    manifests = role_manifests("hvd", "launcher=1,worker=1..3")
    for manifest in manifests:
        manifest["metadata"]["labels"][contract.FRAMEWORK] = "horovod"
    launcher, _ = (stage.put(manifest, suspend=False) for manifest in manifests)
    waiting = pod(launcher, 0, "", phase="Pending", conditions=[])
    waiting["spec"]["schedulingGates"] = [{"name": contract.HOSTS_GATE}]
    stage.create(waiting)
    found = stage.run("logs", "hvd")
    assert found.err == "error: launcher-0 has no log yet: it waits behind a scheduling gate\n"


def test_a_container_in_a_crash_loop_still_has_its_last_log(stage: Stage) -> None:
    crashed = status_of_main(
        state={"waiting": {"reason": "CrashLoopBackOff"}},
        lastState={"terminated": {"exitCode": 1}},
        restartCount=3,
    )
    stage.patch("mnist-chief-0-x0", {"status": crashed}, kind="Pod")
    assert stage.run("logs", "mnist-chief").out == "[chief-0] step 1\n[chief-0] step 2\n"


def test_a_job_without_pods_is_refused_with_its_phase() -> None:
    stage = Stage()
    for manifest in role_manifests():
        stage.put(manifest)
    reason = {
        "metadata": {
            "annotations": {
                contract.REASON: "InsufficientCapacity",
                contract.MESSAGE: "insufficient CPU",
            }
        }
    }
    stage.patch("mnist-worker", reason)
    found = stage.run("logs", "mnist")
    assert (found.code, found.out) == (1, "")
    assert found.err == "error: mnist has no pods: it is Queued: insufficient CPU\n"
    of_role = stage.run("logs", "mnist", "--role", "ps").err
    assert of_role.startswith("error: mnist has no pods of ps: it is Queued")


def test_an_unknown_index_does_not_mention_the_phase(stage: Stage) -> None:
    found = stage.run("logs", "mnist", "--role", "worker", "--index", "77")
    assert (found.code, found.err) == (1, "error: mnist has no pods of worker index 77\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--role", "boss"], 'mnist has no role "boss"; --role is one of chief, ps, worker'),
        (["-c", "sidecar"], 'no container "sidecar" in these pods; main'),
    ],
)
def test_an_unknown_name_lists_the_known_ones(
    stage: Stage, arguments: list[str], words: str
) -> None:
    found = stage.run("logs", "mnist", *arguments)
    assert (found.code, found.err) == (1, f"error: {words}\n")


def test_a_container_is_chosen_as_kubectl_does(stage: Stage) -> None:
    two = job("two", framework="none")
    spec = two["spec"]["template"]["spec"]
    spec["containers"].append({"name": "side", "image": "x"})
    owner = stage.put(two, suspend=False)
    made = pod(owner, 0)
    made["spec"] = owner["spec"]["template"]["spec"]
    made["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "side"}
    stage.create(made)
    for name in ("main", "side"):
        stage.cluster.logs.write(target("two-0-x0"), name, f"2026-11-21T11:59:00Z of {name}")
    assert stage.run("logs", "two").out == "[worker-x0] of side\n"
    assert stage.run("logs", "two", "-c", "main").out == "[worker-x0] of main\n"


def test_colours_are_for_terminals_alone(stage: Stage) -> None:
    cli = replace(stage.cli(), coloured=True)
    assert run(["logs", "mnist", "--tail", "1", "--index", "0"], cli, {}) == 0
    lines = cli.out.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines == [
        "\x1b[36m[chief-0]\x1b[0m step 2",
        "\x1b[32m[ps-0]\x1b[0m serving",
        "\x1b[35m[worker-0]\x1b[0m bye",
    ]


@pytest.mark.parametrize(
    "arguments",
    [["--since", "soon"], ["--since", "0s"], ["-f", "-p"], ["--tail", "-2"], ["--index", "-1"]],
)
def test_contradictory_options_are_a_usage_error(stage: Stage, arguments: list[str]) -> None:
    assert stage.run("logs", "mnist", *arguments).code == 2


def test_roles_of_the_job_are_completed(stage: Stage) -> None:
    stage.put(job("sweep", framework="none"))
    cli = stage.cli()
    assert answer(["logs", "mnist", "--role", ""], cli) == "chief\nps\nworker\n:4\n"
    assert answer(["logs", "sweep", "--role", "w"], cli) == "worker\n:4\n"
    assert answer(["logs", ""], cli) == "mnist\nsweep\n:4\n"


# -- following -------------------------------------------------------------------------------------


def over(stage: Stage) -> None:
    """The chief and with it the training job has completed; all logs have ended."""
    complete = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    for role in ("chief", "ps", "worker"):
        stage.patch(f"mnist-{role}", complete)
    for name in names():
        stage.patch(name, {"status": {"phase": "Succeeded"}}, kind="Pod")
        stage.cluster.logs.end(target(name))


def names() -> Iterator[str]:
    yield "mnist-chief-0-x0"
    yield from (f"mnist-ps-{index}-x{index}" for index in range(2))
    yield from (f"mnist-worker-{index}-x{index}" for index in range(4))


def test_following_takes_in_pods_that_come_and_ends_with_the_job(stage: Stage) -> None:
    def joins() -> None:
        started(stage, "mnist-worker-3-x3", conditions=[{"type": "Ready", "status": "True"}])
        write(stage, "mnist-worker-3-x3", "I come late")

    def speaks() -> None:
        line = "2026-11-21T12:00:01.000000000Z step 3"
        stage.cluster.logs.write(target("mnist-chief-0-x0"), "main", line)

    stage.between = [joins, speaks, lambda: over(stage)]
    found = stage.run("logs", "mnist", "-f")
    assert (found.code, found.err) == (0, "mnist is done\n")
    lines = found.out.splitlines()
    assert len(lines) == 2 + 2 + 9 + 1 + 1
    chief = [line for line in lines if line.startswith("[chief-0]")]
    assert chief == ["[chief-0] step 1", "[chief-0] step 2", "[chief-0] step 3"]
    assert "[worker-3] I come late" in lines


@pytest.mark.parametrize("follow", [False, True])
def test_lines_of_a_replacement_have_another_prefix(stage: Stage, *, follow: bool) -> None:
    name = "mnist-worker-2-y2"
    again = pod(stage.cluster.get(ObjectRef("Job", "default", "mnist-worker")), 2)
    again["metadata"]["name"] = name

    def replaces() -> None:
        stage.create(again)
        write(stage, name, "I am new")

    def ends() -> None:
        over(stage)
        stage.cluster.logs.end(target(name))

    stage.between = [replaces, ends]
    if not follow:
        replaces()
    found = stage.run("logs", "mnist", "--index", "2", *(["-f"] if follow else []))
    lines = [line for line in found.out.splitlines() if "I am" in line]
    assert lines == ["[worker-2] I am 2", "[worker-2-y2] I am new"]


def test_the_log_of_a_pod_that_the_watch_has_not_seen_is_read_at_the_end(stage: Stage) -> None:
    pods = stage.cluster.list(elastic_pods("default"))

    class Late(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            return pods if selection.kind == "Pod" else super().list(selection)

    def runs() -> None:
        started(stage, "mnist-worker-3-x3")
        write(stage, "mnist-worker-3-x3", "I come late")
        over(stage)

    stage.between = [runs]
    cli = replace(stage.cli(), watched=lambda cluster, _: Late(cluster))
    assert run(["logs", "mnist", "-f", "--role", "worker"], cli, {}) == 0
    assert "[worker-3] I come late\n" in cast("io.StringIO", cli.out).getvalue()


def test_tail_limits_existing_lines_only(stage: Stage) -> None:
    def joins() -> None:
        started(stage, "mnist-worker-3-x3")
        write(stage, "mnist-worker-3-x3", "one", "two")

    stage.between = [joins, lambda: over(stage)]
    lines = stage.run("logs", "mnist", "-f", "--tail", "0", "--role", "worker").out.splitlines()
    assert lines == ["[worker-3] one", "[worker-3] two"]


def test_a_container_that_starts_again_is_followed_again(stage: Stage) -> None:
    name = "mnist-chief-0-x0"
    stage.cluster.logs.end(target(name))

    def restarts() -> None:
        started(stage, name, **status_of_main(restartCount=1, state={"running": {}}))

    stage.between = [restarts, lambda: over(stage)]
    lines = stage.run("logs", "mnist-chief", "-f").out.splitlines()
    assert lines == ["[chief-0] step 1", "[chief-0] step 2"] * 2


class Broken(ClusterWrapper):
    """Each log breaks once after its first line."""

    def __init__(self, cluster: PluginCluster) -> None:
        super().__init__(cluster)
        self.broken: set[str] = set()
        self.asked: list[LogRequest] = []

    def log(self, wanted: LogRequest) -> Generator[str]:
        self.asked.append(wanted)
        for line in super().log(wanted):
            yield line
            if wanted.pod.name not in self.broken:
                self.broken.add(wanted.pod.name)
                raise Unreachable("the log broke: reset by peer")


def test_a_connection_that_breaks_is_taken_up_again_without_a_line_twice(stage: Stage) -> None:
    broken: list[Broken] = []

    def wrapped(cluster: PluginCluster) -> PluginCluster:
        broken.append(Broken(cluster))
        return broken[-1]

    stage.wrapped = wrapped
    stage.between = [lambda: None, lambda: None, lambda: over(stage)]
    found = stage.run("logs", "mnist-worker", "-f", "--index", "0", "--tail", "3")
    assert found.out == "[worker-0] I am 0\n[worker-0]   indented\n[worker-0] bye\n"
    assert found.err == "waiting: the log broke: reset by peer\nmnist is done\n"
    first, again = broken[-1].asked[:2]
    assert (first.tail, first.after) == (3, "")
    assert (again.tail, again.after) == (None, "2026-11-21T11:59:00.000000000Z")


def test_lines_of_one_moment_are_all_shown_after_a_break(stage: Stage) -> None:
    moment = "2026-11-21T11:59:59.000000000Z"
    lines = [f"{moment} {text}" for text in ("a", "b")]
    stage.cluster.logs.write(target("mnist-worker-0-x0"), "main", *lines)
    stage.wrapped = Broken
    stage.between = [lambda: None, lambda: None, lambda: over(stage)]
    found = stage.run("logs", "mnist-worker", "-f", "--index", "0", "--tail", "3")
    assert found.out == "[worker-0] bye\n[worker-0] a\n[worker-0] b\n"


class Away(Broken):
    """An API server that does not reach the kubelets."""

    def log(self, wanted: LogRequest) -> Generator[str]:
        raise Unreachable(f"no answer from the node of {wanted.pod.name}")
        yield


def test_an_unreadable_log_is_reported_once(stage: Stage) -> None:
    stage.wrapped = Away
    stage.between = [lambda: None, lambda: None, lambda: over(stage)]
    found = stage.run("logs", "mnist", "-f")
    *waits, end = found.err.splitlines()
    assert (found.out, end) == ("", "mnist is done")
    assert len(waits) == len(set(waits)) > 1


def test_a_queued_job_is_waited_for() -> None:
    queued = Stage()
    made = [queued.put(manifest) for manifest in role_manifests()]

    def starts() -> None:
        for manifest in made:
            queued.patch(manifest["metadata"]["name"], {"spec": {"suspend": False}})
        queued.create(pod(made[0], 0))
        write(queued, "mnist-chief-0-x0", "step 1")

    def ends() -> None:
        for manifest in made:
            complete = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
            queued.patch(manifest["metadata"]["name"], complete)
        queued.cluster.logs.end(target("mnist-chief-0-x0"))

    queued.between = [starts, ends]
    found = queued.run("logs", "mnist", "-f")
    assert found.out == "[chief-0] step 1\n"
    first, last = found.err.splitlines()
    assert first.startswith("mnist has no pods: it is Queued: ")
    assert first.endswith("; waiting for them")
    assert last == "mnist is done"


def test_pods_that_outlive_their_job_do_not_delay_the_end(stage: Stage) -> None:
    keep = {"metadata": {"annotations": {contract.CLEAN_UP: "None"}}}
    stage.patch("mnist-chief", keep)
    complete = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}

    def chief_ends() -> None:
        stage.patch("mnist-chief", complete)
        stage.cluster.logs.end(target("mnist-chief-0-x0"))
        started(stage, "mnist-chief-0-x0", phase="Succeeded")

    stage.between = [chief_ends]
    found = stage.run("logs", "mnist", "-f")
    assert (found.code, found.err) == (0, "mnist is done\n")


def test_the_end_waits_for_no_log_that_is_being_opened(stage: Stage) -> None:
    """The kubelet answers for a silent container when that writes its first line."""
    stage.patch("mnist-chief", {"metadata": {"annotations": {contract.CLEAN_UP: "None"}}})
    complete = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    asked, answered, late = Event(), Event(), EndlessLog()
    ended_before: list[bool] = []

    class Silent(ClusterWrapper):
        def log(self, wanted: LogRequest) -> Log:
            if wanted.pod.name != "mnist-ps-0-x0":
                return super().log(wanted)
            asked.set()
            ended_before.append(not answered.wait(20))
            return late

    def chief_ends() -> None:
        assert asked.wait(20)
        stage.patch("mnist-chief", complete)
        stage.cluster.logs.end(target("mnist-chief-0-x0"))
        started(stage, "mnist-chief-0-x0", phase="Succeeded")

    stage.wrapped = Silent
    stage.between = [chief_ends]
    found = stage.run("logs", "mnist", "-f")
    waited = bool(ended_before)
    answered.set()
    assert (found.code, found.err, waited) == (0, "mnist is done\n", False)
    assert late.closed.wait(60)


def test_following_ends_when_the_job_is_deleted(stage: Stage) -> None:
    def delete() -> None:
        for role in ("chief", "ps", "worker"):
            stage.cluster.delete(ObjectRef("Job", "default", f"mnist-{role}"))
        for name in names():
            stage.cluster.logs.end(target(name))

    stage.between = [delete]
    found = stage.run("logs", "mnist", "-f")
    assert (found.code, found.err) == (0, "mnist is gone\n")


def test_without_the_right_to_read_logs_the_verb_is_named(stage: Stage) -> None:
    class NoLogs(ClusterWrapper):
        def log(self, wanted: LogRequest) -> Log:
            raise Forbidden(f'"ann" may not get pods/log {wanted.pod.name}', 403)

    stage.wrapped = NoLogs
    stage.between = [lambda: None]
    for flags in ((), ("-f",)):
        found = stage.run("logs", "mnist-chief", *flags)
        assert found.code == 1
        assert found.err == 'error: "ann" may not get pods/log mnist-chief-0-x0\n'


def written(stage: Stage, indexes: range) -> tuple[LogTarget, ...]:
    """The logs of pods that have ended, each with two lines."""
    found = tuple(source(index) for index in indexes)
    for one in found:
        stage.create({"kind": "Pod", "metadata": {"name": one.pod.name}})
        write(stage, one.pod.name, "hello", "bye")
        stage.cluster.logs.end(one.pod)
    return found


def source(index: int) -> LogTarget:
    pod = target(f"p-{index}")
    return LogTarget(
        f"worker-{index}", "worker", pod, pod.name, "main", 0, "", ended=True, stays=False
    )


def followed(cluster: PluginCluster, *states: FollowedPods) -> tuple[list[str], list[str]]:
    """The labels of the printed lines, sorted, and the messages; logs begin with the last line."""
    labels: list[str] = []
    messages: list[str] = []
    remaining = list(states)
    follower = Follower(
        cluster,
        lambda: remaining.pop(0),
        lambda one: LogRequest(one.pod, one.container, tail=1),
        Output(lambda _, one: labels.append(one.label), messages.append),
    )
    follower.run(None for _ in states[1:])
    return sorted(labels), messages


LIMITED = (
    f"hint: follows {MAX_LOGS} logs at once, the others as these end; choose with --role or --index"
)


def silent(indexes: range) -> tuple[LogTarget, ...]:
    """Containers that run on after their job and have written nothing."""
    return tuple(replace(source(index), ended=False, stays=True) for index in indexes)


class SilentLogs(ClusterWrapper):
    """The kubelet opens the logs of these pods only when the test ends."""

    def __init__(self, cluster: PluginCluster, targets: tuple[LogTarget, ...]) -> None:
        super().__init__(cluster)
        self._pods = {one.pod for one in targets}
        self.opening, self.answered = Event(), Event()
        self.asked: dict[ObjectRef, Thread] = {}

    def log(self, wanted: LogRequest) -> Log:
        self.asked[wanted.pod] = current_thread()
        if wanted.pod in self._pods:
            self.opening.set()
            self.answered.wait(20)
            return EndlessLog()
        return super().log(wanted)


def test_logs_that_are_closed_at_the_end_leave_their_places_to_unread_ones() -> None:
    stage = Stage()
    running, ended = silent(range(MAX_LOGS)), written(stage, range(MAX_LOGS, MAX_LOGS + 10))
    cluster = SilentLogs(stage.cluster, running)
    before, after = (FollowedPods((*running, *ended), "it is done", over) for over in (False, True))
    labels, messages = followed(cluster, before, after)
    cluster.answered.set()
    assert labels == sorted(one.label for one in ended)
    assert messages == [LIMITED, "it is done"]


def test_the_limit_is_reported_once_while_the_number_of_logs_changes() -> None:
    running = silent(range(MAX_LOGS + 4))
    cluster = SilentLogs(Stage().cluster, running)
    states = [FollowedPods(running[:most], "") for most in range(MAX_LOGS + 1, len(running))]
    over = FollowedPods(running, "it is done", over=True)
    _, messages = followed(cluster, *states, over)
    cluster.answered.set()
    assert messages == [LIMITED, "it is done"]
    assert {*cluster.asked} <= {one.pod for one in running[:MAX_LOGS]}


def test_a_closed_log_that_is_opened_late_does_not_end_the_reading_of_others() -> None:
    (late,), (read,) = silent(range(1)), written(stage := Stage(), range(1, 2))
    cluster = SilentLogs(stage.cluster, (late,))

    class AfterIt(ClusterWrapper):
        def log(self, wanted: LogRequest) -> Log:
            found = cluster.log(wanted)
            if wanted.pod != late.pod:
                cluster.answered.wait(20)
                cluster.asked[late.pod].join(20)
            return found

    def changes() -> Iterator[None]:
        assert cluster.opening.wait(20)
        yield
        cluster.answered.set()

    states = [FollowedPods((late, read), "it is done", over) for over in (False, True)]
    labels: list[str] = []
    Follower(
        AfterIt(stage.cluster),
        lambda: states.pop(0),
        lambda one: LogRequest(one.pod, one.container, tail=1),
        Output(lambda _, one: labels.append(one.label), lambda _: None),
    ).run(changes())
    assert labels == [read.label]


def test_after_the_last_change_no_further_log_is_opened() -> None:
    running = silent(range(MAX_LOGS + 1))
    asked: list[ObjectRef] = []
    reading = Event()

    class OpenLog(EndlessLog):
        def __iter__(self) -> Iterator[str]:
            reading.set()
            self.closed.wait(20)
            yield from ()

    class OpenLogs(ClusterWrapper):
        def log(self, wanted: LogRequest) -> Log:
            asked.append(wanted.pod)
            return OpenLog()

    def changes() -> Iterator[None]:
        assert reading.wait(20)
        yield from ()

    Follower(
        OpenLogs(Stage().cluster),
        lambda: FollowedPods(running, ""),
        lambda one: LogRequest(one.pod, one.container),
        Output(lambda _, __: None, lambda _: None),
    ).run(changes())
    assert running[MAX_LOGS].pod not in asked


def test_more_logs_than_the_limit_are_read_in_turn() -> None:
    stage = Stage()
    found = written(stage, range(2 * MAX_LOGS + 50))
    labels, messages = followed(stage.cluster, FollowedPods(found, "it is done", over=True))
    assert labels == sorted(one.label for one in found)
    assert messages == [LIMITED, "it is done"]


def test_logs_that_have_ended_leave_their_places_to_those_of_later_pods() -> None:
    """An elastic job has many short pods one after the other."""
    stage = Stage()
    half = MAX_LOGS // 2
    waves = [written(stage, range(at, at + half)) for at in range(0, 3 * MAX_LOGS, half)]
    pods = [tuple(chain.from_iterable(waves[: count + 1])) for count in range(len(waves))]
    states = [FollowedPods(some, "", over=some == pods[-1]) for some in pods]
    labels, _ = followed(stage.cluster, *states)
    assert set(labels) == {one.label for one in pods[-1]}


def simulated(stage: Stage) -> None:
    """All run as kwok plays it: no container has an id, and no kubelet answers."""
    for name in ("mnist-chief-0-x0", *(f"mnist-ps-{index}-x{index}" for index in range(2))):
        started(stage, name, **status_of_main(state={"running": {}}))
    stage.wrapped = Away


SIMULATED = (
    "simulated pods write no log: nothing runs on kwok's nodes; kubectl edl events JOB shows what "
    "happened to them"
)


def test_logs_are_opened_while_others_are_and_printed_in_order(stage: Stage) -> None:
    together = Barrier(2, timeout=60)

    class Slow(ClusterWrapper):
        def log(self, wanted: LogRequest) -> Log:
            together.wait()
            return stage.cluster.log(wanted)

    before = stage.run("logs", "mnist", "--role", "ps").out
    stage.wrapped = Slow
    assert stage.run("logs", "mnist", "--role", "ps").out == before != ""


class EndlessLog:
    """A log that is only closed."""

    def __init__(self) -> None:
        self.closed = Event()

    def __iter__(self) -> Iterator[str]:
        yield from ()

    def close(self) -> None:
        self.closed.set()


class InterruptedLog(EndlessLog):
    """The user interrupts the command while it prints this log."""

    def __init__(self, moment: Event) -> None:
        super().__init__()
        self._moment = moment

    def __iter__(self) -> Iterator[str]:
        yield "2026-11-21T11:59:00.000000000Z step 1"
        assert self._moment.wait(60)
        raise KeyboardInterrupt


class HalfLog(EndlessLog):
    """A log whose kubelet goes away after one line."""

    def __iter__(self) -> Iterator[str]:
        yield "2026-11-21T11:59:00.000000000Z half"
        raise Unreachable("the log broke: reset by peer")


class PartlyAway(ClusterWrapper):
    """An API server that reaches not all kubelets."""

    def log(self, wanted: LogRequest) -> Log:
        if wanted.pod.name.startswith("mnist-chief"):
            raise Unreachable("dial tcp 10.0.0.4:10250: connection refused", 500)
        return HalfLog() if wanted.pod.name.startswith("mnist-ps-0") else super().log(wanted)


def test_a_kubelet_that_cannot_be_reached_hides_no_log_of_others(stage: Stage) -> None:
    every = stage.run("logs", "mnist", "--role", "chief", "--role", "ps").out
    others = [line for line in every.splitlines() if line.startswith("[ps-1]")]
    stage.wrapped = PartlyAway
    found = stage.run("logs", "mnist", "--role", "chief", "--role", "ps")
    assert found.out.splitlines() == ["[ps-0] half", *others]
    assert others
    assert (found.code, found.err.splitlines()) == (
        1,
        [
            "warning: chief-0: dial tcp 10.0.0.4:10250: connection refused",
            "warning: ps-0: the log broke: reset by peer",
            "error: 2 of 3 logs could not be read to the end",
        ],
    )


def test_without_an_answer_of_the_api_server_no_further_log_is_printed(stage: Stage) -> None:
    class Gone(ClusterWrapper):
        def log(self, wanted: LogRequest) -> Log:
            raise Unreachable(f"no answer from the API server about {wanted.pod.name}")

    stage.wrapped = Gone
    found = stage.run("logs", "mnist")
    assert (found.code, found.out) == (1, "")
    assert found.err == "error: no answer from the API server about mnist-chief-0-x0\n"


def test_an_interruption_waits_for_no_log_that_is_being_opened_and_closes_all(
    stage: Stage,
) -> None:
    asked, answered = Event(), Event()
    logs = {"mnist-chief-0-x0": InterruptedLog(asked), "mnist-ps-0-x0": EndlessLog()}
    late, ended_before = EndlessLog(), []

    class Slow(ClusterWrapper):
        def log(self, wanted: LogRequest) -> Log:
            if wanted.pod.name in logs:
                return logs[wanted.pod.name]
            asked.set()
            ended_before.append(not answered.wait(20))
            return late

    stage.wrapped = Slow
    found = stage.run("logs", "mnist", "--role", "chief", "--role", "ps")
    waited = bool(ended_before)
    answered.set()
    assert (found.code, found.out, waited) == (130, "[chief-0] step 1\n", False)
    assert all(log.closed.wait(60) for log in (*logs.values(), late))


def test_simulated_pods_are_requested_and_reported_once(stage: Stage) -> None:
    simulated(stage)
    asked: list[str] = []

    class Counted(Away):
        def log(self, wanted: LogRequest) -> Generator[str]:
            asked.append(wanted.pod.name)
            return super().log(wanted)

    stage.wrapped = Counted
    found = stage.run("logs", "mnist", "--role", "chief", "--role", "ps")
    assert (found.code, found.out, found.err) == (1, "", f"error: {SIMULATED}\n")
    assert asked == ["mnist-chief-0-x0"]


def test_a_kubelet_that_does_not_answer_for_a_container_is_an_error_of_its_own(
    stage: Stage,
) -> None:
    simulated(stage)
    runs = status_of_main(state={"running": {}}, containerID="containerd://1")
    started(stage, "mnist-chief-0-x0", **runs)
    found = stage.run("logs", "mnist", "--role", "chief")
    assert found.err == "error: no answer from the node of mnist-chief-0-x0\n"


def test_following_ends_where_all_pods_are_simulated(stage: Stage) -> None:
    simulated(stage)
    stage.between = [lambda: None] * 3
    found = stage.run("logs", "mnist", "-f", "--role", "ps")
    assert found.err.splitlines() == [SIMULATED]
    assert stage.between


def test_a_pod_that_starts_beside_simulated_ones_is_followed(stage: Stage) -> None:
    simulated(stage)
    pending = status_of_main(state={"waiting": {"reason": "ContainerCreating"}})
    started(stage, "mnist-worker-0-x0", **pending)

    class Mixed(Away):
        def log(self, wanted: LogRequest) -> Generator[str]:
            real = wanted.pod.name.startswith("mnist-worker")
            yield from self._cluster.log(wanted) if real else super().log(wanted)

    def starts() -> None:
        runs = status_of_main(state={"running": {}}, containerID="containerd://1")
        started(stage, "mnist-worker-0-x0", **runs)

    stage.wrapped = Mixed
    stage.between = [lambda: None, lambda: None, starts, lambda: over(stage)]
    found = stage.run("logs", "mnist", "-f", "--index", "0")
    assert "[worker-0] bye" in found.out.splitlines()
    assert found.err.splitlines()[-1] == "mnist is done"


def test_each_of_several_pods_without_a_log_has_a_line(stage: Stage) -> None:
    stage.patch("mnist-worker-2-x2", {"status": {"phase": "Pending", "conditions": []}}, "Pod")
    found = stage.run("logs", "mnist", "--role", "worker", "--previous")
    *each, last = found.err.splitlines()
    assert (found.code, found.out) == (1, "")
    assert [line.partition(" has no log")[0] for line in each] == [
        f"hint: worker-{index}" for index in range(4)
    ]
    assert last == "error: none of the 4 pods has a log"

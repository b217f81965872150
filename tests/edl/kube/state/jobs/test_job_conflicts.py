"""A Job with the `edl.dev/job` of a training job that has started, and conflicts with it."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract
from edl.job_state.phases import phase, unready
from edl.messages import message
from edl.model import Code, TrainingJob
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.steps.plan_steps import steps
from edl.writes import Json, Patch
from tests.edl.kube import manifests
from tests.edl.kube.manifests import job, job_pod, member
from tests.edl.kube.state.test_observe import look, only, running, snapshot
from tests.edl.kube.state.test_team_usage import provisional
from tests.reasons import problem_of

STARTED = {contract.STARTED_AT: "2026-01-01T00:10:00Z"}
PYTORCH = {"edl.dev/framework": "pytorch", "edl.dev/job": "ra", "edl.dev/min": "1"}
PYTORCH |= {"edl.dev/max": "8"}
REMEDY = "delete rb, or recreate it with another edl.dev/job"
OTHER_ROLES = {contract.ROLES: "chief=1,worker=1..8"}


def started(name: str = "ra", notes: dict[str, str] | None = None, **spec: Any) -> Json:  # noqa: ANN401
    """A Job that runs with 4 pods."""
    shape = {"suspend": False, "parallelism": 4, "completions": 4} | spec
    return job(name, labels=PYTORCH, notes=STARTED | (notes or {}), **shape)


def newcomer(name: str = "rb", notes: dict[str, str] | None = None, **labels: str) -> Json:
    own = {f"edl.dev/{label}": value for label, value in labels.items()}
    return job(name, labels=PYTORCH | own, notes=notes)


CHIEF = newcomer(framework="tensorflow", role="chief", max="1", notes={contract.ROLES: "chief=1"})


def observed(*jobs: Json) -> TrainingJob:
    return only(look(snapshot(jobs)))


def causes(found: TrainingJob) -> list[str]:
    return [message(one.reason) for one in found.conflicting]


@pytest.mark.parametrize("name", ["ra", "z"])
@pytest.mark.parametrize(
    ("copy", "cause"),
    [
        (newcomer(), "Job {} is the worker of ra"),
        (newcomer(max="2"), "Job {} is the worker of ra"),
        (CHIEF, "they disagree on edl.dev/framework: tensorflow on rb, pytorch on {}"),
        (
            newcomer(framework="none", max="1"),
            "they disagree on edl.dev/framework: none on rb, pytorch on {}",
        ),
    ],
)
def test_a_running_job_is_as_it_would_be_without_a_copy(copy: Json, cause: str, name: str) -> None:
    """Whichever name comes first."""
    found = observed(started(name), copy)
    assert replace(found, conflicting=()) == observed(started(name))
    assert causes(found) == [f"Job rb is left out of ra: {cause.format(name)}; {REMEDY}"]


@pytest.mark.parametrize(
    ("roles", "notes", "cause"),
    [
        (("chief", "ps"), OTHER_ROLES, "edl.dev/roles: chief=1,worker=1..8 on mnist-worker, "),
        (("chief", "ps"), {contract.PORT: "77"}, "edl.dev/port: 77 on mnist-worker, 2222 on "),
        (
            ("ps",),
            {contract.PREFERRED_TOPOLOGY: "zone"},
            "edl.dev/required-topology or edl.dev/preferred-topology: zone on mnist-worker, rack ",
        ),
    ],
)
def test_a_new_job_that_its_running_roles_would_never_meet_is_left_out(
    roles: tuple[str, ...], notes: dict[str, str], cause: str
) -> None:
    near = {contract.PREFERRED_TOPOLOGY: "rack"} if "chief" not in roles else {}
    there = [running(role, notes=near) for role in roles]
    found = observed(*there, member("worker", notes=notes))
    assert replace(found, conflicting=()) == observed(*there)
    assert "worker" in found.missing
    (text,) = causes(found)
    assert text.startswith(f"Job mnist-worker is left out of mnist: they disagree on {cause}")
    name = cause.split(":", maxsplit=1)[0]
    assert text.endswith(f"; recreate it with the same {name} as mnist-{roles[0]}")
    assert "worker" not in found.absent, "its Job exists"
    why = unready(found)
    assert why
    assert (why.code, message(why)) == (Code.INCOMPLETE, text)


def test_the_job_of_a_missing_role_comes_before_copies() -> None:
    there = [running("ps"), running("chief")]
    copies = [member("ps") for _ in range(2)]
    for index, copy in enumerate(copies):
        copy["metadata"] |= {"name": f"copy-{index}", "uid": f"uid-{index}"}
    again = member("worker", notes=OTHER_ROLES)
    again["metadata"]["creationTimestamp"] = "2026-01-01T00:20:00Z"
    found = observed(*there, *copies, again)
    assert [one.name for one in found.conflicting] == ["mnist-worker", "copy-0", "copy-1"]
    assert [one.fills for one in found.conflicting] == ["worker", "", ""]


def test_an_invalid_job_of_a_missing_role_is_known_by_its_name() -> None:
    invalid = member("worker")
    invalid["metadata"]["labels"]["edl.dev/min"] = "x"
    found = observed(running("ps"), running("chief"), invalid)
    assert ([one.fills for one in found.conflicting], found.absent) == (["worker"], ())
    assert found.missing == ("worker",)


def test_a_job_of_a_missing_role_follows_the_end_of_the_others() -> None:
    over = [running(role, conditions=["Complete"]) for role in ("ps", "chief")]
    (text,) = causes(observed(*over, member("worker", notes=OTHER_ROLES)))
    assert text.endswith("; mnist has ended: delete its Jobs and apply mnist-worker again")


def test_an_invalid_job_is_left_out_with_its_errors() -> None:
    uncompleted = newcomer()
    del uncompleted["metadata"]["annotations"][contract.INJECTED_MAX]
    invalid = newcomer(min="x")
    for copy, error in ((invalid, '[edl.dev/min]: "x"'), (uncompleted, "no webhook completed it")):
        found = observed(started(), copy)
        assert replace(found, conflicting=()) == observed(started())
        (text,) = causes(found)
        assert text.startswith("Job rb is left out of ra: ")
        assert error in text
        assert bool(found.conflicting[0].role) is (copy is uncompleted)
    written = steps(Plan(), look(snapshot([started(), invalid]))).steps
    assert {one.job.name for one in written} == {"ra"}, "it has no version to write to"


def test_a_role_that_is_created_again_joins_the_others() -> None:
    found = observed(running("ps"), running("worker"), member("chief"))
    assert (problem_of(found), found.missing, found.conflicting) == ("", (), ())
    assert [role.name for role in found.roles] == ["chief", "ps", "worker"]


REFUSED = (
    'Job mnist-ps is left out of mnist: PriorityClass "gone" does not exist: create it (kubectl '
    "create priorityclass gone --value=VALUE), or recreate the Jobs with another"
)


def test_a_role_that_is_created_again_joins_once_its_pods_are_no_longer_refused() -> None:
    there = [running("chief"), running("worker")]
    again = member("ps", pod={"priorityClassName": "gone"})
    found = observed(*there, again)
    assert replace(found, conflicting=()) == observed(*there)
    assert (causes(found), found.missing, found.absent) == ([REFUSED], ("ps",), ())
    gone = {"metadata": {"name": "gone"}, "value": 0}
    joined = only(look(snapshot([*there, again], priorities=[gone])))
    assert (joined.missing, joined.conflicting, problem_of(joined)) == ((), (), "")


def test_a_running_job_goes_on_beside_a_role_whose_pods_are_refused() -> None:
    """Its workers yield to a queued job."""
    refused = member("ps", pod={"priorityClassName": "gone"})
    workers = running("worker", parallelism=3, completions=3)
    pods = [job_pod("c", 0, "mnist-chief", node="n1", phase="Running")]
    pods += [job_pod(f"w{n}", n, "mnist-worker", node="n1", phase="Running") for n in range(3)]
    for pod in pods:
        pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    waits = job("waits", labels={"edl.dev/framework": "pytorch", "edl.dev/job": "waits"})
    nodes = [manifests.node("n1")]
    state = look(snapshot([running("chief"), refused, workers, waits], pods, nodes=nodes))
    found = decide(state, POLICIES["fair"], Limits())
    assert [(one.job.name, one.role, one.after) for one in found.resizes] == [
        ("mnist", "worker", 2)
    ]
    (step,) = (one for one in steps(found, state).steps if one.job.name == "mnist")
    sizes = [one.body["spec"] for one in step.writes if isinstance(one, Patch) and one.body["spec"]]
    assert sizes == [{"parallelism": 2, "completions": 2}]


@pytest.mark.parametrize(("owner", "deleted"), [("uid-ra", []), ("uid-rb", ["prov-0"])])
def test_provisional_pods_of_a_job_that_is_left_out_are_deleted(
    owner: str, deleted: list[str]
) -> None:
    """As those of a deleted Job: they would keep nodes, and it does not start on them."""
    _, asked = provisional("prov-0", owner)
    state = look(snapshot([started(), newcomer()], [asked]))
    assert [target.name for target, _ in state.orphans] == deleted


def test_of_two_new_jobs_of_a_missing_role_the_first_joins() -> None:
    first, second = member("chief"), member("chief")
    second["metadata"] |= {"name": "a", "uid": "uid-a"}
    second["metadata"]["creationTimestamp"] = "2026-01-01T00:20:00Z"
    found = observed(running("ps"), running("worker"), first, second)
    assert [role.job for role in found.roles] == ["mnist-chief", "mnist-ps", "mnist-worker"]
    assert [one.name for one in found.conflicting] == ["a"]


def test_a_job_that_was_stopped_keeps_its_role() -> None:
    """It waits for its next start, as a copy would."""
    stopped = started(suspend=True)
    found = observed(stopped, newcomer())
    assert replace(found, conflicting=()) == observed(stopped)
    assert phase(found) == "Queued"


def test_jobs_that_conflict_before_or_after_both_started_are_a_problem() -> None:
    several = "several Jobs are its worker: ra, rb; delete all but one"
    for jobs in ((newcomer("ra"), newcomer()), (started(), started("rb"))):
        found = observed(*jobs)
        assert (problem_of(found), found.conflicting) == (several, ())


def test_a_job_that_has_ended_stays_so_beside_a_copy() -> None:
    over = started(conditions=["Complete"])
    found = observed(over, newcomer())
    assert replace(found, conflicting=()) == observed(over)
    assert phase(found) == "Succeeded"
    (text,) = causes(found)
    assert text == (
        "Job rb is left out of ra: Job ra is the worker of ra; ra has ended: delete its Jobs and "
        "apply rb again, or recreate it with another edl.dev/job"
    )
    assert observed(newcomer()).conflicting == (), "it is queued once the other is deleted"


def test_an_end_decides_beside_a_copy_also_while_its_job_is_being_deleted() -> None:
    leaving = {"metadata": {"deletionTimestamp": manifests.CREATED}}
    chief = member("chief", suspend=False, conditions=["Complete"], **leaving)
    copy = member("worker")
    copy["metadata"] |= {"name": "copy", "uid": "uid-copy"}
    found = observed(chief, running("worker"), copy)
    assert replace(found, conflicting=()) == observed(chief, running("worker"))
    assert phase(found) == "Finishing"


def test_a_job_that_replaces_one_that_is_being_deleted_joins() -> None:
    leaving = started(metadata={"deletionTimestamp": manifests.CREATED})
    found = observed(leaving, newcomer())
    assert ([role.job for role in found.roles], found.conflicting) == (["rb"], ())


@pytest.mark.parametrize("copy", [newcomer(), CHIEF])
def test_extras_of_a_running_job_are_taken_beside_a_copy(copy: Json) -> None:
    waits = job("waits", labels={"edl.dev/framework": "pytorch", "edl.dev/job": "waits"})
    waits["spec"] |= {"parallelism": 2, "completions": 2}
    waits["metadata"]["labels"] |= {"edl.dev/min": "2", "edl.dev/max": "2"}
    pods = [job_pod(f"p{n}", n, "ra", node="n1", phase="Running") for n in range(4)]
    for pod in pods:
        pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    nodes = [manifests.node("n1")]

    def plan(*jobs: Json) -> Plan:
        state = look(snapshot(jobs, pods, nodes=nodes))
        return decide(state, POLICIES["fair"], Limits())

    found = plan(started(), copy, waits)
    assert [(one.job.name, one.before, one.after) for one in found.resizes] == [("ra", 4, 2)]
    assert found == plan(started(), waits)


def test_the_cause_is_written_to_the_job_that_is_left_out_once() -> None:
    jobs = [started(), newcomer()]
    state = look(snapshot(jobs))
    (step,) = (one for one in steps(Plan(), state).steps if one.job.name != "ra")
    (patch,) = step.writes
    assert isinstance(patch, Patch)
    assert patch.target.name == "rb"
    notes = patch.body["metadata"]["annotations"]
    assert notes[contract.REASON] == Code.JOB_CONFLICT
    assert notes[contract.MESSAGE].startswith("Job rb is left out of ra: ")
    assert "spec" not in patch.body
    (event,) = step.events
    assert (event.target.name, event.reason, event.warning) == ("rb", Code.JOB_CONFLICT, True)
    jobs[1]["metadata"]["annotations"] |= notes
    again = steps(Plan(), look(snapshot(jobs))).steps
    assert [one for one in again if one.job.name != "ra"] == []


def test_a_job_that_is_left_out_and_refuses_its_cause_delays_nothing_of_the_other() -> None:
    state = look(snapshot([started(), newcomer()]))
    (key,) = (one.key for job in state.jobs for one in job.conflicting)
    assert key not in {job.key for job in state.jobs}
    kept = steps(Plan(), state, backs_off=lambda job: job == key).steps
    assert {one.job.name for one in kept} == {"ra"}

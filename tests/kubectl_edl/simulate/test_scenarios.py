"""Errors in scenarios and traces are reported before a simulation."""

import json
from pathlib import Path

import pytest

from edl.simulator import Amdahl, Work
from kubectl_edl.resources.manifest_sources import ManifestSource
from kubectl_edl.simulate.scenario.csv_traces import trace
from kubectl_edl.simulate.scenario.scenario_reader import read_scenario
from tests.kubectl_edl.stage import Run, Stage

NODES = "nodes: [{name: node, cpu: 4, memory: 8Gi}]\n"
JOB = "jobs: [{cpu: 1, work: 60}]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of commands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulated(folder: Path, scenario: str, *args: str, **files: str) -> Run:
    """The scenario `s.yaml`, and CSV files beside it."""
    (folder / "s.yaml").write_text(scenario)
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return Stage().run("simulate", "-f", "s.yaml", *args)


def refused(run: Run) -> list[str]:
    assert (run.code, run.out) == (1, "")
    return run.err.splitlines()


# -- findings ----------------------------------------------------------------------------------

DRAWN = "or drawn by one of choices, between, exponential"
TIME = "seconds, or 90s, 5m, 2h30m, 1d"
PRIORITY = "a whole number from -2147483648 to 2147483647"
CHANGES = "added, lost, cordoned, uncordoned, tainted"
EVENTS: dict[str, str] = {
    "{at: 1, node: node, taint: 'm=yes:NoSchedule'}": f".change: is missing; allowed: {CHANGES}",
    "{at: 1, node: node, change: lost, taint: 'a:NoExecute'}": (
        ".taint: is not a field here; allowed: at, node, change"
    ),
    "{at: 1, change: added, name: m}": ".cpu: is missing; allowed: the cores of a node, such as 16",
}
JOBS: dict[str, str] = {
    "nodeSelector: [zone=b]": ".nodeSelector: a list; allowed: an object, such as {name: value}",
    "namespace: n": '.namespace: "False"; allowed: a text, in quotes',
    "nodeSelector: x": '.nodeSelector: "x"; allowed: an object, such as {name: value}',
    "resources: 3": '.resources: "3"; allowed: an object, such as {name: value}',
    "memory: -1Gi": ".memory: -1Gi is below 0; allowed: 0 or more",
    "cpu: -4": ".cpu: -4 is below 0; allowed: 0 or more",
    "resources: {foo: -1}": ".resources.foo: -1 is below 0; allowed: 0 or more",
    "gpus: 0.5": (
        ".gpus: 0.5 is not a whole number; allowed: 0, 1, 2, …; a share of a GPU is set in a job's"
        " manifest, by the label edl.dev/gpu"
    ),
    "work: {foo: x}": f".work.foo: is not a field here; allowed: {TIME}, {DRAWN}",
    "work: {choice: [1, 2]}": (
        f".work.choice: is not a field here (did you mean choices?); allowed: {TIME}, {DRAWN}"
    ),
    "work: {choices: []}": ".work.choices: nothing to choose from; allowed: a list of values",
    "work: 1e12": f".work: 1000000000000.0 is more than 100 years; allowed: {TIME}",
    "length: 1e12": f".length: 1000000000000.0 is more than 100 years; allowed: {TIME}",
    "length: [5]": f".length: a list; allowed: {TIME}",
    "at: {choices: [1, 2]}": f".at.choices: is not a field here; allowed: {TIME}",
    "count: 1000000000": ".count: 1000000000; allowed: a whole number from 1 to 100000",
    "max: 1000000000": ".max: 1000000000; allowed: a whole number from 1 to 100000",
    "every: 50y, count: 9": f'.every: "50y"; allowed: {TIME}',
    "every: 9000d, count: 9": (
        ".every: the last of 9 would come after more than 100 years; allowed: fewer, or less apart"
    ),
    "priority: 1.9": f'.priority: "1.9"; allowed: {PRIORITY}',
    "length: 60, speed: linear": (
        ".speed: without work; allowed: with work; a length is the same at any size"
    ),
    "work: 60, speed: {1: 2, x: 3}": (
        '.speed.x: "x" is not a number of replicas; allowed: linear, constant, amdahl 0.05'
        " (a serial share), or a table {1: 1, 8: 6.5}"
    ),
}
TOP: dict[str, str] = {
    "limits: {loadCeiling: 3}": "limits.loadCeiling: 3; allowed: a number above 0, at most 1",
    "limits: {preempt: 1}": "limits.preempt: 1; allowed: true or false",
    "limits: {growth: [3]}": "limits.growth: [3]; allowed: autoscaler, needed-nodes, any-node",
    "limits: {provisioning: {}}": (
        "limits.provisioning: is not a field here (did you mean provisioningTimeout?); allowed: "
        "loadCeiling, nearlyDone, preempt, growthCooldown, pendingLimit, restartCooldown, "
        "gangLimit, lossPatience, queuePatience, autoscaler, provisioningParallelism, "
        "provisioningTimeout, growth, idleNodeAfter"
    ),
    "services: [{name: web, steps: [{at: 3}]}]": (
        "services[0].steps[0].replicas: is missing; allowed: a whole number from 0 to 100000"
    ),
    f'horizon: "{"0" * 64}x"': f'horizon: "{"0" * 64}x"; allowed: {TIME}',
    "horizon: 1e12": f"horizon: 1000000000000.0 is more than 100 years; allowed: {TIME}",
}
ROWS: dict[str, str] = {
    "submit,cpu\n0,-1\n": "2: cpu: -1 is below 0; allowed: 0 or more",
    "submit,gpu\n0,0.5\n": "2: gpu: 0.5 is not a whole number; allowed: 0, 1, 2, …",
    "submit,min,max\n0,1,2,7,8\n": (
        '2: "7", "8" beyond the last column; allowed: a cell for each column at most'
    ),
    "submit,work\n1767225600000,60\n": (
        f"2: submit: 1767225600000 is more than 100 years; allowed: {TIME}"
    ),
    "submit,priority\n0,1.9\n": f'2: priority: "1.9"; allowed: {PRIORITY}',
    "submit,serial\n0,nan\n": '2: serial: "nan"; allowed: a number from 0 to 1',
    "submit,cpu\n0,two\n": (
        '2: cpu: cpu: "two" is not a quantity; allowed: a number and one suffix of n u m k M G T P'
        " E Ki Mi Gi Ti Pi Ei, or an exponent, without spaces: 2, 100m, 1.5Gi, 2e3"
    ),
    "submit,length,work\n0,5,\n0,,5\n0,5,5\n": "4: work: length and work; allowed: one of them",
}


@pytest.mark.parametrize(("event", "said"), EVENTS.items())
def test_a_wrong_event_is_a_finding(folder: Path, event: str, said: str) -> None:
    found = refused(simulated(folder, f"{NODES}{JOB}events:\n  - {event}\n"))
    assert found == [f"error: s.yaml:4: events[0]{said}"]


@pytest.mark.parametrize(("field", "said"), JOBS.items())
def test_a_wrong_value_of_a_job_is_a_finding(folder: Path, field: str, said: str) -> None:
    found = refused(simulated(folder, f"{NODES}jobs:\n  - {{{field}}}\n"))
    assert found == [f"error: s.yaml:3: jobs[0]{said}"]


@pytest.mark.parametrize(("field", "said"), TOP.items())
def test_a_wrong_value_of_the_scenario_is_a_finding(folder: Path, field: str, said: str) -> None:
    found = refused(simulated(folder, f"{NODES}{JOB}{field}\n"))
    assert found == [f"error: s.yaml:3: {said}"]


def test_more_nodes_than_a_cluster_can_have_are_a_finding(folder: Path) -> None:
    found = refused(simulated(folder, f"nodes: [{{count: 1000000000, cpu: 4}}]\n{JOB}"))
    allowed = "allowed: a whole number from 0 to 100000"
    assert found == [f"error: s.yaml:1: nodes[0].count: 1000000000; {allowed}"]


@pytest.mark.parametrize(("text", "said"), ROWS.items())
@pytest.mark.parametrize("by_flag", [True, False])
def test_a_wrong_line_of_a_trace_is_a_finding(
    folder: Path, text: str, said: str, *, by_flag: bool
) -> None:
    if by_flag:
        found = refused(simulated(folder, NODES, "--trace", "t.csv", t=text))
    else:
        found = refused(simulated(folder, f"{NODES}trace: t.csv\n", t=text))
    assert len(found) == 1
    assert found[0].startswith(f"error: t.csv:{said}")


@pytest.mark.parametrize("cell", ["0.05", ".05", "5e-02", "+5E-2"])
def test_a_trace_has_numbers_as_spreadsheets_and_pandas_write_them(cell: str) -> None:
    (job,) = trace("t.csv", f"submit,work,serial\n1e3,60.,{cell}\n")
    assert (job.at, job.work) == (1000, Work(60, Amdahl(0.05)))


def test_a_trace_line_sets_length_or_work(folder: Path) -> None:
    text = "submit,name,length,work\n0,one,50,\n0,two,,100\n"
    run = simulated(folder, NODES, "--trace", "t.csv", "-o", "json", t=text)
    jobs = json.loads(run.out)["items"][0]["jobs"]
    assert {one["name"]: one["endSeconds"] for one in jobs} == {"one": 55.0, "two": 105.0}


def test_a_trailing_comma_adds_no_cell(folder: Path) -> None:
    run = simulated(folder, NODES, "--trace", "t.csv", t="submit,length\n0,60,\n5,60,\n")
    assert run.code == 0


def test_a_simulation_beyond_the_maximum_date_is_refused(folder: Path) -> None:
    scenario = f"{NODES}jobs: [{{work: 36000d, speed: {{1: 0.001}}}}]\n"
    (said,) = refused(simulated(folder, scenario))
    assert said.startswith("error: fair: exceeds the maximum date")
    assert said.endswith("; set --until")


# -- names -------------------------------------------------------------------------------------

LOG = "submit,name,length\n0,train,1h\n30m,train,1h\n1h,train-2,1h\n3h,train,1h\n"
HINT = "hint: 2 jobs of traces have names that are in use: renamed to train-3, train-4\n"


@pytest.mark.parametrize("by_flag", [True, False])
def test_jobs_of_a_trace_with_equal_names_are_renamed(folder: Path, *, by_flag: bool) -> None:
    own, args = ("", ("--trace", "t.csv")) if by_flag else ("trace: t.csv\n", ())
    run = simulated(folder, NODES + own, *args, "-o", "json", t=LOG)
    jobs = json.loads(run.out)["items"][0]["jobs"]
    assert [(one["name"], one["arrivalSeconds"]) for one in jobs] == [
        ("train", 0.0),
        ("train-3", 1800.0),
        ("train-2", 3600.0),
        ("train-4", 10800.0),
    ]
    assert run.err == HINT


def test_a_trace_job_is_renamed_if_the_scenario_has_its_name(folder: Path) -> None:
    scenario = f"{NODES}jobs: [{{name: train, cpu: 1, work: 60}}]\n"
    run = simulated(folder, scenario, "--trace", "t.csv", "-o", "json", t="submit,name\n5,train\n")
    jobs = json.loads(run.out)["items"][0]["jobs"]
    assert [(one["name"], one["arrivalSeconds"]) for one in jobs] == [
        ("train", 0.0),
        ("train-2", 5.0),
    ]
    assert "hint: 1 job of a trace has a name that is in use: renamed to train-2\n" in run.err


def test_two_jobs_of_the_scenario_itself_need_names_of_their_own(folder: Path) -> None:
    found = refused(simulated(folder, f"{NODES}jobs: [{{name: a}}, {{name: a}}]\n"))
    said = 'jobs: two jobs are called "a"; allowed: a name of its own for each'
    assert found == [f"error: s.yaml:2: {said}"]


@pytest.mark.slow
def test_a_long_log_of_one_name_is_read_in_a_breath(folder: Path) -> None:
    """20,000 lines: quadratic comparisons would take a minute."""
    (folder / "t.csv").write_text("submit,name\n" + "0,train\n" * 20_000)
    source = ManifestSource(str(folder / "s.yaml"), f"{NODES}trace: t.csv\n")
    trainings = read_scenario(source).scenario.trainings
    assert len({one.key for one in trainings}) == 20_000
    assert trainings[-1].key.name == "train-20000"


# -- who never starts --------------------------------------------------------------------------

FITS, HUGE = "{name: fits, cpu: 1, work: 60}", "{name: huge, cpu: 9, work: 60}"


def waits(run: Run) -> list[tuple[str, str]]:
    titles, *rows = (line.split() for line in run.out.splitlines())
    mean, most = titles.index("WAIT-MEAN"), titles.index("WAIT-MAX")
    return [(row[mean], row[most]) for row in rows]


def test_waits_are_lower_bounds_if_a_job_never_ran(folder: Path) -> None:
    scenario = f"horizon: 1795\n{NODES}jobs: [{FITS}, {HUGE}]\n"
    run = simulated(folder, scenario)
    assert waits(run) == [(">15m", ">29m")]
    assert run.err == "hint: 1 of 2 jobs does not start before the end: -o wide shows why\n"


def test_waits_are_never_if_no_job_ran(folder: Path) -> None:
    run = simulated(folder, f"{NODES}jobs: [{HUGE}]\n", "--plain", "--policy", "fair")
    assert waits(run) == [("never", "never"), ("never", "never")]
    assert run.err == (
        "hint: fair: 1 of 1 jobs never starts: -o wide shows why\n"
        "hint: plain: 1 of 1 jobs never starts\n"
    )


def test_waits_are_exact_if_all_jobs_ran(folder: Path) -> None:
    run = simulated(folder, f"{NODES}jobs: [{FITS}]\n")
    assert (waits(run), run.err) == ([("5s", "5s")], "")


def test_in_json_a_job_that_never_ran_has_no_wait(folder: Path) -> None:
    both = simulated(folder, f"{NODES}jobs: [{FITS}, {HUGE}]\n", "--until", "1h", "-o", "json")
    (item,) = json.loads(both.out)["items"]
    assert {one["name"]: one["waitSeconds"] for one in item["jobs"]} == {"fits": 5.0, "huge": None}
    assert (item["neverStartedJobs"], item["waitSeconds"]["max"]) == (1, 3600.0)
    alone = simulated(folder, f"{NODES}jobs: [{HUGE}]\n", "-o", "json")
    (item,) = json.loads(alone.out)["items"]
    assert item["waitSeconds"] == {"mean": None, "median": None, "max": None}


@pytest.mark.parametrize(
    ("field", "place"),
    [
        (f"priority: {'9' * 400}", "priority"),
        (f"count: {'9' * 400}", "count"),
        (f"length: {'9' * 400}", "length"),
        (f"at: {{between: [1, {'9' * 400}]}}", "at.between"),
        (f"work: {{exponential: {'9' * 400}}}", "work"),
    ],
)
def test_a_number_that_no_computer_counts_with_is_a_finding(
    folder: Path, field: str, place: str
) -> None:
    found = refused(simulated(folder, f"{NODES}jobs:\n  - {{{field}}}\n"))
    assert found
    assert all(one.startswith(f"error: s.yaml:3: jobs[0].{place}") for one in found)
    assert max(map(len, found)) < 250


@pytest.mark.parametrize("trace", ["t" * 300 + ".csv", "no.csv", ".", "/dev/null", '"a\\0b"'])
def test_a_trace_that_cannot_be_read_is_a_finding(folder: Path, trace: str) -> None:
    (found,) = refused(simulated(folder, f"{NODES}{JOB}trace: {trace}\n"))
    assert found.startswith("error: s.yaml:3: trace[0]: ")
    assert len(found) < 350


@pytest.mark.parametrize("line", [0, 1])
def test_a_cell_that_is_too_long_for_csv_is_a_finding(folder: Path, line: int) -> None:
    lines = ["submit,name", "1,a"]
    lines[line] += "b" * 200_000
    found = refused(simulated(folder, f"{NODES}{JOB}trace: t.csv\n", t="\n".join(lines)))
    assert all(one.startswith("error: t.csv:") for one in found)
    assert max(map(len, found)) < 250

import io
import itertools
import json
from pathlib import Path

import pytest
import yaml

from edl import contract
from edl.planner.decision_limits import Limits
from edl.planner.published_settings import Settings, render
from edl.simulator import Plain
from edl.writes import Json
from kubectl_edl.resources.manifest_sources import ManifestSource
from kubectl_edl.simulate.run_variants import Variant, run
from kubectl_edl.simulate.scenario.scenario_reader import read_scenario
from tests.kubectl_edl.stage import Run, Stage, job, lease, mnist, node, role_manifests

EXAMPLES = Path(__file__).parents[3] / "examples" / "simulate"
SMALL = """
horizon: 1h
nodes:
  - {name: node, count: 2, cpu: 4, memory: 8Gi}
jobs:
  - {name: first, min: 1, max: 8, cpu: 1, memory: 1Gi, work: 1600}
  - {name: second, at: 60, min: 2, max: 4, cpu: 1, memory: 1Gi, length: 100}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(SMALL)
    return path


def simulated(*args: object) -> Run:
    return Stage().run("simulate", *map(str, args))


def documents(*args: object) -> list[Json]:
    found = simulated(*args, "-o", "json")
    assert found.code == 0, found.err
    items: list[Json] = json.loads(found.out)["items"]
    return items


def test_policies_are_compared_with_the_plain_scheduler(scenario: Path) -> None:
    found = simulated("-f", scenario, "--policy", "fair", "--policy", "fifo", "--plain")
    lines = [line.split() for line in found.out.splitlines()]
    assert lines[0][:4] == ["POLICY", "JOBS", "ENDED", "WAIT-MEAN"]
    assert [line[:3] for line in lines[1:]] == [
        ["fair", "2", "2"],
        ["fifo", "2", "2"],
        ["plain", "2", "2"],
    ]


def test_a_job_that_waits_without_us_starts_at_once_with_us(scenario: Path) -> None:
    fair, plain = documents("-f", scenario, "--policy", "fair", "--plain")
    assert fair["jobs"][1]["waitSeconds"] < 15
    assert plain["jobs"][1]["waitSeconds"] > 60


def test_work_takes_as_long_as_its_replicas_need(scenario: Path) -> None:
    (first, _) = documents("-f", scenario, "--policy", "fair")[0]["jobs"]
    sizes = [*first["replicas"], [first["endSeconds"], 0]]
    spans = itertools.pairwise(sizes)
    done = sum((later[0] - now[0]) * now[1] for now, later in spans)
    # Each replica starts for 5 seconds before it works.
    assert 1600 <= done <= 1600 + 8 * 5 + 8 * 10


def test_wide_shows_every_job(scenario: Path) -> None:
    found = simulated("-f", scenario, "-o", "wide")
    assert any(line.split()[:2] == ["fair", "second"] for line in found.out.splitlines())


def test_policies_of_the_scenario_are_used(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(f"policies: [fifo, fair]\n{SMALL}")
    assert [one["metadata"]["name"] for one in documents("-f", path)] == ["fifo", "fair"]


def test_jobs_of_a_trace_join_those_of_the_scenario(scenario: Path, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,name,min,max,cpu,length\n5m,logged,1,2,1,90s\n")
    jobs = documents("-f", scenario, "--trace", path)[0]["jobs"]
    assert [(one["name"], one["arrivalSeconds"]) for one in jobs][-1] == ("logged", 300.0)


def test_another_seed_draws_other_jobs(tmp_path: Path) -> None:
    path = tmp_path / "drawn.yaml"
    path.write_text(
        "nodes: [{cpu: 8}]\njobs: [{count: 9, poisson: 60, cpu: 1, work: {exponential: 5m}}]\n"
    )
    arrivals = [
        [one["arrivalSeconds"] for one in documents("-f", path, "--seed", seed)[0]["jobs"]]
        for seed in (1, 1, 2)
    ]
    assert arrivals[0] == arrivals[1] != arrivals[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed.yaml", "queue.yaml", "trace.yaml"])
def test_the_examples_come_to_their_end(name: str) -> None:
    (run, *_) = documents("-f", EXAMPLES / name, "--policy", "fair")
    assert run["completedJobs"] == len(run["jobs"]) > 40


def test_every_finding_is_named_at_once_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(
        "nodes: [{cpu: 1x}]\n"
        "horizn: 1d\n"
        "jobs:\n"
        "  - {min: 4, max: 2, work: soon}\n"
        "  - {framework: caffe, priority: high}\n"
        "  - {max: {choices: [2, many]}, count: 3}\n"
        "events: [{at: 5, node: nobody, change: exploded}]\n"
    )
    found = simulated("-f", path)
    assert found.code == 1
    expected = [
        (1, 'nodes[0].cpu: cpu: "1x" is not a quantity'),
        (2, "horizn: is not a field here (did you mean horizon?); allowed: apiVersion, kind"),
        (4, "jobs[0].min: min 4 is above max 2; allowed: 1 ≤ min ≤ max"),
        (4, 'jobs[0].work: "soon"; allowed: seconds, or 90s, 5m'),
        (5, 'jobs[1].framework: "caffe"; allowed: tensorflow, mxnet'),
        (5, 'jobs[1].priority: "high"; allowed: a whole number'),
        (6, 'jobs[2].max: "many"; allowed: a whole number from 1'),
        (7, 'events[0].change: "exploded"; allowed: added, lost'),
        (7, 'events[0].node: "nobody" is not a node; allowed: node-0'),
    ]
    assert len(found.err.splitlines()) == len(expected)
    for line, (number, text) in zip(found.err.splitlines(), expected, strict=True):
        assert line.startswith(f"error: {path}:{number}: {text}")


def test_errors_in_a_trace_name_line_and_column(scenario: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("submit,min,max,length,framework\n-1,0,3,0,\n1,4,2,5s,\n2,1,1,5s,caffe\n")
    found = simulated("-f", scenario, "--trace", path)
    assert found.code == 1
    starts = [line.split(";")[0].removeprefix(f"error: {path}:") for line in found.err.splitlines()]
    assert starts == [
        "2: submit: -1",
        "2: min: 0",
        "2: length: no time at all",
        "3: min: min 4 is above max 2",
        '4: framework: "caffe"',
    ]


def test_unknown_trace_columns_are_refused_with_the_allowed_ones(
    scenario: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("arrival,length,length\n1,2,3\n")
    found = simulated("-f", scenario, "--trace", path)
    assert "arrival: is not a column; allowed: submit, name" in found.err
    assert "submit: is missing" in found.err
    assert "length: occurs twice; allowed: each column once" in found.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "-f FILE or --live"),
        (("--live", "-f", "x.yaml"), "choose one"),
        (("-f", "x.yaml", "--add-nodes", "2"), "add --live"),
        (("--live", "--like", "node-1"), "add --add-nodes"),
        (("-f", "nothing.yaml"), "nothing.yaml cannot be read"),
        (
            ("-f", str(EXAMPLES / "queue.yaml"), "--until", "soon"),
            "'soon' is not a duration from 0.001s to 36500d: write 60s",
        ),
        (("-f", str(EXAMPLES / "queue.yaml"), "--plot", "x.gif"), "ends with .png, .svg, .pdf"),
        (("-f", str(EXAMPLES / "queue.yaml"), "--trace", "none.csv"), "none.csv: cannot be read"),
        (
            ("-f", str(EXAMPLES / "queue.yaml"), "--until", "99999d"),
            "'99999d' is not a duration from 0.001s to 36500d: write 60s",
        ),
        (("-f", "a.yaml", "-f", "b.yaml"), "-f a.yaml -f b.yaml: one scenario"),
        (("-f", "a.yaml", "-n", "team"), "-n and -A require --live"),
        (("-f", "a.yaml", "-A"), "-n and -A require --live"),
    ],
)
def test_contradictory_options_are_refused_with_a_remedy(args: tuple[str, ...], said: str) -> None:
    found = simulated(*args)
    assert found.code in (1, 2)
    assert said in found.err
    assert found.out == ""


def test_an_ordinary_manifest_is_a_template_for_jobs(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        yaml.safe_dump_all(role_manifests("mnist", "chief=1,ps=2,worker=1..3"))
    )
    path = tmp_path / "scenario.yaml"
    path.write_text(
        "nodes: [{count: 4, cpu: 8}]\n"
        "jobs: [{name: mnist, manifest: job.yaml, count: 2, every: 60, work: 300, priority: 5}]\n"
    )
    jobs = documents("-f", path)[0]["jobs"]
    assert [(one["name"], one["maxReplicas"], one["endSeconds"] is None) for one in jobs] == [
        ("mnist-0", 3, False),
        ("mnist-1", 3, False),
    ]


def test_anti_affinity_applies_to_jobs_without_rules(tmp_path: Path) -> None:
    apart = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "b"}},
    }
    shy, plain = job("a", framework="none"), job("b", framework="none")
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    shy["spec"]["template"]["spec"]["affinity"] = rule
    plain["spec"]["template"]["metadata"] = {"labels": {"app": "b"}}
    for name, manifest in (("a", shy), ("b", plain)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(manifest))
    path = tmp_path / "scenario.yaml"
    path.write_text(
        "nodes: [{cpu: 8, labels: {kubernetes.io/hostname: node-1}}]\n"
        "jobs: [{name: b, manifest: b.yaml, work: 300},"
        " {name: a, manifest: a.yaml, work: 300, at: 10}]\n"
    )
    first, second = sorted(documents("-f", path)[0]["jobs"], key=lambda one: one["startSeconds"])
    assert (first["name"], second["name"]) == ("b", "a")
    assert second["startSeconds"] >= first["endSeconds"], "one node: they run one after another"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "job.yaml holds none with edl.dev/framework; allowed: the Jobs of one training job"),
        (yaml.safe_dump_all(role_manifests()[:2]), "mnist: without its worker; allowed: all roles"),
        (yaml.safe_dump(job("one", framework="caffe")), 'unknown "caffe"'),
    ],
)
def test_a_manifest_without_a_training_job_is_named(
    tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "job.yaml").write_text(content)
    path = tmp_path / "scenario.yaml"
    path.write_text("nodes: [{cpu: 8}]\njobs:\n  - {manifest: job.yaml, work: 300}\n")
    found = simulated("-f", path)
    assert found.err.startswith(f"error: {path}:3: jobs[0].manifest: ")
    assert said in found.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_shows_the_progress_on_a_terminal() -> None:
    given = read_scenario(ManifestSource("small.yaml", SMALL)).scenario
    variants = [Variant("fair", given, Plain())]
    shown, silent = Terminal(), io.StringIO()
    assert len(run(variants, 100, shown)) == len(run(variants, 100, silent)) == 1
    assert "fair" in shown.getvalue()
    assert silent.getvalue() == ""


# -- what-if -----------------------------------------------------------------------------------


@pytest.fixture
def stage() -> Stage:
    """A TensorFlow job of 1 + 2 + 4 pods of 2 CPU on two nodes of 8; another one waits."""
    stage = Stage()
    lease(stage)
    for name in ("node-1", "node-2"):
        stage.create(node(name, cpu="8"))
    mnist(stage)
    for manifest in role_manifests("bert", "chief=1,ps=4,worker=2..4"):
        stage.put(manifest)
    return stage


def what_if(stage: Stage, *args: str) -> dict[str, Json]:
    found = stage.run("simulate", "--live", *args, "-o", "json")
    assert found.code == 0, found.err
    return {
        one["metadata"]["name"]: {run["name"]: run for run in one["runs"]}
        for one in json.loads(found.out)["items"]
    }


def sizes(run: Json) -> dict[str, int]:
    return {role["name"]: role["replicas"] for role in run["roles"]}


def test_more_nodes_let_a_queued_job_start(stage: Stage) -> None:
    runs = what_if(stage, "--add-nodes", "2")["bert"]
    assert runs["as-is"]["startSeconds"] is None
    assert runs["what-if"]["startSeconds"] == 1
    assert sizes(runs["what-if"])["worker"] >= 2


def test_the_kind_of_added_nodes_is_named_where_no_option_names_it(stage: Stage) -> None:
    command = ("simulate", "--live", "--add-nodes", "2")
    first = "hint: the 2 added nodes are like node-1, with its labels"
    assert f"{first}; --like NODE chooses others" in stage.run(*command).err
    stage.create(node("tiny", cpu="1"))
    assert f"{first}, the most common of 2 kinds; --like" in stage.run(*command).err
    assert "added nodes" not in stage.run(*command, "--like", "tiny").err


def test_nodes_are_added_like_a_named_one_or_as_described(stage: Stage) -> None:
    stage.create(node("tiny", cpu="1"))
    tiny = what_if(stage, "--add-nodes", "2", "--like", "tiny")["bert"]
    large = what_if(stage, "--add-nodes", "1", "--like", "cpu=64,memory=64Gi")["bert"]
    assert tiny["what-if"]["startSeconds"] is None
    assert large["what-if"]["startSeconds"] == 1


def test_nodes_like_a_cordoned_one_take_pods(stage: Stage) -> None:
    away = node("away", cpu="64")
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    stage.create(away | {"spec": {"unschedulable": True, "taints": [taint]}})
    found = what_if(stage, "--add-nodes", "1", "--like", "away")["bert"]
    assert found["what-if"]["startSeconds"] == 1


def with_gpus(manifest: Json) -> Json:
    manifest["status"]["allocatable"]["nvidia.com/gpu"] = "4"
    return manifest


def test_an_unqualified_resource_name_is_refused(stage: Stage) -> None:
    stage.create(with_gpus(node("gpus", cpu="8")))
    found = stage.run("simulate", "--live", "--add-nodes", "1", "--like", "gpu=4,cpu=4")
    assert "did you mean nvidia.com/gpu?" in found.err


def test_the_first_devices_of_a_cluster_can_be_tried(stage: Stage) -> None:
    args = ("simulate", "--live", "--add-nodes", "1", "--like")
    found = stage.run(*args, "nvidia.com/gpu=4")
    assert found.code == 0
    hint = 'hint: --like nvidia.com/gpu=4: no node has "nvidia.com/gpu" and no pod asks for it\n'
    assert hint in found.err
    stage.create(with_gpus(node("gpus", cpu="8")))
    assert "no pod asks for it" not in stage.run(*args, "nvidia.com/gpu=4").err
    found = stage.run(*args, "nvidia.com/gpus=4")
    assert "no pod asks for it; did you mean nvidia.com/gpu?\n" in found.err


def test_omitted_amounts_default_to_the_largest_node(stage: Stage) -> None:
    stage.create(with_gpus(node("gpus", cpu="48")))
    args = ("--add-nodes", "1", "--like", "nvidia.com/gpu=48")
    found = stage.run("simulate", "--live", *args)
    assert "hint: --like nvidia.com/gpu=48: and, as the largest node, 48 CPU, " in found.err
    assert what_if(stage, *args)["bert"]["what-if"]["startSeconds"] == 1


def test_a_job_that_is_stopped_for_another_is_queued_again(stage: Stage) -> None:
    lease(stage, render(Settings(limits=Limits(preempt=True))))
    urgent = ("--set", "job/bert.priority=9")
    runs = what_if(stage, *urgent)["mnist"]
    assert (runs["as-is"]["startSeconds"], sizes(runs["as-is"])["chief"]) == (0, 1)
    assert (runs["what-if"]["startSeconds"], sizes(runs["what-if"])["chief"]) == (None, 0)
    lines = stage.run("simulate", "--live", *urgent).out.splitlines()
    assert {line.split(maxsplit=7)[7] for line in lines if line.startswith("mnist")} == {
        "not in 10m"
    }


def test_a_job_of_size_0_has_not_started(stage: Stage) -> None:
    stage.put(job("none", framework="none", min="1", max="2"), suspend=False, parallelism=0)
    assert what_if(stage)["none"]["as-is"]["startSeconds"] is None


def test_another_max_shows_which_jobs_gain_and_lose(stage: Stage) -> None:
    grown = what_if(stage, "--add-nodes", "4", "--set", "job/mnist.max=5")["mnist"]
    assert [role["maxReplicas"] for role in grown["as-is"]["roles"]] == [1, 2, 12]
    assert [role["maxReplicas"] for role in grown["what-if"]["roles"]] == [1, 2, 5]
    assert sizes(grown["what-if"]) == {"chief": 1, "ps": 2, "worker": 5}
    table = stage.run("simulate", "--live", "--set", "job/mnist.max=5").out.splitlines()
    (worker,) = (line.split() for line in table if "mnist" in line and "worker" in line)
    assert worker[2] == "1..12→1..5"


def test_if_bounds_differ_each_run_shows_its_own(stage: Stage) -> None:
    line = ("--set", "job/mnist.max=5", "--policy", "fifo", "--plain")
    table = stage.run("simulate", "--live", *line).out.splitlines()
    (worker,) = (line.split() for line in table if "mnist" in line and "worker" in line)
    assert worker[2] == "1..12→1..5→1..5"


def test_what_if_sets_priority_and_manual_size(stage: Stage) -> None:
    runs = what_if(stage, "--set", "job/mnist.replicas=1", "--set", "job/bert.priority=9")
    assert sizes(runs["mnist"]["what-if"])["worker"] == 1


def test_other_policies_are_compared_with_the_reconcilers_own(stage: Stage) -> None:
    runs = what_if(stage, "--policy", "fifo", "--policy", "throughput")
    assert list(runs["bert"]) == ["as-is", "fifo", "throughput"]


def test_jobs_end_as_they_declare(stage: Stage) -> None:
    for role in ("chief", "ps", "worker"):
        notes = {contract.DURATION: "10m", contract.STARTED_AT: "2026-11-21T11:55:00Z"}
        stage.patch(f"mnist-{role}", {"metadata": {"annotations": notes}})
    runs = what_if(stage, "--until", "1h")
    assert runs["mnist"]["as-is"]["endSeconds"] == pytest.approx(300, abs=60)
    assert 0 < runs["bert"]["as-is"]["startSeconds"] < 400


def test_the_table_shows_now_and_then(stage: Stage) -> None:
    found = stage.run("simulate", "--live", "--add-nodes", "2")
    lines = [line.split() for line in found.out.splitlines()]
    titles = ["NAME", "ROLE", "MIN..MAX", "NOW"]
    titles += ["AS-IS", "AS-IS-STARTS", "WHAT-IF", "WHAT-IF-STARTS"]
    assert lines[0] == titles
    assert [line[:4] for line in lines[1:]] == [
        ["bert", "chief", "1", "0"],
        ["bert", "ps", "4", "0"],
        ["bert", "worker", "2..4", "0"],
        ["mnist", "chief", "1", "1"],
        ["mnist", "ps", "2", "2"],
        ["mnist", "worker", "1..12", "4"],
    ]
    assert {line[5] for line in lines[4:]} == {"started"}


def test_a_job_of_another_namespace_is_named_as_the_option_takes_it(stage: Stage) -> None:
    found = stage.run("simulate", "--live", "-n", "lab", "--set", "job/mnist.max=20")
    assert found.err.endswith('"mnist" in namespace lab; it is in: job/default/mnist\n')


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--set", "mnist=4"), "not understood; job/NAME.max=40"),
        (("--set", "job/mnist.colour=4"), "not understood; job/NAME.max=40"),
        (("--set", "job/mnist.max=many"), '"many" is not a whole number'),
        (("--set", "job/mnist.min=40"), "1 ≤ min ≤ max"),
        (("--set", "job/nobody.max=4"), 'no training job "nobody" in namespace default'),
        (("--add-nodes", "1", "--like", "nobody"), 'no node "nobody"'),
        (("--add-nodes", "1", "--like", "cpu=many"), "Ei, or an exponent, without spaces: "),
        (("--add-nodes", "1", "--like", "cpu=some"), "such as cpu=16,memory=64Gi"),
        (("--add-nodes", "1", "--like", "cpu=8,cpu=9"), "cpu is given more than once: keep one"),
        (
            ("--add-nodes", "1", "--like", "cpu=8,memory=-3"),
            "-3 is below 0; allowed: 0 or more; such",
        ),
        (
            ("--add-nodes", "1", "--like", "cpuu=3"),
            'no node has "cpuu" and no pod asks for it; did',
        ),
        (
            ("--add-nodes", "1", "--like", "gpu=1"),
            "for it; must be one of cpu, ephemeral-storage, memory, pods, or have a domain, as in ",
        ),
        (("--add-nodes", "1", "--like", "cpu=4,"), "an amount of nothing; such as cpu=16"),
    ],
)
def test_an_impossible_change_is_refused(stage: Stage, args: tuple[str, ...], said: str) -> None:
    found = stage.run("simulate", "--live", *args)
    assert found.code in (1, 2, 3)
    assert said in found.err


def test_an_empty_cluster_prints_a_message() -> None:
    stage = Stage()
    lease(stage)
    stage.create(node("node-1"))
    stage.create(job("plain"))
    found = stage.run("simulate", "--live")
    assert (found.code, found.out) == (0, "")
    assert "No training jobs found in default namespace.\n" in found.err
    assert "No training jobs found.\n" in stage.run("simulate", "--live", "-A").err


RACKS = """
horizon: 1h
nodes:
  - {name: r1, count: 2, cpu: 4, labels: {example.com/rack: r1}}
  - {name: r2, count: 2, cpu: 3, labels: {example.com/rack: r2}}
jobs:
  - {name: first, replicas: 6, cpu: 1, length: 600, requiredTopology: example.com/rack}
  - {name: large, at: 1, replicas: 8, cpu: 1, length: 60, requiredTopology: example.com/rack}
  - {name: second, at: 2, replicas: 5, cpu: 1, length: 60, requiredTopology: example.com/rack}
  - {name: never, at: 3, replicas: 9, cpu: 1, length: 60, requiredTopology: example.com/rack}
  - {name: near, at: 4, replicas: 2, cpu: 1, length: 60, preferredTopology: [example.com/rack]}
"""


def test_a_gang_starts_in_one_domain_or_waits(tmp_path: Path) -> None:
    """Of 14 CPU 6 are taken: 8 are free, in one rack only 8."""
    path = tmp_path / "racks.yaml"
    path.write_text(RACKS)
    (found,) = documents("-f", path)
    jobs = {job["name"]: job for job in found["jobs"]}
    assert domains(jobs["first"]) == {"r2": 6}
    assert domains(jobs["large"]) == {"r1": 8}
    assert jobs["large"]["waitSeconds"] < 60
    assert domains(jobs["second"]) == {"r1": 5}
    assert jobs["second"]["waitSeconds"] > 55
    assert jobs["never"]["startSeconds"] is None
    assert "in one domain of example.com/rack" in jobs["never"]["message"]
    assert len(domains(jobs["near"])) == 1


def domains(job: Json) -> dict[str, int]:
    assert {one["topologyKey"] for one in job["domains"]} == {"example.com/rack"}
    return {one["value"]: one["pods"] for one in job["domains"]}


def test_the_domains_of_each_job_are_in_the_wide_table(tmp_path: Path) -> None:
    path = tmp_path / "racks.yaml"
    path.write_text(RACKS)
    assert (
        "fair     first    worker   example.com/rack   required    r2 (6 pods)"
        in simulated("-f", path, "-o", "wide").out
    )


def test_the_plain_scheduler_ignores_topologies(tmp_path: Path) -> None:
    path = tmp_path / "racks.yaml"
    path.write_text(RACKS)
    plain = next(
        one for one in documents("-f", path, "--plain") if "plain" in one["metadata"]["name"]
    )
    assert plain["completedJobs"] == 5


def test_an_invalid_topology_is_a_finding_on_its_field(tmp_path: Path) -> None:
    path = tmp_path / "racks.yaml"
    path.write_text(
        RACKS.replace("requiredTopology: example.com/rack", "requiredTopology: ps=rack", 1)
    )
    assert (
        '.requiredTopology: it has no role "ps"; allowed: one of worker'
        in simulated("-f", path).err
    )


def test_jobs_of_other_namespaces_only_are_hinted_at() -> None:
    stage = Stage()
    lease(stage)
    stage.create(node("node-1"))
    stage.put(job("mnist", framework="none", min="1"))
    assert "hint: all" not in stage.run("simulate", "--live").err
    found = stage.run("simulate", "--live", "-n", "empty")
    assert "hint: all training jobs are in other namespaces: -A shows them\n" in found.err

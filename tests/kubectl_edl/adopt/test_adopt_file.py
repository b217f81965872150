from pathlib import Path

import pytest
import yaml

from edl import contract
from edl.writes import Json
from kubectl_edl.output.yaml_writer import dump
from tests.kubectl_edl.stage import Stage, job, role_manifests

SERVICE = """\
# Kept as it is, comments too.
apiVersion: v1
kind: Service
metadata: {name: mnist}   # not ours
spec:
  clusterIP: None
"""
TEXT = f"""\
# The whole experiment.
---
{SERVICE}---
apiVersion: batch/v1
kind: Job
metadata:
  name: mnist
spec:
  parallelism: 4
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: train
        command:
        - sh
        - -c
        - |
          set -e
          python train.py
"""


def write(folder: Path, text: str) -> str:
    path = folder / "job.yaml"
    path.write_text(text)
    return str(path)


def documents(text: str) -> list[Json]:
    return [found for found in yaml.safe_load_all(text) if found]


def test_comments_are_kept(tmp_path: Path) -> None:
    text = (
        TEXT.partition("---\napiVersion: batch")[2]
        .replace("/v1\n", "apiVersion: batch/v1   # since 1.21\n")
        .replace("spec:\n  para", "# How many.\nspec:\n  para")
        .replace("      - name: main\n", "      # The trainer.\n      - name: main # one\n")
    )
    file = write(tmp_path, text)
    done = Stage().run("adopt", "-f", file, "--framework", "none", "--min", "1", "--max", "4")
    assert (done.code, done.err) == (0, "")
    labels = 'labels:\n    edl.dev/framework: none\n    edl.dev/min: "1"\n    edl.dev/max: "4"\n'
    assert done.out == text.replace("name: mnist\n", f"name: mnist\n  {labels}", 1)
    again = Stage().run("release", "-f", write(tmp_path, done.out))
    assert again.out == text


def test_only_labels_are_added_to_a_job(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT)
    found = Stage().run("adopt", "-f", file, "--framework", "none", "--min", "1", "--max", "4")
    assert (found.code, found.err) == (0, "")
    assert SERVICE in found.out
    before, after = documents(TEXT)[1], documents(found.out)[1]
    assert after["metadata"].pop("labels") == {
        "edl.dev/framework": "none",
        "edl.dev/min": "1",
        "edl.dev/max": "4",
    }
    assert after == before
    assert "        - |\n          set -e\n          python train.py\n" in found.out


BRACES = """\
# The whole experiment.
---
apiVersion: batch/v1
kind: Job
metadata: {name: mnist,   # ours
  namespace: lab}
spec: {parallelism: 4, template: {spec: {restartPolicy: Never, containers: [{name: main}]}}}
"""


def test_a_comment_that_cannot_stay_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, BRACES)
    found = Stage().run("adopt", "-f", file, "--framework", "none")
    lost = f"hint: {file}: document 1 has lost 1 of its comments: # ours\n"
    assert (found.code, found.err) == (0, lost)
    assert found.out.startswith("# The whole experiment.\napiVersion: batch/v1\n")


def test_release_reports_lost_comments_of_yaml(tmp_path: Path) -> None:
    labels = "metadata: {labels: {edl.dev/framework: none}, name: mnist,   # ours"
    file = write(tmp_path, BRACES.replace("metadata: {name: mnist,   # ours", labels))
    lost = f"hint: {file}: document 1 has lost 1 of its comments: # ours\n"
    assert Stage().run("release", "-f", file).err == lost
    assert Stage().run("release", "-f", file, "-o", "json").err == ""


def test_labelling_the_result_again_changes_nothing(tmp_path: Path) -> None:
    arguments = ("--framework", "none", "--max", "4")
    once = Stage().run("adopt", "-f", write(tmp_path, TEXT), *arguments).out
    twice = Stage().run("adopt", "-f", write(tmp_path, once), *arguments).out
    assert twice == once


def test_a_list_of_roles_gives_every_job_its_own_role(tmp_path: Path) -> None:
    plain = []
    for manifest in role_manifests():
        manifest["metadata"] = {"name": manifest["metadata"]["name"]}
        plain.append(manifest)
    file = write(tmp_path, "---\n".join(dump(manifest) for manifest in plain))
    roles = "chief=1,ps=2,worker=1..12"
    found = Stage().run(
        "adopt", "-f", file, "--framework", "tensorflow", "--job", "mnist", "--roles", roles
    )
    assert documents(found.out) == role_manifests()


def test_with_a_name_only_that_job_is_labelled(tmp_path: Path) -> None:
    text = "---\n".join(dump(job(name)) for name in ("one", "two"))
    found = Stage().run("adopt", "two", "-f", write(tmp_path, text), "--framework", "none")
    one, two = documents(found.out)
    assert one == job("one")
    assert two["metadata"]["labels"] == {contract.FRAMEWORK: "none"}


def test_the_jobs_of_a_list_are_labelled(tmp_path: Path) -> None:
    service = yaml.safe_load(SERVICE)
    listed = {"apiVersion": "v1", "kind": "List", "items": [service, job("one")]}
    file = write(tmp_path, dump(listed))
    (found,) = documents(Stage().run("adopt", "-f", file, "--framework", "none").out)
    assert found["items"][0] == service
    assert found["items"][1]["metadata"]["labels"] == {contract.FRAMEWORK: "none"}


def test_a_cron_job_is_labelled_in_its_template(tmp_path: Path) -> None:
    template = {"spec": job("x")["spec"]}
    nightly = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": template},
    }
    file = write(tmp_path, dump(nightly))
    found = Stage().run("adopt", "-f", file, "--framework", "none", "--max", "3")
    assert found.err == ""
    (labelled,) = documents(found.out)
    assert "labels" not in labelled["metadata"]
    assert labelled["spec"]["jobTemplate"]["metadata"]["labels"] == {
        contract.FRAMEWORK: "none",
        contract.MAX: "3",
    }


def test_errors_in_jobs_of_a_cron_job_name_its_template(tmp_path: Path) -> None:
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": job("x")["spec"]}}
    nightly = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}}
    file = write(tmp_path, dump(nightly | {"spec": spec}))
    found = Stage().run("adopt", "-f", file, "--framework", "none", "--min", "5", "--max", "3")
    assert found.err.startswith(
        f"error: {file}: document 1: cronjob.batch/nightly: "
        "spec.jobTemplate.metadata.labels[edl.dev/min]: "
    )


def test_labels_of_a_cron_job_are_moved_to_its_template(tmp_path: Path) -> None:
    own = {contract.FRAMEWORK: "none", contract.MAX: "8", "team": "vision"}
    nightly = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "labels": own},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": job("x")["spec"]}},
    }
    found = Stage().run("adopt", "-f", write(tmp_path, dump(nightly)), "--max", "3")
    assert found.err == ""
    (labelled,) = documents(found.out)
    assert labelled["metadata"]["labels"] == {"team": "vision"}
    assert labelled["spec"]["jobTemplate"]["metadata"]["labels"] == {
        contract.FRAMEWORK: "none",
        contract.MAX: "3",
    }


@pytest.mark.parametrize("kind", ["CronJob", "Job"])
def test_labels_of_the_pods_alone_are_moved_to_the_job(tmp_path: Path, kind: str) -> None:
    made = job("nightly") | {"metadata": {"name": "nightly", "labels": {"app": "sweep"}}}
    own = {contract.FRAMEWORK: "none", contract.MAX: "8", "app": "sweep"}
    made["spec"]["template"]["metadata"] = {"labels": own}
    nightly = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": made},
    }
    found = Stage().run("adopt", "-f", write(tmp_path, dump(nightly if kind != "Job" else made)))
    assert found.err == ""
    (written,) = documents(found.out)
    labelled = written if kind == "Job" else written["spec"]["jobTemplate"]
    assert labelled["metadata"]["labels"] == own
    assert labelled["spec"]["template"]["metadata"]["labels"] == {"app": "sweep"}


def test_all_findings_are_reported(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT)
    found = Stage().run(
        "adopt", "-f", file, "--framework", "none", "--min", "x", "--gpu", "-1", "--role", "boss"
    )
    assert found.code == 1
    assert found.out == ""
    lines = found.err.splitlines()
    place = f"error: {file}: document 2: job.batch/mnist: metadata."
    assert all(line.startswith(place) for line in lines)
    for label in (contract.MIN, contract.GPU, contract.ROLE):
        assert any(f"metadata.labels[{label}]: " in line for line in lines)


def test_findings_of_all_documents_are_reported(tmp_path: Path) -> None:
    file = write(tmp_path, "---\n".join(dump(job(name)) for name in ("one", "two")))
    found = Stage().run("adopt", "-f", file, "--framework", "none", "--min", "x")
    places = [line.partition(": metadata.")[0] for line in found.err.splitlines()]
    assert places == [
        f"error: {file}: document {n}: job.batch/{name}" for n, name in [(1, "one"), (2, "two")]
    ]


def test_the_api_servers_defaults_are_checked_too(tmp_path: Path) -> None:
    manifest = job("mnist")
    del manifest["spec"]["parallelism"]
    file = write(tmp_path, dump(manifest))
    found = Stage().run("adopt", "-f", file, "--framework", "none", "--max", "3")
    assert found.code == 1
    assert "max 3 is above spec.completions 1, the default if spec.parallelism is " in found.err
    assert Stage().run("adopt", "-f", file, "--framework", "tensorflow").code == 0


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_a_job_of_a_kueue_queue_is_refused_with_what_to_remove(tmp_path: Path, kind: str) -> None:
    manifest, place = job("mnist"), f"{kind.lower()}.batch/mnist: "
    manifest["metadata"]["labels"] = {contract.KUEUE_QUEUE: "team-a"}
    if kind == "CronJob":
        template = {"metadata": manifest["metadata"], "spec": manifest["spec"]}
        spec = {"schedule": "@daily", "jobTemplate": template}
        manifest = {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "mnist"}}
        manifest["spec"] = spec
        place += "spec.jobTemplate."
    file = write(tmp_path, dump(manifest))
    found = Stage().run("adopt", "-f", file, "--framework", "none", "--max", "1")
    assert (found.code, found.out) == (1, "")
    assert found.err.splitlines()[0] == (
        f"error: {file}: document 1: {place}metadata.labels[{contract.KUEUE_QUEUE}]: this Job "
        "waits in a Kueue queue, and both would suspend and start it; remove it, or "
        f"{contract.FRAMEWORK}: a Job has exactly one queue"
    )


def test_a_job_without_a_framework_needs_one(tmp_path: Path) -> None:
    file = write(tmp_path, f"{TEXT}---\n{dump(job('other'))}")
    found = Stage().run("adopt", "-f", file, "--max", "3")
    assert (found.code, found.out) == (1, "")
    missing = (
        f"metadata.labels[{contract.FRAMEWORK}]: is missing; "
        "add --framework, e.g. --framework tensorflow\n"
    )
    assert found.err == "".join(
        f"error: {file}: document {number}: job.batch/{name}: {missing}"
        for number, name in ((2, "mnist"), (3, "other"))
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SERVICE, "has no Job, CronJob or Pod to label"),
        ("", "has no Job, CronJob or Pod to label"),
        ("a: [1", "job.yaml: document 1, line 1: not YAML: while parsing a flow sequence"),
        ("- 1\n", "job.yaml: document 1, line 1: list instead of an object"),
    ],
)
def test_a_file_without_a_job_is_refused(tmp_path: Path, text: str, words: str) -> None:
    found = Stage().run("adopt", "-f", write(tmp_path, text), "--framework", "none")
    assert (found.code, found.out) == (1, "")
    assert words in found.err


def test_stdin_is_a_file_too() -> None:
    stage = Stage(answers=TEXT)
    found = stage.run("adopt", "-f", "-", "--framework", "none", "--max", "4")
    assert documents(found.out)[1]["metadata"]["labels"][contract.MAX] == "4"


@pytest.mark.parametrize("command", ["adopt", "release", "inject"])
def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path, command: str) -> None:
    missing = f"{tmp_path}/nothing.yaml"
    found = Stage().run(command, "-f", missing)
    said = f"error: {missing} cannot be read: No such file or directory\n"
    assert (found.code, found.err) == (1, said)
    assert Stage().run(command, "-f", "").err == "error: no file has an empty name\n"


def test_several_files_and_folders_are_labelled_in_their_order(tmp_path: Path) -> None:
    one, folder = tmp_path / "one.yaml", tmp_path / "more"
    folder.mkdir()
    one.write_text(dump(job("one")))
    (folder / "two.yaml").write_text(dump(job("two")))
    found = Stage().run("adopt", "-f", str(one), "-f", str(folder), "--framework", "none")
    assert [each["metadata"]["name"] for each in documents(found.out)] == ["one", "two"]
    assert found.out.count(contract.FRAMEWORK) == 2


def test_a_job_that_is_not_in_the_file_is_not_found(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT)
    found = Stage().run("adopt", "-f", file, "minst", "--framework", "none")
    said = f'error: {file} has no Job "minst"; did you mean mnist?\n'
    assert (found.code, found.out, found.err) == (3, "", said)
    assert Stage().run("adopt", "-f", file, "job.batch/mnist", "--framework", "none").code == 0


def test_a_name_that_yaml_reads_as_a_number_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: 5}\n")
    said = f'error: {file}: document 1: metadata.name: 5 is not a string; quote it: "5"\n'
    for name in ((), ("5",)):
        found = Stage().run("adopt", "-f", file, *name, "--framework", "none")
        assert (found.code, found.out, found.err) == (1, "", said)


LABELS = 'labels: {edl.dev/framework: none, edl.dev/max: "4"}'


@pytest.mark.parametrize("command", ["adopt --framework none", "release"])
def test_with_a_name_only_the_types_of_that_job_count(tmp_path: Path, command: str) -> None:
    elastic = TEXT.replace("  name: mnist\nspec:", f"  name: mnist\n  {LABELS}\nspec:")
    file = write(tmp_path, f"{elastic}---\nkind: CronJob\nmetadata: {{name: 5}}\n")
    found = Stage().run(*command.split(), "-f", file, "mnist")
    assert (found.code, found.err) == (0, "")


def test_release_takes_labels_of_ours_off_whatever_their_type(tmp_path: Path) -> None:
    ours = (
        f"labels: {{edl.dev/framework: none, edl.dev/max: 4}}, annotations: {{{contract.TTL}: 60}}"
    )
    file = write(tmp_path, f"kind: Job\nmetadata: {{name: a, {ours}}}\n")
    found = Stage().run("release", "-f", file)
    assert (found.code, found.err) == (0, "")
    assert documents(found.out) == [{"kind": "Job", "metadata": {"name": "a"}}]


def test_a_cron_job_without_a_template_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "kind: CronJob\nspec: {schedule: x}\n")
    found = Stage().run("adopt", "-f", file, "--framework", "none")
    assert (
        "spec.jobTemplate: is missing, or not an object; a template of Jobs belongs here"
        in found.err
    )


@pytest.mark.parametrize("flag", ["--recreate", "--yes"])
def test_nothing_is_made_anew_from_a_file(tmp_path: Path, flag: str) -> None:
    found = Stage().run("adopt", "-f", write(tmp_path, TEXT), "--framework", "none", flag)
    assert (found.code, found.out) == (2, "")
    assert "--recreate and --yes are for a Job that exists: leave them out, or -f." in found.err


def test_an_unknown_framework_lists_the_known_ones(tmp_path: Path) -> None:
    found = Stage().run("adopt", "-f", write(tmp_path, TEXT), "--framework", "caffe")
    assert found.code == 2
    assert "'caffe' is not one of 'tensorflow'" in found.err


@pytest.mark.parametrize("command", ["adopt --framework none --min 1 --max 2", "release"])
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("kind: Job\nmetadata: x\n", "metadata"),
        ("kind: Job\nmetadata: {labels: [a]}\n", "metadata.labels"),
        ("kind: Job\nspec: {template: {spec: [1]}}\n", "spec.template.spec"),
        ("kind: Pod\nspec: 5\n", "spec"),
        ("kind: CronJob\nspec: {schedule: x}\n", "spec.jobTemplate"),
        ("kind: CronJob\nspec: {jobTemplate: {spec: x}}\n", "spec.jobTemplate.spec"),
        ("kind: List\nitems: [{kind: Job, metadata: 1}]\n", "metadata"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(
    tmp_path: Path, command: str, text: str, place: str
) -> None:
    found = Stage().run(*command.split(), "-f", write(tmp_path, text))
    assert (found.code, found.out) == (1, "")
    assert f"{place}: " in found.err
    assert "document 1" in found.err
    assert "unexpected" not in found.err


@pytest.mark.parametrize(
    "text", ["kind: [Job]\n", "kind: ConfigMap\nmetadata: 1\n", "kind: X\nspec: {template: a}\n"]
)
def test_other_manifests_are_not_validated(tmp_path: Path, text: str) -> None:
    ours = "kind: Job\nmetadata: {name: a, labels: {edl.dev/framework: none}}\n"
    found = Stage().run("release", "-f", write(tmp_path, f"{text}---\n{ours}"))
    assert found.code == 0
    assert found.out.startswith(text)


def test_a_job_that_was_read_from_the_cluster_can_be_created_again(tmp_path: Path) -> None:
    owned = {"controller-uid": "1-2", "batch.kubernetes.io/controller-uid": "1-2"}
    live = job("p5")
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "9"}
    live["metadata"] |= {"uid": "1-2", "resourceVersion": "7", "generation": 1}
    live["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    live["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": "1-2"}}
    live["spec"]["template"]["metadata"] = {"labels": owned | {"app": "mine"}}
    file = write(tmp_path, dump(live | {"status": {"active": 1}}))
    found = Stage().run("adopt", "-f", file, "--framework", "none", "--max", "4")
    assert (found.code, found.err) == (0, "")
    (fresh,) = documents(found.out)
    assert fresh["metadata"].keys() == {"name", "labels"}
    assert "status" not in fresh
    assert "selector" not in fresh["spec"]
    assert fresh["spec"]["template"]["metadata"] == {"labels": {"app": "mine"}}


def test_a_live_cron_job_loses_server_fields(
    tmp_path: Path,
) -> None:
    spec = {"schedule": "@daily", "jobTemplate": {"spec": job("x")["spec"]}}
    metadata = {"name": "nightly", "uid": "1-2", "resourceVersion": "7", "ownerReferences": [{}]}
    live = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec}
    file = write(tmp_path, dump(live | {"status": {}}))
    found = Stage().run("adopt", "-f", file, "--framework", "none", "--max", "4")
    (fresh,) = documents(found.out)
    assert (fresh["metadata"], fresh.keys() & {"status"}) == ({"name": "nightly"}, set())


def test_settings_of_another_scheduler_are_hints(tmp_path: Path) -> None:
    manifest = job("mnist")
    manifest["spec"]["template"]["spec"]["schedulerName"] = "volcano"
    file = write(tmp_path, dump(manifest))
    found = Stage().run("adopt", "-f", file, "--framework", "none", "--max", "1")
    assert found.code == 0
    assert found.err == (
        f"hint: {file}: document 1: job.batch/mnist: spec.template.spec.schedulerName: "
        '"volcano" has queues of its own; leave it out: kubectl-edl queues the Job\n'
    )

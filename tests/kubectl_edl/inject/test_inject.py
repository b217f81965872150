import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edl import contract
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.writes import Json
from kubectl_edl.cli.completion_main import answer
from kubectl_edl.output.yaml_writer import dump
from tests.edl.inject.drawn import ROLE_LISTS, manifests
from tests.edl.manifests import changed
from tests.kubectl_edl.stage import Run, Stage, job, role_manifests

PORTS = "kind: Pod\nspec: {containers: [{ports: [{containerPort: [1]}]}]}\n"
SERVICE = """\
# Kept as it is, comments too.
apiVersion: v1
kind: Service
metadata: {name: mnist}   # not ours
"""


def written(folder: Path, *manifests: Json, name: str = "job.yaml") -> str:
    path = folder / name
    path.write_text("---\n".join([SERVICE, *map(dump, manifests)]))
    return str(path)


def inject(*args: str, stdin: str | None = None) -> Run:
    return Stage(answers=stdin).run("inject", *args, environ={})


def documents(text: str) -> list[Json]:
    return [found for found in yaml.safe_load_all(text) if found]


def by_the_webhook(manifest: Json, namespace: str = "default") -> Json:
    sent = manifest | {"metadata": {"namespace": namespace} | manifest["metadata"]}
    context = Context(frozenset({contract.RECONCILER_USER}), "kubectl-edl:0.1.0")
    return mutate(AdmissionRequest("CREATE", sent, None, "alice"), context).manifest


def test_labelled_jobs_come_out_as_the_webhook_would_store_them(tmp_path: Path) -> None:
    found = inject("-f", written(tmp_path, *role_manifests()))
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith(SERVICE)
    assert documents(found.out)[1:] == [by_the_webhook(manifest) for manifest in role_manifests()]


def test_comments_of_a_completed_job_stay(tmp_path: Path) -> None:
    text = dump(job("mnist", framework="tensorflow", min="1", max="4"))
    lines = [f"{line}   # {number}" for number, line in enumerate(text.splitlines())]
    path = tmp_path / "job.yaml"
    path.write_text("\n".join(lines) + "\n")
    found = inject("-f", str(path))
    assert documents(found.out) == [by_the_webhook(yaml.safe_load(text))]
    assert {line.rpartition("#")[2] for line in lines} <= {
        line.rpartition("#")[2] for line in found.out.splitlines()
    }


def test_a_comment_of_a_completed_job_that_cannot_stay_is_named(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    labels = "{edl.dev/framework: none,   # for now\n    edl.dev/max: '4'}"
    text = dump(job("mnist", framework="none"))
    path.write_text(text.replace("\n    edl.dev/framework: none", f" {labels}"))
    lost = f"hint: {path}: document 1 has lost 1 of its comments: # for now\n"
    assert inject("-f", str(path)).err == lost
    assert inject("-f", str(path), "--diff").err == ""


def test_addresses_are_those_of_the_namespace_that_is_meant(tmp_path: Path) -> None:
    own = job("own", framework="tensorflow", min="1", max="2")
    own["metadata"]["namespace"] = "mine"
    file = written(tmp_path, job("any", framework="tensorflow"), own)
    stored = documents(inject("-f", file, "-n", "team").out)[1:]
    assert [found["metadata"]["namespace"] for found in stored] == ["team", "mine"]
    assert stored == [by_the_webhook(job("any", framework="tensorflow"), "team"), stored[1]]


def test_injecting_twice_changes_nothing(tmp_path: Path) -> None:
    once = inject("-f", written(tmp_path, *role_manifests())).out
    twice = inject("-f", "-", stdin=once)
    assert twice.out == once
    assert "all of them are complete already" in twice.err


def test_the_users_order_of_fields_stays(tmp_path: Path) -> None:
    given = job("mnist", framework="none", max="4")
    given["metadata"]["labels"] = dict(reversed(given["metadata"]["labels"].items()))
    (_, stored) = documents(inject("-f", written(tmp_path, given)).out)
    labels = list(stored["metadata"]["labels"])
    assert labels[:2] == list(given["metadata"]["labels"])


def test_the_items_of_a_list_are_completed_too(tmp_path: Path) -> None:
    service = yaml.safe_load(SERVICE)
    listed = {"apiVersion": "v1", "kind": "List", "items": [service, job("one", framework="none")]}
    (_, found) = documents(inject("-f", written(tmp_path, listed)).out)
    assert found["items"][0] == service
    assert found["items"][1]["spec"]["suspend"] is True


def test_a_folder_is_read_recursively(tmp_path: Path) -> None:
    written(tmp_path, job("one", framework="none"), name="1.yaml")
    (tmp_path / "2.json").write_text(json.dumps(job("two", framework="none")))
    (tmp_path / "notes.txt").write_text("no manifest")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "3.yml").write_text(dump(job("three", framework="none")))
    found = inject("-f", str(tmp_path))
    names = [found["metadata"]["name"] for found in documents(found.out)]
    assert names == ["mnist", "one", "two", "three"]


def test_a_folder_without_manifests_is_refused(tmp_path: Path) -> None:
    found = inject("-f", str(tmp_path))
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith(
        f"error: {tmp_path} has no manifests: no *.yaml, *.yml, *.json in it or below it"
    )


def test_several_documents_as_json_are_a_list(tmp_path: Path) -> None:
    file = written(tmp_path, job("one", framework="none"))
    found = json.loads(inject("-f", file, "-o", "json").out)
    assert found["kind"] == "List"
    assert [item["kind"] for item in found["items"]] == ["Service", "Job"]
    (tmp_path / "one.yaml").write_text(dump(job("one", framework="none")))
    only = json.loads(inject("-f", str(tmp_path / "one.yaml"), "-o", "json").out)
    assert only["spec"]["suspend"] is True


def test_labels_on_a_cron_job_itself_are_warned_of(tmp_path: Path) -> None:
    labels = {"edl.dev/framework": "none", "edl.dev/max": "8", "team": "vision"}
    file = written(
        tmp_path,
        {"kind": "CronJob", "metadata": {"name": "nightly", "labels": labels}, "spec": {}},
        {"kind": "CronJob", "metadata": {"name": "other", "labels": {"team": "a"}}, "spec": {}},
    )
    found = inject("-f", file)
    assert (found.code, found.out) == (0, Path(file).read_text())
    assert found.err == (
        f"warning: {file}: document 2: cronjob.batch/nightly: edl.dev/framework, edl.dev/max do "
        "nothing on a CronJob itself: its Jobs get spec.jobTemplate.metadata; "
        "kubectl edl adopt -f FILE puts them there\n"
    )


def test_labels_on_a_cron_job_are_warned_of_whatever_the_types_of_others() -> None:
    labels = "labels: {edl.dev/framework: none, big: 5}, annotations: 1"
    text = f"kind: CronJob\nmetadata: {{name: a, {labels}}}\n"
    found = inject("-f", "-", stdin=text)
    assert (found.code, found.out) == (0, text)
    assert "cronjob.batch/a: edl.dev/framework does nothing on a CronJob itself" in found.err


def nightly(**labels: str) -> Json:
    made = job("x", **labels)
    template = {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}
    spec = {"schedule": "@daily", "jobTemplate": template}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "n"}, "spec": spec}


def test_errors_of_a_cron_job_name_its_template(tmp_path: Path) -> None:
    file = written(tmp_path, nightly(framework="none", min="5", max="3", maxx="4"))
    found = inject("-f", file)
    assert (found.code, found.out) == (1, SERVICE)
    place = f"{file}: document 2: cronjob.batch/n: spec.jobTemplate."
    assert f"error: {place}metadata.labels[edl.dev/min]: min 5 is above max 3" in found.err
    slip = inject("-f", written(tmp_path, nightly(framwork="none")))
    assert f"warning: {place}edl.dev/framwork is unknown" in slip.err
    short = nightly(framework="none")
    short["spec"]["jobTemplate"]["spec"]["parallelism"] = "2"
    assert f"{place}spec.parallelism: " in inject("-f", written(tmp_path, short)).err


def test_the_jobs_of_a_cron_job_are_explained_and_the_cron_job_stays(tmp_path: Path) -> None:
    file = written(tmp_path, nightly(framework="none", max="3"))
    found = inject("-f", file)
    at = f"{file}: document 2: cronjob.batch/n"
    assert (found.code, found.out) == (0, Path(file).read_text())
    assert found.err == (
        f"hint: {at} is unchanged: its Jobs are completed when they are created; "
        "--explain shows how\n"
    )
    explained = inject("-f", file, "--explain")
    assert explained.out.startswith(f"job.batch/n-00000000 ({at})\nPATH ")
    assert explained.err == ""


def test_wrong_types_hide_no_other_finding(tmp_path: Path) -> None:
    bad = job("bad", framework="none", min="5", max="3")
    bad["spec"]["parallelism"] = "2"
    said = inject("-f", written(tmp_path, bad)).err.splitlines()
    assert [line.split(": ")[3].partition(";")[0] for line in said] == [
        "spec.parallelism",
        "metadata.labels[edl.dev/min]",
    ]


def test_unlabelled_manifests_are_unchanged_with_a_hint(tmp_path: Path) -> None:
    file = written(tmp_path, job("plain"))
    found = inject("-f", file)
    assert (found.code, found.out) == (0, Path(file).read_text())
    assert found.err.startswith("hint: no Job or pod here carries edl.dev/framework")


def test_a_misspelt_label_is_a_warning(tmp_path: Path) -> None:
    file = written(tmp_path, job("plain", framwork="none"))
    found = inject("-f", file)
    assert (found.code, found.out) == (0, Path(file).read_text())
    assert found.err == (
        f"warning: {file}: document 2: job.batch/plain: edl.dev/framwork is unknown, and does "
        "nothing: did you mean edl.dev/framework?\n"
    )


def test_pod_labels_are_defaults_of_a_job_without_labels(tmp_path: Path) -> None:
    bare = job("plain")
    bare["metadata"].pop("labels", None)
    bare["spec"]["template"]["metadata"] = {"labels": {"edl.dev/framework": "pytorch"}}
    found = inject("-f", written(tmp_path, bare))
    assert 'edl.dev/max: "' in found.out
    bare["metadata"]["labels"] = {"team": "x"}
    found = inject("-f", written(tmp_path, bare))
    assert "edl.dev/framework does nothing in spec.template" in found.err


def test_warnings_are_printed_with_errors(tmp_path: Path) -> None:
    plain = job("plain", framwork="none")
    file = written(tmp_path, plain, job("bad", framework="caffe"))
    found = inject("-f", file)
    assert (found.code, found.out) == (1, Path(written(tmp_path, plain)).read_text())
    said = [line.split(": metadata.")[0] for line in found.err.splitlines()]
    slip = "edl.dev/framwork is unknown, and does nothing: did you mean edl.dev/framework?"
    assert said == [
        f"warning: {file}: document 2: job.batch/plain: {slip}",
        f"error: {file}: document 3: job.batch/bad",
    ]


def test_a_diff_contains_only_additions(tmp_path: Path) -> None:
    found = inject("-f", written(tmp_path, job("sweep", framework="none", max="4")), "--diff")
    assert found.code == 0
    lines = found.out.splitlines()
    file = tmp_path / "job.yaml"
    assert lines[0] == f"--- given job.batch/sweep ({file}: document 2)"
    assert lines[1] == f"+++ stored job.batch/sweep ({file}: document 2)"
    assert "+  suspend: true" in lines
    assert [line for line in lines[2:] if line.startswith("-")] == []
    assert "namespace" not in "".join(line for line in lines[2:] if line.startswith("+"))


def test_an_explanation_has_a_line_for_each_change(tmp_path: Path) -> None:
    found = inject("-f", written(tmp_path, *role_manifests()), "--explain")
    heads = [line for line in found.out.splitlines() if line.startswith("job.batch/")]
    assert [head.split()[0] for head in heads] == [
        "job.batch/mnist-chief",
        "job.batch/mnist-ps",
        "job.batch/mnist-worker",
    ]
    (line, *_) = [line for line in found.out.splitlines() if "env[TF_CONFIG]" in line]
    assert line.startswith("spec.template.spec.containers[main].env[TF_CONFIG]   ")
    assert line.endswith("   TensorFlow's cluster and this task")


def test_findings_of_all_documents_are_reported_with_their_place(tmp_path: Path) -> None:
    bad = job("one", framework="caffe")
    worse = job("two", framework="none", min="x", gpu="-1")
    found = inject("-f", written(tmp_path, bad, job("good", framework="none"), worse))
    assert found.code == 1
    places = [line.split(": metadata.")[0] for line in found.err.splitlines()]
    file = tmp_path / "job.yaml"
    assert places == [
        f"error: {file}: document 2: job.batch/one",
        f"error: {file}: document 4: job.batch/two",
        f"error: {file}: document 4: job.batch/two",
    ]


@pytest.mark.parametrize("form", [(), ("-o", "json"), ("--diff",), ("--explain",)])
def test_manifests_beside_a_refused_one_are_printed_as_without_it(
    tmp_path: Path, form: tuple[str, ...]
) -> None:
    good, other = (job(name, framework="none") for name in ("good", "other"))
    alone = inject("-f", written(tmp_path, good), *form)
    bad = job("bad", framework="caffe")
    found = inject("-f", written(tmp_path, good, bad), *form)
    assert (found.code, found.out) == (1, alone.out)
    assert "document 3: job.batch/bad: " in found.err
    assert "good" not in inject("-f", written(tmp_path, other, bad), *form).out


def test_refused_items_are_left_out_of_a_list(tmp_path: Path) -> None:
    def listed(*items: Json) -> Run:
        return inject("-f", written(tmp_path, {"kind": "List", "items": [*items]}))

    good, bad = job("good", framework="none"), job("bad", framework="caffe")
    plain = yaml.safe_load(SERVICE)
    found = listed(plain, bad, good)
    assert documents(found.out) == documents(listed(plain, good).out)
    assert "document 2, item 2: job.batch/bad: " in found.err
    assert listed(bad).out == SERVICE


LISTED = """\
# A list of the team
kind: List
apiVersion: "v1"
items:
  - apiVersion: v1   # a Service
    kind: Service
    metadata: {name: "mnist"}
%s  - apiVersion: batch/v1
    kind: Job   # a sweep
    metadata: {name: "sweep", labels: {edl.dev/framework: "none"}}
    spec:
      template:
        spec:
          restartPolicy: "Never"
          containers: [{name: main, image: "train:1"}]   # our image
"""
REFUSED = """\
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: "bad", labels: {edl.dev/framework: "caffe"}}
    spec: {template: {spec: {containers: []}}}
"""


def test_items_beside_a_refused_one_keep_their_comments_and_style() -> None:
    alone = inject("-f", "-", stdin=LISTED % "")
    found = inject("-f", "-", stdin=LISTED % REFUSED)
    assert (alone.code, found.code) == (0, 1)
    assert found.out == alone.out
    assert alone.out.count("#") == LISTED.count("#")


def test_the_api_servers_defaults_are_judged_and_not_printed(tmp_path: Path) -> None:
    short = job("short", framework="none")
    del short["spec"]["parallelism"]
    (_, stored) = documents(inject("-f", written(tmp_path, short)).out)
    assert "completions" not in stored["spec"]
    short["metadata"]["labels"][contract.MAX] = "3"
    refused = inject("-f", written(tmp_path, short))
    assert "max 3 is above spec.completions 1, the default if spec.parallelism is " in refused.err


def test_a_missing_restart_policy_is_defaulted_and_refused(
    tmp_path: Path,
) -> None:
    short = job("short", framework="none")
    del short["spec"]["template"]["spec"]["restartPolicy"]
    refused = inject("-f", written(tmp_path, short))
    assert (refused.code, refused.out) == (1, SERVICE)
    assert (
        'spec.template.spec.restartPolicy: it is absent or "Always"; write OnFailure or Never'
    ) in refused.err


def test_a_forged_annotation_is_dropped_with_a_warning(tmp_path: Path) -> None:
    forged = job("forged", framework="none")
    forged["metadata"]["annotations"] = {contract.REASON: "because"}
    found = inject("-f", written(tmp_path, forged))
    assert found.code == 0
    assert f"job.batch/forged: {contract.REASON} is written only by kubectl-edl" in found.err


def namespace(**annotations: str) -> Json:
    """A Namespace that opted in as a whole, with settings by their short names."""
    named = {
        f"{contract.PREFIX}{name.replace('_', '-')}": text for name, text in annotations.items()
    }
    labels = {contract.INJECTION: contract.ENABLED}
    metadata = {"name": "team", "labels": labels, "annotations": named}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def test_a_namespace_in_the_file_gives_its_jobs_their_defaults(tmp_path: Path) -> None:
    own = namespace(default_framework="none", default_max="5")
    plain = changed(job("plain"), "spec parallelism", 2)
    found = inject("-f", written(tmp_path, plain, own), "-n", "team")
    assert "job.batch/plain: its max is 5 by a default of namespace" in found.err
    (_, stored, kept) = documents(found.out)
    assert stored["metadata"]["labels"][contract.FRAMEWORK] == "none"
    assert stored["metadata"]["labels"][contract.MAX] == "5"
    assert kept == own


def test_an_invalid_namespace_is_a_finding(tmp_path: Path) -> None:
    found = inject("-f", written(tmp_path, namespace(default_max="many")))
    assert found.code == 1
    assert "document 2: namespace/team: metadata.annotations[edl.dev/default-max]" in found.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\n---\nkind: Job\nb: [1\n", "stdin: document 2, line 5: not YAML: while parsing"),
        ("- kind: Job\n", "stdin: document 1, line 1: list instead of an object"),
        ("kind: Job\nkind: Pod\n", 'stdin: document 1, line 2: not YAML: "kind" occurs twice'),
        ("kind: Job\nmetadata: x\n", 'stdin: document 1: metadata: "x"; an object belongs here'),
        (
            "kind: Pod\nspec: {containers: [1]}\n",
            "spec.containers[0]: 1; an object belongs here",
        ),
        ("kind: " + "[" * 500, "stdin: document 1, line 1: nested too deeply"),
        ("kind: " + "[" * 150 + "]" * 150, "stdin: document 1, line 1: nested too deeply"),
        ('{"kind": ' + "[" * 99999, "stdin: document 1, line 1: nested too deeply"),
        (PORTS, "spec.containers[0].ports[0].containerPort: a list; a whole number belongs here"),
    ],
)
def test_a_malformed_manifest_is_named_with_its_place(text: str, words: str) -> None:
    found = inject("-f", "-", stdin=text)
    assert (found.code, found.out) == (1, "")
    assert words in found.err


@pytest.mark.parametrize("metadata", ["x", "[x]", "{generateName: null}", "null"])
def test_a_cron_job_without_a_readable_name_is_named_by_its_place(metadata: str) -> None:
    template = "{metadata: {labels: {edl.dev/framework: nne}}, spec: {template: {spec: {}}}}"
    text = f"kind: CronJob\nmetadata: {metadata}\nspec: {{jobTemplate: {template}}}\n"
    found = inject("-f", "-", stdin=text)
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("error: stdin: document 1: cronjob.batch/…: ")
    assert inject("-f", "-", stdin=f"kind: CronJob\nmetadata: {metadata}\n").code == 0


JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, 1, True, "x", [], {}, [1], ["x"], [None], [[]], {"name": {}}]
)


def places(value: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401 - JSON
    """The paths of everything in a manifest."""
    named = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in named:
        yield (*path, step)
        if isinstance(inner, dict | list):
            yield from places(inner, *path, step)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from(sorted(ROLE_LISTS)), JUNK)
def test_nonsense_is_refused_or_completed_and_never_breaks(
    data: st.DataObject, framework: str, junk: object
) -> None:
    manifest = json.loads(json.dumps(data.draw(manifests(framework))))
    *path, last = data.draw(st.sampled_from(list(places(manifest))))
    inner = manifest
    for step in path:
        inner = inner[step]
    inner[last] = junk
    found = inject("-f", "-", stdin=json.dumps(manifest))
    assert "unexpected" not in found.err
    assert found.code == (1 if "error: " in found.err else 0)


def test_forms_exclude_each_other(tmp_path: Path) -> None:
    file = written(tmp_path)
    assert inject("-f", file, "--diff", "--explain").code == 2
    assert "choose one" in inject("-f", file, "--explain", "-o", "json").err
    assert inject().code == 2


def test_the_shell_completes_files() -> None:
    assert answer(["inject", "-f", ""], Stage().cli()) == ":0\n"


def test_a_text_in_place_of_a_files_name_is_not_printed() -> None:
    text = "# Secret\n" + "password: abc\n" * 400
    result = inject("-f", text)
    assert result.code == 1
    assert result.err == "error: # Secret… cannot be read: File name too long\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("kind: Namespace\nmetadata: [1]\n", "document 1: metadata"),
        ("kind: Namespace\nmetadata: {name: [1]}\n", "document 1: metadata.name"),
        ("kind: Namespace\nmetadata: {name: a, labels: x}\n", "document 1: metadata.labels"),
        ("kind: Job\nmetadata: {namespace: {}}\n", "document 1: metadata.namespace"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(text: str, place: str) -> None:
    found = inject("-f", "-", stdin=text)
    assert (found.code, found.out) == (1, "")
    assert f"error: stdin: {place}: " in found.err


@pytest.mark.parametrize("text", ["kind: [Job]\n", "kind: CronJob\nmetadata: {labels: 1}\n"])
def test_other_kinds_are_unchanged(text: str) -> None:
    found = inject("-f", "-", stdin=text)
    assert (found.code, found.out) == (0, text)

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_edl.resources.manifest_sources import ManifestSource
from kubectl_edl.resources.yaml_reader import documents as read_documents
from tests.kubectl_edl.stage import Run, Stage

if TYPE_CHECKING:
    from edl.writes import Json

SCALARS = st.sampled_from(
    [
        "1e3",
        "1e-3",
        "y",
        "no",
        "null",
        "~",
        "1:30",
        "010",
        "0x1",
        "2020-01-01",
        "=",
        "<<",
        " a",
        "#",
    ]
)
TFJOB = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: mnist
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - {name: tensorflow, image: train}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: mnist, annotations: {since: 2020-01-01T00:00:00Z, at: 1:30}}
"""


def convert(*args: str, stdin: str | None = None) -> Run:
    return Stage(answers=stdin).run("convert", *args)


def piped(text: str, *args: str) -> Run:
    return convert("-f", "-", *args, stdin=text)


def documents(text: str) -> list[Any]:
    return list(yaml.safe_load_all(text))


def kinds(text: str) -> list[str]:
    return [f"{one['kind']} {one['metadata']['name']}" for one in documents(text)]


def test_a_tfjob_becomes_a_job_and_all_is_carried() -> None:
    found = piped(TFJOB)
    assert (found.code, found.err) == (0, "")
    assert kinds(found.out) == ["Job mnist"]


def test_other_kinds_stay_in_their_order_and_as_kubectl_reads_them() -> None:
    text = f"---\n# nothing\n---\n{SERVICE}---\n{TFJOB}---\n{SERVICE}"
    found = piped(text)
    assert kinds(found.out) == ["Service mnist", "Job mnist", "Service mnist"]
    annotations = documents(found.out)[0]["metadata"]["annotations"]
    assert annotations == {"since": "2020-01-01T00:00:00Z", "at": "1:30"}


def test_strings_that_kubectl_reads_as_numbers_are_quoted() -> None:
    text = 'kind: X\nrates: ["1e-3", "y", "1.5", "0x1", "7", "no"]\nn: [1e3, 010, 0x10, yes]\n'
    out = piped(text).out
    assert '"1e-3"' in out
    assert '"y"' in out
    assert documents(out)[0] == {
        "kind": "X",
        "rates": ["1e-3", "y", "1.5", "0x1", "7", "no"],
        "n": [1000.0, 8, 16, True],
    }


def test_a_dropped_field_is_named_with_its_line_and_the_way_out() -> None:
    found = piped(f"---\n{SERVICE}---\n{TFJOB}  color: red\n")
    assert found.code == 7
    assert kinds(found.out) == ["Service mnist", "Job mnist"]
    assert found.err == (
        'dropped: stdin: document 2, line 18: TFJob mnist: spec.color: "red" is not carried; '
        "convert does not know it: write it into the Job if its pods need it\n"
    )


def test_a_known_kind_without_api_version_is_unchanged_and_reported() -> None:
    found = piped(TFJOB.replace("apiVersion: kubeflow.org/v1\n", ""))
    assert found.code == 7
    assert kinds(found.out) == ["TFJob mnist"]
    assert found.err.startswith(
        "dropped: stdin: document 1, line 1: TFJob mnist: apiVersion: is missing: left as it is; "
        "known of TFJob: kubeflow.org/v1"
    )


@pytest.mark.parametrize("text", ["", "---\n# nothing\n---\n"])
def test_input_without_a_document_is_an_error(text: str) -> None:
    found = piped(text)
    assert (found.code, found.out) == (1, "")
    assert found.err == "error: nothing to convert: no document in stdin\n"


def test_a_note_does_not_count_as_a_loss() -> None:
    found = piped(TFJOB + "status: {a: b}\n")
    assert found.code == 0
    at = "stdin: document 1, line 1: TFJob mnist"
    assert found.err == f"note: {at}: left out status: describes the old object\n"


def test_an_unsupported_training_job_is_unchanged_and_reported() -> None:
    unread = TFJOB.replace("TFJob", "XGBoostJob").replace("tfReplica", "xgbReplica")
    found = piped(f"{SERVICE}---\n{unread}")
    assert found.code == 7
    assert kinds(found.out) == ["Service mnist", "XGBoostJob mnist"]
    assert found.err == (
        "dropped: stdin: document 2, line 6: XGBoostJob mnist: kind: XGBoostJob has no framework "
        "here: left as it is; its operator would run it: leave it out, or write its Jobs yourself\n"
    )


def test_a_list_of_unsupported_training_jobs_is_unchanged() -> None:
    item = {"metadata": {"name": "a"}, "spec": {}}
    listed = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJobList", "items": [item]}
    found = piped(json.dumps(listed))
    assert found.code == 7
    (list_,) = documents(found.out)
    assert list_["items"][0]["metadata"] == {"name": "a"}
    assert "JAXJob a: kind: JAXJob has no framework here: left as it is" in found.err


ISSUER = "apiVersion: example.com/v1\nkind: Issuer\nmetadata: {name: a}\n"


def test_a_custom_resource_without_a_reader_is_unchanged_and_noted() -> None:
    found = piped(f"{TFJOB}---\n{ISSUER}---\n{SERVICE}")
    assert (found.code, kinds(found.out)) == (0, ["Job mnist", "Issuer a", "Service mnist"])
    assert found.err == (
        "note: stdin: document 2, line 15: Issuer a: kind: Issuer of example.com is not converted: "
        "left as it is\n"
    )


@pytest.mark.parametrize("text", [ISSUER, f"{SERVICE}---\n{ISSUER}"])
def test_custom_resources_count_as_dropped_if_nothing_is_converted(text: str) -> None:
    found = piped(text)
    assert (found.code, kinds(found.out)[-1]) == (7, "Issuer a")
    assert found.err.startswith("dropped: stdin: document ")
    assert found.err.endswith(
        ": Issuer a: kind: Issuer of example.com is not converted: left as it is\n"
    )


@pytest.mark.parametrize(
    "version", ["v1", "apps/v1", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1"]
)
def test_kinds_of_kubernetes_need_no_conversion(version: str) -> None:
    found = piped(ISSUER.replace("example.com/v1", version))
    assert (found.code, found.err) == (0, "")


def test_unnamed_roles_are_reported_once_with_their_line() -> None:
    template = "{spec: {containers: [{name: tensorflow, image: train}]}}"
    text = TFJOB.replace("  name: mnist", "  labels: {}\n  generateName: tfjob")
    found = piped(f"{text}    PS: {{replicas: 2, template: {template}}}\n")
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "error: stdin: document 1, line 5: TFJob tfjob: metadata.generateName: gives no address; "
        "peers find each other by name: set metadata.name\n"
    )


def test_one_document_as_json_is_that_object_and_several_are_a_list() -> None:
    one = json.loads(piped(TFJOB, "-o", "json").out)
    assert one["kind"] == "Job"
    several = json.loads(piped(f"{TFJOB}---\n{SERVICE}", "-o", "json").out)
    assert several["kind"] == "List"
    assert several["items"][0] == one
    assert piped("# nothing\n", "-o", "json").out == ""


def test_a_list_keeps_its_place_and_its_other_items() -> None:
    service, tfjob = (yaml.safe_load(text) for text in (SERVICE, TFJOB))
    listed: Json = {"apiVersion": "v1", "kind": "List", "items": [tfjob, {"a": "b"}, tfjob]}
    found = piped(f"{json.dumps(listed)}\n---\n{yaml.safe_dump(service)}")
    assert found.err == ""
    first, second = documents(found.out)
    assert [item.get("kind") for item in first["items"]] == ["Job", None, "Job"]
    assert second["kind"] == "Service"


def test_the_items_of_a_tfjoblist_need_no_kind() -> None:
    tfjob = yaml.safe_load(TFJOB)
    del tfjob["kind"], tfjob["apiVersion"]
    tfjob["spec"]["color"] = "red"
    listed = {"apiVersion": "kubeflow.org/v1", "kind": "TFJobList", "items": [tfjob]}
    found = piped(json.dumps(listed, indent=2))
    (list_,) = documents(found.out)
    assert (list_["apiVersion"], list_["kind"]) == ("v1", "List")
    assert list_["items"][0]["kind"] == "Job"
    assert "document 1, line 1: TFJob mnist: spec.color" in found.err


def test_a_list_of_other_kinds_is_unchanged() -> None:
    listed = {"apiVersion": "v1", "kind": "ServiceList", "items": [{"metadata": {"name": "a"}}]}
    assert documents(piped(json.dumps(listed)).out) == [listed]


def test_converting_the_result_changes_nothing() -> None:
    once = piped(f"{SERVICE}---\n{TFJOB}").out
    assert piped(once).out == once


def test_a_directory_is_read_recursively_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.json").write_text(json.dumps(yaml.safe_load(TFJOB.replace("mnist", "a"))))
    (tmp_path / "b" / "one.yml").write_text(TFJOB.replace("mnist", "b-one"))
    (tmp_path / "b" / "two.yaml").write_text(TFJOB.replace("mnist", "b-two"))
    (tmp_path / "c.yaml").write_text(TFJOB.replace("mnist", "c"))
    (tmp_path / "README.md").write_text("no manifest")
    found = convert("-f", str(tmp_path))
    assert found.err == ""
    assert kinds(found.out) == ["Job a", "Job b-one", "Job b-two", "Job c"]


def test_several_files_come_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(TFJOB.replace("mnist", name))
    found = convert("-f", str(tmp_path / "two"), "-f", str(tmp_path / "one"))
    assert kinds(found.out) == ["Job two", "Job one"]


def test_an_empty_directory_is_refused(tmp_path: Path) -> None:
    found = convert("-f", str(tmp_path))
    assert found.code == 1
    assert found.err == (
        f"error: {tmp_path} has no manifests: no *.yaml, *.yml, *.json in it or below it\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n---\nb: [1\n", "document 2, line 4: not YAML: while parsing a flow sequence"),
        ("a: 1\n---\nb: !Ref c\n", "document 2, line 3: not YAML: could not determine"),
        ("a: 1\n---\n\n- b\n", "document 2, line 4: list instead of an object"),
        ("a: 1\nb: 2\na: 3\n", 'document 1, line 3: not YAML: "a" occurs twice'),
        ("a: \x01\n", "document 1, line 1: not YAML: character 0x1 is not allowed here"),
        ('{"a": 1}\n{"a" 2}\n', "document 2, line 2: not YAML"),
        ("a: !!int x\n", "document 1, line 1: not YAML: the value does not fit its tag !!int"),
        ("a: &x [*x]\n", "document 1, line 1: not YAML: an alias is inside its own anchor"),
        ("? [a]\n: b\n", "document 1, line 1: not YAML: a key is not a string"),
    ],
)
def test_unreadable_documents_are_reported_with_document_and_line(text: str, said: str) -> None:
    found = piped(text)
    before = "a: 1\n" if said.startswith("document 2") else ""
    assert (found.code, found.out) == (1, before)
    assert f"error: stdin: {said}" in found.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1}\n{"a" 2}\n', "document 2, line 2: not JSON: Expecting ':' delimiter"),
        (b'{"a": 1,\n "a": 2}\n', 'document 1, line 1: not JSON: "a" occurs twice'),
        (b'{"a": 1}\n{"\xff": 2}\n', "document 1, line 2: not UTF-8"),
        (b"[]", "document 1, line 1: list instead of an object"),
    ],
)
def test_json_files_are_read_as_json(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "jobs.json"
    path.write_bytes(content)
    found = convert("-f", str(path))
    assert found.code == 1
    assert found.err.startswith(f"error: {path}: {said}")


def test_a_stream_that_is_not_text_is_named() -> None:
    command = [sys.executable, "-X", "utf8", "-m", "kubectl_edl", "convert", "-f", "-"]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(
        command, input=b"a: 1\nb: \xff\n", capture_output=True, env=strict, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"error: stdin: document 1, line 2: not UTF-8; left out")


def test_json_with_tabs_is_read() -> None:
    found = piped('{"a":\t"b"}\n{"c": "d"}')
    assert (found.code, documents(found.out)) == (0, [{"a": "b"}, {"c": "d"}])


@pytest.mark.parametrize(
    ("text", "hinted"),
    [
        ("image: {{ .Values.image }}\n", True),
        ('kind: Job\n{{- include "labels" . }}\n', True),
        ("a: {{b: 1}}: 2\n", False),
        ("b: [1\n", False),
    ],
)
def test_a_template_that_is_not_rendered_is_recognised(text: str, *, hinted: bool) -> None:
    found = piped(text)
    assert (found.code, "not YAML: " in found.err) == (1, True)
    assert ("render it first, for Helm: helm template CHART" in found.err) is hinted


def test_documents_with_errors_are_left_out_and_the_others_are_converted(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TFJOB.replace("replicas: 2", "replicas: two"))
    (tmp_path / "b.yaml").write_text("kind: Service\n---\nb: {")
    (tmp_path / "c.yaml").write_text(TFJOB)
    found = convert("-f", str(tmp_path))
    assert found.code == 1
    assert documents(found.out) == [{"kind": "Service"}, *documents(piped(TFJOB).out)]
    first, second = found.err.splitlines()
    assert first == (
        f"error: {tmp_path}/a.yaml: document 1, line 8: TFJob mnist: "
        'spec.tfReplicaSpecs.Worker.replicas: "two"; a whole number'
    )
    assert second.startswith(f"error: {tmp_path}/b.yaml: document 2, line 3: not YAML")
    assert second.endswith("; left out, with what follows it in this file")


def test_an_item_with_an_error_is_left_out_of_its_list() -> None:
    good, bad = yaml.safe_load(TFJOB), yaml.safe_load(TFJOB.replace("replicas: 2", "replicas: two"))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [bad, good]})
    found = piped(text)
    assert found.code == 1
    (whole,) = documents(found.out)
    assert whole["items"] == documents(piped(TFJOB).out)
    assert found.err.count("error: ") == 1


@pytest.mark.parametrize("bad", ["nominalQuota: -9", "b: {"])
def test_a_queue_with_an_error_leaves_out_all_teams(bad: str) -> None:
    """The ConfigMap replaces the one in the cluster, so it names every team or is not printed."""
    queue = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: NAME}\n"
    quota = "{name: cpu, nominalQuota: 9}"
    flavors = f"[{{name: f, resources: [{quota}]}}]"
    spec = f"spec: {{resourceGroups: [{{coveredResources: [cpu], flavors: {flavors}}}]}}\n"
    good = queue.replace("NAME", "a") + spec
    other = "kind: Service\n---\n"
    assert "ConfigMap" in piped(f"{other}{good}").out
    wrong = bad if "{" in bad else queue.replace("NAME", "b") + spec.replace("nominalQuota: 9", bad)
    found = piped(f"{other}{good}---\n{wrong}")
    assert (found.code, documents(found.out)) == (1, [{"kind": "Service"}])
    assert "error: no ConfigMap of teams is printed: all queues are converted" in found.err


@pytest.mark.parametrize("kind", ["LocalQueue", "ResourceFlavor"])
def test_a_local_queue_or_flavor_alone_is_not_an_error(kind: str) -> None:
    """A team's folder has its LocalQueue; the ClusterQueues are its administrator's."""
    spec = "spec: {clusterQueue: shared}" if kind == "LocalQueue" else "spec: {}"
    head = (
        f"apiVersion: kueue.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: a, namespace: b}}\n"
    )
    found = piped(f"kind: Service\n---\n{head}{spec}\n")
    assert (found.code, documents(found.out)) == (0, [{"kind": "Service"}])
    assert "error" not in found.err


def test_a_job_that_the_webhook_would_refuse_is_an_error() -> None:
    words = '{sharedgpu/gpu_request: "0.9", sharedgpu/gpu_limit: "0.5"}'
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: cuda, labels: {words}}}\n"
    found = piped(f"{pod}spec: {{containers: [{{name: cuda, image: cuda}}]}}\n")
    assert (found.code, found.out) == (1, "")
    start = "error: stdin: document 1, line 1: Pod cuda: as Job cuda: spec.template.metadata.labels"
    assert found.err.splitlines()[-1].startswith(start)


def test_aliases_are_written_out() -> None:
    text = TFJOB.replace("metadata:\n", "metadata:\n  labels: &all {team: vision}\n")
    found = piped(f"{text}  x: *all\n")
    assert documents(found.out)[0]["metadata"]["labels"]["team"] == "vision"


def test_yaml_merge_keys_are_expanded() -> None:
    (found,) = documents(piped("base: &b {a: 1, b: 2}\nit: {<<: *b, b: 3}\n").out)
    assert found["it"] == {"a": 1, "b": 3}


OTHER = st.fixed_dictionaries(
    {
        "apiVersion": st.just("apps/v1"),
        "kind": st.sampled_from(["Web", "Job", "Deployment"]),
    },
    optional={
        "spec": st.recursive(
            st.none() | st.booleans() | st.integers() | st.text() | SCALARS,
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=8,
        )
    },
)


@pytest.mark.slow
@settings(deadline=None, max_examples=80)
@given(st.lists(OTHER, min_size=1, max_size=3), st.sampled_from(["yaml", "json"]))
def test_other_kinds_come_out_as_they_went_in(given_: list[Any], output: str) -> None:
    text = "\n".join(map(json.dumps, given_))
    found = piped(text, "-o", output)
    assert (found.code, found.err) == (0, "")
    read = [one.value for one in read_documents(ManifestSource("stdin", found.out))]
    if output == "json" and len(given_) > 1:
        (listing,) = read
        read = listing["items"]
    assert read == given_


def test_no_filename_is_wrong_usage() -> None:
    found = convert()
    assert found.code == 2
    assert "-f" in found.err


POD = "{restartPolicy: Never, containers: [{name: a, image: x}]}"


@pytest.mark.parametrize(
    ("labels", "way_out"),
    [
        ("version: 1", "remove this label and add edl.dev/framework"),
        ("edl.dev/framework: none", "remove this label"),
    ],
)
def test_a_job_that_stays_in_kueues_queue_is_not_judged_as_a_converted_one(
    labels: str, way_out: str
) -> None:
    """Neither the types of its fields, nor what our webhook would say."""
    head = f"kind: Job\nmetadata: {{name: a, labels: {{kueue.x-k8s.io/queue-name: q, {labels}}}}}\n"
    text = f"apiVersion: batch/v1\n{head}spec: {{template: {{spec: {POD}}}}}\n"
    found = piped(text)
    assert (found.code, documents(found.out)) == (0, documents(text))
    assert found.err.endswith(f"left as it is; for kubectl-edl, {way_out}\n")


def test_kueue_topologies_are_reported() -> None:
    notes = "        metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}\n"
    text = TFJOB.replace(
        "        spec:\n          containers", f"{notes}        spec:\n          containers"
    )
    found = convert("-f", "-", stdin=text)
    assert found.code == 0
    assert "[kueue.x-k8s.io/podset-required-topology]: is Kueue's, and does nothing" in found.err
    assert "annotate the Jobs with edl.dev/required-topology: rack" in found.err


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec: {cohortName: research, queueingStrategy: StrictFIFO}
"""


def test_queues_become_teams_behind_everything_else() -> None:
    found = piped(f"{QUEUE}---\n{SERVICE}---\n{QUEUE.replace('vision', 'speech')}---\n{TFJOB}")
    assert kinds(found.out) == ["Service mnist", "Job mnist", "ConfigMap edl-teams"]
    assert found.code == 7
    assert found.err.splitlines()[1] == (
        "dropped: stdin: document 3, line 13: ClusterQueue speech: spec.queueingStrategy: "
        "StrictFIFO has no counterpart; "
        "smaller jobs may pass one that does not fit, for five minutes"
    )


def test_queues_are_removed_from_a_list_and_an_empty_list_is_dropped() -> None:
    queue = yaml.safe_load(QUEUE)
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "mnist"}}
    mixed = {"apiVersion": "v1", "kind": "List", "items": [queue, service]}
    first, second = documents(piped(json.dumps(mixed)).out)
    assert [one["kind"] for one in first["items"]] == ["Service"]
    assert second["kind"] == "ConfigMap"
    alone = {"apiVersion": queue["apiVersion"], "kind": "ClusterQueueList", "items": [queue]}
    del queue["kind"], queue["apiVersion"]
    assert kinds(piped(json.dumps(alone)).out) == ["ConfigMap edl-teams"]


def test_a_queue_that_cannot_be_a_team_prints_nothing() -> None:
    found = piped(f"{QUEUE}---\n{QUEUE}")
    assert (found.code, found.out) == (1, "")
    assert "error: stdin: document 2, line 8: ClusterQueue vision: metadata: " in found.err


def test_teams_are_written_for_the_system_namespace() -> None:
    (found,) = documents(piped(QUEUE, "--system-namespace", "training").out)
    assert found["metadata"] == {"name": "edl-teams", "namespace": "training"}


def test_a_priority_of_kueue_is_carried_whichever_document_comes_first() -> None:
    labels = "metadata: {name: prod}"
    kueue = f"apiVersion: kueue.x-k8s.io/v1beta1\nkind: WorkloadPriorityClass\n{labels}\nvalue: 9\n"
    name, label = "  name: mnist\n", "  labels: {kueue.x-k8s.io/priority-class: prod}\n"
    labelled = TFJOB.replace(name, name + label)
    for text in (f"{labelled}---\n{kueue}", f"{kueue}---\n{labelled}"):
        found = piped(text)
        assert found.code == 0
        by_kind = {one["kind"]: one for one in documents(found.out)}
        assert by_kind["PriorityClass"]["value"] == 9
        assert by_kind["Job"]["spec"]["template"]["spec"]["priorityClassName"] == "prod"

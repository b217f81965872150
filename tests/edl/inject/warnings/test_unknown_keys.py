"""Slips of the pen among our names are told, and change nothing."""

from collections.abc import Callable

import pytest

from edl.errors import Denied
from edl.inject.handlers import AdmissionRequest, advise
from edl.inject.updates.released_jobs import is_released
from edl.inject.warnings import unknown_keys
from edl.parsing.namespace_policy import SILENT, NamespacePolicy
from edl.writes import Json
from tests.edl.manifests import CONTEXT, USER, changed, create, created, job, pod, update
from tests.golden.cases import Golden, goldens


@pytest.mark.parametrize(
    ("place", "name", "warning"),
    [
        (
            "annotations",
            "max",
            "edl.dev/max is a label, not an annotation: it does nothing here",
        ),
        ("labels", "paused", "edl.dev/paused is an annotation, not a label: it does nothing here"),
        (
            "labels",
            "Max",
            "edl.dev/Max is unknown, and does nothing: did you mean edl.dev/max?",
        ),
        (
            "annotations",
            "rolez",
            "edl.dev/rolez is unknown, and does nothing: did you mean edl.dev/roles?",
        ),
        (
            "annotations",
            "maxx",
            "edl.dev/maxx is unknown, and does nothing: did you mean edl.dev/max?",
        ),
        (
            "annotations",
            "maximum",
            "edl.dev/maximum is unknown, and does nothing: did you mean edl.dev/max?",
        ),
        (
            "labels",
            "maks",
            "edl.dev/maks is unknown, and does nothing: did you mean edl.dev/max?",
        ),
        (
            "annotations",
            "mox",
            "edl.dev/mox is unknown, and does nothing: did you mean edl.dev/max?",
        ),
        ("labels", "time", "edl.dev/time is unknown, and does nothing"),
        ("annotations", "prioritty", "edl.dev/prioritty is unknown, and does nothing"),
        (
            "annotations",
            "priority",
            (
                "edl.dev/priority is unknown, and does nothing: "
                "a priority is the pods' priorityClassName"
            ),
        ),
        ("annotations", "zzzzzzzzzzzz", "edl.dev/zzzzzzzzzzzz is unknown, and does nothing"),
        (
            "annotations",
            "gpu-budget",
            "edl.dev/gpu-budget belongs on a namespace: it does nothing here",
        ),
    ],
)
def test_a_name_that_means_nothing_there_is_told(place: str, name: str, warning: str) -> None:
    manifest = job(framework="none")
    manifest["metadata"].setdefault(place, {})[f"edl.dev/{name}"] = "true"
    verdict = create(manifest)
    assert verdict.warnings == (warning,)
    assert verdict.manifest["metadata"][place][f"edl.dev/{name}"] == "true"


def test_known_keys_and_foreign_keys_give_no_warning() -> None:
    manifest = job(framework="none", min="4", max="4", annotations={"paused": "true"})
    manifest["metadata"]["labels"] |= {"team": "vision", "edl.dev/injection": "enabled"}
    assert create(manifest).warnings == ()


def test_a_refusal_names_unknown_keys_as_they_may_be_its_cause() -> None:
    manifest = job(framework="none", max="two", maks="3")
    with pytest.raises(Denied, match=r"edl.dev/maks is unknown, .* did you mean edl.dev/max\?"):
        create(manifest)


def test_only_the_first_of_many_names_are_spoken_of() -> None:
    manifest = job(framework="none", annotations={f"unknown-{n}": "" for n in range(3_000)})
    *said, last = create(manifest).warnings
    assert len(said) == 10
    assert last == "2990 more names of edl.dev/ do nothing here"


def test_a_long_name_is_cut_and_compared_with_nothing() -> None:
    manifest = job(framework="none", annotations={"m" + "a" * 5_000 + "x": ""})
    (warning,) = create(manifest).warnings
    assert warning == f"edl.dev/m{'a' * 54}… is unknown, and does nothing"


@pytest.mark.parametrize(("length", "said"), [(63, "{} is"), (64, "{}… is")])
def test_a_name_of_63_characters_is_quoted_in_full(length: int, said: str) -> None:
    name = "z" * (length - len("edl.dev/"))
    (warning,) = create(job(framework="none", annotations={name: ""})).warnings
    assert warning.startswith(said.format(f"edl.dev/{name}"[:63]))


@pytest.mark.parametrize(
    ("path", "warning"),
    [
        (
            "annotations edl.dev/replica",
            "edl.dev/replica is unknown, and does nothing: did you mean edl.dev/replicas?",
        ),
        (
            "annotations edl.dev/max",
            "edl.dev/max is a label, not an annotation: it does nothing here",
        ),
        (
            "labels edl.dev/maxx",
            "edl.dev/maxx is unknown, and does nothing: did you mean edl.dev/max?",
        ),
    ],
)
def test_a_slip_on_a_live_job_is_told_once(path: str, warning: str) -> None:
    old = created(job(framework="none", min="1", max="1"))
    slip = changed(old, f"metadata {path}", "3")
    assert update(slip, old).warnings == (warning,)
    assert update(changed(slip, "metadata labels team", "vision"), slip).warnings == ()
    assert update(changed(slip, f"metadata {path}", "4"), slip).warnings == (warning,)


def advised(
    manifest: Json, old: Json | None = None, policy: NamespacePolicy = SILENT
) -> tuple[str, ...]:
    request = AdmissionRequest("UPDATE" if old else "CREATE", manifest, old, USER, policy)
    return advise(request, CONTEXT).warnings


@pytest.mark.parametrize("slip", ["framwork", "Framework", "frameworks", "frame-work"])
@pytest.mark.parametrize("made", [job, pod])
def test_a_slip_in_the_label_that_makes_an_object_ours_is_told(
    made: Callable[..., Json], slip: str
) -> None:
    manifest = made(**{slip: "tensorflow"})
    assert advised(manifest) == (
        f"edl.dev/{slip} is unknown, and does nothing: did you mean edl.dev/framework?",
    )
    assert create(manifest).manifest == manifest


def test_names_without_the_label_that_makes_an_object_ours_do_nothing() -> None:
    alone = "edl.dev/max, edl.dev/min do nothing without the label edl.dev/framework"
    manifest = job(min="1", max="4")
    assert advised(manifest) == (alone,)
    slip = job(framwork="none", min="1", max="4")
    assert advised(slip)[1:] == (alone,)
    annotated = job(annotations={"framework": "none"})
    assert advised(annotated) == (
        "edl.dev/framework is a label, not an annotation: it does nothing here",
    )
    paused = changed(manifest, "metadata annotations edl.dev/paused", "true")
    assert advised(paused, manifest) == (
        "edl.dev/paused does nothing without the label edl.dev/framework",
    )


def test_the_label_in_the_pod_template_instead_of_on_the_job_is_told() -> None:
    ours = {"edl.dev/framework": "pytorch", "edl.dev/max": "4"}
    manifest = changed(job(), "spec template metadata", {"labels": ours})
    labelled = changed(manifest, "metadata labels", {"team": "vision"})
    assert advised(labelled) == (
        (
            "edl.dev/framework, edl.dev/max do nothing in spec.template: "
            "write this on the Job's own metadata"
        ),
    )
    assert advised(changed(labelled, "metadata labels edl.dev/framework", "pytorch")) == ()


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_the_label_in_the_pod_template_of_another_workload_is_told(kind: str) -> None:
    template = {"metadata": {"labels": {"edl.dev/framework": "pytorch"}}, "spec": {}}
    web = {"kind": kind, "metadata": {"name": "web"}, "spec": {"template": template}}
    (said,) = advised(web)
    common = {"labels": template["metadata"]["labels"]}
    assert advised(changed(web, "metadata", common)) == (said,), "as kustomize's common labels"
    assert said == (
        f"edl.dev/framework in its pod template: pods of a {kind} are refused with it, because "
        "only Jobs are elastic: remove it, or write a Job"
    )


def test_a_label_that_an_update_adds_to_the_pods_of_a_deployment_is_told_once() -> None:
    template = {"metadata": {"labels": {"edl.dev/framework": "pytorch"}}, "spec": {}}
    web = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": template}}
    before = changed(web, "spec template metadata", {"labels": {"app": "web"}})
    assert "pods of a Deployment are refused with it" in advised(web, before)[0]
    assert advised(changed(web, "spec replicas", 2), web) == ()


@pytest.mark.parametrize("framework", ["none", "pytorch"])
def test_a_released_job_is_told_from_one_whose_user_labelled_the_pods(framework: str) -> None:
    other = {"team": "vision"}
    released = changed(created(job(framework=framework)), "metadata labels", other)
    assert is_released(released)
    ours = {"edl.dev/framework": framework, "edl.dev/role": "worker"}
    own = changed(job(), "spec template metadata", {"labels": ours})
    assert not is_released(changed(own, "metadata labels", other))
    named = changed(own, "spec template metadata", {"labels": ours | {"edl.dev/job": "a"}})
    assert is_released(named) == (framework == "none"), "only ranked pods need an Indexed Job"


def test_a_new_job_is_not_released_whatever_its_template_has() -> None:
    released = changed(created(job(framework="none")), "metadata labels", {"team": "vision"})
    assert "in spec.template" in advised(released)[0]
    assert unknown_keys.on_stored(released) == ()


def test_an_object_that_is_ours_or_opts_out_or_is_misshapen_is_advised_of_nothing() -> None:
    assert advised(job(framework="none", maxx="4")) == ()
    assert advised(job(injection="disabled")) == ()
    misshapen: Json = {"kind": "Job", "metadata": {"labels": ["edl.dev/framwork"]}}
    assert advised(misshapen) == ()


def test_what_is_said_is_bounded() -> None:
    many = {f"unknown-{n}": "" for n in range(3_000)} | {"paused": "true"}
    assert len(advised(job(annotations=many))) == 12


@pytest.mark.parametrize("golden", goldens(), ids=lambda golden: golden.name)
def test_nothing_that_is_written_is_a_slip(golden: Golden) -> None:
    assert unknown_keys.on_creation(golden.stored) == unknown_keys.on_creation(golden.given)


def daily(template: Json, **fields: object) -> Json:
    made = {"metadata": template["metadata"], "spec": template["spec"]}
    metadata = {"name": "daily", "namespace": "default"}
    return {"kind": "CronJob", "metadata": metadata | fields, "spec": {"jobTemplate": made}}


def test_a_cron_job_is_told_once_what_its_jobs_would_be_told() -> None:
    slip = daily(job(framework="none", maxx="4"))
    (said,) = (text for text in advised(slip) if "maxx" in text)
    unknown = "edl.dev/maxx is unknown, and does nothing: did you mean edl.dev/max?"
    assert said == f"spec.jobTemplate: {unknown}"
    assert advised(changed(slip, "spec suspend", value=True), slip) == ()
    assert advised(daily(job(max="4"))) == (
        "spec.jobTemplate: edl.dev/max does nothing without the label edl.dev/framework",
    )
    (said,) = advised(daily(job(framework="none", max="4")))
    assert said.startswith("spec.jobTemplate: no container of worker requests CPU or memory: ")
    assert advised(daily(job())) == ()


def test_a_cron_job_whose_jobs_are_refused_is_told_why() -> None:
    (said,) = advised(daily(job(framework="caffe")))
    path = "spec.jobTemplate.metadata.labels[edl.dev/framework]"
    assert said.startswith(f'its Jobs are refused: {path}: unknown "caffe"; one of tensorflow')
    (said,) = advised(daily(job(), labels={"edl.dev/framework": "none"}))
    assert said.startswith("edl.dev/framework does nothing on a CronJob itself")


def test_a_cron_job_is_told_what_its_namespace_makes_of_its_jobs() -> None:
    adopting = NamespacePolicy("default", adopts=True, framework="none", largest_max=3)
    several = {"parallelism": 2}
    bounded = daily(job(max="2", spec=several))
    assert any("does nothing without" in text for text in advised(bounded))
    assert not any("does nothing without" in text for text in advised(bounded, policy=adopting))
    (said,) = advised(daily(job(framework="none", max="4", spec=several)), policy=adopting)
    refused = "its Jobs are refused: spec.jobTemplate.metadata.labels[edl.dev/max]: 4 is above 3"
    assert said.startswith(refused)


@pytest.mark.parametrize(
    ("framework", "text"),
    [
        ("none", "edl.dev/framework does nothing in spec.template: write this on the Job's own"),
        ("pytorch", "Job daily-00000000: an ordinary Job, not elastic: it does not fit none, the"),
    ],
)
def test_labels_of_pods_alone_are_warned_of_where_all_jobs_are_adopted(
    framework: str, text: str
) -> None:
    template = job()
    template["metadata"]["labels"] = {"app": "sweep"}
    template["spec"]["template"]["metadata"] = {"labels": {"edl.dev/framework": framework}}
    adopting = NamespacePolicy("default", adopts=True, framework="none")
    said = advised(daily(template), policy=adopting)
    assert any(one.startswith(f"spec.jobTemplate: {text}") for one in said), said


def test_a_job_template_without_labels_has_those_of_its_pods() -> None:
    template = job(annotations={"cooldown": "5m"})
    del template["metadata"]["labels"]
    template["spec"]["template"]["metadata"] = {"labels": {"edl.dev/framework": "none"}}
    assert not any("does nothing" in text for text in advised(daily(template)))

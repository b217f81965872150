from collections.abc import Callable

import pytest

from edl import contract
from edl.errors import Finding
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import changed, job, pod, role_manifest
from tests.edl.readings import elastic, findings, label


def test_one_of_several_jobs_is_named_job_role() -> None:
    found = findings(changed(role_manifest("worker"), "metadata name", "train"))
    allowed = 'the others expect "mnist-worker"'
    assert found == (Finding("metadata.name", '"train" as one of several Jobs', allowed),)


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        (
            "dev-mnist-worker",
            'after a namePrefix of kustomize, set edl.dev/job to "dev-mnist" on each of them',
        ),
        (
            "mnist-worker-dev",
            "kustomize can give the Jobs of several roles a namePrefix, but no nameSuffix",
        ),
    ],
)
def test_names_that_kustomize_has_changed_come_with_the_way_out(name: str, way_out: str) -> None:
    (found,) = findings(changed(role_manifest("worker"), "metadata name", name))
    assert found.allowed == f'the others expect "mnist-worker" ({way_out})'


def test_ranks_have_no_generated_names() -> None:
    manifest = changed(elastic(), "metadata name", None)
    found = findings(manifest)
    allowed = "peers find each other by name: set it"
    assert found == (Finding("metadata.name", "generateName gives no address", allowed),)


def test_work_items_may_have_generated_names() -> None:
    spec = parse(changed(job(framework="none"), "metadata name", None))
    assert (spec.name, spec.job) == ("", "")


def test_a_host_name_must_fit_at_max() -> None:
    name = "a" * 61
    assert parse(job(name, framework="tensorflow", max="10")).scaling.max == 10
    (found,) = findings(job(name, framework="tensorflow", max="11"))
    assert found.path == "metadata.name"
    assert found.what == f'host "{name}-10" has 64 characters'
    assert found.allowed == "at most 63: shorten the name by 1"


@pytest.mark.parametrize("made", [job, pod])
def test_a_name_that_stands_for_the_training_job_fits_in_a_label(made: Callable[..., Json]) -> None:
    assert parse(made("a" * 63, framework="none")).job == "a" * 63
    (found,) = findings(made("a" * 64, framework="none"))
    assert (found.path, found.what) == ("metadata.name", "it has 64 characters")
    assert found.allowed == "at most 63, or a shorter label edl.dev/job"
    assert parse(made("a" * 64, framework="none", job="mnist")).job == "mnist"


@pytest.mark.parametrize("name", ["3d", "my.job", "Mnist", "mnist_1", "mnist-"])
def test_a_training_jobs_name_is_a_service(name: str) -> None:
    found = findings(job(name, framework="tensorflow"))
    allowed = "a-z, 0-9 and -, beginning with a letter"
    allowed += ", or a label edl.dev/job that does" if name == "3d" else ""
    assert found == (Finding("metadata.name", f'"{name}" is not a host name', allowed),)


def test_a_jobs_own_name_is_a_host_name_too() -> None:
    found = findings(job("my.job", framework="tensorflow", job="mnist"))
    assert found == (Finding("metadata.name", '"my.job" is not a host name', "a-z, 0-9 and -"),)
    assert parse(job("3d", framework="tensorflow", job="mnist")).job == "mnist"


def test_the_host_name_of_a_rendezvous_is_a_service_too() -> None:
    """Before Kubernetes 1.36 the API server refuses a Service `3d-0`."""
    allowed = "a-z, 0-9 and -, beginning with a letter"
    wanted = (Finding("metadata.name", '"3d" is not a host name', allowed),)
    assert findings(job("3d", framework="pytorch", job="mnist")) == wanted
    assert findings(job("3d", framework="pytorch")) == wanted


def test_the_subdomain_of_a_job_set_is_left_out_by_its_network() -> None:
    label = "metadata labels jobset.sigs.k8s.io/jobset-name"
    (found,) = findings(changed(elastic(pod={"subdomain": "llm"}), label, "llm"))
    assert found.allowed.startswith("in its JobSet, write network: {enableDNSHostnames: false}: ")


def test_the_service_is_the_training_jobs() -> None:
    (found,) = findings(elastic(pod={"subdomain": "other"}))
    assert (found.path, found.what) == ("spec.template.spec.subdomain", '"other"')
    assert parse(elastic(pod={"subdomain": "mnist"})).job == "mnist"


def test_labels_on_the_pods_say_the_same_as_on_the_job() -> None:
    manifest = changed(elastic(), "spec template metadata labels", {contract.JOB: "other"})
    (found,) = findings(manifest)
    assert found.path == "spec.template.metadata.labels[edl.dev/job]"
    assert found.what == '"other" on the pods and "mnist" on the Job'


def test_bare_pods_find_each_other_by_the_training_jobs_name() -> None:
    found = findings(pod(framework="tensorflow", annotations={"size": "2"}))
    what, allowed = "a bare pod finds its peers by it", "write the same name on each of them"
    assert found == (Finding(label("job"), what, allowed),)


def test_a_bare_work_item_needs_no_name_as_it_has_no_peers() -> None:
    sized = pod(framework="none", min="1", max="3")
    assert parse(sized).job == sized["metadata"]["name"]
    assert parse(changed(pod(framework="none"), "metadata name", None)).job == ""

import pytest

from edl.convert import convert
from edl.convert.diagnostics import Malformed, path_of
from edl.writes import Json
from tests.edl.convert.documents import replica, tfjob
from tests.edl.convert.sources.test_kubeshare_pods import share_pod
from tests.edl.convert.sources.test_mpijob import mpijob
from tests.edl.convert.sources.test_pytorchjob import pytorchjob


def several(**metadata: str) -> Json:
    specs = {"PS": replica("tensorflow"), "Worker": replica("tensorflow")}
    return tfjob(tfReplicaSpecs=specs) | {"metadata": metadata}


def generated(document: Json) -> Json:
    return document | {"metadata": {"generateName": "mnist-"}}


def refusals(document: Json) -> list[str]:
    with pytest.raises(Malformed) as caught:
        convert(document)
    return [str(remark) for remark in caught.value.remarks]


@pytest.mark.parametrize("document", [several(), mpijob(), mpijob("v2beta1")])
def test_roles_without_a_common_name_are_told_so_once(document: Json) -> None:
    said = "gives no address; peers find each other by name: set metadata.name"
    assert refusals(generated(document)) == [f"metadata.generateName: {said}"]


def test_roles_without_any_name_are_told_so_once() -> None:
    said = "has no name; peers find each other by name: set metadata.name"
    assert refusals(several()) == [f"metadata: {said}"]


def test_a_name_wins_over_one_to_be_generated() -> None:
    found = convert(several(name="mnist", generateName="other-"))
    assert found is not None
    assert [one["metadata"]["name"] for one in found.manifests] == ["mnist-ps", "mnist-worker"]


@pytest.mark.parametrize("document", [tfjob(), pytorchjob(2, replica("pytorch"))])
def test_a_role_alone_is_told_of_its_job(document: Json) -> None:
    (said,) = refusals(generated(document))
    assert said.endswith("generateName gives no address; peers find each other by name: set it")


def test_a_pod_without_peers_may_have_a_generated_name() -> None:
    document = share_pod()
    del document["metadata"]["name"]
    document["metadata"]["generateName"] = "cuda-"
    found = convert(document)
    assert found is not None
    assert found.manifests[0]["metadata"]["generateName"] == "cuda-"


def test_what_else_is_wrong_is_told_too() -> None:
    document = generated(several())
    document["spec"]["tfReplicaSpecs"]["PS"]["replicas"] = "two"
    with pytest.raises(Malformed) as caught:
        convert(document)
    places = [path_of(remark.place) for remark in caught.value.remarks]
    assert places == ["spec.tfReplicaSpecs.PS.replicas", "metadata.generateName"]


@pytest.mark.parametrize(
    ("labels", "refused"),
    [
        ({"my team": "a"}, "metadata.labels[my team]: is not a key of a label; such as team or "),
        ({"Example.com/a": "b"}, "metadata.labels[Example.com/a]: is not a key of a label; such "),
        ({"team": "a b"}, 'metadata.labels.team: "a b" is not a value of a label; at most 63 '),
        ({"team": "a" * 64}, f'metadata.labels.team: "{"a" * 64}" is not a value of a label; at '),
    ],
)
def test_labels_that_the_api_server_would_refuse_are_refused(
    labels: dict[str, str], refused: str
) -> None:
    document = tfjob()
    document["metadata"]["labels"] = labels
    (found,) = refusals(document)
    assert found.startswith(refused)


def test_annotations_are_refused_for_their_keys_alone() -> None:
    document = tfjob()
    document["metadata"]["annotations"] = {"Example.com/note": "any text", "my note": ""}
    (found,) = refusals(document)
    assert found.startswith("metadata.annotations[my note]: is not a key of an annotation; such as")


def test_labels_and_node_selectors_of_pods_are_checked_like_those_of_jobs() -> None:
    document = tfjob()
    pods = document["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    pods["metadata"] = {"labels": {"team": "-a", "empty": None}, "annotations": {"a/b/c": ""}}
    pods["spec"]["nodeSelector"] = {"": "x"}
    where = "spec.tfReplicaSpecs.Worker.template"
    assert {one.partition(": ")[0] for one in refusals(document)} == {
        f"{where}.metadata.labels.team",
        f"{where}.metadata.annotations[a/b/c]",
        f"{where}.spec.nodeSelector.",
    }

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

import pytest

from edl.errors import Unreachable
from tests.edl.kube.servers import Answer, api, serving, status

GROUPS = Answer(200, {"groups": [{"versions": [{"groupVersion": "resource.k8s.io/v1"}]}]})
SLICES = Answer(200, {"resources": [{"name": "resourceslices"}]})
PROXY = Answer(404, "404 page not found")


@pytest.mark.parametrize(
    ("kind", "answers", "found"),
    [
        ("ResourceSlice", (GROUPS, SLICES), "served"),
        ("DeviceClass", (GROUPS, SLICES), "not served"),
        ("NodePool", (GROUPS,), "not served"),
        ("ResourceSlice", (GROUPS, PROXY), "served"),
    ],
)
def test_only_a_list_without_the_kind_is_a_no(
    kind: str, answers: tuple[Answer, ...], found: str
) -> None:
    with serving(*answers) as (script, address):
        assert api(address).serves(kind) == (found == "served")
    expected = ["/apis", "/apis/resource.k8s.io/v1"]
    assert [asked.path for asked in script.asked] == expected[: len(answers)]


@pytest.mark.parametrize("answer", [status(503, "starting"), Answer(200, "<html>")])
def test_without_a_list_of_groups_a_kind_is_neither_served_nor_not(answer: Answer) -> None:
    with serving(answer) as (_, address), pytest.raises(Unreachable):
        api(address).serves("NodePool")

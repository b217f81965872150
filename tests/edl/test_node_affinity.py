"""A gated pod is kept to one node in the way that the API server takes."""

import pytest

from edl import node_affinity
from edl.patches.merge_patch import merged
from edl.writes import Json

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ZONE = {"key": "zone", "operator": "In", "values": ["a", "b"]}
FIELD = {"key": "metadata.name", "operator": "NotIn", "values": ["bad"]}
NODE = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
WISH = [{"weight": 1, "preference": {"matchExpressions": [ZONE]}}]


def required(*terms: Json) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [*terms]}}}


def placed(own: Json | None) -> Json:
    found: Json = merged(own or {}, node_affinity.narrowed(node_affinity.terms_text(own), "n1"))
    return found


@pytest.mark.parametrize("own", [None, {}, {"nodeAffinity": {}}, {"nodeAffinity": None}])
def test_a_pod_that_may_go_anywhere_goes_to_its_node(own: Json | None) -> None:
    assert placed(own) == required({"matchFields": [NODE]})


def test_every_alternative_of_its_users_is_kept_and_names_the_node() -> None:
    own = required({"matchExpressions": [ZONE]}, {"matchFields": [FIELD]})
    assert placed(own) == required(
        {"matchExpressions": [ZONE], "matchFields": [NODE]}, {"matchFields": [FIELD, NODE]}
    )


def test_an_alternative_that_matches_no_node_stays_where_it_is() -> None:
    """The API server lets none come, go, or ask for something where it asked for nothing."""
    assert placed(required({}, {"matchExpressions": [ZONE]})) == required(
        {}, {"matchExpressions": [ZONE], "matchFields": [NODE]}
    )
    assert placed(required({})) == required({})


def test_what_else_an_affinity_says_is_left_alone() -> None:
    own = {"nodeAffinity": {PREFERRED: WISH}, "podAffinity": {PREFERRED: []}}
    assert placed(own) == {
        "nodeAffinity": {PREFERRED: WISH} | required({"matchFields": [NODE]})["nodeAffinity"],
        "podAffinity": {PREFERRED: []},
    }


@pytest.mark.parametrize(
    "own",
    [
        required({"matchExpressions": [ZONE]}, {"matchFields": [FIELD]}),
        required({}, {"matchExpressions": [ZONE]}),
        required({}),
        required({"matchFields": [NODE]}),
        required({"matchFields": [NODE, FIELD]}, {"matchExpressions": [ZONE]}),
        {"nodeAffinity": {PREFERRED: WISH}, "podAffinity": {PREFERRED: []}},
    ],
)
def test_without_its_node_an_affinity_is_what_its_user_wrote(own: Json) -> None:
    assert node_affinity.widened(placed(own), "n1") == own


@pytest.mark.parametrize("own", [None, {}, {"nodeAffinity": {}}])
def test_without_its_node_a_pod_may_go_anywhere(own: Json | None) -> None:
    assert node_affinity.terms_text(node_affinity.widened(placed(own), "n1")) == "[]"


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"nodeAffinity": {PREFERRED: WISH}},
        required({}),
        required({"matchExpressions": [NODE]}),
        required({"matchFields": [NODE]}, {"matchFields": [FIELD]}),
        required({"matchFields": [NODE | {"values": ["n2"]}]}),
    ],
)
def test_what_was_kept_to_no_node_stays_as_it_is(own: Json) -> None:
    assert node_affinity.widened(own, "n1") == own

"""Where GPUs may be used, as the planner reads it: laws over nodes and users' own rules."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl.feasibility.eligibility import Eligibility
from edl.inject.pods import gpus
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.model import Node
from edl.quantities import Resources
from edl.writes import Json

LAW = settings(deadline=None, max_examples=200)
LABELS = {
    "SharedGPU": st.sampled_from(["true", "false", "True"]),
    "zone": st.sampled_from(["a", "b"]),
}
NODES = st.lists(st.fixed_dictionaries({}, optional=LABELS), min_size=1, max_size=6)
ZONE = st.fixed_dictionaries(
    {
        "key": st.just("zone"),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": st.just(["a"]),
    }
)
NAME = st.fixed_dictionaries(
    {
        "key": st.just("metadata.name"),
        "operator": st.just("In"),
        "values": st.sampled_from([["n0"], ["n1"]]),
    }
)
TERMS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "matchExpressions": st.lists(ZONE, max_size=2),
            "matchFields": st.lists(NAME, max_size=1),
        },
    ),
    min_size=1,
    max_size=3,
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AFFINITIES = TERMS.map(lambda terms: {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})
PODS = st.fixed_dictionaries(
    {"containers": st.just([{"name": "main", "image": "a"}])},
    optional={
        "nodeSelector": st.sampled_from([{}, {"zone": "a"}]),
        "affinity": AFFINITIES | st.just({}),
        "schedulerName": st.sampled_from(["default-scheduler", "kubeshare-scheduler", "mine"]),
    },
)
WHOLE = {"limits": {"nvidia.com/gpu": "1"}}
SHARE = {"sharedgpu/gpu_limit": "0.5", "sharedgpu/gpu_request": "0.5"}


def eligible(pod: Json, nodes: Sequence[Json]) -> list[bool]:
    """For each node, whether the planner takes it for this pod."""
    made = tuple(
        Node(
            f"n{number}",
            Resources(),
            Resources(),
            Resources(),
            labels=labels | {"metadata.name": f"n{number}"},
        )
        for number, labels in enumerate(nodes)
    )
    return [bool(yes) for yes in Eligibility(made).mask(ShapeInterner().of_json(pod))]


def with_gpu(pod: Json) -> Json:
    return pod | {"containers": [pod["containers"][0] | {"resources": WHOLE}]}


@pytest.mark.slow
@LAW
@given(PODS, NODES)
def test_whole_gpus_lose_kubeshares_nodes_and_no_others(pod: Json, nodes: list[Json]) -> None:
    before, after = with_gpu(pod), gpus.placed(with_gpu(pod), {})
    apart = [labels.get("SharedGPU") != "true" for labels in nodes]
    wanted = [yes and ours for yes, ours in zip(eligible(before, nodes), apart, strict=True)]
    assert eligible(after, nodes) == wanted


@pytest.mark.slow
@LAW
@given(PODS, NODES)
def test_shares_keep_kubeshares_nodes_and_no_others(pod: Json, nodes: list[Json]) -> None:
    shared = [labels.get("SharedGPU") == "true" for labels in nodes]
    wanted = [yes and theirs for yes, theirs in zip(eligible(pod, nodes), shared, strict=True)]
    assert eligible(gpus.placed(pod, SHARE), nodes) == wanted


@pytest.mark.slow
@LAW
@given(PODS, NODES)
def test_pods_without_gpus_are_left_alone(pod: Json, nodes: list[Json]) -> None:
    assert gpus.placed(pod, {"team": "a"}) == pod
    assert eligible(gpus.placed(pod, {}), nodes) == eligible(pod, nodes)


@pytest.mark.slow
@LAW
@given(PODS, st.booleans())
def test_placed_twice_is_placed_once(pod: Json, share: bool) -> None:  # noqa: FBT001
    labels = SHARE if share else {}
    once = gpus.placed(with_gpu(pod), labels)
    assert gpus.placed(once, labels) == once

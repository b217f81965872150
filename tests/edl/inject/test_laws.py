"""What must hold for every manifest that a user may write."""

import copy
import json
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from edl import contract
from edl.inject.admission import Request, validate
from edl.parse import parse
from edl.writes import Json
from tests.edl.manifests import (
    CONTEXT,
    USER,
    annotations,
    cast,
    create,
    created,
    horovod,
    job,
    labels,
    pod,
    pod_spec,
    update,
)

LAW = settings(deadline=None, max_examples=50)
WORDS = st.sampled_from(["a", "b", "data", "edl-etc-edl", "x-1"])
ENV = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(
                [
                    "A",
                    "PATH",
                    contract.COMPLETION_INDEX_ENV,
                    contract.CLUSTER_ENV,
                    contract.TF_CONFIG_ENV,
                    contract.RSH_AGENT_ENV,
                ]
            ),
            "value": st.sampled_from(["", "1", "$(JOB_COMPLETION_INDEX)", "{}"]),
        }
    ),
    max_size=4,
    unique_by=lambda entry: entry["name"],
)
PORTS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["tfjob-port", "board", "web"]),
            "containerPort": st.sampled_from([2222, 6006, 80]),
            "protocol": st.just("TCP"),
        }
    ),
    max_size=2,
    unique_by=lambda port: port["name"],
)
MOUNTS = st.lists(
    st.fixed_dictionaries(
        {
            "name": WORDS,
            "mountPath": st.sampled_from(["/data", "/etc/edl", "/etc/mpi/", "/opt/kube", "/etc"]),
        }
    ),
    max_size=3,
    unique_by=lambda mount: mount["mountPath"],
)
RESOURCES = st.sampled_from([{}, {"limits": {"cpu": "1"}}, {"limits": {"nvidia.com/gpu": "4"}}])
OPTIONAL = {
    "env": ENV,
    "ports": PORTS,
    "volumeMounts": MOUNTS,
    "resources": RESOURCES,
    "command": st.just(["train"]),
    "args": st.just(["--fast"]),
}
CONTAINERS = st.fixed_dictionaries({"name": WORDS, "image": st.just("busybox")}, optional=OPTIONAL)
POD_SPECS = st.fixed_dictionaries(
    {
        "containers": st.lists(
            CONTAINERS, min_size=1, max_size=2, unique_by=lambda container: container["name"]
        )
    },
    optional={
        "initContainers": st.lists(
            CONTAINERS.map(lambda container: container | {"name": f"init-{container['name']}"}),
            max_size=2,
            unique_by=lambda container: container["name"],
        ),
        "volumes": st.lists(
            st.fixed_dictionaries({"name": WORDS, "emptyDir": st.just({})}),
            max_size=2,
            unique_by=lambda volume: volume["name"],
        ),
        "affinity": st.sampled_from([{}, {"podAntiAffinity": {}}, {"nodeAffinity": {"a": 1}}]),
        "schedulerName": st.sampled_from(["default-scheduler", "mine"]),
        "serviceAccountName": st.just("trainer"),
        "nodeSelector": st.just({"disk": "ssd"}),
        "schedulingGates": st.just([{"name": "example.com/gate"}]),
    },
)
TEXTS = st.dictionaries(st.sampled_from(["team", "example.com/a"]), st.sampled_from(["", "x"]))
ANNOTATIONS = st.dictionaries(
    st.sampled_from(["team", "kubeshare/gpu_request", contract.REASON, contract.HOSTFILE]),
    st.sampled_from(["0.5", "1"]),
)
GPUS = st.sampled_from([{}, {"gpu": "2"}, {"gpu": "0.5"}, {"gpu": "0.5", "gpu_memory": "1Gi"}])
TOLD = st.fixed_dictionaries(
    {},
    optional={
        "paused": st.just("true"),
        "slots": st.just("4"),
        "port": st.just("3333"),
        "clean-up": st.just("All"),
        "reason": st.just("forged"),
        "injected-max": st.just("999"),
    },
)


def _tensorflow(draw: st.DrawFn, **fields: Any) -> Json:  # noqa: ANN401
    roles = draw(st.sampled_from(["chief=1,ps=2,worker=1..3", "ps=1,worker=2", "chief=1,worker=1"]))
    role = draw(st.sampled_from([part.split("=")[0] for part in roles.split(",")]))
    return cast(role, roles, **fields)


def _horovod(draw: st.DrawFn, **fields: Any) -> Json:  # noqa: ANN401
    return horovod(draw(st.sampled_from(["launcher", "worker"])), **fields)


def _pytorch(draw: st.DrawFn, **fields: Any) -> Json:  # noqa: ANN401
    role = draw(st.sampled_from(["rendezvous", "worker"]))
    return cast(role, "rendezvous=1,worker=2..4", framework="pytorch", **fields)


def _alone(draw: st.DrawFn, **fields: Any) -> Json:  # noqa: ANN401
    bounds = draw(st.sampled_from([{}, {"max": "5"}, {"min": "2"}, {"min": "1", "max": "3"}]))
    framework = draw(st.sampled_from(["tensorflow", "pytorch", "none"]))
    return job("mnist", framework=framework, **bounds, **fields)


def _bare(draw: st.DrawFn, **fields: Any) -> Json:  # noqa: ANN401
    told = {"rank": "1", "size": "3"} | fields.pop("annotations")
    fields |= {"spec": fields.pop("pod")}
    framework = draw(st.sampled_from(["tensorflow", "pytorch", "none"]))
    return pod("any", framework=framework, job="mnist", annotations=told, **fields)


@st.composite
def manifests(draw: st.DrawFn) -> Json:
    """A labelled Job or bare pod that makes sense, with whatever else users write."""
    kind = draw(st.sampled_from([_tensorflow, _horovod, _pytorch, _alone, _bare]))
    manifest = kind(draw, pod=draw(POD_SPECS), annotations=draw(TOLD), **draw(GPUS))
    manifest["metadata"]["labels"] |= draw(TEXTS)
    if "template" in manifest["spec"]:
        manifest["spec"]["template"]["metadata"] = draw(
            st.fixed_dictionaries({}, optional={"labels": TEXTS, "annotations": ANNOTATIONS})
        )
        manifest["spec"]["suspend"] = draw(st.booleans())
    return manifest


def survives(own: Sequence[Json], stored: Sequence[Json]) -> bool:
    """Whether a user's list stands in a stored one, unchanged and in its order."""
    rest = iter(stored)
    return all(entry in rest for entry in own)


def containers(manifest: Json) -> list[Json]:
    spec = pod_spec(manifest)
    return [*(spec.get("initContainers") or []), *spec["containers"]]


@LAW
@given(manifests())
def test_twice_is_once(manifest: Json) -> None:
    once = created(manifest)
    assert created(once) == once
    stored = json.loads(json.dumps(once))
    assert created(stored) == stored


@LAW
@given(manifests())
def test_a_second_pass_warns_of_nothing(manifest: Json) -> None:
    assert create(created(manifest)).warnings == ()


@LAW
@given(manifests())
def test_what_comes_out_is_valid(manifest: Json) -> None:
    stored = created(manifest)
    validate(Request("CREATE", stored, None, USER), CONTEXT)
    assert parse(stored).framework == labels(manifest)[contract.FRAMEWORK]


@LAW
@given(manifests())
def test_what_went_in_is_never_changed(manifest: Json) -> None:
    before = copy.deepcopy(manifest)
    stored = created(manifest)
    assert manifest == before
    kept = copy.deepcopy(stored)
    created(stored)
    update(stored, stored)
    assert stored == kept


@LAW
@given(manifests(), st.randoms(use_true_random=False))
def test_the_order_of_labels_does_not_matter(manifest: Json, random: Random) -> None:
    shuffled = copy.deepcopy(manifest)
    for place in ("labels", "annotations"):
        pairs = list(manifest["metadata"][place].items())
        random.shuffle(pairs)
        shuffled["metadata"][place] = dict(pairs)
    assert created(shuffled) == created(manifest)


@LAW
@given(manifests())
def test_an_update_without_a_change_changes_nothing(manifest: Json) -> None:
    stored = created(manifest)
    verdict = update(copy.deepcopy(stored), stored)
    assert verdict.manifest == stored
    assert verdict.warnings == ()


@LAW
@given(manifests())
def test_what_containers_say_themselves_wins(manifest: Json) -> None:
    stored = {container["name"]: container for container in containers(created(manifest))}
    for own in containers(manifest):
        found = stored[own["name"]]
        for field in ("env", "ports", "volumeMounts"):
            assert survives(own.get(field, []), found.get(field, []))
        assert all(found[field] == own[field] for field in ("command", "args") if field in own)
        limits = own.get("resources", {}).get("limits", {})
        assert limits.items() <= found.get("resources", {}).get("limits", {}).items()


@LAW
@given(manifests())
def test_what_pods_say_themselves_wins(manifest: Json) -> None:
    own, stored = pod_spec(manifest), pod_spec(created(manifest))
    for field in ("volumes", "schedulingGates"):
        assert survives(own.get(field, []), stored.get(field, []))
    for field in ("serviceAccountName", "nodeSelector", "restartPolicy"):
        assert stored.get(field) == own.get(field, stored.get(field))
    if own.get("schedulerName") == "mine":
        assert stored["schedulerName"] == "mine"
    assert own.get("affinity", {}).items() <= stored.get("affinity", {}).items()


@LAW
@given(manifests())
def test_own_labels_and_annotations_stay(manifest: Json) -> None:
    stored = created(manifest)
    pairs = [(manifest, stored)]
    if "template" in manifest["spec"]:
        pairs.append((manifest["spec"]["template"], stored["spec"]["template"]))
    for before, after in pairs:
        assert labels(before).items() <= labels(after).items()
        own = {
            name: text
            for name, text in annotations(before).items()
            if name not in contract.OWNED_ANNOTATIONS
        }
        assert own.items() <= annotations(after).items()

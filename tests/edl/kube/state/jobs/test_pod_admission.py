"""What quotas and LimitRanges make of a Job's pods before there are any."""

import sys
from typing import Any

import msgspec
import pytest

from edl.kube.decode import namespace_quotas
from edl.kube.decode.admission_inputs import admission_inputs
from edl.kube.decode.namespace_quotas import LimitRangeFacts, NamespaceConstraints, QuotaFacts
from edl.kube.state.jobs.pod_admission import AdmittedPod, admit
from edl.model import QuotaCharge
from edl.quantities import SHARED_GPU, Resources

Field = Any


def quota(hard: dict[str, str], **fields: Field) -> QuotaFacts:
    """`fields`: of its spec, and `used`."""
    used = fields.pop("used", dict.fromkeys(hard, "0"))
    body = {
        "metadata": {"name": "team", "namespace": "ml"},
        "spec": {"hard": hard, **fields},
        "status": {"hard": hard, "used": used} if used else {},
    }
    found = namespace_quotas.quota(msgspec.json.encode(body))
    assert found is not None
    return found


def limit_range(**fields: Field) -> LimitRangeFacts:
    body = {
        "metadata": {"name": "small", "namespace": "ml"},
        "spec": {"limits": [{"type": "Container", **fields}]},
    }
    found = namespace_quotas.limit_range(msgspec.json.encode(body))
    assert found is not None
    return found


def container(name: str = "main", **resources: Field) -> dict[str, Any]:
    return {"name": name, "image": "any", "resources": resources}


def template(*containers: dict[str, Any], **spec: Field) -> bytes:
    return admission_inputs({"containers": containers or (container(),), **spec})


def admitted(pod: bytes, *rules: QuotaFacts | LimitRangeFacts, **fields: Field) -> AdmittedPod:
    found = NamespaceConstraints(
        quotas=tuple(one.rule for one in rules if isinstance(one, QuotaFacts)),
        ranges=tuple(one for one in rules if isinstance(one, LimitRangeFacts)),
        **fields,
    )
    return admit(pod, found)


def charges(pod: bytes, *rules: QuotaFacts | LimitRangeFacts, **fields: Field) -> dict[str, int]:
    return {one.resource: one.amount for one in admitted(pod, *rules, **fields).charges}


WHOLE = template(
    container(requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "2", "nvidia.com/gpu": "1"}),
    container("log", requests={"cpu": "500m", "memory": "1Gi"}, limits={"cpu": "500m"}),
    initContainers=[container("init", limits={"cpu": "4", "memory": "1Gi"})],
)


def test_a_pod_counts_in_everything_that_a_quota_names() -> None:
    names = "pods count/pods cpu requests.cpu limits.cpu memory requests.nvidia.com/gpu"
    assert charges(WHOLE, quota(dict.fromkeys(names.split(), "9"))) == {
        "pods": 1,
        "count/pods": 1,
        "cpu": 4000,
        "requests.cpu": 4000,
        "limits.cpu": 4000,
        "memory": 2 * 2**30,
        "requests.nvidia.com/gpu": 1,
    }


def test_a_charge_names_its_quota() -> None:
    assert admitted(WHOLE, quota({"pods": "9"})).charges == (
        QuotaCharge('ResourceQuota "team"', "pods", 1),
    )


@pytest.mark.parametrize(
    "resource",
    [
        "services",
        "count/jobs.batch",
        "requests.storage",
        "gold.storageclass.storage.k8s.io/requests.storage",
    ],
)
def test_what_no_pod_counts_in_limits_nothing(resource: str) -> None:
    body = {
        "metadata": {"name": "team", "namespace": "ml"},
        "spec": {"hard": {resource: "1"}},
    }
    assert namespace_quotas.quota(msgspec.json.encode(body)) is None


def test_a_quota_of_nothing_is_a_quota() -> None:
    found = quota({"requests.nvidia.com/gpu": "0"})
    assert found.hard == (("requests.nvidia.com/gpu", 0),)


def test_a_quota_without_status_refuses_everything_so_far() -> None:
    found = quota({"pods": "9"}, used={})
    assert found.used == found.hard == (("pods", 9),)


@pytest.mark.parametrize(
    ("fields", "spec", "counts"),
    [
        ({"scopes": ["Terminating"]}, {}, False),
        ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 60}, True),
        ({"scopes": ["NotTerminating"]}, {}, True),
        ({"scopes": ["BestEffort"]}, {}, False),
        ({"scopes": ["NotBestEffort"]}, {}, True),
        ({"scopes": ["BestEffort", "NotTerminating"]}, {}, False),
        ({"scopes": ["PriorityClass"]}, {}, False),
        ({"scopes": ["PriorityClass"]}, {"priorityClassName": "low"}, True),
        ({"scopes": ["CrossNamespacePodAffinity"]}, {}, False),
        ({"scopes": ["VolumeAttributesClass"]}, {}, False),
    ],
)
def test_a_scope_chooses_the_pods_that_count(
    fields: dict[str, Any],
    spec: dict[str, Any],
    counts: bool,  # noqa: FBT001
) -> None:
    pod = template(container(requests={"cpu": "1"}), **spec)
    assert bool(charges(pod, quota({"pods": "1"}, **fields))) is counts


@pytest.mark.parametrize(
    ("operator", "values", "name", "counts"),
    [
        ("In", ["high", "low"], "low", True),
        ("In", ["high"], "low", False),
        ("NotIn", ["high"], "low", True),
        ("NotIn", ["high"], "", True),
        ("Exists", [], "", False),
        ("DoesNotExist", [], "", True),
    ],
)
def test_a_scope_selects_by_priority_class(
    operator: str,
    values: list[str],
    name: str,
    counts: bool,  # noqa: FBT001
) -> None:
    selector = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    limited = quota({"pods": "1"}, scopeSelector={"matchExpressions": [selector]})
    named = {"priorityClassName": name} if name else {}
    assert bool(charges(template(**named), limited)) is counts


def test_a_pod_without_a_priority_class_has_the_default_one() -> None:
    limited = quota({"pods": "1"}, scopes=["PriorityClass"])
    assert charges(template(), limited, default_class="normal") == {"pods": 1}


def test_affinity_across_namespaces_is_a_scope() -> None:
    term = {"topologyKey": "zone", "namespaces": ["web"]}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    limited = quota({"pods": "0"}, scopes=["CrossNamespacePodAffinity"])
    assert charges(template(affinity=affinity), limited) == {"pods": 1}


def test_a_quota_of_cpu_refuses_containers_that_do_not_name_it() -> None:
    limited = quota({"requests.cpu": "9", "limits.memory": "9Gi"})
    pod = template(container(requests={"cpu": "1"}), container("log"), container("proxy"))
    refuses, way_out = (
        'ResourceQuota "team" refuses its pods',
        "or create a LimitRange with defaults",
    )
    both = "no limits.memory and no requests.cpu; set them"
    assert admitted(pod, limited).refusals == (
        f'{refuses}: container "main" sets no limits.memory; set it, {way_out}',
        f'{refuses}: containers "log" and "proxy" set {both}, {way_out}',
    )
    assert not admitted(WHOLE, quota({"requests.cpu": "9"})).refusals


def test_defaults_of_a_limit_range_come_before_the_quota() -> None:
    defaults = limit_range(default={"cpu": "2"}, defaultRequest={"cpu": "1"})
    found = admitted(template(), defaults, quota({"requests.cpu": "9", "limits.cpu": "9"}))
    assert found.requests == Resources.of({"cpu": 1000, "pods": 1})
    assert not found.refusals
    assert {one.resource: one.amount for one in found.charges} == {
        "requests.cpu": 1000,
        "limits.cpu": 2000,
    }


def test_what_a_container_says_itself_comes_before_defaults() -> None:
    defaults = limit_range(default={"cpu": "2"}, defaultRequest={"cpu": "1", "memory": "1Gi"})
    pod = template(container(limits={"cpu": "3"}))
    assert admitted(pod, defaults).requests == Resources.of(
        {"cpu": 3000, "memory": 2**30, "pods": 1}
    )


OUT_OF_RANGE = {
    "limits.cpu 2 is above 1 (FIELD.max.cpu)": ({"max": {"cpu": "1"}}, {}, {"cpu": "2"}),
    "requests.cpu 2 is above 1 (FIELD.max.cpu)": (
        {"max": {"cpu": "1"}},
        {"cpu": "2"},
        {"cpu": "1"},
    ),
    "limits.cpu must be set, at most 1 (FIELD.max.cpu)": (
        {"max": {"cpu": "1"}},
        {"cpu": "500m"},
        {},
    ),
    "requests.memory 64Mi is below 1Gi (FIELD.min.memory)": (
        {"min": {"memory": "1Gi"}},
        {"memory": "64Mi"},
        {},
    ),
    "limits.memory 64Mi is below 1Gi (FIELD.min.memory)": (
        {"min": {"memory": "1Gi"}},
        {"memory": "1Gi"},
        {"memory": "64Mi"},
    ),
    "requests.memory (missing) is below 1Gi (FIELD.min.memory)": (
        {"min": {"memory": "1Gi"}},
        {},
        {},
    ),
    "requests.cpu 3 is above 2, the limit of containers that set none (FIELD.default.cpu)": (
        {"default": {"cpu": "2"}},
        {"cpu": "3"},
        {},
    ),
    "requests.cpu 3 is above 2 (FIELD.max.cpu)": (
        {"max": {"cpu": "2"}, "default": {"cpu": "2"}},  # the API server fills in this default
        {"cpu": "3"},
        {},
    ),
    "limits.cpu 3 is more than 2 times its request (FIELD.maxLimitRequestRatio.cpu)": (
        {"maxLimitRequestRatio": {"cpu": "2"}},
        {"cpu": "1"},
        {"cpu": "3"},
    ),
    "requests.cpu or limits.cpu is missing, and FIELD.maxLimitRequestRatio.cpu compares them": (
        {"maxLimitRequestRatio": {"cpu": "2"}},
        {"cpu": "1"},
        {},
    ),
}


WITHIN = "set amounts within these bounds, or change the LimitRange"


@pytest.mark.parametrize("reason", OUT_OF_RANGE)
def test_a_template_out_of_range_is_refused_with_the_field(reason: str) -> None:
    bounds, requests, limits = OUT_OF_RANGE[reason]
    pod = template(container(requests=requests, limits=limits))
    said = reason.replace("FIELD", "spec.limits[0]")
    assert admitted(pod, limit_range(**bounds)).refusals == (
        f'LimitRange "small" refuses its pods: container "main": {said}; {WITHIN}',
    )


def test_a_limit_range_of_pods_sums_their_containers() -> None:
    bounds = limit_range(type="Pod", max={"cpu": "2"})
    one = container(limits={"cpu": "1"})
    assert not admitted(template(one, one), bounds).refusals
    (refusal,) = admitted(template(one, one, one), bounds).refusals
    assert refusal.endswith(f"its pods: limits.cpu 3 is above 2 (spec.limits[0].max.cpu); {WITHIN}")


def test_the_way_out_of_a_limit_range_is_said_once() -> None:
    bounds = limit_range(type="Container", max={"cpu": "2", "memory": "1Gi"})
    more = container(limits={"cpu": "3", "memory": "2Gi"})
    (refusal,) = admitted(template(more, more), bounds).refusals
    assert refusal.count("is above") == 3
    assert refusal.endswith(f" and 1 more; {WITHIN}")


def test_limit_ranges_for_storage_are_ignored() -> None:
    body = {
        "metadata": {"name": "small", "namespace": "ml"},
        "spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]},
    }
    assert namespace_quotas.limit_range(msgspec.json.encode(body)) is None


def test_whole_gpus_and_shares_count_in_one_budget() -> None:
    rules = NamespaceConstraints(gpu_budget=True)
    assert admit(template(), rules).charges == ()
    assert admit(WHOLE, rules).charges == (QuotaCharge("edl.dev/gpu-budget", "GPUs", 1000),)
    shared = admit(template(), rules, share=500)
    assert shared.charges == (QuotaCharge("edl.dev/gpu-budget", "GPUs", 500),)
    assert shared.requests.get(SHARED_GPU) == 500


def test_a_long_template_is_looked_at_and_not_kept() -> None:
    """Users choose how long theirs are, and may create one after the other."""
    containers = [{"name": f"c{number}", "resources": {}} for number in range(1_000)]
    template = admission_inputs({"containers": containers})
    before = sys.getrefcount(template)
    assert admit(template, NamespaceConstraints()).requests == Resources.of({"pods": 1})
    assert sys.getrefcount(template) == before

"""Texts of kube-apiserver 1.37, as the Job controller reports them."""

import pytest

from edl.kube.create_failures import (
    CreateFailure,
    create_failure,
    exceeded_quota,
    missing_name,
    refusal,
)
from edl.model import Quota
from edl.model.causes.reason_subjects import Usage
from edl.model.quotas import Excess

FORBIDDEN = 'Error creating: pods "a-0-x" is forbidden: '
MESSAGES = {
    CreateFailure.SERVICE_ACCOUNT: FORBIDDEN
    + 'error looking up service account lab/nope: serviceaccount "nope" not found',
    CreateFailure.PRIORITY_CLASS: FORBIDDEN + "no PriorityClass with name high was found",
    CreateFailure.RUNTIME_CLASS: FORBIDDEN + 'pod rejected: RuntimeClass "gvisor" not found',
    CreateFailure.QUOTA: FORBIDDEN
    + "exceeded quota: team, requested: cpu=2, used: cpu=9, limited: cpu=10",
    CreateFailure.LIMIT_RANGE: FORBIDDEN
    + "[maximum cpu usage per Pod is 1, but limit is 2, minimum memory usage per Container is 1Gi]",
    CreateFailure.POD_SECURITY: FORBIDDEN
    + 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
    CreateFailure.NAMESPACE_TERMINATING: FORBIDDEN
    + "unable to create new content in namespace lab because it is being terminated",
    CreateFailure.WEBHOOK: 'Error creating: admission webhook "x.y" denied the request: quota: no',
    CreateFailure.OTHER: 'Error creating: pods "a" already exists',
}


@pytest.mark.parametrize(("failure", "message"), MESSAGES.items(), ids=MESSAGES)
def test_each_message_of_the_api_server_has_its_code(failure: CreateFailure, message: str) -> None:
    assert create_failure(message) is failure


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (CreateFailure.QUOTA, "failed quota: team: must specify cpu for: main"),
        (CreateFailure.QUOTA, "status unknown for quota: team, resources: cpu"),
        (CreateFailure.LIMIT_RANGE, "cpu max limit to request ratio per Pod is 2, but no limit"),
        (CreateFailure.WEBHOOK, 'failed calling webhook "x.y": connection refused'),
    ],
)
def test_other_texts_of_the_same_plugins(failure: CreateFailure, message: str) -> None:
    assert create_failure(f"{FORBIDDEN}{message}") is failure


def test_the_name_of_a_missing_object_is_read_for_its_remedy() -> None:
    assert missing_name(MESSAGES[CreateFailure.SERVICE_ACCOUNT]) == "nope"
    assert missing_name(MESSAGES[CreateFailure.PRIORITY_CLASS]) == "high"
    assert missing_name(MESSAGES[CreateFailure.QUOTA]) == "NAME"
    hostile = "error looking up service account lab/$(reboot): no"
    assert missing_name(hostile) == "NAME", "any client that may create Events writes this text"
    for option in ("error looking up service account lab/-n: no", 'name "--token" was found'):
        found = option.replace("name", "no PriorityClass with name")
        assert missing_name(found) == "NAME", "kubectl would read it as an option"


def test_a_refusal_has_no_name_of_a_pod() -> None:
    found = refusal(MESSAGES[CreateFailure.PRIORITY_CLASS])
    assert found == "no PriorityClass with name high was found"
    nested = 'admission webhook "x.y" denied it: jobs "b" is forbidden: no'
    assert refusal(f"mnist-worker: FailedCreate: {FORBIDDEN}{nested}") == nested
    other = MESSAGES[CreateFailure.WEBHOOK]
    assert refusal(other) == other


@pytest.mark.parametrize(
    ("figures", "resource", "amounts"),
    [
        ("requested: services=1, used: services=2, limited: services=2", "services", (1, 2, 2)),
        (
            "requested: limits.cpu=500m,pods=1, used: limits.cpu=2,pods=3, limited: limits.cpu=2",
            "limits.cpu",
            (500, 2000, 2000),
        ),
    ],
)
def test_the_quota_that_refuses_an_object_is_read_with_its_figures(
    figures: str, resource: str, amounts: tuple[int, int, int]
) -> None:
    needs, used, hard = amounts
    budget = Quota("lab", 'ResourceQuota "team"', resource, hard)
    text = f'services "mnist" is forbidden: exceeded quota: team, {figures}'
    assert exceeded_quota(text, "lab") == Usage(budget, needs, used)


def test_all_exceeded_resources_of_a_quota_are_read() -> None:
    figures = "requested: cpu=3,pods=1,services=x, used: cpu=2,pods=5,services=1, limited: cpu=4"
    text = f'pods "a" is forbidden: exceeded quota: team, {figures},pods=5,services=1'
    cpu, pods = (Quota("lab", 'ResourceQuota "team"', *of) for of in (("cpu", 4000), ("pods", 5)))
    assert exceeded_quota(text, "lab") == Usage(cpu, 3000, 2000, (Excess(pods, 1, 5),))


@pytest.mark.parametrize(
    ("resource", "limit"),
    [
        ("requests.storage", "100Gi"),
        ("gold.storageclass.storage.k8s.io/requests.storage", "100Gi"),
        ("requests.ephemeral-storage", "1536Mi"),
        ("limits.memory", "1Ti"),
    ],
)
def test_figures_of_memory_and_storage_have_the_unit_that_kubectl_prints(
    resource: str, limit: str
) -> None:
    figures = f"requested: {resource}=10Gi, used: {resource}=5Gi, limited: {resource}={limit}"
    found = exceeded_quota(f"pods is forbidden: exceeded quota: team, {figures}", "lab")
    assert found is not None
    assert str(found.budget).endswith(f"limited: {resource}={limit}")


@pytest.mark.parametrize(
    "figures",
    [
        "",
        "requested: services=1, used: pods=2, limited: services=2",
        "requested: services=one, used: services=2, limited: services=2",
        "requested: services, used: services, limited: services",
    ],
)
def test_without_figures_that_can_be_read_no_quota_is_named(figures: str) -> None:
    text = f'services "mnist" is forbidden: exceeded quota: team, {figures}'
    assert exceeded_quota(text, "lab") is None


@pytest.mark.parametrize(
    "text",
    [
        'admission webhook "x.y" denied the request: {exceeded}',
        'admission webhook "x.y" denied the request: services "mnist" is forbidden: {exceeded}',
        'services "mnist" is forbidden: no: {exceeded}',
        'services "mnist" is forbidden: {exceeded} of hall 2',
    ],
)
def test_a_text_of_another_admission_plugin_or_webhook_names_no_quota(text: str) -> None:
    exceeded = "exceeded quota: team, requested: gpu=1, used: gpu=2, limited: gpu=2"
    assert exceeded_quota(text.format(exceeded=exceeded), "lab") is None

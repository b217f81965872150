"""Why the API server refused an object: a pod, by the Job controller's FailedCreate Event.

Kubernetes reports it as text only; this is the one place that reads it. The texts are those of
kube-apiserver's admission plugins and of its calls of webhooks.
"""

import re
from contextlib import suppress
from enum import StrEnum
from typing import Final

from edl.kube.decode.namespace_quotas import base
from edl.model import Quota
from edl.model.causes.reason_subjects import Usage
from edl.model.quotas import MAX_EXCEEDED_RESOURCES, Excess
from edl.quantities import Resources


class CreateFailure(StrEnum):
    """What refused the pod."""

    SERVICE_ACCOUNT = "ServiceAccount"
    """The ServiceAccount that it names does not exist."""
    PRIORITY_CLASS = "PriorityClass"
    RUNTIME_CLASS = "RuntimeClass"
    QUOTA = "ResourceQuota"
    LIMIT_RANGE = "LimitRange"
    POD_SECURITY = "PodSecurity"
    """The namespace's Pod Security Standard forbids it."""
    WEBHOOK = "Webhook"
    """An admission webhook refused it, or could not be called."""
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    OTHER = "Other"


_TEXTS: Final = (
    (
        CreateFailure.SERVICE_ACCOUNT,
        r"error looking up service account \S+/(?P<name>[a-z0-9][-a-z0-9.]*): ",
    ),
    (
        CreateFailure.PRIORITY_CLASS,
        r'no PriorityClass with name "?(?P<name>[a-z0-9][-a-z0-9.]*)"? was found',
    ),
    (CreateFailure.RUNTIME_CLASS, r"pod rejected: RuntimeClass \S+ not found"),
    (CreateFailure.QUOTA, r"(exceeded|failed|status unknown for) quota: "),
    (
        CreateFailure.LIMIT_RANGE,
        # The last: a template with such a limit of its own is refused before any pod.
        r"(max|min)imum \S+ usage per |max limit to request ratio per |or equal to \S+ limit of ",
    ),
    (CreateFailure.POD_SECURITY, r"violates PodSecurity "),
    (
        CreateFailure.NAMESPACE_TERMINATING,
        r"unable to create new content in namespace \S+ because it is being terminated",
    ),
    (CreateFailure.WEBHOOK, r'admission webhook "|failed calling webhook "'),
)


_POD: Final = re.compile(r'^.*?pods "[^"]*" is forbidden: ')
_EXCEEDED: Final = re.compile(
    r'\S+( "[^"]*")? is forbidden: exceeded quota: (?P<name>[a-z0-9][-a-z0-9.]*), '
    r"requested: (?P<requested>\S+), used: (?P<used>\S+), limited: (?P<limited>\S+)"
)
"""The whole text of the API server: a webhook may use the same words. The figures are lists of the
exceeded resources, each as `requests.cpu=2,services=1`."""


def create_failure(message: str) -> CreateFailure:
    """What refused the pod, by the Event's message; OTHER if the message is not known."""
    return _read(message)[0]


def missing_name(message: str) -> str:
    """The name of the missing ServiceAccount or PriorityClass; NAME if the message has none."""
    return _read(message)[1]


def refusal(message: str) -> str:
    """The message without the name of the pod, which differs at each attempt."""
    return _POD.sub("", message, count=1)


def exceeded_quota(message: str, namespace: str) -> Usage | None:
    """The ResourceQuota of the namespace that refused an object, with its exceeded resources.

    None if no quota did, or if the message has no figures.
    """
    if not (match := _EXCEEDED.fullmatch(message)):
        return None
    requested, used, limited = (
        dict(entry.partition("=")[::2] for entry in match[name].split(","))
        for name in ("requested", "used", "limited")
    )
    source, excesses = f'ResourceQuota "{match["name"]}"', []
    for resource in [*requested][:MAX_EXCEEDED_RESOURCES]:
        with suppress(KeyError, ValueError):
            needs, uses, hard = (
                _amount(listed[resource], resource) for listed in (requested, used, limited)
            )
            excesses.append(Excess(Quota(namespace, source, resource, hard), needs, uses))
    if not excesses:
        return None
    first, *more = excesses
    return Usage(first.budget, first.needs, first.used, tuple(more))


def _amount(text: str, resource: str) -> int:
    """The amount of the resource; raises ValueError."""
    return Resources.parse({base(resource): text}).get(base(resource))


def _read(message: str) -> tuple[CreateFailure, str]:
    searches = ((failure, re.search(text, message)) for failure, text in _TEXTS)
    matches = (
        (failure, match.groupdict().get("name", "NAME")) for failure, match in searches if match
    )
    return next(matches, (CreateFailure.OTHER, "NAME"))

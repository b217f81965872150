"""Finds pods of training jobs that cannot be evicted, as two PodDisruptionBudgets select them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from edl import contract
from edl.kube.cluster import ListOptions
from edl.kube.decode.schemas import ENDED_PHASES
from edl.messages.scarcity_messages import listed
from edl.model.selectors import Requirement
from edl.writes import Json
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.doctor.checks.check import (
    CheckContext,
    CheckResult,
    CheckResults,
    first,
    warning,
)


def overlaps(context: CheckContext) -> CheckResults:
    """Report users' budgets that select pods of ours: the API server refuses such evictions."""
    listing = context.cluster.list(ListOptions("PodDisruptionBudget", context.named))
    by_namespace: defaultdict[str, list[Json]] = defaultdict(list)
    for budget in listing.manifests():
        by_namespace[budget["metadata"]["namespace"]].append(budget)
    results = [
        result
        for namespace, budgets in sorted(by_namespace.items())
        for result in _of_namespace(context, namespace, budgets)
    ]
    yield from first(results, FixCommand(f"kubectl get poddisruptionbudgets {context.where}"))


def _of_namespace(
    context: CheckContext, namespace: str, budgets: Sequence[Json]
) -> Iterator[CheckResult]:
    """Pods are read only if the namespace has budgets of both kinds."""
    ours: defaultdict[str, list[Json]] = defaultdict(list)
    others = list[Json]()
    for budget in budgets:
        if job := _job_of_ours(budget):
            ours[job].append(budget)
        else:
            others.append(budget)
    pods = _pods(context, namespace) if ours and others else []
    for other in others:
        twice: defaultdict[str, list[str]] = defaultdict(list)
        for metadata in pods:
            labels = metadata["labels"]
            for budget in ours[labels.get(contract.JOB_NAME_LABEL, "")]:
                if _selects(other, labels) and _selects(budget, labels):
                    twice[budget["metadata"]["name"]].append(metadata["name"])
        for name, selected in sorted(twice.items()):
            yield _overlap(namespace, other["metadata"]["name"], name, selected)


def _overlap(namespace: str, other: str, ours: str, pods: Sequence[str]) -> CheckResult:
    return warning(
        f"PodDisruptionBudget {namespace}/{other} and kubectl-edl's {ours} select the same pods: "
        f"{listed(sorted(pods))}; no drain and no autoscaler can evict them",
        FixCommand(
            f"kubectl edit poddisruptionbudget {other} -n {namespace}  # exclude pods with the "
            f"label {contract.JOB} from its selector, or delete it"
        ),
    )


def _job_of_ours(budget: Json) -> str:
    """The Job that a budget of ours protects; empty for a budget of others."""
    labels = budget["metadata"].get("labels") or {}
    if not contract.is_managed(labels) or contract.JOB not in labels:
        return ""
    selector = budget["spec"].get("selector") or {}
    return str((selector.get("matchLabels") or {}).get(contract.JOB_NAME_LABEL) or "")


def _pods(context: CheckContext, namespace: str) -> list[Json]:
    """Metadata of the training jobs' pods that have not ended."""
    listing = context.cluster.list(ListOptions("Pod", namespace, contract.FRAMEWORK))
    pods = map(msgspec.json.decode, listing.items)
    return [
        pod["metadata"] for pod in pods if pod.get("status", {}).get("phase") not in ENDED_PHASES
    ]


def _selects(budget: Json, labels: Json) -> bool:
    """Whether it selects a pod; an empty selector selects all, a missing one none."""
    selector = budget["spec"].get("selector")
    if selector is None:
        return False
    named = (selector.get("matchLabels") or {}).items()
    requirements = [Requirement(key, "In", (value,)) for key, value in named]
    for expression in selector.get("matchExpressions") or ():
        values = tuple(expression.get("values") or ())
        requirements.append(Requirement(expression["key"], expression["operator"], values))
    return all(requirement.holds(labels.get(requirement.key)) for requirement in requirements)

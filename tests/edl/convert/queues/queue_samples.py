"""Documents of queues, and the teams that come out of them."""

from typing import Any

from edl import contract
from edl.convert.diagnostics import path_of
from edl.convert.queues.queue_conversion import ConvertedQueues, is_queue, teams_of_queues
from edl.model import Team, Teams
from edl.parsing.team_config_map import check, teams_of
from edl.quantities import Resources
from edl.writes import Json

GPU = "nvidia.com/gpu"


def kueue(kind: str, name: str, version: str = "v1beta2", **spec: Any) -> Json:  # noqa: ANN401 - JSON
    api = f"kueue.x-k8s.io/{version}"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def cluster_queue(name: str, cohort: str = "all", *quotas: Json, **spec: Any) -> Json:  # noqa: ANN401 - JSON
    grouped: Json = {"resourceGroups": [group(*quotas)]} if quotas else {}
    joined = {"cohortName": cohort} if cohort else {}
    return kueue("ClusterQueue", name, **joined, **grouped, **spec)


def group(*quotas: Json, flavor: str = "any") -> Json:
    names = [one["name"] for one in quotas]
    return {"coveredResources": names, "flavors": [{"name": flavor, "resources": list(quotas)}]}


def quota(resource: str, nominal: object, **limits: object) -> Json:
    return {"name": resource, "nominalQuota": nominal} | limits


def local_queue(namespace: str, queue: str, **spec: Any) -> Json:  # noqa: ANN401 - JSON
    found = kueue("LocalQueue", "jobs", clusterQueue=queue, **spec)
    found["metadata"]["namespace"] = namespace
    return found


def kai(name: str, parent: str = "", **spec: Any) -> Json:  # noqa: ANN401 - JSON
    above = {"parentQueue": parent} if parent else {}
    metadata = {"name": name}
    api = "scheduling.run.ai/v2"
    return {"apiVersion": api, "kind": "Queue", "metadata": metadata, "spec": above | spec}


def converted(*documents: Json) -> ConvertedQueues:
    assert all(map(is_queue, documents))
    return teams_of_queues(documents, contract.SYSTEM_NAMESPACE)


def teams(*documents: Json) -> Teams:
    """Of the ConfigMap, as the webhook and the reconciler read it."""
    found = converted(*documents)
    assert errors(found) == []
    assert found.manifest is not None
    check(found.manifest)
    metadata = found.manifest["metadata"]
    assert (metadata["namespace"], metadata["name"]) == ("edl-system", contract.TEAMS_CONFIG_MAP)
    return teams_of(found.manifest["data"])


def team(name: str, *documents: Json) -> Team:
    return teams(*documents)[name]


def errors(found: ConvertedQueues) -> list[str]:
    return [str(remark) for report in found.reports for remark in report.wrong]


def dropped(found: ConvertedQueues) -> list[str]:
    return [path_of(remark.place) for report in found.reports for remark in report.dropped]


def notes(found: ConvertedQueues) -> list[str]:
    return [str(remark) for report in found.reports for remark in report.notes]


def amounts(**found: str | int) -> Resources:
    """`cpu` and `memory` by their names, `gpu` for nvidia.com/gpu."""
    return Resources.parse({GPU if name == "gpu" else name: text for name, text in found.items()})

"""Current usage by team, without terminating pods, and the loans and shares that follow from it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from edl.model import ClusterState, Node, Pod, Role, TrainingJob
from edl.planner.teams.team_balance import TeamBalance
from edl.quantities import Resources
from edl.visibility.team_lending import ResourceLending

_NONE: Final = Resources()


class HeldDevices:
    """The devices of DRA that pods hold. They may count in more classes than pods request."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._held: dict[tuple[str, str], tuple[str, Resources, frozenset[str]]] = {}
        for node in nodes:
            names = frozenset(name for kind in node.claimed.kinds for name in kind)
            for pod, amounts in node.claimed.held.items():
                self._held[pod] = node.name, amounts, names

    def counted(self, job: TrainingJob, role: Role, pods: Sequence[Pod]) -> Resources:
        """What these bound pods of a role count."""
        total = role.template.shape.counted * len(pods)
        for pod in pods if self._held else ():
            node, held, names = self._held.get(
                (job.key.namespace, pod.name), ("", _NONE, frozenset())
            )
            if node == pod.node:
                shape = role.template.shape
                usual = {name: amount for name, amount in shape.counted if name in names}
                total += held - Resources.of(usual)
        return total


def running_pods(role: Role) -> list[Pod]:
    """The bound pods that are neither terminating nor ended."""
    return [pod for pod in role.status.pods if pod.node and pod.active]


def team_balance(state: ClusterState) -> TeamBalance:
    """What teams use now; without guarantees, also of resources that no schedulable node has."""
    usage: dict[str, Resources] = dict(state.team_usage if state.teams else {})
    devices = HeldDevices(state.nodes)
    for job in state.jobs if state.teams else ():
        team = state.team_of(job.key.namespace)
        for role in job.roles:
            if pods := running_pods(role):
                usage[team] = usage.get(team, _NONE) + devices.counted(job, role, pods)
    ready = (node.allocatable for node in state.nodes if node.schedulable)
    totals = {name: 0 for used in usage.values() for name, _ in used} | dict(sum(ready, _NONE))
    return TeamBalance(state.teams, usage, totals)


def lending(state: ClusterState, balance: TeamBalance) -> Mapping[str, ResourceLending]:
    """The loans between teams, by resource that is guaranteed to some team."""
    capacity = sum((node.allocatable for node in state.nodes), _NONE)
    names, guaranteed = balance.names, any(balance.guaranteed)
    return {
        resource: ResourceLending(
            state.teams,
            {name: owed.get(nth, 0) for name, owed in zip(names, balance.guaranteed, strict=True)},
            {name: used[nth] for name, used in zip(names, balance.used, strict=True)},
            capacity.get(resource),
        )
        for nth, resource in enumerate(balance.resources if guaranteed else ())
    }


def weighted_shares(state: ClusterState) -> Mapping[str, float]:
    """By team, its weighted dominant share of borrowed capacity; the smallest comes first.

    That is the largest fraction of the cluster, over resources, that it borrows, divided by its
    weight.
    """
    balance = team_balance(state)
    return {name: balance.share(number) for name, number in balance.numbers.items()}

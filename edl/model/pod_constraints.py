"""Which pods may run beside which others: the required rules of kube-scheduler, as values."""

from typing import NamedTuple

import msgspec

from edl.model.selectors import Labels, OwnedSelector, Selector


class PodAffinityTerm(msgspec.Struct, frozen=True, cache_hash=True):
    """Pods that match `selector` in one domain: nodes with the same value of the label `key`."""

    key: str
    selector: Selector


class TopologySpread(msgspec.Struct, frozen=True):
    """A topology spread constraint with DoNotSchedule.

    A domain may have at most `skew` more pods of `selector` than the one with the fewest, which
    counts as 0 with fewer domains than `domains`. A `selector` of None counts no pod.
    """

    key: str
    selector: Selector | None
    skew: int
    domains: int = 1
    by_affinity: bool = True
    """`nodeAffinityPolicy: Honor`: only nodes that match the pod's node affinity form domains."""
    by_taints: bool = False
    """`nodeTaintsPolicy: Honor`: only nodes whose taints the pod tolerates form domains."""


class HostPort(NamedTuple):
    """A hostPort; the address 0.0.0.0 stands for all addresses of the node."""

    protocol: str
    number: int
    address: str


class PodConstraints(msgspec.Struct, frozen=True, cache_hash=True):
    """A pod's identity for the rules of others, and its own rules: required ones, no preferences.

    `affinity`: a pod that matches the selectors of all terms must be in each term's domain.
    `anti_affinity` also keeps matching pods away from this one.
    """

    namespace: str
    labels: Labels
    spread: tuple[TopologySpread, ...] = ()
    affinity: tuple[PodAffinityTerm, ...] = ()
    anti_affinity: tuple[PodAffinityTerm, ...] = ()
    ports: tuple[HostPort, ...] = ()

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """The selectors of its own rules."""
        counted = (spread.selector for spread in self.spread if spread.selector is not None)
        return (*counted, *(term.selector for term in (*self.affinity, *self.anti_affinity)))

    @property
    def owned_selectors(self) -> tuple[OwnedSelector, ...]:
        return tuple(OwnedSelector(self.namespace, selector) for selector in self.selectors)


class ForeignPods(msgspec.Struct, frozen=True):
    """Bound pods of other owners on one node that affinity or spread rules may select.

    `terminating` of them are about to end.
    """

    node: str
    constraints: PodConstraints
    pods: int
    terminating: int = 0

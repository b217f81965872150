"""Bounds the rules of all pending pods of other owners together, besides those of each pod.

Any user may create thousands of pods, each within the limits of one. Pods with few rules, as most
are, cost what pods cost that have none, and are never left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, zip_longest
from operator import itemgetter
from typing import Final

from msgspec.structs import replace

from edl.contract import pod_limits
from edl.contract.pod_limits import PodCount
from edl.model import Demand, Shape
from edl.quantities import Resources

UNREAD: Final = Shape(Resources())
"""The shape of pods that are left out: nothing is compared with what they request."""


def within_limit(demands: Sequence[Demand]) -> tuple[Demand, ...]:
    """The demands; those beyond MAX_RULES_OF_ALL are left out.

    The highest priority uses it first, and the namespaces of one priority in turn.
    """
    costs = {place: cost for place, demand in enumerate(demands) if (cost := _cost(demand.shape))}
    left, beyond = pod_limits.MAX_RULES_OF_ALL, set[int]()
    for place in _in_turn(costs, demands):
        if costs[place] > left:
            beyond.add(place)
        else:
            left -= costs[place]
    return tuple(
        _left_out(demand) if place in beyond else demand for place, demand in enumerate(demands)
    )


def _left_out(demand: Demand) -> Demand:
    rules, most = _rules(demand.shape), pod_limits.MAX_RULES_OF_ALL
    excess = PodCount("spec", "rules about where it may run", rules, most, of_all=True)
    return replace(demand, shape=UNREAD, excess=excess)


def _in_turn(places: Iterable[int], demands: Sequence[Demand]) -> Iterator[int]:
    """The places by priority; of one priority, namespaces take turns."""
    by_namespace: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for place in places:
        namespace = demands[place].example.partition("/")[0]
        by_namespace[-demands[place].priority, namespace].append(place)
    for _, names in groupby(sorted(by_namespace), key=itemgetter(0)):
        turns = zip_longest(*(by_namespace[name] for name in names))
        yield from (place for place in chain.from_iterable(turns) if place is not None)


def _cost(shape: Shape) -> int:
    return max(_rules(shape) - pod_limits.FREE_OF_COST, 0)


def _rules(shape: Shape) -> int:
    cost = len(shape.tolerations) + len(shape.node_selector) + len(shape.requests.items)
    cost += sum(1 + len(term) for term in shape.affinity)
    cost += _values(shape) // pod_limits.VALUES_PER_COST
    if rules := shape.constraints:
        cost += len(rules.spread) + len(rules.ports)
        cost += sum(len(selector.requirements) for selector in rules.selectors)
        for term in (*rules.affinity, *rules.anti_affinity):
            same_namespace = term.selector.namespaces == (rules.namespace,)
            cost += 1 if same_namespace else pod_limits.COST_ABROAD
    return cost


def _values(shape: Shape) -> int:
    """The values in all expressions, and the namespaces that terms name."""
    selectors = shape.constraints.selectors if shape.constraints else ()
    expressions = chain(*shape.affinity, *(selector.requirements for selector in selectors))
    namespaces = sum(len(selector.namespaces or ()) for selector in selectors)
    return namespaces + sum(len(one.values) for one in expressions)

"""What would make room for pods that do not fit: free capacity, new nodes, or fewer pods."""

from collections.abc import Sequence

from edl.messages.scarcity_messages import kept_to, lacking
from edl.model.causes.blockers import ConstraintsUnsatisfied, InsufficientResources, TooLarge
from edl.model.nodes import Domain, existing_name, is_added, is_one_node


def free_capacity(found: InsufficientResources, job: str) -> str:
    """`job`: as for `edl.messages.blocker_messages.remedy`."""
    if found.needs_nodes or is_added(found.node):
        return _new_nodes(found, job)
    fewer = _fewer(found, found.fitting, f"{found.fitting} fit now", job)
    if found.pods == 1:
        return f"{fewer}{found.missing} more free on {found.node}"
    more = f"{fewer}room for {found.pods} more pods of {found.requests}"
    if is_one_node(found.domains, found.node):
        return f"{more} on {found.node}"
    return f"{more}, on nodes{_like(found.node, found.domains)}"


def _new_nodes(found: InsufficientResources, job: str) -> str:
    """The remedy where the existing nodes would not suffice, or are not those that come nearest."""
    most, now = found.sizes.most, found.fitting
    if found.sizes.automatic is None and max(found.sizes.fewest, 1) <= now < most:
        fewer = _fewer(found, now, f"{now} fit now, at most {most} on these nodes", job)
    else:
        fewer = _fewer(found, most, f"at most {most} fit on these nodes", job)
    pods = found.requests if found.pods == 1 else f"{found.pods} more pods of {found.requests}"
    new = "a new node" if found.pods == 1 else "new nodes"
    where = f"{new}{_like(found.node, found.domains)}"
    if is_one_node(found.domains, found.node):
        where = f"a larger {'new node' if is_added(found.node) else f'node {found.node}'},"
    known = found.needs_nodes and not is_added(found.node)
    return f"{fewer if known else ''}{where} with room for {pods}"


def _fewer(found: InsufficientResources, pods: int, how_many: str, job: str) -> str:
    """The remedy of `pods` pods, fewer than it wants; empty if none of them fits."""
    if not pods:
        return ""
    automatic = found.sizes.automatic
    if automatic is not None and pods >= automatic:
        none = f": kubectl edl scale {job} --role {found.role} --auto" if job else ""
        return f"no manual size of {found.role} ({how_many}){none}; or "
    if pods >= found.sizes.fewest:
        lower = f": kubectl edl scale {job} --role {found.role} --min {pods}" if job else ""
        return f"fewer {found.role} replicas ({how_many}{lower}), or "
    why = f"{how_many}; these pods were made for {found.sizes.fewest}"
    return f"a new Job with fewer {found.role} replicas ({why}), or "


def _like(node: str, domains: Sequence[Domain]) -> str:
    """` like NODE in DOMAIN`: the existing node that an added one is like; empty if like none."""
    model = existing_name(node)
    return f"{f' like {model}' if model else ''}{kept_to(domains)}"


def smaller_pods(found: TooLarge) -> str:
    short = lacking(found.requests, found.largest)
    smaller = "smaller pods, or " if all(found.largest.get(name) for name, _ in short) else ""
    nodes = "a node" if found.pods == 1 else f"{found.pods} nodes"
    each = "" if found.pods == 1 else " each"
    if is_one_node(found.domains, found.node):
        where = "the new node" if is_added(found.node) else found.node
        return f"{smaller}{found.requests * found.pods} more on {where}"
    return f"{smaller}{nodes} with {found.requests}{each}{kept_to(found.domains)}"


def more_nodes(found: ConstraintsUnsatisfied) -> str:
    if not found.node or is_one_node(found.domains, found.node):
        return ""
    noun = "one more node" if found.pods == 1 else f"{found.pods} more nodes"
    each = "" if found.pods == 1 else " on each"
    like = _like(found.node, found.domains)
    return f"{noun}{like}, with {found.requests} free{each} and no pod there yet"

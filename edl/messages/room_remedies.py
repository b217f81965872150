"""What would make room for pods that do not fit: free capacity, new nodes, or fewer pods."""

from collections.abc import Sequence

from edl.messages.scarcity_messages import kept_to, lacking
from edl.model.causes.blockers import ConstraintsUnsatisfied, InsufficientResources, TooLarge
from edl.model.nodes import Domain, existing_name, is_added, is_one_node


def free_capacity(about: InsufficientResources, job: str) -> str:
    """`job`: as for `edl.messages.blocker_messages.remedy`."""
    if about.needs_nodes or is_added(about.node):
        return _new_nodes(about, job)
    fewer = _fewer(about, about.fitting, f"{about.fitting} fit now", job)
    if about.pods == 1:
        return f"{fewer}{about.missing} more free on {about.node}"
    more = f"{fewer}room for {about.pods} more pods of {about.requests}"
    if is_one_node(about.domains, about.node):
        return f"{more} on {about.node}"
    return f"{more}, on nodes{_like(about.node, about.domains)}"


def _new_nodes(about: InsufficientResources, job: str) -> str:
    """The remedy where the existing nodes would not suffice, or are not those that come nearest."""
    most, now = about.sizes.most, about.fitting
    if about.sizes.automatic is None and max(about.sizes.fewest, 1) <= now < most:
        fewer = _fewer(about, now, f"{now} fit now, at most {most} on these nodes", job)
    else:
        fewer = _fewer(about, most, f"at most {most} fit on these nodes", job)
    pods = about.requests if about.pods == 1 else f"{about.pods} more pods of {about.requests}"
    new = "a new node" if about.pods == 1 else "new nodes"
    where = f"{new}{_like(about.node, about.domains)}"
    if is_one_node(about.domains, about.node):
        where = f"a larger {'new node' if is_added(about.node) else f'node {about.node}'},"
    is_existing = about.needs_nodes and not is_added(about.node)
    return f"{fewer if is_existing else ''}{where} with room for {pods}"


def _fewer(about: InsufficientResources, pods: int, how_many: str, job: str) -> str:
    """The remedy of `pods` pods, fewer than it wants; empty if none of them fits."""
    if not pods:
        return ""
    automatic = about.sizes.automatic
    if automatic is not None and pods >= automatic:
        none = f": kubectl edl scale {job} --role {about.role} --auto" if job else ""
        return f"no manual size of {about.role} ({how_many}){none}; or "
    if pods >= about.sizes.fewest:
        lower = f": kubectl edl scale {job} --role {about.role} --min {pods}" if job else ""
        return f"fewer {about.role} replicas ({how_many}{lower}), or "
    why = f"{how_many}; these pods were made for {about.sizes.fewest}"
    return f"a new Job with fewer {about.role} replicas ({why}), or "


def _like(node: str, domains: Sequence[Domain]) -> str:
    """` like NODE in DOMAIN`: the existing node that an added one is like; empty if like none."""
    model = existing_name(node)
    return f"{f' like {model}' if model else ''}{kept_to(domains)}"


def smaller_pods(about: TooLarge) -> str:
    short = lacking(about.requests, about.largest)
    smaller = "smaller pods, or " if all(about.largest.get(name) for name, _ in short) else ""
    nodes = "a node" if about.pods == 1 else f"{about.pods} nodes"
    each = "" if about.pods == 1 else " each"
    if is_one_node(about.domains, about.node):
        where = "the new node" if is_added(about.node) else about.node
        return f"{smaller}{about.requests * about.pods} more on {where}"
    return f"{smaller}{nodes} with {about.requests}{each}{kept_to(about.domains)}"


def more_nodes(about: ConstraintsUnsatisfied) -> str:
    if not about.node or is_one_node(about.domains, about.node):
        return ""
    noun = "one more node" if about.pods == 1 else f"{about.pods} more nodes"
    each = "" if about.pods == 1 else " on each"
    like = _like(about.node, about.domains)
    return f"{noun}{like}, with {about.requests} free{each} and no pod there yet"

"""What webhooks add to the pods of a Job: containers that its pod template does not have.

A container of the template may differ in a pod for other reasons: a resize in place, a LimitRange.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from edl.annotations.added_requests import above_zero
from edl.kube.decode.object_facts import PodFacts
from edl.quantities import Resources, requested_by_pod

_KEPT: Final = 16 * 1024
"""Templates of more bytes are not cached, since users choose their length."""


def injected_requests(template: bytes, pods: Sequence[PodFacts]) -> Resources:
    """The requests of such containers in the newest active pod; `template`: `admission_inputs`.

    Without init containers that end: these run before the others. Without what the template
    requests for whole pods, which all containers share.
    """
    active = [facts for facts in pods if facts.pod and facts.pod.active]
    newest = max(active, key=_age, default=None)
    if newest is None or not newest.containers:
        return Resources()
    names, shared = (_known if len(template) <= _KEPT else _own)(template)
    others = (requests for name, requests in newest.containers if name not in names)
    added = above_zero(sum(others, Resources()))
    return Resources.of({name: amount for name, amount in added if name not in shared})


def _age(facts: PodFacts) -> tuple[object, str]:
    return facts.pod and facts.pod.created_at, facts.name


def _own(template: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """The names of a pod template's containers, and what it requests for whole pods."""
    spec = msgspec.json.decode(template)
    groups = spec["containers"], spec["initContainers"]
    names = frozenset(container.get("name", "") for group in groups for container in group)
    return names, requested_by_pod(spec)


_known: Final = lru_cache(maxsize=4096)(_own)

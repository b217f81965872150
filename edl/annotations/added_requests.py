"""Requests of containers that webhooks added to a Job's pods in its last run, as an annotation.

Such webhooks see pods only: a Job that waits shows none of what they add.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from edl import contract
from edl.annotations.json_text import json_text, read_json
from edl.model import AddedRequests
from edl.quantities import CPU, PODS, SHARED_GPU, Resources

_LONGEST: Final = 4 * 1024
"""Bytes of the annotation; a longer one, which only others write, counts as none."""
_decoder: Final = msgspec.json.Decoder(dict[str, str])


def read(annotations: Mapping[str, str]) -> AddedRequests:
    """The recorded amounts; none if the annotation is invalid."""
    text = annotations.get(contract.ADDED_REQUESTS, "")
    quantities = read_json(text, _decoder) if len(text) <= _LONGEST else None
    try:
        recorded = above_zero(Resources.parse(quantities))
    except ValueError:
        recorded = Resources()
    return AddedRequests(recorded, recorded)


def annotation(added: AddedRequests) -> dict[str, str | None]:
    """The record for the time without pods, such as `{"cpu":"100m"}`; {} if it is unchanged.

    None of what is too long to be read: an API server would refuse it, and with it the stop.
    """
    if added.amounts == added.recorded:
        return {}
    amounts = {name: f"{amount}m" if name == CPU else str(amount) for name, amount in added.amounts}
    text = json_text(amounts) if amounts else ""
    return {contract.ADDED_REQUESTS: text if 0 < len(text) <= _LONGEST else None}


def above_zero(amounts: Resources) -> Resources:
    """The amounts above zero that a container may add: neither pod slots nor shared GPUs."""
    kinds = {name: amount for name, amount in amounts if name not in (PODS, SHARED_GPU)}
    return Resources.of({name: amount for name, amount in kinds.items() if amount > 0})

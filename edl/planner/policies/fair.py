"""Equal fulfilment: each role gets the same fraction of `max - min`."""

from edl.planner.policies.policy import Claimant, Policy


def fulfilment(claimant: Claimant, size: int) -> float:
    """(size - min) / (max - min), Fluid's fulfilment; at one size the distance to it.

    Below 0 under a minimum that was raised: it comes first.
    """
    role = claimant.role
    return (size - role.spec.min) / (role.spec.max - role.spec.min or 1)


FAIR = Policy("fair", fulfilment)

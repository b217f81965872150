"""Equal fulfilment: everybody gets the same part of what lies between his min and his max."""

from edl.model import Role, TrainingJob


def fair(_job: TrainingJob, role: Role, size: int) -> float:
    """(size - min) / (max - min), Fluid's fulfilment; at one size the distance to it.

    Below 0 under a minimum that was raised: it comes first.
    """
    return (size - role.min) / (role.max - role.min or 1)

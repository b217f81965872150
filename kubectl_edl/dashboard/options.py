"""What `kubectl edl dashboard` is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DashboardOptions:
    """Where it listens, whether sizes may be set there, and whether a browser is opened."""

    address: str = "127.0.0.1"
    port: int = 8180
    allow_scale: bool = False
    opened: bool = True

"""What holds for all tests: none asserts a time, and those that take minutes begin first."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Else one of two processes would wait for the last long file of the other."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)

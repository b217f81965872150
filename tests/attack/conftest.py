"""The attack: how long a seed lasts and which one it is are options of the run."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "torture" not in config.getoption("markexpr"):
        long = [item for item in items if item.get_closest_marker("torture")]
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)

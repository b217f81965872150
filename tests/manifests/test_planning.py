"""Durations among the chart's values: the schema, the plugin and the reconciler agree on them."""

import json
from typing import Any

import click
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edl.kube.duration_range import DurationRange
from edl.kube.option_group import click_options
from edl.planner.published_settings import LONGEST
from edl.writes import Json
from manifests import chart_files, values
from manifests.planning import DURATIONS
from reconciler.decision_options import planning_options

SCHEMA: Json = json.loads(chart_files.schema_text())["$defs"]["Planning"]["properties"]
OPTIONS = {option.name: option.type for option in click_options(planning_options)}
SECONDS = st.floats(0, 2 * LONGEST) | st.floats(0, 0.01) | st.integers(-1, 2 * LONGEST)


def helm_accepts(schema: Any, value: float) -> bool:  # noqa: ANN401 - JSON Schema
    """Whether a value meets those keywords of JSON Schema that limit numbers."""
    return (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and not value <= schema.get("exclusiveMinimum", value - 1)
        and not value >= schema.get("exclusiveMaximum", value + 1)
        and not ("not" in schema and helm_accepts(schema["not"], value))
    )


def plugin_accepts(name: str, value: float) -> bool:
    try:
        values.read({"reconciler": {"planning": {name: value}}})
    except values.ValuesError:
        return False
    return True


def reconciler_accepts(option: str, value: float) -> bool:
    """Of the value as Helm's `toJson` writes it, without an exponent."""
    kind = OPTIONS[option]
    assert isinstance(kind, DurationRange)
    try:
        kind.convert(np.format_float_positional(value, trim="-"), None, None)
    except click.BadParameter:
        return False
    return True


@pytest.mark.parametrize(("option", "name"), DURATIONS.items())
@given(value=SECONDS)
@example(0)
@example(0.0004)
@example(0.00099999999)
@example(0.001)
@example(0.0012345678901234567)
@example(LONGEST)
@example(np.nextafter(LONGEST, np.inf).item())
def test_what_is_a_duration_to_helm_is_one_to_the_plugin_and_the_reconciler(
    option: str, name: str, value: float
) -> None:
    helm = helm_accepts(SCHEMA[name], value)
    assert helm == plugin_accepts(name, value) == reconciler_accepts(option, value)


def test_all_durations_of_the_planner_are_values() -> None:
    durations = {name for name, kind in OPTIONS.items() if isinstance(kind, DurationRange)}
    assert durations == set(DURATIONS)
    assert "drainPatience" in DURATIONS.values()

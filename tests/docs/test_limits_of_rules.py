"""The page about placement states the limits that hold."""

from pathlib import Path

import pytest

from edl.contract import pod_limits

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "placement.md"
ROWS = PAGE.read_text().partition("## Limits of rules")[2].splitlines()


@pytest.mark.parametrize(
    ("field", "limits"),
    [
        ("`tolerations`", (pod_limits.MAX_RULES,)),
        (
            "topologySpreadConstraints",
            (pod_limits.MAX_RULES, pod_limits.MAX_VALUES, pod_limits.MAX_FOREIGN_TERMS),
        ),
        ("nodeSelector", (pod_limits.MAX_NAMES,)),
        ("host ports", (pod_limits.MAX_PORTS,)),
        ("PersistentVolumeClaims", (pod_limits.MAX_VOLUMES,)),
        ("metadata.labels", (pod_limits.MAX_LABELS,)),
    ],
)
def test_a_limit_stands_in_the_row_of_its_field(field: str, limits: tuple[int, ...]) -> None:
    (row,) = (row for row in ROWS if row.startswith("|") and field in row.split("|")[1])
    assert [f"{one:,}" for one in limits if f"{one:,}" not in row.split("|")[2]] == []


def test_the_limit_of_all_pending_pods_is_stated() -> None:
    text = " ".join(ROWS)
    assert f"may have {pod_limits.MAX_RULES_OF_ALL:,} rules" in text
    assert f"the first {pod_limits.FREE_OF_COST} of each shape" in text
    assert f"other namespaces counts {pod_limits.COST_ABROAD}" in text
    assert f"{pod_limits.VALUES_PER_COST} values count 1;" in text

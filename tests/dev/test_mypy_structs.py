"""mypy finds a wrong field of a copy, in a struct and in the parts of a role."""

from pathlib import Path
from textwrap import dedent

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]
SOURCE = """
    import msgspec
    from msgspec.structs import replace
    from edl.model.roles import Role

    class Point(msgspec.Struct, frozen=True):
        x: int
        y: int = 0

    def moved(point: Point, role: Role) -> tuple[Point, Role]:
        return replace(point, x=1, y=2), role.changed(size=1, replicas=None, uid="1")
"""


def findings(tmp_path: Path, source: str) -> list[str]:
    """What mypy says of a module, with the project's configuration."""
    module = tmp_path / "copies.py"
    module.write_text(dedent(source))
    said, _, _ = api.run([
        *("--config-file", str(ROOT / "pyproject.toml")),
        *("--cache-dir", str(ROOT / ".mypy_cache"), "--follow-imports", "silent"),
        *("--no-error-summary", str(module)),
    ])  # fmt: skip
    return [line.partition("error: ")[2] for line in said.splitlines() if "error: " in line]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "finding"),
    [
        ("y=2", "z=2", 'Unexpected keyword argument "z" for "replace"  [call-arg]'),
        ("x=1", 'x="1"', 'Argument "x" to "replace" has incompatible type "str"; expected "int"'),
        (
            "replicas=None",
            "wish=None",
            'Unexpected keyword argument "wish" for "changed" of "Role"',
        ),
        ("size=1", 'size="1"', 'Argument "size" to "changed" of "Role" has incompatible type'),
    ],
)
def test_a_copy_takes_the_fields_of_its_struct(
    tmp_path: Path, right: str, wrong: str, finding: str
) -> None:
    assert right in SOURCE
    [found] = findings(tmp_path, SOURCE.replace(right, wrong))
    assert found.startswith(finding)


def test_a_right_copy_is_accepted(tmp_path: Path) -> None:
    assert findings(tmp_path, SOURCE) == []

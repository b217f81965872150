import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_part_of_edl_but_the_client_is_held_pure() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = pyproject["tool"]["importlinter"]["contracts"]
    held = next(
        found["source_modules"] for found in contracts if found["name"].startswith("edl decides")
    )
    parts = {path.stem for path in (ROOT / "edl").iterdir() if path.suffix == ".py"}
    parts |= {path.parent.name for path in (ROOT / "edl").glob("*/__init__.py")}
    assert set(held) == {f"edl.{part}" for part in parts - {"__init__", "kube"}}

"""Names of the contract, and Kubernetes' own, are spelled out in one module: others import them."""

import ast
from collections.abc import Iterator
from pathlib import Path

from edl import contract
from edl.model.nodes import HOSTNAME

ROOT = Path(__file__).parents[1]
PACKAGES = ("edl", "webhook", "reconciler", "kubectl_edl", "certs", "manifests")
HOMES = {Path("edl/contract"), Path("edl/model/nodes.py")}
NAMES = {HOSTNAME, contract.REQUIRED_AFFINITY} | {
    value
    for value in vars(contract).values()
    if isinstance(value, str) and "/" in value and value != contract.PREFIX
}
AROUND = "=,!"
"""What is beside a name in a label selector."""


def spelled(source: str) -> Iterator[str]:
    """Names of the contract among the texts of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from {node.value.strip(AROUND)} & NAMES


def test_each_name_of_the_contract_is_spelled_out_in_one_module() -> None:
    copies = {
        f"{module.relative_to(ROOT)}: {name}"
        for package in PACKAGES
        for module in (ROOT / package).rglob("*.py")
        if not HOMES & {module.relative_to(ROOT), module.relative_to(ROOT).parent}
        for name in spelled(module.read_text())
    }
    assert not copies, "import them from edl.contract"


def test_a_name_in_a_selector_is_noticed() -> None:
    assert [*spelled('f"app.kubernetes.io/managed-by={of}"')] == [contract.MANAGED_BY_LABEL]

"""Descriptions of sandboxes for the user."""

from collections.abc import Iterable
from pathlib import Path

from sandbox.layout import NAME, Layout, read_facts
from sandbox.paths import CHECKOUT
from sandbox.processes import ownership
from sandbox.sandbox import Sandbox


def names(root: Path) -> list[str]:
    """The names of sandboxes below the root that have a folder or a process."""
    folders = {entry.name for entry in root.iterdir()} if root.is_dir() else set()
    owners = {Path(process.folder) for process in ownership.live()}
    found = folders | {owner.name for owner in owners if owner.parent == root}
    return sorted(name for name in found if NAME.fullmatch(name))


def of_other_checkouts(root: Path, found: Iterable[str]) -> dict[str, str]:
    """Where sandboxes that this checkout has not started come from."""
    facts = {name: read_facts(Layout(root / name).facts) for name in found}
    origins = {name: (one and one.checkout) or "" for name, one in facts.items()}
    return {
        name: f"started from {origin}" if origin else "its origin is unknown"
        for name, origin in origins.items()
        if origin != str(CHECKOUT)
    }


def describe(sandbox: Sandbox) -> str:
    """One paragraph: components with their pids, and dead ones with the end of their logs."""
    running = sandbox.running()
    head = f"sandbox {sandbox.name}: {len(running)} processes, kubeconfig {sandbox.kubeconfig}"
    lines = [f"  {name:<28}{pid}" for name, pid in running.items()]
    dead = [sandbox.death_report(name) for name in sandbox.dead()]
    return "\n".join([head, *lines, *dead])


def logged(sandbox: Sandbox) -> list[str]:
    """The components that have a log."""
    return sorted(path.stem for path in (sandbox.folder / "logs").glob("*.log"))

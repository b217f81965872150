"""Runs kubectl on one cluster."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError


@dataclass(frozen=True, slots=True)
class Kubectl:
    """program: the kubectl to run. environment: variables that select the cluster."""

    program: Path
    environment: Mapping[str, str]

    def __call__(self, args: tuple[str, ...], text: str | None = None) -> str:
        """The output, with the text as input. Raises SandboxError with kubectl's message."""
        done = subprocess.run(
            [self.program, *args],
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SandboxError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout


def environment(environ: Mapping[str, str], kubeconfig: Path, folder: Path) -> dict[str, str]:
    """The environment for kubectl and client libraries.

    Discovery is cached per cluster, because ports are reused. Garbage collection would be a third
    of the processor time of a kubectl, which seldom lives for a second.
    """
    return {
        **environ,
        "GOGC": "off",
        "GOMEMLIMIT": "1GiB",
        "KUBECONFIG": str(kubeconfig),
        "KUBECACHEDIR": str(folder / "kubectl-cache"),
    }

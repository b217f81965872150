"""One real node for a sandbox: pods run in it, in namespaces and a cgroup of the sandbox's own."""

from sandbox.real.requirements import missing

__all__ = ["missing"]

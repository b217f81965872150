"""A real Kubernetes control plane with simulated nodes, run as ordinary local processes."""

from sandbox.errors import ComponentDied, SandboxError
from sandbox.objects.nodes import NodeGroup
from sandbox.sandbox import Sandbox
from sandbox.temporary import temporary_sandbox

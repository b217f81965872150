"""Resizes a role from the page, with the code of `kubectl edl scale`."""

from dataclasses import dataclass, replace
from io import StringIO

from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.cli.options import WriteOptions
from kubectl_edl.scale import size_validation
from kubectl_edl.scale.resize import ResizeTask, carry_out


@dataclass(frozen=True, slots=True)
class ResizeRequest:
    """A manual size; None returns the role to automatic scaling."""

    namespace: str
    name: str
    size: int | None


def resize(cli: CliContext, connection: ClusterConnection, request: ResizeRequest) -> str:
    """Resize, and return the confirmation. Raises the errors that `kubectl edl scale` prints."""
    if connection.namespace not in ("", request.namespace):
        raise Refused(f"{request.namespace} is not shown here; only {connection.namespace} is")
    scope = connection.scope.within(request.namespace)
    there = replace(connection, namespace=request.namespace, scope=scope)
    asked = size_validation.SizeRequest(size=request.size, auto=request.size is None, scope=scope)
    silent = replace(cli, out=StringIO(), err=StringIO())
    carry_out(ResizeTask(silent, there, request.name, asked, WriteOptions("none")))
    assert isinstance(silent.out, StringIO)  # noqa: S101 - set two lines above
    return silent.out.getvalue().strip()

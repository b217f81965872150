"""Checks that the API server answers, and that its version is supported."""

import re
from typing import Final

from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.doctor.checks.check import CheckContext, CheckResults, failure, ok, warning

OLDEST: Final = (1, 33)
NEWEST: Final = (1, 37)
"""Other versions are not tested (docs/compatibility.md)."""
_NUMBERS: Final = re.compile(r"v?(\d+)\.(\d+)")


def answers(context: CheckContext) -> CheckResults:
    server = context.connection.server
    release = context.cluster.version()
    oldest, newest = (".".join(map(str, bound)) for bound in (OLDEST, NEWEST))
    match = _NUMBERS.match(release)
    if not match:
        yield warning(
            f'{server} answers, and calls itself "{release}": {oldest} or newer is needed',
            FixCommand("kubectl version"),
        )
    elif (int(match[1]), int(match[2])) < OLDEST:
        yield failure(
            f"{server} runs Kubernetes {release}: {oldest} or newer is needed",
            "upgrade the cluster",
        )
    else:
        yield ok(f"{server} answers: Kubernetes {release} ({oldest} to {newest} are tested)")

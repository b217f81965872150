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
    release = context.connection.cluster.version()
    oldest, newest = (".".join(map(str, one)) for one in (OLDEST, NEWEST))
    found = _NUMBERS.match(release)
    if not found:
        yield warning(
            f'{server} answers, and calls itself "{release}": {oldest} or newer is needed',
            FixCommand("kubectl version"),
        )
    elif (int(found[1]), int(found[2])) < OLDEST:
        yield failure(
            f"{server} runs Kubernetes {release}: {oldest} or newer is needed",
            "upgrade the cluster",
        )
    else:
        yield ok(f"{server} answers: Kubernetes {release} ({oldest} to {newest} are tested)")

"""The options of `kubectl edl teams set`."""

import re
from typing import Final

import click

from edl.kube.option_group import option, option_group
from kubectl_edl.cli.param_types import repeated

_WHOLE: Final = re.compile("[0-9]{1,18}")


@option_group
class TeamFields:
    """Fields from the command line; None if not given."""

    parent: str | None = option(metavar="TEAM", help="Parent team.")
    namespaces: tuple[str, ...] = option(
        "--namespace",
        metavar="NAME|PATTERN",
        help="Namespace or pattern with *; may be repeated; replaces the present ones.",
    )
    guaranteed: tuple[str, ...] = option(
        metavar="RESOURCE=AMOUNT[,…]",
        help="Resources that the team is guaranteed; may be repeated.",
    )
    limit: tuple[str, ...] = option(
        metavar="RESOURCE=AMOUNT[,…]", help="Most resources that the team may use; may be repeated."
    )
    weight: str | None = option(metavar="NUMBER", help="Weight by which idle capacity is shared.")
    lend: bool | None = option(
        default=None, help="Whether other teams may borrow what it does not use."
    )
    reclaim: str | None = option(
        type=click.Choice(("replicas", "jobs")),
        help="What its guarantee may reclaim from borrowers.",
    )

    def changes(self) -> dict[str, object]:
        """The changes in the format of the teams document. Raises click.UsageError."""
        fields = {
            "parent": self.parent,
            "namespaces": [name for name in self.namespaces if name] if self.namespaces else None,
            "guaranteed": _amounts("guaranteed", self.guaranteed),
            "limit": _amounts("limit", self.limit),
            "weight": self.weight,
            "lend": self.lend,
            "reclaim": self.reclaim,
        }
        return {field: value for field, value in fields.items() if value is not None}


def _amounts(field: str, texts: tuple[str, ...]) -> dict[str, str | int] | None:
    if not texts:
        return None
    pairs = [part.partition("=") for part in ",".join(texts).split(",") if part]
    if any(not (name and equals and amount) for name, equals, amount in pairs):
        raise click.UsageError(f"--{field}: write RESOURCE=AMOUNT[,…], nvidia.com/gpu=8,cpu=100")
    if name := repeated(name for name, *_ in pairs):
        raise click.UsageError(f"--{field}: {name} is given more than once: keep one amount.")
    return {name: int(amount) if _WHOLE.fullmatch(amount) else amount for name, _, amount in pairs}

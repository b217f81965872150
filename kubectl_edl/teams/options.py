"""The options of `kubectl edl teams set` and `delete`."""

import click

from edl.kube.option_group import option, option_group, shared_option
from kubectl_edl.cli.options import DRY_RUN, YES
from kubectl_edl.cli.param_types import repeated


@option_group
class TeamWriting:
    """How a change is written."""

    yes: bool = shared_option(YES, fallback=False)
    dry_run: str = shared_option(DRY_RUN, "none")


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
        found: dict[str, object] = {}
        if self.parent is not None:
            found["parent"] = self.parent
        if self.namespaces:
            found["namespaces"] = [one for one in self.namespaces if one]
        for field, texts in (("guaranteed", self.guaranteed), ("limit", self.limit)):
            if texts:
                found[field] = _amounts(field, ",".join(texts))
        if self.weight is not None:
            found["weight"] = self.weight
        if self.lend is not None:
            found["lend"] = self.lend
        if self.reclaim is not None:
            found["reclaim"] = self.reclaim
        return found


def _amounts(field: str, text: str) -> dict[str, str | int]:
    pairs = [part.partition("=") for part in text.split(",") if part]
    if any(not (name and equals and amount) for name, equals, amount in pairs):
        raise click.UsageError(f"--{field}: write RESOURCE=AMOUNT[,…], nvidia.com/gpu=8,cpu=100")
    if name := repeated(name for name, *_ in pairs):
        raise click.UsageError(f"--{field}: {name} is given more than once: keep one amount.")
    return {name: int(amount) if amount.isdecimal() else amount for name, _, amount in pairs}

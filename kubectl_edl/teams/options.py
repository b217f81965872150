"""The options of `kubectl edl teams set` and `delete`."""

from dataclasses import dataclass
from typing import Final

import click

from kubectl_edl.cli.options import DRY_RUN, YES, Command, bundled


@dataclass(frozen=True, slots=True)
class TeamWriting:
    """How a change is made."""

    yes: bool = False
    dry_run: str = "none"


@dataclass(frozen=True, slots=True)
class TeamFields:
    """Fields as they were given; None where nothing was said."""

    parent: str | None = None
    namespaces: tuple[str, ...] = ()
    guaranteed: str | None = None
    limit: str | None = None
    weight: str | None = None
    lend: bool | None = None
    reclaim: str | None = None

    def changes(self) -> dict[str, object]:
        """As the document writes them. Raises click.UsageError."""
        found: dict[str, object] = {}
        if self.parent is not None:
            found["parent"] = self.parent
        if self.namespaces:
            found["namespaces"] = [one for one in self.namespaces if one]
        for field, text in (("guaranteed", self.guaranteed), ("limit", self.limit)):
            if text is not None:
                found[field] = _amounts(field, text)
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
    return {name: int(amount) if amount.isdecimal() else amount for name, _, amount in pairs}


_FIELDS: Final = (
    click.option("--parent", metavar="TEAM", help="The team above it."),
    click.option(
        "--namespace",
        "namespaces",
        multiple=True,
        metavar="NAME|PATTERN",
        help="A namespace, or a pattern with *; may be repeated. They replace those before.",
    ),
    click.option("--guaranteed", metavar="RESOURCE=AMOUNT[,…]", help="What it is owed."),
    click.option("--limit", metavar="RESOURCE=AMOUNT[,…]", help="The most it may use."),
    click.option("--weight", metavar="NUMBER", help="Its part of idle capacity."),
    click.option("--lend/--no-lend", default=None, help="Whether others may use what it leaves."),
    click.option(
        "--reclaim",
        type=click.Choice(("replicas", "jobs")),
        help="What its guarantee may take of borrowers.",
    ),
)


def how(function: Command) -> Command:
    return bundled(TeamWriting, "writing", (YES, DRY_RUN))(function)


def team_fields(function: Command) -> Command:
    return bundled(TeamFields, "fields", _FIELDS)(function)

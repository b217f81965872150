"""Limits on what the pods of a namespace hold together: ResourceQuotas, GPU budgets, teams."""

from typing import Final, NamedTuple

import msgspec

from edl.quantities import SHARED_GPU, Amount, amount_text

GPUS: Final = "GPUs"
"""Whole GPUs and shares of them together, in thousandths."""


class QuotaCharge(NamedTuple):
    """The usage of one pod of a role in one budget of its namespace.

    `source` and `resource` name the budget; `amount` is in the budget's unit and above 0.
    """

    source: str
    resource: str
    amount: int


class Quota(msgspec.Struct, frozen=True):
    """A limit on the sum over pods of a namespace, of the roles that have a `QuotaCharge` for it.

    `hard` and `others` are in the resource's unit (edl/quantities.py), GPUs in thousandths.
    """

    namespace: str
    """Empty for a limit on several namespaces: a team's."""
    source: str
    """For messages: `ResourceQuota "team"`, `edl.dev/gpu-budget`, `limit of team vision`."""
    resource: str
    """As the source spells it: `requests.cpu`, `pods`, `GPUs`."""
    hard: Amount
    others: Amount = 0
    """Usage by anything but pods of training jobs that have not ended."""
    takes_back: bool = False
    """Whether jobs scale down while usage is above it. With a ResourceQuota running pods stay."""
    lendable: bool = False
    """Whether it is what nodes have beside what teams with `lend: false` keep: no user set it."""
    kept_by: str = ""
    """The team of these that keeps the most; empty if none keeps any."""

    @property
    def spans_namespaces(self) -> bool:
        """Whether it is the limit of a team."""
        return not self.namespace

    def text(self, amount: int) -> str:
        """An amount as users write it: `2.5`, `500m`, `8Gi`."""
        name = self.resource.removeprefix("requests.").removeprefix("limits.")
        return amount_text(SHARED_GPU if name == GPUS else name, amount).partition(" ")[0]

    def assigned(self, amount: int) -> str:
        """`requests.cpu=2.5`, as in the quota messages of the API server."""
        return f"{self.resource}={self.text(amount)}"

    @property
    def place(self) -> str:
        """The source, and the namespace in which it holds."""
        return f"{self.source} of namespace {self.namespace}" if self.namespace else self.source

    def __str__(self) -> str:
        return f"{self.place}, limited: {self.assigned(self.hard)}"


class Excess(msgspec.Struct, frozen=True):
    """A quota with the requested and the used amount, in the quota's unit."""

    budget: Quota
    needs: Amount
    used: Amount


MAX_EXCEEDED_RESOURCES: Final = 16
"""Resources of a quota that one refused write names."""

"""Documents about teams: `teams`, and the teams in documents of other commands."""

from typing import Annotated, TypedDict

from kubectl_edl.output.documents.shared_documents import NameDocument, Quantities


class TeamDocument(TypedDict):
    metadata: NameDocument
    parent: Annotated[str | None, "The team above it; null at the top."]
    namespaces: Annotated[int, "Number of its namespaces."]
    guaranteed: Annotated[Quantities, "Guaranteed resources, or the sum of the teams below it."]
    limit: Annotated[Quantities, "Most that it may use; resources not listed are unlimited."]
    weight: Annotated[float, "Weight of its share of idle capacity, among its parent's teams."]
    lend: Annotated[bool, "Whether other teams may borrow its unused guarantee."]
    reclaim: Annotated[str, "What it reclaims from borrowers: replicas or jobs."]
    used: Annotated[Quantities, "Requests of pods in its namespaces, and of the teams below it."]
    borrowed: Annotated[Quantities, "Usage beyond the guarantee."]
    lent: Annotated[Quantities, "Its part of what others borrow of guarantees."]
    share: Annotated[float, "The largest part of the cluster that it borrows, by its weight."]
    queuedTrainingJobs: Annotated[int, "Its queued training jobs."]


class BorrowedDocument(TypedDict):
    team: Annotated[str | None, "The team that lends; null: no team is guaranteed it."]
    amounts: Annotated[Quantities, "What is borrowed there."]


class JobCapacityDocument(TypedDict):
    guaranteed: Annotated[Quantities, "What its team's guarantee covers."]
    borrowed: Annotated[list[BorrowedDocument], "The rest, by the team that lends it."]

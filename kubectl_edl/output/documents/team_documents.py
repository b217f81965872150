"""Documents about teams: `teams`, and the teams in documents of other commands."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from kubectl_edl.output.documents.shared_documents import NameDocument, Quantities
from kubectl_edl.output.documents.training_job_documents import V1Alpha1


class TeamDocument(TypedDict):
    apiVersion: V1Alpha1
    kind: Literal["Team"]
    metadata: NameDocument
    parent: Annotated[str | None, "The team above it; null at the top."]
    namespaces: Annotated[int, "How many namespaces of the cluster are its own."]
    guaranteed: Annotated[Quantities, "What it is owed, or the sum of the teams below it."]
    limit: Annotated[Quantities, "The most it may use; resources that are not named have none."]
    weight: Annotated[float, "Its part of idle capacity, beside the teams of its parent."]
    lend: Annotated[bool, "Whether others may use what it leaves unused."]
    reclaim: Annotated[str, "What its guarantee may take of borrowers: replicas or jobs."]
    used: Annotated[Quantities, "What pods of its namespaces hold, and of the teams below it."]
    borrowed: Annotated[Quantities, "What of this is beyond its guarantee."]
    lent: Annotated[Quantities, "Its part of what others borrow of guarantees."]
    share: Annotated[float, "The largest part of the cluster that it borrows, by its weight."]
    queuedTrainingJobs: Annotated[int, "Its training jobs that wait."]


class BorrowedDocument(TypedDict):
    team: Annotated[str | None, "The team that lends; null: no team is guaranteed it."]
    amounts: Annotated[Quantities, "What is borrowed there."]


class JobCapacityDocument(TypedDict):
    guaranteed: Annotated[Quantities, "What its team's guarantee covers."]
    borrowed: Annotated[list[BorrowedDocument], "The rest, by the team that lends it."]

"""How the reconciler decides, as far as an installation chooses it."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from edl.planner.limits import IMAGE_NAME
from edl.planner.settings import LONGEST

Policy: TypeAlias = Literal["fair", "throughput", "fifo", "utilisation"]
AutoscalerMode: TypeAlias = Literal["detect", "present", "none"]
GrowthNodes: TypeAlias = Literal["autoscaler", "needed-nodes", "any-node"]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=LONGEST)]
Priority: TypeAlias = Annotated[str, Meta(pattern=r"^-?[0-9]{1,10}$")]


class Part(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Some values that stand together; whatever is not said has its default."""


class Planning(Part, frozen=True):
    """The reconciler's options about how it decides; what is not set is its own default."""

    policy: (
        Annotated[
            Policy,
            Meta(description="Which jobs scale up, and which scale down.", examples=["throughput"]),
        ]
        | UnsetType
    ) = UNSET
    priority_weight: (
        Annotated[
            dict[Priority, Annotated[float, Meta(gt=0)]],
            Meta(
                description="From this priority (a PriorityClass's value) on a job's share counts"
                " this many times.",
                examples=[{"1000": 2}],
            ),
        ]
        | UnsetType
    ) = UNSET
    patience: (
        Annotated[
            Seconds,
            Meta(
                description="Seconds in the queue before running jobs of its priority shrink for a"
                " job.",
                examples=[30],
            ),
        ]
        | UnsetType
    ) = UNSET
    idle: (
        Annotated[
            Seconds,
            Meta(
                description="Seconds without a start or a new size before jobs grow.",
                examples=[60],
            ),
        ]
        | UnsetType
    ) = UNSET
    load_ceiling: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=1,
                description="The part of CPU and memory that growth may fill.",
                examples=[0.9],
            ),
        ]
        | UnsetType
    ) = UNSET
    nearly_done: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=100,
                description="From this part of its work on a job keeps its size; above 1: never.",
                examples=[0.8],
            ),
        ]
        | UnsetType
    ) = UNSET
    preempt: (
        Annotated[
            bool,
            Meta(
                description="Suspend whole jobs of a lower priority where extras do not suffice.",
                examples=[True],
            ),
        ]
        | UnsetType
    ) = UNSET
    growth_cooldown: (
        Annotated[
            Seconds,
            Meta(
                description="Seconds between a start or a new size of a job and its next growth.",
                examples=[60],
            ),
        ]
        | UnsetType
    ) = UNSET
    pending_limit: (
        Annotated[
            Seconds,
            Meta(
                description="Seconds in which a replica beyond the minimum must be on a node: else"
                " it is given back.",
                examples=[60],
            ),
        ]
        | UnsetType
    ) = UNSET
    restart_cooldown: (
        Annotated[
            Seconds,
            Meta(
                description="Seconds between restarts that give a job which cannot resize live"
                " another size.",
                examples=[600],
            ),
        ]
        | UnsetType
    ) = UNSET
    gang_limit: (
        Annotated[
            Seconds,
            Meta(
                description="Seconds in which the minimum of a started job must be on nodes: else"
                " it queues again.",
                examples=[300],
            ),
        ]
        | UnsetType
    ) = UNSET
    autoscaler: (
        Annotated[
            AutoscalerMode,
            Meta(
                description="Whether something adds nodes for pending pods; detect: by the APIs of"
                " Karpenter and cluster-autoscaler.",
                examples=["present"],
            ),
        ]
        | UnsetType
    ) = UNSET
    provisioning_timeout: (
        Annotated[
            Seconds,
            Meta(
                description="Seconds in which nodes must come that a queued job asks for: else it"
                " asks again later.",
                examples=[900],
            ),
        ]
        | UnsetType
    ) = UNSET
    provisioning_parallelism: (
        Annotated[
            int,
            Meta(
                ge=1, le=1000, description="Queued jobs that ask for nodes at once.", examples=[10]
            ),
        ]
        | UnsetType
    ) = UNSET
    provisional_image: (
        Annotated[
            str,
            Meta(
                pattern=f"^{IMAGE_NAME}$",
                description="Image of the pods that ask for nodes: they run nothing.",
                examples=["example/pause:1"],
            ),
        ]
        | UnsetType
    ) = UNSET
    growth: (
        Annotated[
            GrowthNodes,
            Meta(
                description="Nodes of replicas above the minimum: those needed anyway, or any;"
                " autoscaler: the first where an autoscaler removes nodes.",
                examples=["any-node"],
            ),
        ]
        | UnsetType
    ) = UNSET
    idle_node_after: (
        Annotated[
            Seconds,
            Meta(
                description="Seconds until replicas above the minimum leave a node that nothing"
                " else needs.",
                examples=[600],
            ),
        ]
        | UnsetType
    ) = UNSET

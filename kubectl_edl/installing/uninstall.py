"""`kubectl edl uninstall`: everything of ours, and no Job of anybody."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from edl.kube.cluster import ClusterWithLogs
from edl.model import Target
from kubectl_edl.confirming import confirmed
from kubectl_edl.installing import farewell, lifetimes, removal
from kubectl_edl.installing.applying import name_of, refuse_helm
from kubectl_edl.world import Scope, World


@dataclass(frozen=True, slots=True)
class How:
    """How it is done; `timeout` for it to be gone."""

    yes: bool = False
    dry_run: str = "none"
    wait: bool = True
    timeout: timedelta = timedelta(seconds=120)


def uninstall(world: World, scope: Scope, how: How) -> None:
    """Raise Refused where nobody can say yes, TimedOut when something stays."""
    cluster = world.connect(scope).cluster
    refuse_helm(cluster, lambda release, place: f"helm uninstall {release} -n {place}")
    targets = removal.installed(cluster)
    if not targets:
        world.say("nothing of kubectl-edl is installed in this cluster")
        return
    for sentence in farewell.sentences(cluster):
        world.warn(sentence)
    if how.dry_run == "client":
        for target in targets:
            world.say(f"{name_of(target)} deleted (dry run)")
        return
    if not how.yes and not confirmed(
        world, f"Delete kubectl-edl, {len(targets)} objects, from this cluster?"
    ):
        world.warn("kubectl-edl stays as it is")
        return
    webhooks = [target for target in targets if target.kind in removal.WEBHOOKS]
    _remove(world, cluster, webhooks)
    _give_back(world, cluster)
    _remove(world, cluster, targets[len(webhooks) :])
    if how.wait:
        removal.wait_until_gone(world, cluster, targets, how.timeout)


def _remove(world: World, cluster: ClusterWithLogs, targets: Sequence[Target]) -> None:
    for target in removal.remove(cluster, targets):
        world.say(f"{name_of(target)} deleted")


def _give_back(world: World, cluster: ClusterWithLogs) -> None:
    """Jobs have their own time to live again: nothing else would give it back."""
    for job, seconds in lifetimes.held(farewell.elastic_jobs(cluster)):
        if why := lifetimes.give_back(cluster, job, world.sleep):
            world.warn(farewell.kept(job, seconds, why))

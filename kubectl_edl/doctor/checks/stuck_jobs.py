"""Finds training jobs that make no progress without an action by the user."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Final

from edl import contract
from edl.errors import Forbidden
from edl.frameworks import peer_access
from edl.frameworks.base import PeerAccess
from edl.job_state.phases import ending, waits_to_start
from edl.kube.auth.access_review import AccessRight
from edl.kube.cluster import ListOptions
from edl.kube.decode.object_facts import NamespaceFacts
from edl.messages import message
from edl.messages.scarcity_messages import listed
from edl.model import JobKey, ObjectRef, Reason, TrainingJob
from edl.model.causes.scarcity import NodePoolLimit, NoEligibleNode
from edl.parsing import namespace_policy
from edl.similar_names import similar_key
from kubectl_edl.cli.completion_candidates import object_name
from kubectl_edl.cli.suggested_commands import FixCommand, by_administrator, explanation, with_flags
from kubectl_edl.client.failed_pods import FailedPod, crashes_by_job
from kubectl_edl.client.optional_reads import Hints
from kubectl_edl.doctor.checks import reconciler_health, stuck_pods
from kubectl_edl.doctor.checks.check import (
    AS_ADMINISTRATOR,
    SHOWN,
    CheckContext,
    CheckResult,
    CheckResults,
    failure,
    first,
    ok,
    warning,
)
from kubectl_edl.doctor.pods_without_nodes import (
    higher_limit,
    pool_remedy,
    unplaceable,
    with_plan,
    without_success,
)
from kubectl_edl.job_views import topology_view
from kubectl_edl.job_views.blocker_facts import BlockerFacts, Urgency
from kubectl_edl.job_views.creation_failures import creation_failures
from kubectl_edl.job_views.job_blockers import job_blockers
from kubectl_edl.job_views.job_reasons import REQUESTS_NO_NODES, conflicts
from kubectl_edl.job_views.node_blockers import deleted_nodes, staying_text, unready_nodes
from kubectl_edl.job_views.pod_blockers import may_crash_loop
from kubectl_edl.job_views.training_job_view import JobView, view

_PENDING: Final = FixCommand("kubectl get pods -A --field-selector status.phase=Pending")
_LABELS: Final = "kubectl get nodes --show-labels"
_NODES: Final = FixCommand("kubectl get nodes  # then add, uncordon or repair one")
_CLASSES: Final = FixCommand("kubectl get priorityclasses")


def stuck(context: CheckContext) -> CheckResults:
    """Jobs stuck in a phase: an unmet wait, an incomplete start, an end that does not come."""
    jobs, connection = context.survey.jobs, context.connection
    views = [*with_plan(context, [view(job, connection.scope) for job in jobs])]
    # Events and pods are listed once, if jobs lack pods or have counted failures.
    uncreated, no_events = creation_failures(connection.cluster, views, context.now)
    crashed, no_pods = _crashed(context, jobs)
    remedy = with_flags(reconciler_health.reconciler_remedy(context), connection.scope)
    facts = (
        BlockerFacts(
            view, context.now, remedy, uncreated=uncreated.get(view.job.key, ()), crashed=crashed
        )
        for view in views
    )
    bad = [result for case in facts for result in islice(_stuck(context, case), 1)]
    bad += [result for job in jobs for result in _left_out(job)]
    bad += stuck_pods.unplaced(context)
    hints = (*no_events, *no_pods)
    yield from (warning(hint.removeprefix("hint: "), AS_ADMINISTRATOR) for hint in hints)
    none = f"no training job is stuck ({len(jobs)} checked)" if jobs else "there are none yet"
    yield from first(bad, _all(context), none)


def _stuck(context: CheckContext, facts: BlockerFacts) -> CheckResults:
    """The blockers that do not end by themselves; later ones often follow from the first."""
    for blocker in job_blockers(facts):
        if blocker.urgency is not Urgency.USUAL:
            verdict = failure if blocker.urgency is Urgency.UNATTENDED else warning
            higher = higher_limit(context, facts.view) if blocker.explained else None
            yield verdict(f"{facts.job.key}: {blocker.what}", higher or blocker.remedy)


def _left_out(job: TrainingJob) -> CheckResults:
    """Jobs that never start, as they conflict with this one."""
    its_jobs = f"kubectl get jobs -n {job.key.namespace} -l {contract.JOB}={job.key.name}"
    yield from (warning(f"{job.key}: {text}", FixCommand(its_jobs)) for text in conflicts(job))


def _all(context: CheckContext) -> FixCommand:
    return FixCommand(f"kubectl edl status {context.where}")


def _crashed(
    context: CheckContext, jobs: Sequence[TrainingJob]
) -> tuple[Mapping[tuple[str, str], Sequence[FailedPod]], Hints]:
    connection = context.connection
    namespaces = {job.key.namespace for job in jobs if may_crash_loop(job)}
    if not namespaces:
        return {}, ()
    where = namespaces.pop() if len(namespaces) == 1 else connection.scope.namespace
    try:
        return crashes_by_job(connection.cluster, where), ()
    except Forbidden as error:
        return {}, (f"hint: why pods failed is missing: {error}",)


def unrequested(context: CheckContext) -> CheckResults:
    """Elastic roles whose pods request nothing, and so grow to max regardless of free capacity.

    If a quota refuses such pods, `stuck` reports that. If quotas and LimitRanges may not be read,
    only existing pods are checked, because a LimitRange may add requests.
    """
    from edl.inject.warnings.request_warnings import roles

    survey = context.survey
    jobs = [job for job in survey.jobs if not ending(job)]
    pairs = [(job, role) for job in jobs for role in roles(job)]
    results = [
        warning(
            f"{job.key}: no container of {role.name} requests CPU or memory: its pods count as "
            f"nothing, and all {role.spec.max} run regardless of free capacity",
            FixCommand(f"{explanation(job)}  # then recreate it with resources.requests"),
        )
        for job, role in pairs
        if not job.problem and (role.status.pods or not survey.hints)
    ]
    yield from first(results, _all(context))
    if jobs and not pairs:
        yield ok("the pods of all elastic roles have resource requests")


def never(context: CheckContext) -> CheckResults:
    """Queued jobs that could not start even alone, within quotas, on present nodes or added ones.

    Also pending pods of other owners that fit no node, even if no training job ran.
    """
    from edl.forecast.never_fits import unstartable

    state, settings, plan = context.next_plan
    reasons = unstartable(state, settings, plan)
    queued = [
        job
        for job in state.jobs
        if waits_to_start(job) and not job.problem and context.covers(job.key.namespace)
    ]
    unlabelled = _unlabelled_keys(context, queued)
    elsewhere = unlabelled | without_success(reasons)
    unfit = [job for job in queued if job.key in reasons and job.key not in elsewhere]
    each = "the queued job" if len(queued) == 1 else f"each of the {len(queued)} queued jobs"
    adds = settings.limits.expects_autoscaler(detected=state.autoscaled)
    fits = f"the present nodes and quotas suffice for {each}"
    if adds:  # which instance types there are is known only once nodes were requested
        fits = f"{each} is within quotas, and fits the present nodes or the limits of NodePools"
    none = fits if queued else "no queued job waits for capacity"
    results = [
        _unstartable(context, job, reasons[job.key], listed=place < SHOWN)
        for place, job in enumerate(unfit)
    ]
    yield from first(results, _all(context), "" if elsewhere else none)
    yield from first(list(unplaceable(state, settings, context.named)), _PENDING)


def _unstartable(
    context: CheckContext, job: TrainingJob, reason: Reason, *, listed: bool
) -> CheckResult:
    """`listed`: whether its remedy will be read, as finding one takes decisions."""
    from edl.planner.plan import is_never

    why = f"{job.key} cannot start on the present nodes and quotas: {message(reason)}"
    state, settings, _ = context.next_plan
    if listed and isinstance(reason.about, NodePoolLimit):
        return warning(why, pool_remedy(state, settings, job, reason.about))
    adds = settings.limits.expects_autoscaler(detected=state.autoscaled)
    if adds and job.provisioning.provision is contract.Provision.NEVER:
        why += f"; an autoscaler may add nodes, but {REQUESTS_NO_NODES}"
    waits_for_node = isinstance(reason.about, NoEligibleNode) and not is_never(reason)
    return warning(why, _NODES if waits_for_node else explanation(job))


def topologies(context: CheckContext) -> CheckResults:
    """Topology labels of jobs that no node has."""
    asking = [job for job in context.survey.jobs if not ending(job) and job.topology]
    if not asking:
        return
    labels = _node_labels(context)
    results = [
        _unlabelled(view(job, context.connection.scope), label, labels)
        for job in asking
        for label in job.topology.labels
        if label not in labels
    ]
    yield from first(results, _all(context), "nodes have each label of the jobs' topologies")


def drains(context: CheckContext) -> CheckResults:
    """Pods that stay on cordoned nodes and block a drain, or have lost their budget there."""
    _, _, plan = context.next_plan
    staying = [group for group in plan.staying if context.covers(group.job.namespace)]
    results = [
        warning(
            f"{group.job}: {staying_text(group)}",
            FixCommand(f"kubectl edl pause {group.job.name} -n {group.job.namespace}"),
        )
        for group in staying
        if group.endangers
    ]
    none = "kubectl drain evicts each pod that stays on a cordoned node" if staying else ""
    yield from first(results, _all(context), none)


def on_lost_nodes(context: CheckContext) -> CheckResults:
    """Pods on nodes that are unready or deleted, and how Kubernetes learns that these are gone."""
    state, _, _ = context.next_plan
    results = [
        warning(f"{job.key}: {blocker.what}", FixCommand(blocker.remedy))
        for job in context.survey.jobs
        for blocker in (*unready_nodes(job, state.nodes), *deleted_nodes(job, state.nodes))
    ]
    yield from first(results, FixCommand("kubectl get nodes"))


def _unlabelled_keys(context: CheckContext, jobs: Sequence[TrainingJob]) -> set[JobKey]:
    """Jobs that require a label which no node has: `topologies` reports them."""
    asking = [job for job in jobs if job.topology]
    labels = _node_labels(context) if asking else frozenset()
    return {job.key for job in asking if {label for _, label in job.topology.required} - labels}


def _node_labels(context: CheckContext) -> frozenset[str]:
    return frozenset(label for node in context.nodes.values() for label in node.labels or {})


def _unlabelled(shown: JobView, label: str, labels: Collection[str]) -> CheckResult:
    job, asked = shown.job, shown.job.topology.required
    required = label in (other for _, other in asked)
    name = contract.REQUIRED_TOPOLOGY if required else contract.PREFERRED_TOPOLOGY
    then = "it cannot start" if required else "it has no effect"
    near = similar_key(label, labels)
    meant = f"; did you mean {near}?" if near else ""
    # All of its labels at once: the command replaces the whole annotation.
    corrected = [
        (role, key if key in labels else similar_key(key, labels) or key) for role, key in asked
    ]
    fix = topology_view.requiring(shown, corrected) if required and near else _LABELS
    return warning(
        f"{job.key}: no node has the label {label} of its {name}: {then}{meant}", FixCommand(fix)
    )


def consent(context: CheckContext) -> CheckResults:
    """Jobs whose launcher execs into workers, in namespaces that do not allow it."""
    survey = context.survey
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for job in (*survey.jobs, *survey.bare):
        if not ending(job) and peer_access(job) is PeerAccess.EXEC:
            waiting[job.key.namespace].append(job.key.name)
    lacking = [name for name in sorted(waiting) if not _consents(context, name)]
    for name in lacking:
        names, allow = waiting[name], namespace_policy.allow_kubexec(name)
        may = context.may(AccessRight("patch", "namespaces", name=name))
        yield warning(
            f"namespace {name} does not let launchers exec into workers: "
            f"{listed(names)} cannot start without",
            FixCommand(allow) if may else by_administrator(allow),
        )
    if waiting and not lacking:
        yield ok("launchers may exec into their workers where they have to")


def default_priorities(context: CheckContext) -> CheckResults:
    """Default PriorityClasses of namespaces that do not exist."""
    giving = [facts for facts in context.namespaces if facts.policy.default_priority]
    classes = context.cluster.list(ListOptions("PriorityClass")).manifests() if giving else ()
    names = {object_name(manifest) for manifest in classes}
    lacking = [facts for facts in giving if facts.policy.default_priority not in names]
    none = "the default PriorityClasses of namespaces exist" if giving else ""
    yield from first([_without_class(facts) for facts in lacking], _CLASSES, none)


def _without_class(facts: NamespaceFacts) -> CheckResult:
    name = facts.policy.default_priority
    return warning(
        f'namespace {facts.name}: {contract.DEFAULT_PRIORITY} is "{name}", but no PriorityClass '
        "has that name: its Jobs that name none cannot start",
        FixCommand(f"kubectl create priorityclass {name} --value=VALUE"),
    )


def _consents(context: CheckContext, namespace: str) -> bool:
    manifest = context.cluster.get(ObjectRef("Namespace", "", namespace))
    return namespace_policy.read(manifest).kubexec

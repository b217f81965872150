"""Changes of jobs that would make room, each found by a decision of its own, with commands."""

from collections.abc import Iterator
from typing import Final

from edl import contract
from edl.messages.scarcity_messages import listed
from edl.planner.explain.start_remedies import StartRemedy
from edl.planner.explain.template_remedies import TemplateRemedy
from kubectl_edl.explain.blocker_documents import higher_pool_limit, smaller_min
from kubectl_edl.explain.explained_job import ExplainedJob
from kubectl_edl.job_views import topology_view
from kubectl_edl.job_views.job_reasons import REQUESTS_NO_NODES
from kubectl_edl.job_views.training_job_view import JobView

_SIZES: Final = 3
"""Manual sizes that are named."""


def job_remedies(explained: ExplainedJob) -> str:
    """What would help besides the remedies of each blocker; empty if nothing is known."""
    trials = explained.decided.trials
    ways = (
        _automatic_sizes(explained),
        *_start(explained.view, trials.start),
        *_template(trials.template),
        *_nodes(explained.view),
    )
    return "; or ".join(filter(None, ways))


def _automatic_sizes(explained: ExplainedJob) -> str:
    """The commands by which jobs of a manual size would make room."""
    scope = explained.view.scope
    ways = [
        f"an automatic size of {key}: kubectl edl scale {key.name} --auto"
        f"{scope.within(key.namespace).job_flags}"
        for key in explained.decided.trials.manual_sizes
    ]
    return listed(ways, "; and ", most=_SIZES)


def _start(view: JobView, start: StartRemedy) -> Iterator[str]:
    """The commands by which the job would get room within its topology, quotas and limits."""
    if higher := higher_pool_limit(start):
        yield f"raising {higher}"
    if start.min:
        yield smaller_min(start, view.argument)
    if start.required:
        command = topology_view.requiring(view, start.required)
        yield f"its topology with a label that nodes have: {command}"
    if start.preferred:
        wanted = f"{contract.PREFERRED_TOPOLOGY}={','.join(start.preferred)}"
        overwrite = " --overwrite" if view.job.topology.preferred else ""
        changes = f"{contract.REQUIRED_TOPOLOGY}- {wanted}{overwrite}"
        yield f"its topology as preferred: {topology_view.annotating(view, changes)}"


def _nodes(view: JobView) -> Iterator[str]:
    """The command by which a queued job would request nodes from an autoscaler, if it does not."""
    if view.job.suspended and view.job.provisioning.provision is contract.Provision.NEVER:
        jobs = " ".join(role.job for role in view.job.live)
        changes = f"{contract.PROVISION}={contract.Provision.MINIMUM} --overwrite"
        command = f"kubectl annotate job {jobs} {changes} {view.namespace_option}".strip()
        yield f"nodes of an autoscaler, if there is one; {REQUESTS_NO_NODES}: {command}"


def _template(remedy: TemplateRemedy) -> Iterator[str]:
    """The changes by which the job's pods could use nodes that exclude them."""
    where = f"the pod template of {listed(remedy.roles)}"
    if remedy.taints:
        yield f"a toleration of {listed(remedy.taints)} in {where}"
    if remedy.selector:
        labels = [f"{key}={value}" for key, value in remedy.selector]
        yield f"{where} without nodeSelector {listed(labels)}"

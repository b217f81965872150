"""Settings of other schedulers on workloads and pod templates: their queues, groups and shares.

Names: kai-scheduler docs/gpu-sharing and pkg/common/constants, volcano.sh/apis
pkg/apis/scheduling/v1beta1 and pkg/apis/batch/v1alpha1, kueue pkg/controller/constants.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from edl import contract
from edl.contract.manifest_parts import mapping
from edl.convert.diagnostics import FieldPath, Remark
from edl.writes import Json

SCHEDULERS: Final = frozenset({"volcano", "yunikorn", "kai-scheduler", "koord-scheduler"})
"""Schedulers with queues of their own, by their usual names."""
_LONGEST: Final = 63


class _Setting(NamedTuple):
    """`instead` may contain `{value}`, the value of the label or annotation."""

    what: str
    instead: str
    is_lost: bool = True
    """Whether a pod template loses its effect, unlike that of a hint."""


_GROUP: Final = _Setting("another scheduler would wait for its group or queue", "leave it out")
_SHARE: Final = "is KAI Scheduler's, and gives no GPU here"
_DOES_NOTHING: Final = "is Kueue's, and does nothing here"
_SETTINGS: Final[Mapping[str, _Setting]] = {
    "scheduling.k8s.io/group-name": _GROUP,
    "scheduling.volcano.sh/group-name": _GROUP,
    "scheduling.volcano.sh/queue-name": _GROUP,
    "volcano.sh/queue-name": _GROUP,
    "scheduling.x-k8s.io/pod-group": _GROUP,
    "kai.scheduler/queue": _GROUP,
    "gpu-fraction": _Setting(_SHARE, f'label the Job {contract.GPU}: "{{value}}", for KubeShare'),
    "gpu-memory": _Setting(_SHARE, f"label the Job {contract.GPU_MEMORY}: {{value}}Mi"),
    "gpu-fraction-num-devices": _Setting(_SHARE, "a share is one of a single GPU: leave it out"),
    contract.KUEUE_PRIORITY_CLASS: _Setting(
        _DOES_NOTHING, "set priorityClassName: {value} in the pod template"
    ),
    "kueue.x-k8s.io/job-min-parallelism": _Setting(
        _DOES_NOTHING, f'label the Job {contract.MIN}: "{{value}}"'
    ),
    "kueue.x-k8s.io/podset-required-topology": _Setting(
        _DOES_NOTHING,
        f"annotate the Jobs with {contract.REQUIRED_TOPOLOGY}: {{value}}",
        is_lost=False,
    ),
    "kueue.x-k8s.io/podset-preferred-topology": _Setting(
        _DOES_NOTHING,
        f"annotate the Jobs with {contract.PREFERRED_TOPOLOGY}: {{value}}",
        is_lost=False,
    ),
}
"""Labels and annotations, and what replaces each."""


def lost(name: str, value: str) -> _Setting | None:
    """What a label or annotation of a pod loses; None if nothing."""
    entry = _SETTINGS.get(name)
    return entry._replace(instead=_instead(entry, value)) if entry and entry.is_lost else None


def _instead(setting: _Setting, value: object) -> str:
    return setting.instead.format(value=str(value)[:_LONGEST])


class OtherSetting(NamedTuple):
    """A remark on a setting; `is_lost` if it would have an effect under the other scheduler."""

    remark: Remark
    is_lost: bool


def of_template(template: Any, place: FieldPath = ()) -> Iterator[OtherSetting]:  # noqa: ANN401 - JSON
    """Settings of a pod or a pod template, which may be malformed; `place` is its path."""
    yield from of_metadata(template, place)
    scheduler = mapping(mapping(template).get("spec")).get("schedulerName")
    if isinstance(scheduler, str) and scheduler in SCHEDULERS:
        what = f'"{scheduler}" has queues of its own'
        remark = Remark(
            (*place, "spec", "schedulerName"), what, "leave it out: kubectl-edl queues the Job"
        )
        yield OtherSetting(remark, is_lost=False)


def of_metadata(part: Any, place: FieldPath = ()) -> Iterator[OtherSetting]:  # noqa: ANN401 - JSON
    """Settings among the labels and annotations of an object or template."""
    for kind in ("labels", "annotations"):
        texts = mapping(mapping(mapping(part).get("metadata")).get(kind))
        for name in texts:
            if setting := _SETTINGS.get(name):
                instead = _instead(setting, texts[name])
                remark = Remark((*place, "metadata", kind, name), setting.what, instead)
                yield OtherSetting(remark, setting.is_lost)


def of_workload(manifest: Json) -> Iterator[Remark]:
    """Remarks on a Job, a CronJob or a pod, which may be malformed."""
    job: Mapping[str, Any] = manifest
    place: FieldPath = ()
    if manifest.get("kind") == "CronJob":
        place = ("spec", "jobTemplate")
        job = mapping(mapping(manifest.get("spec")).get("jobTemplate"))
        yield from (setting.remark for setting in of_metadata(manifest))
    if manifest.get("kind") == "Pod":
        yield from (setting.remark for setting in of_template(manifest))
        return
    yield from (setting.remark for setting in of_metadata(job, place))
    pods = mapping(job.get("spec")).get("template")
    yield from (setting.remark for setting in of_template(pods, (*place, "spec", "template")))

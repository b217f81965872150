"""Reads typed values from a manifest's labels and annotations, and collects findings."""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from math import inf
from typing import Any, Final, TypeVar

from edl import contract, device_templates
from edl.contract import pod_limits
from edl.contract.manifest_parts import has_our_prefix, mapping
from edl.dns_names import is_dns_subdomain
from edl.durations import EXAMPLES, parse_duration
from edl.errors import Findings
from edl.parsing.yaml_values import misread, written
from edl.quantities import quantity
from edl.similar_names import did_you_mean
from edl.spec.job_spec import Gpu, is_gpu_limit, is_gpu_share
from edl.writes import Json

_WHOLE: Final = re.compile(r"[0-9]{1,9}")
_PERCENT: Final = re.compile(r"(?P<number>[0-9]{1,3}(\.[0-9]{1,9})?)(?P<sign>%?)")
MAX_REPLICAS: Final = 100_000
"""The most that the API server accepts in an Indexed Job (maxParallelismForIndexedJob)."""
_MARKS: Final = frozenset({contract.INJECTED_MAX, contract.COMPLETED_BY})
"""Annotations of Jobs and pods that the webhook has completed."""
_Choice = TypeVar("_Choice", bound=StrEnum)


class ManifestReader:
    """Reads the manifest of a Job or pod.

    A value that cannot be read becomes a finding, never an error.
    """

    def __init__(self, manifest: Json) -> None:
        metadata = mapping(manifest.get("metadata"))
        spec = mapping(manifest.get("spec"))
        template = mapping(spec.get("template"))
        self.findings: Final = Findings()
        self._misread: Final[set[str]] = set()
        self.is_pod: Final = manifest.get("kind") == "Pod"
        self.name: Final = self._text("metadata.name", metadata.get("name"))
        self.namespace: Final = (
            self._text("metadata.namespace", metadata.get("namespace")) or "default"
        )
        self.labels: Final = self._texts(metadata, "labels")
        self.annotations: Final = self._texts(metadata, "annotations")
        self.job: Final = {} if self.is_pod else spec
        self.pod: Final = spec if self.is_pod else mapping(template.get("spec"))
        of_template = mapping(template.get("metadata"))
        self.pod_labels: Final = mapping(of_template.get("labels"))
        self.pod_annotations: Final = mapping(
            (metadata if self.is_pod else of_template).get("annotations")
        )
        self.created: Final = contract.INJECTED_MAX in self.annotations
        self._completed: Final = not _MARKS.isdisjoint(self.annotations)

    def _texts(self, metadata: Mapping[str, Any], place: str) -> Mapping[str, str]:
        """Labels or annotations. The API server reads null as empty, and refuses numbers."""
        return {
            name: value
            if isinstance(value, str)
            else self._text(f"metadata.{place}[{name}]", value)
            for name, value in mapping(metadata.get(place)).items()
            if isinstance(value, str) or has_our_prefix(str(name))
        }

    def _text(self, path: str, value: Any) -> str:  # noqa: ANN401 - JSON enters here
        if value is None or isinstance(value, str):
            return value or ""
        self.findings.append(misread(path, value))
        self._misread.add(path)
        return written(value)

    @property
    def job_name(self) -> str:
        """The training job's name; empty if only generateName is set."""
        return self.labels.get(contract.JOB, "") or self.name

    @property
    def parallelism(self) -> int:
        """`spec.parallelism`; for a bare pod, the number of pods of its role."""
        if self.is_pod:
            return self.count(contract.SIZE, most=MAX_REPLICAS) or 1
        given = self.whole("parallelism")
        return 1 if given is None else given

    @property
    def completions(self) -> int | None:
        """`spec.completions` with the API server's default: 1 if parallelism is absent as well."""
        given, sized = self.whole("completions"), self.job.get("parallelism") is not None
        return given if sized or self.is_pod or given is not None else 1

    def whole(self, field: str) -> int | None:
        """A number of the Job's spec; None if it is absent or not a number."""
        value = self.job.get(field)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self.found(f"spec.{field}", f"{value!r}", "a whole number")
        return None

    def found(self, path: str, what: str, allowed: str = "") -> None:
        if path not in self._misread:  # One mistake has one finding.
            self.findings.found(path, what, allowed)

    def unknown(self, path: str, given: str, what: str, choices: Iterable[str]) -> None:
        """A value that is none of the known ones; the finding names the most similar one.

        Names are compared only for new findings, which bounds the cost.
        """
        before = ((finding.path, finding.what) for finding in self.findings)
        if self.findings.full or (path, what) in before:
            return
        names = list(choices)
        allowed = f"{did_you_mean(given, names)} one of {', '.join(names)}"
        self.found(path, what, allowed.lstrip())

    def check_limits(self) -> None:
        """Finds each kind of which the pod has more than plans follow."""
        labels, above = (self.labels, "") if self.is_pod else (self.pod_labels, "spec.template.")
        completed = pod_limits.excess(labels, self.pod, pod_limits.ADDED)
        # A creation has no marks left: any client can write these.
        for count in completed if self._completed else pod_limits.own_excess(labels, self.pod):
            self.found(
                f"{above}{count.path}", f"{count.number} {count.kind}", f"at most {count.most}"
            )

    def label_path(self, name: str) -> str:
        return f"metadata.labels[{name}]"

    def annotation_path(self, name: str) -> str:
        return f"metadata.annotations[{name}]"

    def count(
        self, name: str, *, label: bool = False, least: int = 1, most: int | None = None
    ) -> int | None:
        """A whole number within bounds; None if it is absent or invalid."""
        text = (self.labels if label else self.annotations).get(name)
        if text is None:
            return None
        if not _WHOLE.fullmatch(text) or int(text) < least or (most and int(text) > most):
            path = self.label_path(name) if label else self.annotation_path(name)
            allowed = f"a whole number from {least}" + (f" to {most}" if most else "")
            self.found(path, f'"{text}"', allowed)
            return None
        return int(text)

    def duration(self, name: str, least: str = "", most: str = "") -> timedelta | None:
        """A duration above 0 and within bounds; None if it is absent or invalid.

        The bounds are durations as text.
        """
        text = self.annotations.get(name)
        if text is None:
            return None
        length, low, high = map(parse_duration, (text, least, most))
        if not length or (low and length < low) or (high and length > high):
            bounds = f"from {least} to {most}, " if least else ""
            allowed = f"a time {bounds}such as {EXAMPLES}"
            self.found(self.annotation_path(name), f'"{text}"', allowed)
            return None
        return length

    def part(self, name: str) -> float | None:
        """A percentage as a fraction: `93` or `93%` as 0.93; None if it is absent or invalid."""
        text = self.annotations.get(name)
        if text is None:
            return None
        match, path = _PERCENT.fullmatch(text), self.annotation_path(name)
        part = float(match["number"]) / 100 if match else inf
        if match is None or part > 1:
            self.found(path, f'"{text}"', "per cent, from 0 to 100, such as 93 or 93%")
            return None
        if "." in text and 0 < part * 100 <= 1 and not match["sign"]:
            what = f'"{text}" would be {text} per cent'
            self.found(path, what, f"write {float(text) * 100:g}, or {text}% if you mean that")
            return None
        return part

    def names(self, name: str) -> tuple[str, ...]:
        """Pod names separated by commas; empty if the annotation is absent or invalid."""
        text = self.annotations.get(name)
        parts = [] if text is None else text.split(",")
        wrong = [part for part in parts if not is_dns_subdomain(part)]
        if wrong:
            allowed = "names of pods, separated by commas"
            self.found(self.annotation_path(name), f'"{wrong[0]}" is not a name', allowed)
            return ()
        return tuple(parts)

    def choice(self, name: str, choices: type[_Choice], usual: _Choice) -> _Choice:
        text = self.annotations.get(name, usual.value)
        try:
            return choices(text)
        except ValueError:
            values = [choice.value for choice in choices]
            self.unknown(self.annotation_path(name), text, f'unknown "{text}"', values)
            return usual

    def gpu(self) -> Gpu | None:
        """`edl.dev/gpu` with its limit and memory: whole GPUs, or a share of one."""
        text = self.labels.get(contract.GPU)
        if text is None:
            self._refuse_share_settings(f"{contract.GPU} is absent", f"add {contract.GPU}: 0.5")
            self._refuse_class(f"{contract.GPU} is absent", f"add {contract.GPU}: 1")
            return None
        if _WHOLE.fullmatch(text) and int(text) >= 1:
            self._refuse_share_settings(f"{text} is whole GPUs", "leave it out")
            return Gpu(whole=int(text), device_class=self._gpu_class(int(text)))
        if not is_gpu_share(text):
            allowed = "whole GPUs (1, 2, …) or a share below 1 (0.5)"
            self.found(self.label_path(contract.GPU), f'"{text}"', allowed)
            return None
        self._refuse_class(f"{text} is a share", "leave it out")
        return Gpu(request=text, limit=self._gpu_limit(text), memory=self._gpu_memory())

    def _refuse_share_settings(self, why: str, allowed: str) -> None:
        for path, given in (
            (self.label_path(contract.GPU_MEMORY), contract.GPU_MEMORY in self.labels),
            (self.annotation_path(contract.GPU_LIMIT), contract.GPU_LIMIT in self.annotations),
        ):
            if given:
                self.found(path, f"belongs to a share, and {why}", allowed)

    def _refuse_class(self, why: str, allowed: str) -> None:
        if contract.GPU_CLASS in self.annotations:
            path = self.annotation_path(contract.GPU_CLASS)
            self.found(path, f"belongs to whole GPUs, and {why}", allowed)

    def _gpu_class(self, gpus: int) -> str:
        """The DeviceClass of whole GPUs; empty if none is named."""
        text = self.annotations.get(contract.GPU_CLASS)
        if text is None:
            return ""
        path = self.annotation_path(contract.GPU_CLASS)
        if not is_dns_subdomain(text) or len(text) > device_templates.LONGEST:
            allowed = f"the name of a DeviceClass, of at most {device_templates.LONGEST} characters"
            self.found(path, f'"{text}"', allowed)
        if gpus > (most := device_templates.MAX_DEVICES):
            what = f"{gpus} devices, and a ResourceClaim holds no more than {most}"
            self.found(self.label_path(contract.GPU), what, f"at most {most}")
        if self.is_pod:
            allowed = "leave it out, and name a ResourceClaimTemplate in spec.resourceClaims"
            self.found(path, "a bare pod has no template made for it", allowed)
        elif not self.job_name:
            allowed = f"metadata.name, or the label {contract.JOB}"
            self.found(path, "its ResourceClaimTemplate is named after the training job", allowed)
        return text

    def _gpu_limit(self, request: str) -> str:
        text = self.annotations.get(contract.GPU_LIMIT, request)
        if not is_gpu_limit(text, request):
            path = self.annotation_path(contract.GPU_LIMIT)
            self.found(path, f'"{text}"', f"from the share {request} to 1.0")
        return text

    def _gpu_memory(self) -> int | None:
        text = self.labels.get(contract.GPU_MEMORY)
        if text is None:
            return None
        path = self.label_path(contract.GPU_MEMORY)
        try:
            amount = quantity(text)
        except ValueError as error:
            self.found(path, str(error))
            return None
        if amount < 1 or amount != int(amount):
            self.found(path, f'"{text}"', "whole bytes, such as 3Gi")
        return int(amount)

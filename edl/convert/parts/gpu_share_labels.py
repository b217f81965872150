"""GPU shares: KubeShare's labels or annotations on a pod become `edl.dev/gpu` labels on its Job.

Our labels can express a share below 1 (`edl.dev/gpu: "0.5"`). Requests that they cannot express
keep KubeShare's keys on the pods: the webhook translates those of 1.0, and the scheduler of 2.0
reads its own.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from edl import contract
from edl.contract.manifest_parts import annotations, metadata
from edl.spec.job_spec import is_gpu_limit, is_gpu_share
from edl.writes import Json

_BYTES: Final = re.compile(r"[1-9][0-9]*")


class ShareLabels(msgspec.Struct, frozen=True):
    """Labels and annotations for the Job; `rest` are the pods' remaining labels or annotations."""

    rest: Mapping[str, str]
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)


def of(words: Mapping[str, str], prefix: str) -> ShareLabels:
    """Read `PREFIX/gpu_request`, `gpu_limit` and `gpu_mem` (bytes) from a pod's `words`.

    Shares that our labels cannot express stay in `rest`.
    """
    names = {word: f"{prefix}/gpu_{word}" for word in ("request", "limit", "mem")}
    amounts = {word: words.get(name, "") for word, name in names.items()}
    if not all(isinstance(text, str) for text in amounts.values()):  # invalid in Kubernetes
        return ShareLabels(words)
    limit, memory = amounts["limit"], amounts["mem"]
    request = amounts["request"] or limit
    share = limit or request
    if not (is_gpu_share(request) and is_gpu_limit(share, request) and _is_memory(memory)):
        return ShareLabels(words)
    rest = {name: text for name, text in words.items() if name not in names.values()}
    labels = {contract.GPU: request} | ({contract.GPU_MEMORY: memory} if memory else {})
    return ShareLabels(rest, labels, {} if share == request else {contract.GPU_LIMIT: share})


def _is_memory(text: str) -> bool:
    return not text or bool(_BYTES.fullmatch(text))


def on_template(template: Json) -> tuple[Json, ShareLabels]:
    """The template without KubeShare 1.0's annotations, and the share for its Job."""
    words = annotations(template)
    share = of(words, "kubeshare")
    if share.rest == words:
        return template, share
    fields = {name: value for name, value in metadata(template).items() if name != "annotations"}
    fields |= {"annotations": dict(share.rest)} if share.rest else {}
    bare = {name: value for name, value in template.items() if name != "metadata"}
    return ({"metadata": fields} if fields else {}) | bare, share

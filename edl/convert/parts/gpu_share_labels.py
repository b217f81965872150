"""Shares of a GPU: KubeShare's words on a pod become the contract's on its Job.

The contract says a share below 1 (`edl.dev/gpu: "0.5"`). What it cannot say stays on the pods in
KubeShare's own words: the webhook translates 1.0's, and 2.0's scheduler reads its own.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from edl import contract
from edl.writes import Json

_SHARE: Final = re.compile(r"0\.0*[1-9][0-9]*")
_FULL: Final = re.compile(r"1(\.0+)?")
_BYTES: Final = re.compile(r"[1-9][0-9]*")


class ShareLabels(msgspec.Struct, frozen=True):
    """What is written on the Job, and the pods' annotations or labels without it."""

    rest: Mapping[str, str]
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)


def of(words: Mapping[str, str], prefix: str) -> ShareLabels:
    """From `PREFIX/gpu_request`, `gpu_limit` and `gpu_mem` (bytes) among a pod's words."""
    names = {word: f"{prefix}/gpu_{word}" for word in ("request", "limit", "mem")}
    said = {word: words.get(name, "") for word, name in names.items()}
    if not all(isinstance(text, str) for text in said.values()):  # no API server takes that
        return ShareLabels(words)
    limit, memory = said["limit"], said["mem"]
    request = said["request"] or limit
    share = limit or request
    if not _SHARE.fullmatch(request) or not _fits(request, share) or not _is_memory(memory):
        return ShareLabels(words)
    rest = {name: text for name, text in words.items() if name not in names.values()}
    labels = {contract.GPU: request} | ({contract.GPU_MEMORY: memory} if memory else {})
    return ShareLabels(rest, labels, {} if share == request else {contract.GPU_LIMIT: share})


def _fits(request: str, limit: str) -> bool:
    is_number = _SHARE.fullmatch(limit) or _FULL.fullmatch(limit)
    return bool(is_number) and float(limit) >= float(request)


def _is_memory(text: str) -> bool:
    return not text or bool(_BYTES.fullmatch(text))


def on_template(template: Json) -> tuple[Json, ShareLabels]:
    """A template without KubeShare 1.0's annotations, and what its Job says instead."""
    metadata = template.get("metadata") or {}
    words = metadata.get("annotations") or {}
    share = of(words, "kubeshare")
    if share.rest == words:
        return template, share
    kept = {name: value for name, value in metadata.items() if name != "annotations"}
    kept |= {"annotations": dict(share.rest)} if share.rest else {}
    bare = {name: value for name, value in template.items() if name != "metadata"}
    return ({"metadata": kept} if kept else {}) | bare, share

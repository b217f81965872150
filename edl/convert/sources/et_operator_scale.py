"""et-operator's ScaleIn and ScaleOut: operations, which here are commands.

Fields: AliyunContainerService/et-operator api/v1alpha1.
"""

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Final

from edl.convert.parts import object_metadata
from edl.convert.source_kind import SourceKind
from edl.convert.sources.et_operator_job import API
from edl.convert.tracked_object import Fields
from edl.writes import Json

_USUAL_TIMEOUT: Final = 60
"""Seconds, as et-operator waits."""


def read_in(document: Fields) -> Sequence[Json]:
    spec = document.fields("spec")
    gone = spec.fields("toDelete")
    names = gone.shaped("podNames", [str])
    count = gone.whole("count", least=1)
    if names:
        _say(document, spec, f" --remove {','.join(map(quote, names))}", "")
    else:
        how = f"where SIZE is {count or 1} less than it has now"
        _say(document, spec, " SIZE", how)
    return ()


def read_out(document: Fields) -> Sequence[Json]:
    spec = document.fields("spec")
    count = spec.fields("toAdd").whole("count", least=1)
    timeout = spec.whole("timeout")
    seconds = _USUAL_TIMEOUT if timeout is None else timeout
    how = f"where SIZE is {count or 1} more than it has now"
    _say(document, spec, f" SIZE --timeout {seconds}s", how)
    return ()


def _say(document: Fields, spec: Fields, flags: str, how: str) -> None:
    """The command that does the same; there is nothing to apply."""
    meta = object_metadata.read(document)
    job = spec.fields("selector").text("name") or "JOB"
    namespace = f" -n {quote(meta.namespace)}" if meta.namespace else ""
    script = "".join(_script(spec))
    command = f"kubectl edl scale {quote(job)}{namespace}{flags}{script}"
    spec.value("timeout")
    spec.value("backoffLimit")
    way_out = f"run: {command}" + (f" ({how}: kubectl edl status {job})" if how else "")
    document.lose("", "an operation, nothing to apply", way_out)


def _script(spec: Fields) -> Iterator[str]:
    script = spec.text("script")
    if script:
        yield f" --script {quote(script)}"
    for entry in spec.entries("env"):
        name, value = entry.text("name"), entry.text("value")
        yield f" --env {quote(f'{name}={value}')}"


IN: Final = SourceKind(apis=((API, "ScaleIn"),), versions=("v1alpha1",), read=read_in)
OUT: Final = SourceKind(apis=((API, "ScaleOut"),), versions=("v1alpha1",), read=read_out)

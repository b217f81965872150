"""What `parse` finds, and where; shared by the tests of a manifest's reading."""

from typing import Any

import pytest

from edl.errors import Denied, Finding
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import job


def label(name: str) -> str:
    return f"metadata.labels[edl.dev/{name}]"


def annotation(name: str) -> str:
    return f"metadata.annotations[edl.dev/{name}]"


def findings(manifest: Json) -> tuple[Finding, ...]:
    with pytest.raises(Denied) as denied:
        parse(manifest)
    return denied.value.findings


def elastic(**fields: Any) -> Json:  # noqa: ANN401 - JSON
    """A TensorFlow Job that stands alone, 1..4 unless said otherwise."""
    return job(**({"framework": "tensorflow", "min": "1", "max": "4"} | fields))

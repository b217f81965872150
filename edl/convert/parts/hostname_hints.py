"""Hard-coded host names in templates that follow the replaced operators' naming."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from edl.convert.diagnostics import Remark
from edl.convert.parts import pod_templates
from edl.writes import Json

_ROLES: Final = (
    *("chief", "master", "worker", "ps", "evaluator", "scheduler", "server", "launcher"),
    *("pserver", "trainer", "tunertracker", "tunerserver", "tuner"),
)


def remarks(name: str, manifests: Sequence[Json]) -> Iterator[Remark]:
    """Remarks on host names `NAME-ROLE-INDEX` in templates: converted pods have other names.

    Programs that read their peers from environment variables are not affected.
    """
    if not name:
        return
    pattern = rf"\b{re.escape(name)}-(?:{'|'.join(_ROLES)})-[0-9]+\b(?!\.{re.escape(name)}\b)"
    templated = (manifest["spec"]["template"] for manifest in manifests)
    texts = (text for template in templated for text in pod_templates.texts(template))
    for host in dict.fromkeys(host for text in texts for host in re.findall(pattern, text)):
        what = f'a template says "{host}", as replicas were called there'
        yield Remark(
            (), what, f"a host is JOB-INDEX.{name} here: let the program ask its variables"
        )

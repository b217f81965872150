"""Host names that users wrote themselves, as the old operators called their replicas."""

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
    """What templates say of `NAME-ROLE-INDEX`: every operator had such names, and ours go on.

    Programs that ask their variables never see the difference.
    """
    if not name:
        return
    pattern = rf"\b{re.escape(name)}-(?:{'|'.join(_ROLES)})-[0-9]+\b(?!\.{re.escape(name)}\b)"
    templated = (manifest["spec"]["template"] for manifest in manifests)
    texts = (text for template in templated for text in pod_templates.texts(template))
    for host in dict.fromkeys(found for text in texts for found in re.findall(pattern, text)):
        what = f'a template says "{host}", as replicas were called there'
        yield Remark(
            (), what, f"a host is JOB-INDEX.{name} here: let the program ask its variables"
        )

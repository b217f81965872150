"""RFC 7396 merge patches, as the API server applies them."""

import copy
from collections.abc import Mapping
from typing import Any

from edl.writes import Json


def merged(document: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """The document with the patch applied: null removes, objects merge, any other value replaces.

    The result shares nothing with `patch`.
    """
    result = dict(document)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            inner = result.get(name)
            result[name] = merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            result[name] = copy.deepcopy(value)
    return result

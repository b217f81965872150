r"""kubectl's JSONPath templates (client-go, util/jsonpath): its own dialect, not RFC 9535.

`{.items[*].metadata.name}`, `{range .items[*]}…{end}`, `{"\n"}`, filters
`[?(@.phase=="Running")]`, slices, unions, `..name`; a dot in a name is escaped:
`{.metadata.annotations.edl\.dev/reason}`.
A field that is not there is nothing, as kubectl has it by default.
"""

from kubectl_edl.output.jsonpath.go_format import go_text
from kubectl_edl.output.jsonpath.jsonpath_parser import as_json, execute, relaxed, template
from kubectl_edl.output.jsonpath.jsonpath_steps import TemplateError, selected

__all__ = ["TemplateError", "as_json", "execute", "go_text", "relaxed", "selected", "template"]

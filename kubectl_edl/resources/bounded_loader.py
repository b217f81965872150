"""A YAML loader whose work and memory are bounded, whatever the document."""

from typing import Any, Final

import yaml
from yaml.constructor import ConstructorError

DEEPEST: Final = 100
"""The deepest nesting: more than any Kubernetes object has, and within Python's recursion limit."""
_MAX_VALUES: Final = 1_000_000
"""The most values of a document with its aliases expanded: a few aliases can yield billions."""
_MAX_CHARACTERS: Final = 64 * 2**20
"""The most characters of their keys and values."""


class TooManyValues(ValueError):
    """A document is too large with its aliases expanded."""


class BoundedLoader(yaml.SafeLoader):
    """Bounds the depth and the size of a document before it is constructed.

    Raises RecursionError below DEEPEST levels: at Python's own limit of a thousand levels,
    PyYAML's scanner takes seconds. Raises TooManyValues, and YAMLError for an alias inside its own
    anchor and a value that does not fit its tag.
    """

    most_values = _MAX_VALUES
    most_characters = _MAX_CHARACTERS
    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self._depth > DEEPEST:
            raise RecursionError
        self._depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_document(self, node: yaml.Node) -> Any:  # noqa: ANN401 - PyYAML's
        values, characters = _size(node, {})
        for count, most, what in (
            (values, self.most_values, "values"),
            (characters, self.most_characters, "characters"),
        ):
            if count > most:
                often = "(aliases count as often as they are used)"
                raise TooManyValues(f"more than {most} {what} {often}")
        return super().construct_document(node)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - PyYAML's
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, int):
                str(value)  # Python does not write very long integers
        except (AttributeError, IndexError, KeyError, ValueError) as error:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            problem = f"the value does not fit its tag {tag}"
            raise ConstructorError(None, None, problem, node.start_mark) from error
        return value


def _size(node: yaml.Node, sizes: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """The numbers of values and characters of an expanded node; `sizes` has None for its parents.

    Raises ConstructorError for an alias inside its own anchor, which JSON does not allow.
    """
    if id(node) in sizes:
        size = sizes[id(node)]
        if size is None:
            problem = "an alias is inside its own anchor"
            raise ConstructorError(None, None, problem, node.start_mark)
        return size
    sizes[id(node)] = None
    values, characters = 1, 1
    if isinstance(node, yaml.ScalarNode):
        characters += len(node.value)
    for child in () if isinstance(node, yaml.ScalarNode) else node.value:
        key, value = child if isinstance(node, yaml.MappingNode) else (None, child)
        inner, length = _size(value, sizes)
        values += inner
        characters += length + (_size(key, sizes)[1] if key else 0)
    sizes[id(node)] = values, characters
    return values, characters

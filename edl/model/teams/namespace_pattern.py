"""Names of namespaces, and patterns in which each `*` stands for any characters."""

import msgspec


class NamespacePattern(msgspec.Struct, frozen=True):
    """A name, or a pattern, split at its asterisks: a name has one piece."""

    text: str
    pieces: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "NamespacePattern":
        return cls(text, tuple(text.split("*")))

    @property
    def is_name(self) -> bool:
        return len(self.pieces) == 1

    def matches(self, namespace: str) -> bool:
        """Whether the name has the pieces in order, the first and last at its ends.

        In linear time.
        """
        if self.is_name:
            return namespace == self.text
        first, *middle, last = self.pieces
        if len(namespace) < len(first) + len(last):
            return False
        if not (namespace.startswith(first) and namespace.endswith(last)):
            return False
        place, end = len(first), len(namespace) - len(last)
        for piece in middle:
            place = namespace.find(piece, place, end)
            if place < 0:
                return False
            place += len(piece)
        return True

    def overlaps(self, other: "NamespacePattern") -> bool:
        """Whether some name matches both.

        If both have an asterisk, they do if one's beginning continues the other's, and so do their
        ends: the longer beginning, all pieces of one, all of the other, and the longer end are such
        a name.
        """
        if self.is_name:
            return other.matches(self.text)
        if other.is_name:
            return self.matches(other.text)
        begins = self.pieces[0], other.pieces[0]
        ends = self.pieces[-1], other.pieces[-1]
        long_begin, long_end = max(begins, key=len), max(ends, key=len)
        return all(map(long_begin.startswith, begins)) and all(map(long_end.endswith, ends))

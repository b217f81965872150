"""How small and how large a role may be."""

import msgspec

from edl.convert.tracked_object import Fields


class Sizes(msgspec.Struct, frozen=True):
    """How many replicas a role has: at least, to begin with, at most."""

    least: int
    begin: int
    most: int

    @property
    def fixed(self) -> bool:
        return self.least == self.most


def exactly(size: int) -> Sizes:
    return Sizes(size, size, size)


class ReplicaBounds(msgspec.Struct, frozen=True):
    """Least and most replicas, None where the source does not say."""

    least: int | None
    most: int | None
    names: tuple[str, str] = ("", "")

    def around(self, fields: Fields, size: int, name: str = "replicas") -> Sizes:
        """Those of a role that begins with `size` replicas, which the field `name` says."""
        most = self.most or max(size, self.least or 0)
        least = min(size, most) if self.least is None else max(self.least, 1)
        if least > most:
            fields.wrong("", f"at least {least} and at most {most} replicas", "1 ≤ min ≤ max")
        begin = min(max(size, least), most)
        if begin != size:
            fields.note(name, f"{size} is outside {least}..{most}: it begins with {begin}")
        return Sizes(least, begin, most)

    def lose(self, fields: Fields, why: str) -> None:
        """Both bounds have nothing to bound."""
        for name, value in zip(self.names, (self.least, self.most), strict=True):
            if value is not None:
                fields.lose(name, why, "leave it out")


def read(fields: Fields, least: str, most: str) -> ReplicaBounds:
    """From two fields; a least of 0 is 1 here, for a Job of 0 would be complete at once."""
    low = fields.whole(least)
    if low == 0:
        fields.lose(least, "0 is 1 here", "pause the training job to give all its room back")
    return ReplicaBounds(low, fields.whole(most, least=1), (least, most))

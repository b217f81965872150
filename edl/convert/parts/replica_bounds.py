"""Minimum and maximum replicas of a role."""

import msgspec

from edl.convert.tracked_object import Fields


class Sizes(msgspec.Struct, frozen=True):
    """A role's replicas: minimum, initial and maximum."""

    least: int
    begin: int
    most: int

    @property
    def fixed(self) -> bool:
        return self.least == self.most


def exactly(size: int) -> Sizes:
    return Sizes(size, size, size)


class ReplicaBounds(msgspec.Struct, frozen=True):
    """Minimum and maximum replicas; None if the source does not set them."""

    least: int | None
    most: int | None
    names: tuple[str, str] = ("", "")

    def around(self, fields: Fields, size: int, name: str = "replicas") -> Sizes:
        """The sizes of a role whose field `name` sets `size` initial replicas."""
        most = self.most or max(size, self.least or 0)
        least = min(size, most) if self.least is None else max(self.least, 1)
        if least > most:
            fields.wrong("", f"at least {least} and at most {most} replicas", "1 ≤ min ≤ max")
        begin = min(max(size, least), most)
        if begin != size:
            fields.note(name, f"{size} is outside {least}..{most}: it begins with {begin}")
        return Sizes(least, begin, most)

    def lose(self, fields: Fields, why: str) -> None:
        """Report that both bounds are dropped."""
        for name, value in zip(self.names, (self.least, self.most), strict=True):
            if value is not None:
                fields.lose(name, why, "leave it out")


def read(fields: Fields, least: str, most: str) -> ReplicaBounds:
    """Read two fields; a minimum of 0 becomes 1, because a Job of 0 pods completes immediately."""
    low = fields.whole(least)
    if low == 0:
        fields.lose(least, "0 is 1 here", "pause the training job to give all its room back")
    return ReplicaBounds(low, fields.whole(most, least=1), (least, most))

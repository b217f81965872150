"""RFC 6902 patches: the body of an admission response, computed from the object before and after.

A wrong patch is worse than none: the API server answers error 500. So every operation has a parent
that exists, and removes or replaces only what exists.
"""

from collections.abc import Iterator, Sequence

from edl.writes import Json


def diff(before: Json, after: Json) -> list[Json]:
    """Operations (add, remove, replace) that turn `before` into `after`; empty if they are equal.

    Values are compared as JSON: true, 1 and 1.0 differ. The operations share their values with
    `after`.
    """
    return list(_members("", before, after))


def _members(path: str, before: Json, after: Json) -> Iterator[Json]:
    for key, old in before.items():
        if key not in after:
            yield {"op": "remove", "path": _join(path, key)}
        elif (new := after[key]) is old:
            continue
        elif old is None:
            # `add` also sets a member that exists. `replace` may fail: the API server's patch
            # library treats a null member as missing.
            yield {"op": "add", "path": _join(path, key), "value": new}
        else:
            yield from _value(_join(path, key), old, new)
    for key, new in after.items():
        if key not in before:
            yield {"op": "add", "path": _join(path, key), "value": new}


def _value(path: str, old: object, new: object) -> Iterator[Json]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _members(path, old, new)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _items(path, old, new)
    elif type(old) is not type(new) or old != new:
        yield {"op": "replace", "path": path, "value": new}


def _items(path: str, old: Sequence[object], new: Sequence[object]) -> Iterator[Json]:
    """Operations for two lists: by item if their lengths are equal, else by insertions.

    If items were removed or changed as well, the whole list is replaced.
    """
    if len(old) == len(new):
        for index, (was, becomes) in enumerate(zip(old, new, strict=True)):
            yield from _value(f"{path}/{index}", was, becomes)
    elif (gained := _insertions(old, new)) is None:
        yield {"op": "replace", "path": path, "value": new}
    else:
        # From left to right: then an index in `new` is also the index in the list at that moment.
        for index in gained:
            yield {"op": "add", "path": f"{path}/{index}", "value": new[index]}


def _insertions(old: Sequence[object], new: Sequence[object]) -> list[int] | None:
    """The indexes of `new` that are not in `old`; None if items of `old` are missing or changed."""
    place = 0
    gained = []
    for index, value in enumerate(new):
        if place < len(old) and _same(old[place], value):
            place += 1
        else:
            gained.append(index)
    return gained if place == len(old) else None


def _same(old: object, new: object) -> bool:
    """Whether two values are equal as JSON.

    Python's comparison comes first, as it is fast; it alone would equate numbers of different
    types.
    """
    return old == new and next(_value("", old, new), None) is None


def _join(path: str, key: str) -> str:
    """A JSON pointer one member deeper (RFC 6901: `~` is `~0`, `/` is `~1`)."""
    if "~" in key or "/" in key:
        key = key.replace("~", "~0").replace("/", "~1")
    return f"{path}/{key}"

"""RFC 6902 patches: what an admission answer says, computed from the object before and after.

A wrong patch is worse than none: the API server answers it with an error 500. So every operation
here stands on a parent that exists, and removes or replaces only what is there.
"""

from collections.abc import Iterator, Sequence

from edl.writes import Json


def diff(before: Json, after: Json) -> list[Json]:
    """Operations (add, remove, replace) that turn `before` into `after`; empty when they are equal.

    Values are compared as JSON: true, 1 and 1.0 are three different values. The operations share
    their values with `after`.
    """
    return list(_members("", before, after))


def _members(path: str, before: Json, after: Json) -> Iterator[Json]:
    for key, old in before.items():
        if key not in after:
            yield {"op": "remove", "path": _join(path, key)}
        elif (new := after[key]) is old:
            continue
        elif old is None:
            # `add` sets a member that exists as well. `replace` is not certain to: the API
            # server's patch library reads a null member as a missing one.
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
    """Lists of one length item by item; lists that only gained items by these; else the whole."""
    if len(old) == len(new):
        for index, (was, becomes) in enumerate(zip(old, new, strict=True)):
            yield from _value(f"{path}/{index}", was, becomes)
    elif (gained := _insertions(old, new)) is None:
        yield {"op": "replace", "path": path, "value": new}
    else:
        # From left to right, so that an index in `new` is one in the list as it is by then.
        for index in gained:
            yield {"op": "add", "path": f"{path}/{index}", "value": new[index]}


def _insertions(old: Sequence[object], new: Sequence[object]) -> list[int] | None:
    """The indexes of `new` that are not in `old`, or None when `old` lost or changed items."""
    kept = 0
    gained = []
    for index, value in enumerate(new):
        if kept < len(old) and _same(old[kept], value):
            kept += 1
        else:
            gained.append(index)
    return gained if kept == len(old) else None


def _same(old: object, new: object) -> bool:
    """Python's own comparison first: it is fast; only equal numbers of two types it misjudges."""
    return old == new and next(_value("", old, new), None) is None


def _join(path: str, key: str) -> str:
    """A JSON pointer one member deeper (RFC 6901: `~` is `~0`, `/` is `~1`)."""
    if "~" in key or "/" in key:
        key = key.replace("~", "~0").replace("/", "~1")
    return f"{path}/{key}"

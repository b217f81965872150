"""Impersonation by a kubeconfig's `as`.

It often restricts a user's rights, so it is never ignored.
"""

from typing import Final, TypeAlias
from urllib.parse import quote

import msgspec

from edl.kube.auth.kubeconfig import KubeconfigSection

Headers: TypeAlias = tuple[tuple[str, str], ...]

_LITERAL: Final = "!#$&'*+-.^_`|~"
"""Characters besides letters and digits that a header's name may contain, without `%`."""


class _As(msgspec.Struct, rename="kebab"):
    user: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}


def impersonate(user: KubeconfigSection) -> Headers:
    """The impersonation headers, as client-go sends them (transport.NewImpersonatingRoundTripper).

    Raises ValueError for an invalid section, and for values that no header can carry.
    """
    wanted = msgspec.convert(
        {name: value for name, value in user.items() if value is not None}, _As
    )
    if not wanted.user:
        if wanted.as_uid or wanted.as_groups or wanted.as_user_extra:
            raise ValueError("as-uid, as-groups and as-user-extra need as: the user's name")
        return ()
    if "" in wanted.as_user_extra:
        raise ValueError("as-user-extra: a key is empty")
    uid = [("Uid", wanted.as_uid)] if wanted.as_uid else []
    groups = [("Group", group) for group in wanted.as_groups]
    extra = [
        (f"Extra-{quote(key, safe=_LITERAL)}", value)
        for key, values in wanted.as_user_extra.items()
        for value in values
    ]
    pairs = [("User", wanted.user), *uid, *groups, *extra]
    return tuple((f"Impersonate-{name}", _sent(value)) for name, value in pairs)


def _sent(value: str) -> str:
    """The value in UTF-8, disguised as Latin-1, which http.client writes."""
    if any(ord(char) < ord(" ") or ord(char) == 0x7F for char in value):  # noqa: PLR2004 - DEL
        raise ValueError("as: a control character")
    return value.encode().decode("latin-1")

"""Names as the API server accepts them (apimachinery, util/validation)."""

import re
from typing import Final

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LONGEST_LABEL: Final = 63


def is_dns_label(text: str) -> bool:
    """Whether this may name a Namespace or a host: `a-z`, `0-9` and `-`, at most 63 characters."""
    return len(text) <= LONGEST_LABEL and "." not in text and is_dns_subdomain(text)


def is_dns_subdomain(text: str) -> bool:
    """Whether this may name most kinds of objects: DNS labels with dots, at most 253 characters."""
    return _SUBDOMAIN.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """Whether this may be the key of a label: `team`, `example.com/team`."""
    prefix, slash, name = text.rpartition("/")
    return bool(_QUALIFIED.fullmatch(name)) and (not slash or is_dns_subdomain(prefix))


def is_label_value(text: str) -> bool:
    return not text or _QUALIFIED.fullmatch(text) is not None

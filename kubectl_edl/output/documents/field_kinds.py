"""The version of documents, and what their strings stand for."""

from typing import Final

DATE_TIME: Final = "date-time (RFC 3339)"
REASON: Final = "[reason code](reason-codes.md)"
QUANTITY: Final = "quantity"
KINDS: Final = frozenset({DATE_TIME, REASON, QUANTITY})
"""The reference names these instead of `string`."""

API_VERSION: Final = "edl.dev/v1alpha1"
"""Version of every document; until v1 a minor release may rename fields (see the changelog)."""

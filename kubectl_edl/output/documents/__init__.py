"""The fields of all documents of `-o json` and `-o yaml`; docs/reference/outputs.md lists them."""

from typing import Final

DATE_TIME: Final = "date-time (RFC 3339)"
REASON: Final = "[reason code](reason-codes.md)"
QUANTITY: Final = "quantity"
KINDS: Final = frozenset({DATE_TIME, REASON, QUANTITY})
"""Names that the reference shows instead of `string`."""

API_VERSION: Final = "edl.dev/v1alpha1"
"""API version of every document; until v1 a minor release may rename fields (see the changelog)."""

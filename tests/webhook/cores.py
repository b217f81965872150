"""Cores that a webhook may meet, for the tests of this folder."""

from typing import NoReturn

from webhook.handler import AdmissionCore


def failing(error: Exception) -> AdmissionCore:
    """A core that raises: Denied is a refusal, anything else a defect."""

    def fail(*_: object) -> NoReturn:
        raise error

    return AdmissionCore(mutate=fail, validate=fail, advise=fail)

"""What is said of certificates: how long each is still good, and what is yet to be served."""

from datetime import UTC, datetime, timedelta

import pytest

from certs.bundle import service_names
from certs.certificate_report import report, report_installed
from certs.issue import issue
from certs.secrets import Installed

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
BUNDLE = issue(service_names("edl-webhook", "edl-system"), NOW)


@pytest.mark.parametrize(
    ("hours", "said"), [(-25, "1 days left"), (-1, "0 days left"), (1, "expired 1 days ago")]
)
def test_days_are_counted_down_to_the_last_one(hours: int, said: str) -> None:
    ends = NOW + timedelta(days=365)
    lines = report(BUNDLE, ends + timedelta(hours=hours))
    (line,) = [line for line in lines if f"{ends:until %Y-%m-%d}" in line]
    assert line.endswith(said)


def test_an_installation_without_a_pair_says_what_it_waits_for() -> None:
    waiting = report_installed(Installed(BUNDLE.issuer, None, ()), NOW)
    assert waiting[-1].split(maxsplit=1) == [
        "certificate",
        "none until every API server knows the authority",
    ]
    served = report_installed(Installed(BUNDLE.issuer, BUNDLE.pair, ()), NOW)
    assert served[: len(waiting) - 1] == waiting[:-1]
    assert "edl-webhook.edl-system.svc" in "".join(served[len(waiting) - 1 :])

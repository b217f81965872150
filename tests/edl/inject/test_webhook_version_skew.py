"""What every release relies on holds of a Job, whichever of them completed it."""

import pytest

from edl.errors import Denied
from edl.inject import webhook_version_skew
from edl.writes import Json
from tests.edl.manifests import created, job, refusals


def completed() -> Json:
    return created(job(framework="pytorch"))


def test_an_unchanged_job_of_another_release_is_accepted() -> None:
    assert refusals(webhook_version_skew.check, completed()) == []
    items = created(job(framework="none"))
    items["spec"]["completionMode"] = "NonIndexed"
    assert refusals(webhook_version_skew.check, items) == []


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("suspend", False, "it is not true"), ("completionMode", "NonIndexed", "it is not Indexed")],
)
def test_a_job_that_was_changed_since_is_refused(field: str, value: object, said: str) -> None:
    found = completed()
    found["spec"][field] = value
    with pytest.raises(Denied) as denied:
        webhook_version_skew.check(found)
    assert [(one.path, one.what) for one in denied.value.findings] == [(f"spec.{field}", said)]

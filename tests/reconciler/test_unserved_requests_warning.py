"""A reconciler that asks by requests says once where the cluster takes none."""

import logging

import pytest
from msgspec.structs import replace

from edl.planner.decision_limits import Limits, Provisioner, ProvisionerSettings
from edl.planner.plan import Plan
from reconciler.memory.unserved_requests_warning import with_unserved_warning
from tests.edl.planner.states import cluster


@pytest.mark.parametrize(
    ("provisioner", "times"), [(Provisioner.REQUEST, 2), (Provisioner.PODS, 0)]
)
def test_it_is_said_once_until_the_cluster_takes_requests(
    caplog: pytest.LogCaptureFixture, provisioner: Provisioner, times: int
) -> None:
    limits = Limits(provisioning=ProvisionerSettings(provisioner))
    decided = with_unserved_warning(lambda _: Plan(), limits)
    without, with_them = cluster(), replace(cluster(), takes_requests=True)
    with caplog.at_level(logging.WARNING):
        for state in (without, without, with_them, without):
            assert decided(state) == Plan()
    assert len(caplog.records) == times
    for record in caplog.records:
        assert "--enable-provisioning-requests" in record.getMessage()

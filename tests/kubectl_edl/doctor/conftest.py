"""An installation in memory."""

import pytest

from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed
from tests.kubectl_edl.stage import Stage


@pytest.fixture
def server() -> FakeApi:
    return FakeApi()


@pytest.fixture
def stage(server: FakeApi) -> Stage:
    return installed(Stage(), server)

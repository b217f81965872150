import pytest

from webhook.rejection_log import RateLimitedLog


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_flood_of_bad_requests_logs_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    rejection_log = RateLimitedLog(clock)
    for _ in range(500):
        rejection_log.say("10.0.0.1", "no review")
    assert caplog.messages == ["rejected a request from 10.0.0.1: no review"] * 20
    clock.now = 61.0
    caplog.clear()
    rejection_log.say("10.0.0.2", "no type")
    assert caplog.messages == [
        "rejected 480 more requests",
        "rejected a request from 10.0.0.2: no type",
    ]
    clock.now = 122.0
    caplog.clear()
    rejection_log.say("10.0.0.2", "no type")
    assert caplog.messages == ["rejected a request from 10.0.0.2: no type"], "none was left out"


def test_the_noise_of_one_client_hides_no_other_one(caplog: pytest.LogCaptureFixture) -> None:
    rejection_log = RateLimitedLog(Clock())
    for _ in range(500):
        rejection_log.say("10.0.0.1", "no review")
    rejection_log.say("10.0.0.2", "no type")
    assert caplog.messages[20:] == ["rejected a request from 10.0.0.2: no type"]


def test_bad_requests_of_many_clients_log_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    rejection_log = RateLimitedLog(Clock())
    for number in range(5_000):
        rejection_log.say(f"10.0.0.{number}", "no review")
    assert len(caplog.messages) == 400

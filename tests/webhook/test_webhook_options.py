"""Options of the webhook's process that are refused, or mean a choice of the system."""

from dataclasses import fields

import click
import pytest

from edl.inject.handlers import Context
from webhook.__main__ import WebhookOptions, listeners
from webhook.__main__ import webhook as command
from webhook.routes import RouteContext


def given(*words: str) -> WebhookOptions:
    params = command.make_context("webhook", [*words, "--image", "x"]).params
    known = {field.name for field in fields(WebhookOptions)}
    return WebhookOptions(**{name: value for name, value in params.items() if name in known})


def test_a_check_for_certificates_that_never_pauses_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="is not a duration from 0"):
        given("--refresh", "0")


def test_two_free_ports_are_chosen_and_the_same_port_twice_is_refused() -> None:
    routes = RouteContext(Context(frozenset(), "x"), str)
    free = listeners(given("--port", "0", "--probe-port", "0"), routes)
    assert [one.port for one in free] == [0, 0]
    with pytest.raises(click.UsageError, match="--probe-port must differ"):
        listeners(given("--port", "8443", "--probe-port", "8443"), routes)

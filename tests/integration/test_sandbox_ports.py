"""A new sandbox does not depend on the first ports that it chooses."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from sandbox.layout import free_ports, read_facts
from sandbox.processes import startup

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox import Sandbox

pytestmark = [pytest.mark.integration, pytest.mark.sandbox]


@pytest.mark.parametrize("number", [0, 1], ids=["API server", "etcd"])
def test_a_port_that_another_process_takes_first_is_chosen_anew(
    own_sandbox: Callable[[], Sandbox], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    sandbox = own_sandbox()
    with socket.create_server(("127.0.0.1", 0)) as other:
        first = free_ports(2)
        first[number] = other.getsockname()[1]
        choices = iter((first, free_ports(2)))
        monkeypatch.setattr(startup, "free_ports", lambda _: next(choices))
        assert sandbox.up().fresh
    sandbox.check()
    assert next(choices, None) is None
    facts = read_facts(sandbox.folder / "sandbox.json")
    assert facts is not None
    assert not {facts.api_port, facts.etcd_port} & set(first)

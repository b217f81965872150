from __future__ import annotations

import datetime as dt
import socket
from typing import TYPE_CHECKING

import pytest
import yaml

from sandbox import Sandbox, status
from sandbox.errors import SandboxError
from sandbox.layout import PORTS, Facts, Layout, free_ports, read_facts, write_facts
from sandbox.processes import pki
from sandbox.processes.components import ORDER, ComponentInputs, api_url, launches
from sandbox.processes.kubeconfig import kubeconfig

if TYPE_CHECKING:
    from pathlib import Path


NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize("name", ["", "Default", "../up", "a/b", "-a", "a-", "a" * 41, ".locks"])
def test_a_name_outside_the_sandbox_folder_is_refused(name: str) -> None:
    with pytest.raises(SandboxError, match="use 1 to 40 small letters"):
        Sandbox(name)


def test_facts_are_read_as_written(tmp_path: Path) -> None:
    for facts in (Facts(20001, 20002, settled=True), Facts(20001, 20002, network=7)):
        write_facts(tmp_path / "facts", facts)
        assert read_facts(tmp_path / "facts") == facts


def test_facts_of_a_time_before_real_nodes_are_read(tmp_path: Path) -> None:
    (tmp_path / "facts").write_text('{"api_port": 1, "etcd_port": 2, "settled": true}')
    assert read_facts(tmp_path / "facts") == Facts(1, 2, settled=True, network=None, release=None)


def test_a_real_node_reaches_the_api_server_on_its_link(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "demo")
    programs = {name: tmp_path / name for name in ORDER}
    given = launches(ComponentInputs(layout, Facts(1, 2, network=5), programs))
    assert api_url(Facts(1, 2, network=5)) == "https://10.201.5.1:1"
    assert "--advertise-address=10.201.5.1" in given["kube-apiserver"].argv
    assert not [flag for flag in given["etcd"].argv if "10.201" in flag]


def test_a_real_node_is_not_begun_where_it_cannot_run(tmp_path: Path) -> None:
    sandbox = Sandbox("demo", tmp_path, environ={"PATH": "", "HOME": str(tmp_path)})
    with pytest.raises(SandboxError, match="a real node needs "):
        sandbox.up(real=True)
    assert not sandbox.exists()


@pytest.mark.parametrize("content", ["", "{", '{"api_port": 1}', '{"api_port": "x"}', "[1]"])
def test_half_written_facts_count_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "facts").write_text(content)
    assert read_facts(tmp_path / "facts") is None


def test_no_facts_count_as_none(tmp_path: Path) -> None:
    assert read_facts(tmp_path / "facts") is None


def test_free_ports_are_distinct_and_can_be_bound() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    for port in ports:
        assert port in PORTS
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))


def test_a_sandbox_that_is_not_up_says_how_to_start_it(tmp_path: Path) -> None:
    sandbox = Sandbox("demo", tmp_path)
    assert not sandbox.exists()
    with pytest.raises(SandboxError, match="demo is not up: run python -m sandbox up --name demo"):
        assert sandbox.server


def test_down_without_a_sandbox_succeeds_and_leaves_no_file(tmp_path: Path) -> None:
    assert not Sandbox("demo", tmp_path).down()
    assert status.names(tmp_path) == []


def test_down_removes_a_half_made_folder(tmp_path: Path) -> None:
    (tmp_path / "demo" / "pki").mkdir(parents=True)
    (tmp_path / "demo" / "sandbox.json").write_text("{")
    assert status.names(tmp_path) == ["demo"]
    assert Sandbox("demo", tmp_path).down()
    assert not (tmp_path / "demo").exists()


def test_a_guest_may_not_take_a_components_name(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="etcd is a component of the sandbox"):
        Sandbox("demo", tmp_path).launch("etcd", ["true"])


def test_secrets_are_private_and_every_flag_names_a_file_that_is_there(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "demo")
    pki.issue(layout.pki, NOW)
    programs = {name: tmp_path / name for name in ORDER}
    given = launches(ComponentInputs(layout, Facts(1, 2), programs))
    assert tuple(given) == ORDER
    flags = [flag for launch in given.values() for flag in launch.argv[1:] if "/pki/" in flag]
    assert len(flags) > 10
    for flag in flags:
        path = tmp_path.joinpath(flag.partition("=")[2])
        assert path.is_file()
        assert path.stat().st_mode & 0o077 == 0


def test_a_kubeconfig_holds_all_it_needs(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "demo")
    pki.issue(layout.pki, NOW)
    config = yaml.safe_load(kubeconfig(layout, "https://127.0.0.1:1", "admin"))
    assert config["current-context"] == "sandbox-demo"
    assert "-data" in " ".join(config["users"][0]["user"])
    assert str(tmp_path) not in str(config)

"""Labels and annotations give nobody anything that he could not have written into his Job himself.

What injection adds is looked at, never what the user wrote: what he may write is the business of
his namespace's Pod Security admission, which looks at the completed object.
"""

import copy
import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl import contract
from edl.errors import Denied
from edl.frameworks import FRAMEWORKS
from edl.frameworks.base import PeerAccess
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.inject.drawn import ROLE_LISTS, manifests
from tests.edl.manifests import changed, created, horovod, job, pod_spec, refusals, role_manifest
from tests.edl.reached import Reached, drawn

LAW = settings(deadline=None, max_examples=10)
every_framework = pytest.mark.parametrize("framework", ROLE_LISTS)
SOURCES = {"emptyDir", "downwardAPI", "secret"}
KEPT = (
    *("hostNetwork", "hostPID", "hostIPC", "hostUsers", "securityContext", "runtimeClassName"),
    *("nodeName", "automountServiceAccountToken", "imagePullSecrets", "tolerations"),
    *("priorityClassName", "hostAliases", "dnsConfig"),
)
"""Fields of a pod spec that are its user's alone."""
_LETTERS = st.text(alphabet="ab", min_size=1, max_size=3)
HOSTILE = st.one_of(
    _LETTERS,
    st.builds(
        "{}{}{}".format,
        _LETTERS,
        st.sampled_from("-./'\"$`\n;%(){}* \\é"),
        _LETTERS | st.just(""),
    ),
    st.text(alphabet="ab-./'\"$`\n;%(){}* \\é", min_size=1, max_size=12),
)
"""Names, and names with one character in them, or behind them, that hardly any name has."""
LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def containers(manifest: Json) -> dict[str, Json]:
    spec = pod_spec(manifest)
    found = [*(spec.get("initContainers") or []), *spec["containers"]]
    return {container["name"]: container for container in found}


def added_volumes(before: Json, after: Json) -> list[Json]:
    own = pod_spec(before).get("volumes") or []
    return [volume for volume in pod_spec(after).get("volumes") or [] if volume not in own]


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_no_volume_reaches_the_node_or_another_secret(framework: str, data: st.DataObject) -> None:
    given_ = data.draw(manifests(framework))
    stored = created(given_)
    spec = parse(stored)
    mode = next((mode for mode in FRAMEWORKS[framework].modes if mode.name == spec.mode), None)
    for volume in added_volumes(given_, stored):
        assert volume.keys() - {"name"} <= SOURCES
        if "secret" in volume:
            assert mode
            assert mode.peers is PeerAccess.SSH
            assert volume["secret"]["secretName"] == f"{spec.job}-ssh"


@every_framework
@LAW
@given(data=st.data())
def test_no_privilege_is_added(framework: str, data: st.DataObject) -> None:
    given_ = data.draw(manifests(framework))
    stored = created(given_)
    own = containers(given_)
    for name, container in containers(stored).items():
        context = container.get("securityContext")
        if name in own:
            assert context == own[name].get("securityContext")
            assert container.get("envFrom") == own[name].get("envFrom")
            assert container["image"] == own[name]["image"]
            continue
        assert context is not None
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert not any("hostPort" in port for port in container.get("ports") or ())
    for field in KEPT:
        assert pod_spec(stored).get(field) == pod_spec(given_).get(field)


@every_framework
@LAW
@given(data=st.data())
def test_no_variable_reads_a_secret(framework: str, data: st.DataObject) -> None:
    stored = created(data.draw(manifests(framework)))
    entries = [entry for each in containers(stored).values() for entry in each.get("env") or ()]
    sources = [entry["valueFrom"].keys() for entry in entries if "valueFrom" in entry]
    assert all(source == {"fieldRef"} for source in sources)


@every_framework
@LAW
@given(data=st.data(), chosen=st.booleans())
def test_the_users_account_is_kept_and_ours_is_for_those_who_need_it(
    framework: str, data: st.DataObject, *, chosen: bool
) -> None:
    given_ = data.draw(manifests(framework))
    bare = given_["kind"] == "Pod"
    place = given_["spec"] if bare else given_["spec"]["template"]["spec"]
    if chosen or bare:
        place["serviceAccountName"] = "mine"
    else:
        place.pop("serviceAccountName", None)
    stored = created(given_)
    spec = parse(stored)
    needs = FRAMEWORKS[framework].describe(spec)
    account = pod_spec(stored).get("serviceAccountName")
    if chosen or bare:
        assert account == "mine"
    elif needs.kubectl:
        assert account == f"{spec.job}-launcher"
    else:
        assert account == (f"{spec.job}-peers" if needs.lists_pods else None)


@every_framework
@LAW
@given(data=st.data())
def test_everything_stays_in_its_namespace(framework: str, data: st.DataObject) -> None:
    given_ = data.draw(manifests(framework))
    given_["metadata"]["ownerReferences"] = owners = [
        {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "1"}
    ]
    stored = created(given_)
    assert stored["metadata"]["namespace"] == "lab"
    assert stored["metadata"]["ownerReferences"] == owners
    assert set(re.findall(r"[\w.-]+\.([\w-]+)\.svc\b", json.dumps(stored))) <= {"lab"}
    assert '"namespace"' not in json.dumps(stored["spec"])


@settings(deadline=None, max_examples=60)
@given(name=HOSTILE, namespace=HOSTILE)
def test_a_name_that_is_none_is_refused_before_anything_is_named_after_it(
    name: str, namespace: str
) -> None:
    """Offline nobody has looked at names before us: no quote, blank or newline of a name gets into
    a script or a volume, and nothing of a namespace into a command."""
    for framework, mode, role, roles in (
        ("horovod", "ssh", "launcher", "launcher=1,worker=2"),
        ("horovod", "kubexec", "launcher", "launcher=1,worker=2"),
        ("pytorch", "", "rendezvous", "rendezvous=1,worker=2"),
        ("tensorflow", "", "chief", "chief=1,worker=2"),
    ):
        told = {"mode": mode} if mode else {}
        manifest = role_manifest(role, roles, framework=framework, annotations=told, job=name)
        manifest = changed(manifest, "metadata name", f"{name}-{role}")
        manifest = changed(manifest, "metadata namespace", namespace)
        assert (refusals(created, manifest) == []) == bool(LABEL.fullmatch(name))
        if LABEL.fullmatch(name):
            elsewhere = created(changed(manifest, "metadata namespace", "lab"))
            assert lines_of(created(manifest)) == lines_of(elsewhere)


def lines_of(stored: Json) -> list[object]:
    """What its containers run."""
    return [
        each.get(field)
        for each in containers(stored).values()
        for field in ("command", "args", "lifecycle")
    ]


@pytest.mark.parametrize(
    ("name", "finding"),
    [("other-worker", "the others expect"), ("mnist-worker-2", "the others expect")],
)
def test_a_job_joins_other_jobs_only_under_its_roles_name(name: str, finding: str) -> None:
    """So the API server itself lets in one Job a role: names are unique."""
    manifest = changed(horovod("worker"), "metadata name", name)
    with pytest.raises(Denied, match=finding):
        created(manifest)


@pytest.mark.slow
@every_framework
@drawn(20, data=st.data(), text=st.text(min_size=1, max_size=20))
def test_no_value_of_an_annotation_becomes_a_command(
    reached: Reached, framework: str, data: st.DataObject, text: str
) -> None:
    """A command that we add is the same for all, but for ports and the training job's name."""
    given_ = data.draw(manifests(framework))
    told = copy.deepcopy(given_)
    notes = told["metadata"].setdefault("annotations", {})
    free = [contract.ENTRYPOINT, contract.WORKSPACE, contract.ETCD_IMAGE]
    notes |= dict.fromkeys(free, f"MARK{text}")
    refused = refusals(created, told)
    reached(not refused)
    if refused:
        return
    stored = created(told)
    for container in containers(stored).values():
        hook = container.get("lifecycle") or {}
        assert "MARK" not in json.dumps([container.get("command"), container.get("args"), hook])


def test_a_shell_sees_only_commands_of_ours() -> None:
    """Every `sh -c` that is injected is a constant."""
    found = set(shell_lines())
    assert found == set(shell_lines(name="it's-$(id)-`id`"))
    assert len(found) > 1


def shell_lines(name: str = "mnist") -> Iterator[str]:
    for role, mode in (("worker", "kubexec"), ("worker", "ssh"), ("launcher", "kubexec")):
        told = {"mode": mode, "entrypoint": name}
        stored = created(horovod(role, annotations=told))
        for container in containers(stored).values():
            command = container.get("command") or [""]
            yield from command[2:3] if command[0] == "/bin/sh" else ()
    assert created(job("alone", framework="none", annotations={"entrypoint": name}))

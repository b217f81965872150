"""What the annotations of a topology say, and what is wrong with them."""

import pytest

from edl import contract
from edl.model import Topology
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import job, role_manifest
from tests.edl.readings import annotation, findings

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"


def asking(**annotations: str) -> Json:
    return job(framework="pytorch", max="3", annotations=annotations)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, Topology()),
        ({"required-topology": RACK}, Topology(required=(("", RACK),))),
        ({"required-topology": f"worker={RACK}"}, Topology(required=(("worker", RACK),))),
        (
            {"required-topology": f"worker={RACK}, {ZONE}"},
            Topology(required=(("", ZONE), ("worker", RACK))),
        ),
        ({"preferred-topology": f"{ZONE},{RACK}"}, Topology(preferred=(ZONE, RACK))),
        ({"preferred-topology": f"{RACK},{RACK}"}, Topology(preferred=(RACK,))),
        ({"required-topology": "rack"}, Topology(required=(("", "rack"),))),
    ],
)
def test_labels_are_read_in_their_order(annotations: dict[str, str], expected: Topology) -> None:
    assert parse(asking(**annotations)).scheduling.topology == expected


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("required-topology", "", '"" is not a label'),
        ("required-topology", "a b", '"a b" is not a label'),
        ("required-topology", "example.com/", '"example.com/" is not a label'),
        ("required-topology", "a/b/c", '"a/b/c" is not a label'),
        ("required-topology", f"{'a' * 254}/rack", f'"{"a" * 254}/rack" is not a label'),
        ("required-topology", "a" * 64, f'"{"a" * 64}" is not a label'),
        ("required-topology", f"chief={RACK}", 'it has no role "chief"'),
        ("required-topology", f"{ZONE},{RACK}", "two labels for the same pods"),
        ("preferred-topology", f"{RACK},", '"" is not a label'),
        ("preferred-topology", f"worker={RACK}", f'"worker={RACK}" is not a label'),
        ("preferred-topology", ",".join("abcdefghi"), "too many labels"),
        ("preferred-topology", "," * 10**6, "too many labels"),
    ],
)
def test_a_malformed_label_is_refused(name: str, text: str, what: str) -> None:
    found = findings(asking(**{name: text}))
    assert {(one.path, one.what) for one in found} == {(annotation(name), what)}


def test_a_role_of_the_listed_roles_may_be_named_on_each_job() -> None:
    for role in ("chief", "worker"):
        spec = parse(role_manifest(role, annotations={"required-topology": f"worker={RACK}"}))
        assert spec.scheduling.topology == Topology(required=(("worker", RACK),))


def test_the_names_are_the_contract() -> None:
    assert contract.REQUIRED_TOPOLOGY == "edl.dev/required-topology"
    assert contract.PREFERRED_TOPOLOGY == "edl.dev/preferred-topology"

"""A manifest may hold anything: `kubectl edl adopt -f` reads YAML that nobody has checked."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl import contract
from edl.contract import registry
from edl.errors import Denied, Finding
from edl.parsing.parser import parse
from edl.spec.job_spec import JobSpec
from edl.writes import Json

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.sampled_from(["", "1", "2", "0.5", "x", "tensorflow", "horovod", "none", "worker", "ps"]),
    st.sampled_from(
        ["chief=1,worker=1..3", "launcher=1,worker=2", "worker=1", "ps=1,", "=", "1.."]
    ),
    st.text(max_size=5),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
NAMES = st.sampled_from([entry.name for entry in registry.ENTRIES]) | st.integers(0, 2)
CONTRACT = ANYTHING | st.dictionaries(NAMES, ANYTHING, max_size=6)


@st.composite
def nonsense(draw: st.DrawFn) -> Json:
    """JSON or YAML with the outlines of a Job or pod, and anything at all in its fields."""
    known = draw(st.sampled_from(["tensorflow", "horovod", "pytorch", "none"]))
    found = draw(CONTRACT)
    named = {contract.FRAMEWORK: known} | found if isinstance(found, dict) else found
    fields = dict.fromkeys(("parallelism", "completions", "suspend", "subdomain"), ANYTHING)
    metadata = {"labels": st.just(named), "annotations": CONTRACT, "name": ANYTHING}
    pods = st.fixed_dictionaries({}, optional={"containers": ANYTHING, "subdomain": ANYTHING})
    template = st.fixed_dictionaries(
        {},
        optional={"metadata": ANYTHING | st.fixed_dictionaries({"labels": CONTRACT}), "spec": pods},
    )
    spec = st.fixed_dictionaries({}, optional=fields | {"template": ANYTHING | template})
    shape = {
        "metadata": ANYTHING | st.fixed_dictionaries({}, optional=metadata),
        "spec": ANYTHING | spec,
    }
    kind = {"kind": st.sampled_from(["Job", "Pod"]) | ANYTHING}
    return draw(st.fixed_dictionaries({}, optional=shape | kind))


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(nonsense())
def test_nonsense_is_answered_with_findings(manifest: Json) -> None:
    before = copy.deepcopy(manifest)
    spec, findings = _read(manifest)
    assert manifest == before
    if spec:
        assert 1 <= spec.scaling.min <= spec.scaling.max
    else:
        assert findings
        assert all(finding.path and finding.what for finding in findings)


def _read(manifest: Json) -> tuple[JobSpec | None, tuple[Finding, ...]]:
    try:
        return parse(manifest), ()
    except Denied as denied:
        return None, denied.findings

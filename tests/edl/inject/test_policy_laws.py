"""What must hold for every manifest in every namespace."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl import contract
from edl.errors import Denied
from edl.inject import namespace_limits
from edl.inject.handlers import AdmissionVerdict
from edl.parsing.namespace_policy import SILENT, NamespacePolicy, read
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.inject.drawn import ROLE_LISTS, manifests
from tests.edl.inject.policies import create, look_again, update
from tests.edl.manifests import changed, job, labels, pod_spec, refusals
from tests.edl.reached import Reached, drawn

LAW = settings(deadline=None, max_examples=60)
GPUS = st.sampled_from([{}, {"gpu": "2"}, {"gpu": "0.5"}])
COUNTS = st.sampled_from(["1", "2", "3", "4", "8", "500"])
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        contract.DEFAULT_FRAMEWORK: st.sampled_from(["none", "pytorch", "tensorflow"]),
        contract.DEFAULT_MIN: COUNTS,
        contract.DEFAULT_MAX: COUNTS,
        contract.DEFAULT_PRIORITY: st.just("training"),
        contract.LARGEST_MAX: COUNTS,
        contract.GPU_BUDGET: st.sampled_from(["0", "0.5", "2", "8", "100"]),
    },
)


@st.composite
def policies(draw: st.DrawFn) -> NamespacePolicy:
    """Of a namespace that opted in, or did not; only settings that its own review lets in."""
    injection = draw(st.sampled_from([contract.ENABLED, contract.DISABLED]))
    metadata = {"name": "lab", "annotations": draw(SETTINGS)}
    policy = read({"metadata": metadata | {"labels": {contract.INJECTION: injection}}})
    return policy if not policy.findings else SILENT


def labelled() -> st.SearchStrategy[Json]:
    return st.sampled_from([*ROLE_LISTS]).flatmap(manifests)


@st.composite
def jobs(draw: st.DrawFn) -> Json:
    """Labelled objects, and the same without any label of ours."""
    manifest = draw(labelled())
    return unlabelled(manifest) if draw(st.booleans()) else manifest


def unlabelled(manifest: Json) -> Json:
    """The same without any label or annotation of ours."""
    rest = {
        place: {name: text for name, text in own.items() if not name.startswith(contract.PREFIX)}
        for place, own in manifest["metadata"].items()
        if place in ("labels", "annotations")
    }
    return manifest | {"metadata": manifest["metadata"] | rest}


counted = drawn(60, manifest=jobs(), policy=policies())


def without_ceilings(policy: NamespacePolicy) -> NamespacePolicy:
    return replace(policy, largest_max=None, gpu_budget=None)


def accepted(manifest: Json, policy: NamespacePolicy) -> AdmissionVerdict | None:
    try:
        return create(manifest, policy)
    except Denied:
        return None


@pytest.mark.slow
@counted
def test_twice_is_once_in_every_namespace(
    reached: Reached, manifest: Json, policy: NamespacePolicy
) -> None:
    verdict = accepted(manifest, policy)
    reached(verdict)
    if verdict:
        stored = json.loads(json.dumps(verdict.manifest))
        again = create(stored, policy)
        assert again.manifest == stored
        look_again(stored, policy)


@pytest.mark.slow
@drawn(60, manifest=jobs(), policy=policies(), later=policies())
def test_defaults_changed_between_mutation_and_validation_are_accepted(
    reached: Reached, manifest: Json, policy: NamespacePolicy, later: NamespacePolicy
) -> None:
    verdict = accepted(manifest, policy)
    reached(verdict)
    if verdict:
        assert refusals(look_again, verdict.manifest, without_ceilings(later)) == []


@pytest.mark.slow
@LAW
@given(jobs(), policies())
def test_what_went_in_is_never_changed(manifest: Json, policy: NamespacePolicy) -> None:
    before = copy.deepcopy(manifest)
    accepted(manifest, policy)
    assert manifest == before


@pytest.mark.slow
@counted
def test_what_a_user_says_himself_wins_over_every_default(
    reached: Reached, manifest: Json, policy: NamespacePolicy
) -> None:
    verdict = accepted(manifest, policy)
    reached(verdict)
    if verdict is None:
        return
    own, stored = labels(manifest), labels(verdict.manifest)
    assert own.items() <= stored.items()
    priority = pod_spec(manifest).get("priorityClassName")
    assert priority is None or pod_spec(verdict.manifest)["priorityClassName"] == priority


@pytest.mark.slow
@counted
def test_a_default_never_makes_a_good_job_bad(
    reached: Reached, manifest: Json, policy: NamespacePolicy
) -> None:
    """Only a ceiling refuses what the contract alone lets in."""
    good = accepted(manifest, SILENT)
    reached(good)
    if good:
        assert accepted(manifest, without_ceilings(replace(policy, adopts=False)))


@pytest.mark.slow
@drawn(60, manifest=labelled() | jobs(), policy=policies(), most=st.sampled_from([3, 5, 8]))
def test_nothing_is_ever_above_a_ceiling(
    reached: Reached, manifest: Json, policy: NamespacePolicy, most: int
) -> None:
    policy = replace(policy, largest_max=most)
    verdict = accepted(manifest, policy)
    ours = verdict is not None and contract.FRAMEWORK in labels(verdict.manifest)
    reached(ours)
    if verdict is None or not ours:
        return
    size = parse(verdict.manifest).scaling.max
    assert size <= most
    used = size * namespace_limits.gpus(verdict.manifest)
    assert policy.gpu_budget is None or used <= policy.gpu_budget


@LAW
@given(GPUS, policies(), st.integers(1, 8), st.integers(1, 8))
def test_an_edit_rises_above_no_ceiling_and_may_always_go_down(
    gpu: Json, policy: NamespacePolicy, before: int, after: int
) -> None:
    """Whatever the ceilings were when the Job was made."""
    made = create(job(framework="pytorch", min="1", max="8", **gpu), SILENT).manifest
    old, new = (changed(made, f"metadata labels {contract.MAX}", str(n)) for n in (before, after))
    above = policy.largest_max is not None and after > policy.largest_max
    hungry = (
        policy.gpu_budget is not None and after * namespace_limits.gpus(new) > policy.gpu_budget
    )
    try:
        update(new, old, policy)
    except Denied:
        assert after > before
        assert above or hungry
    else:
        assert after <= before or not (above or hungry)


@pytest.mark.slow
@LAW
@given(jobs().map(unlabelled), policies())
def test_unlabelled_jobs_are_unchanged_in_namespaces_without_adoption(
    manifest: Json, policy: NamespacePolicy
) -> None:
    assert create(manifest, replace(policy, adopts=False)) == AdmissionVerdict(manifest)

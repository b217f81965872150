from collections.abc import Mapping
from typing import Any

import pytest

from edl.contract import PREFIX, CleanUp
from edl.errors import Denied, Finding
from edl.model import ResizePolicy
from edl.parsing.manifest_reader import MAX_REPLICAS
from edl.parsing.parser import parse
from edl.spec.job_spec import RoleBounds
from edl.writes import Json
from tests.edl.manifests import CHIEF_ROLES, job, pod, role_manifest
from tests.edl.readings import annotation, elastic, findings, label

GPU_CHOICE = "whole GPUs (1, 2, …) or a share below 1 (0.5)"
WHOLE = f"a whole number from 1 to {MAX_REPLICAS}"


def test_two_labels_make_a_job_elastic() -> None:
    spec = parse(job(framework="tensorflow", max="4"))
    assert (spec.namespace, spec.name, spec.job) == ("lab", "mnist", "mnist")
    assert (spec.framework, spec.role, spec.mode) == ("tensorflow", "worker", "collective")
    assert (spec.scaling.min, spec.scaling.max, spec.scaling.resizing) == (
        1,
        4,
        ResizePolicy.RESTART,
    )
    assert spec.all_roles == (RoleBounds("worker", 1, 4),)
    assert (spec.resources.slots, spec.port, spec.lifecycle.clean_up) == (1, 2222, CleanUp.RUNNING)
    assert (spec.scaling.replicas, spec.scaling.paused, spec.resources.gpu, spec.rank) == (
        None,
        False,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("labels", "parallelism", "bounds"),
    [
        ({}, 3, (3, 3)),
        ({}, None, (1, 1)),
        ({"min": "2"}, 5, (2, 5)),
        ({"min": "4"}, 1, (4, 4)),
        ({"max": "5"}, 2, (2, 5)),
        ({"max": "2"}, 5, (2, 2)),
        ({"min": "2", "max": "5"}, 9, (2, 5)),
        ({"min": "2", "max": "5"}, 0, (2, 5)),
    ],
)
def test_bounds_default_to_parallelism(
    labels: Mapping[str, str], parallelism: int | None, bounds: tuple[int, int]
) -> None:
    given: Json = {"framework": "tensorflow", **labels}
    spec = parse(job(spec={"parallelism": parallelism}, **given))
    assert (spec.scaling.min, spec.scaling.max) == bounds


@pytest.mark.parametrize(
    ("size", "resizing"),
    [(6, ResizePolicy.ITEMS), (2, ResizePolicy.ITEMS), (4, ResizePolicy.FIXED)],
)
def test_a_job_with_equal_bounds_is_still_resized_to_them(
    size: int, resizing: ResizePolicy
) -> None:
    completed = {"injected-max": "6"}
    spec = {"completions": 40, "parallelism": size}
    closed = job(framework="none", min="4", max="4", annotations=completed, spec=spec)
    assert parse(closed).scaling.resizing is resizing


def test_without_room_between_min_and_max_a_job_is_only_queued() -> None:
    assert parse(elastic(min="4")).scaling.resizing is ResizePolicy.FIXED


def test_the_bounds_of_a_list_of_roles_need_no_labels() -> None:
    spec = parse(role_manifest("worker"))
    assert spec.all_roles == (
        RoleBounds("chief", 1, 1),
        RoleBounds("ps", 2, 2),
        RoleBounds("worker", 1, 3),
    )
    assert (spec.scaling.min, spec.scaling.max, spec.mode, spec.scaling.resizing) == (
        1,
        3,
        "ps",
        ResizePolicy.LIVE,
    )


def test_a_fixed_role_of_an_elastic_job_stays_fixed() -> None:
    assert parse(role_manifest("ps")).scaling.resizing is ResizePolicy.FIXED


def test_work_items_move_by_parallelism_alone() -> None:
    spec = parse(job(framework="none", max="4", spec={"completions": 10}))
    assert (spec.scaling.resizing, spec.indexed) == (ResizePolicy.ITEMS, False)


def test_everything_else_is_read_from_annotations() -> None:
    told = {
        "replicas": "2",
        "paused": "true",
        "slots": "8",
        "port": "3333",
        "clean-up": "All",
        "mode": "collective",
    }
    spec = parse(elastic(annotations=told))
    assert (spec.scaling.replicas, spec.scaling.paused, spec.resources.slots, spec.port) == (
        2,
        True,
        8,
        3333,
    )
    assert (spec.lifecycle.clean_up, spec.mode) == (CleanUp.ALL, "collective")


def test_a_bare_pod_says_its_rank_and_how_many_there_are() -> None:
    manifest = pod(
        "any", framework="tensorflow", job="mnist", annotations={"rank": "2", "size": "3"}
    )
    spec = parse(manifest)
    assert (spec.job, spec.rank, spec.scaling.min, spec.scaling.max) == ("mnist", 2, 3, 3)


@pytest.mark.parametrize("text", ["0", "x", "", "-1", "1.5", "100001", "9999999999", "\u0661"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_bounds_are_whole_numbers(name: str, text: str) -> None:
    given: Json = {"framework": "tensorflow", name: text}
    assert findings(job(**given)) == (Finding(label(name), f'"{text}"', WHOLE),)


def test_min_above_max_is_refused() -> None:
    found = findings(elastic(min="5"))
    assert found == (Finding(label("min"), "min 5 is above max 4", "1 ≤ min ≤ max"),)


def test_nothing_runs_with_a_parallelism_of_zero() -> None:
    found = findings(job(framework="tensorflow", spec={"parallelism": 0}))
    later = "at least 1; suspend: true keeps the Job from starting"
    assert found == (Finding("spec.parallelism", "0 asks for no pod", later),)


def test_an_unknown_framework_is_told_the_known_ones() -> None:
    found = findings(job(framework="caffe"))
    known = "one of tensorflow, mxnet, horovod, aiacc, paddle, pytorch, none"
    assert found == (Finding(label("framework"), 'unknown "caffe"', known),)
    assert findings(job()) == (Finding(label("framework"), "missing", known),)


def test_with_an_unknown_framework_whatever_does_not_depend_on_it_is_reported_as_well() -> None:
    """Its role, roles and mode do: they are read once the framework is known."""
    wrong = job(framework="pytroch", role="q", min="y", max="x", gpu="z")
    wrong["metadata"]["annotations"] = {
        f"{PREFIX}{key}": "z" for key in ("cooldown", "clean-up", "paused", "roles", "mode")
    }
    paths = {one.path for one in findings(wrong)}
    named = {*map(label, ("framework", "min", "max", "gpu"))}
    assert paths == named | {*map(annotation, ("cooldown", "clean-up", "paused"))}


def test_a_role_of_another_framework_is_refused() -> None:
    found = findings(job(framework="tensorflow", role="launcher"))
    allowed = "one of chief, worker, ps, evaluator"
    assert found == (Finding(label("role"), '"launcher" is not a role of tensorflow', allowed),)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        (job(framework="tensorflow", role="wrker"), "worker"),
        (job(framework="tensorflow", role="pss"), "ps"),
        (job(framework="pytroch"), "pytorch"),
        (job(framework="TensorFlow"), "tensorflow"),
        (role_manifest("worker", "chief=1,wroker=2,worker=1"), "worker"),
        (job(framework="none", annotations={"clean-up": "all"}), "All"),
    ],
)
def test_a_misspelt_value_is_told_the_most_similar_one(slip: Json, meant: str) -> None:
    (found,) = findings(slip)
    assert found.allowed.startswith(f"did you mean {meant}? one of ")


@pytest.mark.parametrize(
    "slip",
    [
        job(framework="paddle", role="worker"),
        job(framework="paddle", role="worker", annotations={"mode": "ps"}),
        job(framework="horovod", role="wroker", job="hvd"),
    ],
)
def test_a_wrong_role_is_one_finding_also_without_listed_roles(slip: Json) -> None:
    assert [found.path for found in findings(slip)] == [label("role")]


def test_a_role_missing_from_the_listed_roles_gives_no_finding_about_the_name() -> None:
    slip = role_manifest("worker", "chief=1,worker=1..4")
    slip["metadata"]["labels"][f"{PREFIX}role"] = "ps"
    assert [found.what for found in findings(slip)] == ['no role "ps"']


def test_a_slip_in_a_role_is_one_finding_and_not_its_consequences_too() -> None:
    slip = job(
        framework="tensorflow",
        job="rec",
        role="wroker",
        annotations={"roles": "chief=1,worker=1..4"},
    )
    slip["metadata"]["name"] = "rec-worker"
    assert [found.path for found in findings(slip)] == [label("role")]


@pytest.mark.parametrize(
    ("roles", "what"),
    [
        ("chief=1,worker", '"worker" is not a role and size'),
        ("chief=1,,worker=1", '"" is not a role and size'),
        ("chief=1 worker=2", '"chief=1 worker=2" is not a role and size'),
        ("chief=1,worker=1-4", '"worker=1-4" is not a role and size'),
        ("chief=1,worker=4..1", '"worker=4..1" is not a range'),
        ("chief=1,worker=0..4", '"worker=0..4" is not a range'),
        ("chief=1,worker=1..100001", '"worker=1..100001" is not a range'),
        ("chief=1,worker=1,server=2", '"server" is not a role of tensorflow'),
        ("chief=1,worker=1,worker=1", "a role is listed twice"),
        ("chief=1,ps=2", 'no role "worker"'),
        ("ps=1,worker=1..4,mode=ps", '"mode=ps" is not a role and size'),
    ],
)
def test_a_list_of_roles_that_cannot_be_read_is_refused(roles: str, what: str) -> None:
    found = findings(role_manifest("worker", roles))
    assert (annotation("roles"), what) in [(one.path, one.what) for one in found]
    assert all(one.allowed for one in found)


def test_a_list_of_roles_may_be_written_with_blanks() -> None:
    assert (
        parse(role_manifest("worker", "chief=1, ps=2, worker=1..3")).all_roles
        == parse(role_manifest("worker")).all_roles
    )


def test_a_list_of_roles_needs_a_role_that_decides_completion() -> None:
    (found,) = findings(role_manifest("ps", "ps=2,evaluator=1"))
    assert found.what == "none of its roles decides when tensorflow is done"
    assert found.allowed == "list all roles, with a chief or worker"


@pytest.mark.parametrize(
    ("role", "absent"), [("worker", "launcher"), ("launcher", "worker")], ids=str
)
def test_horovod_needs_launcher_and_worker(role: str, absent: str) -> None:
    found = findings(job(framework="horovod", role=role))
    what = f"horovod needs a {absent}"
    assert found == (Finding(annotation("roles"), what, f"add {absent}=…"),)


@pytest.mark.parametrize("labels", [{"min": "2"}, {"max": "9"}, {"min": "2", "max": "9"}])
def test_own_bounds_agree_with_the_listed_roles(labels: Mapping[str, str]) -> None:
    low, high = labels.get("min", "1"), labels.get("max", "3")
    found = findings(role_manifest("worker", **labels))
    what = f"worker is {low}..{high} here and 1..3 in edl.dev/roles"
    allowed = "leave the labels out, or write the same in edl.dev/roles"
    assert found == (Finding(label("min"), what, allowed),)


def test_after_creation_bounds_may_leave_the_listed_roles() -> None:
    manifest = role_manifest("worker", min="2", max="3", annotations={"injected-max": "3"})
    spec = parse(manifest)
    assert (spec.scaling.min, spec.scaling.max) == (2, 3)


def test_a_serving_role_is_never_resized() -> None:
    found = findings(role_manifest("ps", "chief=1,ps=1..3,worker=1"))
    assert found == (
        Finding(label("max"), "a ps is never resized", "min = max, or leave both out"),
    )


def test_there_is_one_chief() -> None:
    found = findings(role_manifest("chief", "chief=2,worker=1"))
    assert found == (Finding(label("max"), "2 × chief", "tensorflow has exactly one"),)


@pytest.mark.parametrize(
    ("roles", "mode"),
    [("chief=1,worker=2", "ps"), ("chief=1,worker=2", "sparse"), (CHIEF_ROLES, "dense")],
    ids=str,
)
def test_a_mode_must_fit_the_listed_roles(roles: str, mode: str) -> None:
    found = findings(role_manifest("worker", roles, annotations={"mode": mode}))
    allowed = "one of ps (with a ps), collective, sparse (with a ps)"
    assert found == (Finding(annotation("mode"), f'"{mode}" does not fit', allowed),)


def test_ranked_pods_take_no_completions() -> None:
    found = findings(elastic(spec={"completions": 8}))
    what = "8 completions with parallelism 1"
    allowed = "pods here are ranks, not work items: leave completions out"
    assert found == (Finding("spec.completions", what, allowed),)
    assert parse(elastic(spec={"completions": 3, "parallelism": 3})).scaling.max == 4


def test_no_more_pods_than_work_items() -> None:
    (found,) = findings(job(framework="none", max="4", spec={"completions": 3}))
    assert (found.path, found.what) == (label("max"), "max 4 is above spec.completions 3")


@pytest.mark.parametrize(
    ("labels", "parallelism", "path"),
    [
        ({}, 5, "spec.parallelism"),
        ({"min": "5"}, 2, label("min")),
        ({"min": "5"}, 1, label("min")),
    ],
)
def test_a_max_that_no_label_sets_is_named_by_what_sets_it(
    labels: dict[str, Any], parallelism: int, path: str
) -> None:
    spec = {"completions": 1, "parallelism": parallelism}
    (found,) = findings(job(framework="none", spec=spec, **labels))
    unset = ", the default if spec.parallelism is not set either" if parallelism == 1 else ""
    what = f"5, which also sets max, is above spec.completions 1{unset}"
    assert (found.path, found.what) == (path, what)
    assert found.allowed == (
        "framework none counts work items: set spec.completions to their number, or for a work "
        "queue only spec.parallelism"
    )


def test_an_existing_job_is_not_told_to_change_its_number_of_work_items() -> None:
    there = {"injected-max": "3"}
    made = job(framework="none", max="4", spec={"completions": 3}, annotations=there)
    (found,) = findings(made)
    assert found.allowed == "the number of work items never changes: at most 3, or a new Job"


def test_an_unknown_restart_policy_is_one_finding() -> None:
    pod = {"restartPolicy": "Never"}
    (found,) = findings(job(framework="none", annotations={"restart": "Sometimes"}, pod=pod))
    assert found.what.startswith('unknown "Sometimes"')


def test_a_job_without_work_items_is_refused_by_the_field_that_was_written() -> None:
    (found,) = findings(job(framework="none", spec={"completions": 0}))
    assert (found.path, found.what) == ("spec.completions", "0 would end the Job at once")


def test_a_manual_size_lies_within_the_bounds() -> None:
    found = findings(elastic(annotations={"replicas": "7"}))
    allowed = "change edl.dev/min or edl.dev/max, or remove it"
    assert found == (Finding(annotation("replicas"), "7 is outside worker=1..4", allowed),)


def test_a_rank_is_below_the_size() -> None:
    manifest = pod(framework="tensorflow", job="mnist", annotations={"rank": "2", "size": "2"})
    found = findings(manifest)
    assert found == (Finding(annotation("rank"), "2 of 2 pods", "0..1, see edl.dev/size"),)


def test_a_bare_launcher_names_an_account_that_may_exec() -> None:
    def launcher(**spec: str) -> Json:
        told = {"roles": "launcher=1,worker=2"}
        return pod(framework="horovod", role="launcher", job="mnist", annotations=told, spec=spec)

    what = "a bare launcher needs an account of its own: it may exec into its workers"
    way_out = "kubectl create serviceaccount NAME, bind it to edl-launcher, name it"
    (found,) = findings(launcher())
    assert found == Finding("spec.serviceAccountName", what, way_out)
    assert findings(launcher(serviceAccountName="default")) == (found,)
    assert parse(launcher(serviceAccountName="mine")).role == "launcher"


def test_everything_that_is_wrong_is_said_at_once() -> None:
    told = {"slots": "x", "port": "0", "clean-up": "x", "replicas": "9", "paused": "x"}
    manifest = elastic(name="Mnist", min="x", gpu="1.5", annotations=told, spec={"completions": 7})
    assert {one.path for one in findings(manifest)} == {
        "metadata.name",
        "spec.completions",
        label("min"),
        label("gpu"),
        *(annotation(name) for name in told),
    }


def test_one_message_lists_every_finding() -> None:
    manifest = elastic(min="5", gpu="abc")
    with pytest.raises(Denied) as denied:
        parse(manifest)
    assert str(denied.value) == (
        "metadata.labels[edl.dev/min]: min 5 is above max 4; 1 ≤ min ≤ max | "
        f'metadata.labels[edl.dev/gpu]: "abc"; {GPU_CHOICE}'
    )


def test_restart_policy_always_is_refused_with_its_field() -> None:
    manifest = job(framework="none")
    manifest["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    path, what = "spec.template.spec.restartPolicy", 'it is absent or "Always"'
    assert findings(manifest) == (Finding(path, what, "write OnFailure or Never"),)


@pytest.mark.parametrize("name", ["X_y", "a..b", "-a"])
def test_a_name_that_the_api_server_would_refuse_is_refused(name: str) -> None:
    found = findings(job(framework="none", name=name))
    assert found == (Finding("metadata.name", f'"{name}" is not a name', "a-z, 0-9, - and ."),)

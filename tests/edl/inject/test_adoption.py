"""Jobs without our label in a namespace that opted in as a whole."""

import pytest

from edl import contract
from edl.errors import Denied, Finding
from edl.inject.handlers import AdmissionRequest, mutate
from edl.writes import Json
from tests.edl.inject.policies import LAB, create, created, look_again, opted_in, update
from tests.edl.manifests import CONTEXT, USER, annotations, changed, job, labels, pod

POLICY = opted_in()
REQUESTS = {"containers": [{"name": "main", "image": "a", "resources": {"requests": {"cpu": "1"}}}]}
CONTROLLED = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Workflow",
    "name": "w",
    "controller": True,
}


def test_a_job_there_is_completed_and_waits() -> None:
    stored = created(job("sweep", spec={"parallelism": 2}), POLICY)
    assert stored["spec"]["suspend"] is True
    assert labels(stored) == {
        contract.FRAMEWORK: "none",
        contract.JOB: "sweep",
        contract.ROLE: "worker",
        contract.MIN: "2",
        contract.MAX: "2",
    }
    look_again(stored, POLICY)


def test_it_gets_the_namespaces_framework() -> None:
    stored = created(job("net"), opted_in(framework="pytorch"))
    assert labels(stored)[contract.FRAMEWORK] == "pytorch"
    assert stored["spec"]["completionMode"] == "Indexed"


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "paddle"])
@pytest.mark.parametrize("completions", [2, 4])
def test_the_ranks_of_its_own_fix_its_size_and_each_must_succeed(
    framework: str, completions: int
) -> None:
    spec = {"completions": completions, "parallelism": completions, "completionMode": "Indexed"}
    policy = opted_in(framework=framework, default_min=2, default_max=8)
    verdict = create(job("shards", spec=spec), policy)
    stored = verdict.manifest
    assert verdict.warnings == ()
    assert (labels(stored)[contract.MIN], labels(stored)[contract.MAX]) == (str(completions),) * 2
    assert stored["spec"]["completions"] == completions
    assert stored["spec"]["successPolicy"] == {"rules": [{"succeededCount": completions}]}
    look_again(stored, policy)


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "paddle"])
@pytest.mark.parametrize(
    "fields",
    [{"completionMode": "NonIndexed"}, {"completionMode": "Indexed", "backoffLimitPerIndex": 1}],
)
def test_static_shards_stay_an_ordinary_job(framework: str, fields: Json) -> None:
    """A shard that fails would restart the others, or fail the Job that tolerates it."""
    given = job("shards", spec={"completions": 4, "parallelism": 4, **fields})
    verdict = create(given, opted_in(framework=framework, default_min=1, default_max=8))
    assert verdict.manifest is given
    assert verdict.warnings[1] == (
        "Job shards: spec.completions: 4 items that succeed or fail one by one, not ranks of a "
        "training; those have completionMode Indexed, and no backoffLimitPerIndex"
    )


def test_shards_with_a_key_of_ours_ask_to_be_managed() -> None:
    given = job(gpu="1", spec={"completions": 4, "parallelism": 4})
    found = created(given, opted_in(framework="pytorch"))
    assert (labels(found)[contract.MIN], labels(found)[contract.MAX]) == ("4", "4")
    assert found["spec"]["completionMode"] == "Indexed"


@pytest.mark.parametrize("framework", ["none", "pytorch", "tensorflow"])
@pytest.mark.parametrize("size", [{"parallelism": 1}, {"parallelism": 1, "completions": 1}, {}])
def test_one_pod_stays_one_pod(framework: str, size: Json) -> None:
    given = job("backup")
    del given["spec"]["parallelism"]
    policy = opted_in(framework=framework, default_min=2, default_max=8)
    verdict = create(changed(given, "spec", given["spec"] | size), policy)
    stored = verdict.manifest
    assert verdict.warnings == ()
    assert (labels(stored)[contract.MIN], labels(stored)[contract.MAX]) == ("1", "1")
    look_again(stored, policy)


@pytest.mark.parametrize("mode", ["Indexed", "NonIndexed"])
@pytest.mark.parametrize(("parallelism", "smallest"), [(1, "1"), (2, "2"), (3, "2")])
def test_its_work_items_run_at_most_as_many_at_a_time_as_its_file_says(
    mode: str, parallelism: int, smallest: str
) -> None:
    spec = {"completions": 5, "completionMode": mode, "parallelism": parallelism}
    policy = opted_in(default_min=2, default_max=8)
    verdict = create(job("migrations", spec=spec, pod=REQUESTS), policy)
    stored = verdict.manifest
    assert verdict.warnings == ()
    assert (labels(stored)[contract.MIN], labels(stored)[contract.MAX]) == (
        smallest,
        str(parallelism),
    )
    look_again(stored, policy)


def test_the_items_of_a_job_that_names_a_framework_get_the_default_max() -> None:
    spec = {"completions": 5, "parallelism": 1}
    stored = created(job("sweep", framework="none", spec=spec), opted_in(default_max=4))
    assert (labels(stored)[contract.MIN], labels(stored)[contract.MAX]) == ("1", "4")


@pytest.mark.parametrize("framework", ["none", "pytorch"])
def test_more_pods_than_its_file_asks_for_are_a_warning(framework: str) -> None:
    given = job("net", spec={"parallelism": 4}, pod=REQUESTS)
    verdict = create(given, opted_in(framework=framework, default_min=1, default_max=8))
    assert (
        'its max is 8 by a default of namespace "lab", above spec.parallelism 4: '
        'edl.dev/max: "4" keeps that'
    ) in verdict.warnings
    kept = create(changed(given, f"metadata labels {contract.MAX}", "4"), opted_in(default_max=8))
    assert not [text for text in kept.warnings if "its max is" in text]


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        (job("net", spec={"parallelism": 4}), ("1", "8")),
        (job("net", min="2"), ("2", "8")),
        (job("net", max="3"), ("1", "3")),
        (job("net", max="4", spec={"completions": 2, "parallelism": 2}), ("1", "4")),
    ],
)
def test_parallelism_alone_or_a_bound_of_its_own_asks_for_a_training(
    given: Json, bounds: tuple[str, str]
) -> None:
    policy = opted_in(framework="tensorflow", default_min=1, default_max=8)
    stored = created(given, policy)
    assert (labels(stored)[contract.MIN], labels(stored)[contract.MAX]) == bounds
    assert stored["spec"]["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}


def test_its_own_success_policy_stays() -> None:
    own = {"rules": [{"succeededIndexes": "0-1"}]}
    spec = {"completions": 4, "parallelism": 4, "completionMode": "Indexed", "successPolicy": own}
    stored = created(job("shards", spec=spec), opted_in(framework="pytorch", default_max=8))
    assert stored["spec"]["successPolicy"] == own


def test_a_framework_of_its_own_wins() -> None:
    stored = created(job("net", framework="none"), opted_in(framework="pytorch"))
    assert labels(stored)[contract.FRAMEWORK] == "none"


def test_elsewhere_it_is_left_alone() -> None:
    given = job()
    assert create(given, LAB).manifest is given


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"metadata labels {contract.INJECTION}", contract.DISABLED),
        (f"metadata labels {contract.KUEUE_QUEUE}", "team"),
        ("spec managedBy", "kueue.x-k8s.io/multikueue"),
        ("metadata ownerReferences", [CONTROLLED]),
        (
            "metadata ownerReferences",
            [CONTROLLED | {"kind": "CronJob", "apiVersion": "batch.volcano.sh/v1alpha1"}],
        ),
        ("metadata annotations helm.sh/hook", "pre-install"),
        ("metadata annotations argocd.argoproj.io/hook", "Sync"),
    ],
)
def test_a_job_that_opts_out_or_has_a_controller_is_left_alone(path: str, value: object) -> None:
    given = changed(job(), path, value)
    verdict = create(given, POLICY)
    assert (verdict.manifest, verdict.warnings) == (given, ())


@pytest.mark.parametrize(
    "owner",
    [
        {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True},
        {"kind": "ConfigMap", "name": "release"},
    ],
)
def test_a_cronjobs_job_is_ours_and_so_is_one_that_only_goes_with_another_object(
    owner: Json,
) -> None:
    stored = created(changed(job("nightly-29001"), "metadata ownerReferences", [owner]), POLICY)
    assert labels(stored)[contract.JOB] == "nightly-29001"


def test_a_generated_name_works_without_a_framework() -> None:
    nameless = changed(changed(job(), "metadata name", None), "metadata generateName", "sweep-")
    stored = created(nameless, POLICY)
    assert stored["spec"]["suspend"] is True
    look_again(changed(stored, "metadata name", "sweep-x7k2p"), POLICY)


def test_a_job_that_does_not_fit_and_never_asked_stays_ordinary_with_a_warning() -> None:
    nameless = changed(changed(job(), "metadata name", None), "metadata generateName", "sweep-")
    verdict = create(nameless, opted_in(framework="tensorflow"))
    assert verdict.manifest is nameless
    first, second = verdict.warnings
    assert first == (
        "Job sweep-*: an ordinary Job, not elastic: it does not fit tensorflow, the default of "
        'namespace "lab"; edl.dev/injection: disabled says that it need not'
    )
    assert second.startswith("Job sweep-*: metadata.name: generateName gives no address")
    assert all(len(warning) <= 256 for warning in verdict.warnings), "the API server cuts longer"


@pytest.mark.parametrize("size", [{}, {"parallelism": 2}])
def test_a_job_of_fewer_pods_than_its_launcher_waits_for_stays_ordinary(size: Json) -> None:
    """Such as node 0 of a training whose nodes are Jobs that their user wrote one by one."""
    command = ["torchrun", "--nnodes=3", "--node_rank=0", "--master_addr=node0", "train.py"]
    given = job("node0", spec=size, pod={"containers": [{"name": "main", "command": command}]})
    verdict = create(given, opted_in(framework="pytorch", default_min=1, default_max=8))
    assert verdict.manifest is given
    assert [text for text in verdict.warnings if "below 3, the number of peers" in text]


def test_a_job_that_asks_to_be_managed_is_told_of_the_peers_that_its_launcher_waits_for() -> None:
    pods = {"containers": [{"name": "main", "command": ["torchrun", "--nnodes=3", "train.py"]}]}
    verdict = create(job("net", gpu="1", pod=pods), opted_in(framework="pytorch"))
    assert labels(verdict.manifest)[contract.FRAMEWORK] == "pytorch"
    assert [text for text in verdict.warnings if "below 3, the number of peers" in text]


def test_a_default_may_give_a_launcher_the_peers_that_it_waits_for() -> None:
    command = ["torchrun", "--nnodes=3", "train.py"]
    pods = {"containers": [{"name": "main", "command": command}]}
    given = job("net", spec={"parallelism": 2}, pod=pods)
    stored = created(given, opted_in(framework="pytorch", default_min=3, default_max=8))
    assert (labels(stored)[contract.MIN], labels(stored)[contract.MAX]) == ("3", "8")


def test_a_labelled_one_that_another_framework_fits_hears_whence_its_framework_comes() -> None:
    with pytest.raises(Denied) as denied:
        create(job(annotations={"slots": "x"}), opted_in(framework="horovod"))
    *_, origin = denied.value.findings
    assert len(denied.value.findings) == 3
    assert origin == Finding(
        "metadata.labels[edl.dev/framework]",
        '"horovod" is the edl.dev/default-framework of namespace "lab"',
        "name another, or opt out by edl.dev/injection: disabled",
    )


@pytest.mark.parametrize(
    "given", [job(max="2", min="3"), job(annotations={"slots": "x"}), job(gpu="1.5")]
)
def test_a_problem_under_every_framework_is_the_only_one(given: Json) -> None:
    with pytest.raises(Denied) as denied:
        create(given, opted_in(framework="pytorch"))
    (finding,) = denied.value.findings
    assert finding.path != "metadata.labels[edl.dev/framework]"


def test_a_job_that_opts_out_and_in_is_refused() -> None:
    given = job(framework="none", injection="disabled")
    for policy in (LAB, POLICY):
        with pytest.raises(Denied, match=r'"disabled" beside edl.dev/framework; remove one'):
            create(given, policy)


def test_a_word_that_opts_neither_in_nor_out_is_refused() -> None:
    with pytest.raises(Denied, match=r'injection\]: "disable" beside'):
        create(job(injection="disable"), POLICY)


def test_bare_pods_are_never_ours_by_their_namespace() -> None:
    given = pod()
    assert create(given, POLICY).manifest is given


def test_an_update_adopts_no_job() -> None:
    old, new = job(), job(team="vision")
    assert mutate(AdmissionRequest("UPDATE", new, old, USER, POLICY), CONTEXT).manifest is new


def test_its_users_suspend_is_a_pause() -> None:
    stored = created(job(spec={"suspend": True}), POLICY)
    assert annotations(stored)[contract.PAUSED] == contract.TRUE


def test_its_labels_belong_to_it_as_if_its_user_had_written_them() -> None:
    stored = created(job("sweep"), POLICY)
    with pytest.raises(Denied, match="it cannot change after creation"):
        update(changed(stored, f"metadata labels {contract.FRAMEWORK}", None), stored, POLICY)


def test_opting_out_later_is_refused() -> None:
    stored = created(job("sweep"), POLICY)
    with pytest.raises(Denied, match='"disabled" beside '):
        update(changed(stored, f"metadata labels {contract.INJECTION}", "disabled"), stored, POLICY)


def test_the_second_pass_finds_nothing_to_do() -> None:
    stored = created(job("sweep"), POLICY)
    verdict = create(stored, POLICY)
    assert (verdict.manifest, verdict.warnings) == (stored, ())


def test_a_ceiling_is_all_that_a_job_above_it_hears_of() -> None:
    """The framework of its namespace fits it: naming another one would not help."""
    with pytest.raises(Denied) as denied:
        create(job(max="9"), opted_in(framework="pytorch", largest_max=4))
    (found,) = denied.value.findings
    assert found.path == "metadata.labels[edl.dev/max]"

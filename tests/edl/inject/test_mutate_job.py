import pytest

from edl import contract
from edl.contract import COMPLETION_INDEX_ENV, TF_CONFIG_ENV
from edl.writes import Json
from tests.edl.manifests import (
    created,
    environment,
    horovod,
    job,
    labels,
    pod_spec,
    role_manifest,
    template,
)


def containers(*own: Json) -> Json:
    return {"containers": [{"name": f"c{i}", "image": "busybox"} | c for i, c in enumerate(own)]}


@pytest.mark.parametrize("parallelism", [0, None])
def test_a_job_without_a_size_of_its_own_waits_at_one(parallelism: int | None) -> None:
    manifest = job("t", framework="tensorflow", min="2", spec={"parallelism": parallelism})
    spec = created(manifest)["spec"]
    assert (spec["parallelism"], spec["completions"]) == (1, 1)


def test_the_index_stands_first_in_every_container() -> None:
    own = {"env": [{"name": "A", "value": "1"}]}
    inits = [{"name": "fetch", "image": "busybox"}]
    spec = pod_spec(
        created(role_manifest("worker", pod=containers(own, {}) | {"initContainers": inits}))
    )
    for container in (*spec["initContainers"], *spec["containers"]):
        first, second, *_ = container["env"]
        assert first == {
            "name": COMPLETION_INDEX_ENV,
            "valueFrom": {
                "fieldRef": {
                    "apiVersion": "v1",
                    "fieldPath": (
                        "metadata.annotations['batch.kubernetes.io/job-completion-index']"
                    ),
                }
            },
        }
        assert second["name"] == TF_CONFIG_ENV


def test_own_variables_stay_and_can_refer_to_ours() -> None:
    own = [{"name": "RANK", "value": "$(JOB_COMPLETION_INDEX)"}]
    found = environment(created(role_manifest("worker", pod=containers({"env": own}))))
    assert list(found) == [COMPLETION_INDEX_ENV, TF_CONFIG_ENV, "RANK"]


@pytest.mark.parametrize("name", [COMPLETION_INDEX_ENV, contract.CLUSTER_ENV])
def test_what_refers_to_an_own_variable_follows_it(name: str) -> None:
    own = [{"name": name, "value": "7"}, {"name": "OTHER", "value": "x"}]
    manifest = job("t", framework="tensorflow", pod=containers({"env": own}))
    found = list(environment(created(manifest)))
    assert found.index(name) < found.index(TF_CONFIG_ENV)
    assert found.index(COMPLETION_INDEX_ENV) < found.index(TF_CONFIG_ENV)
    assert environment(created(manifest))[name] == "7"


def test_a_variable_may_refer_to_ours_beside_an_override_of_another() -> None:
    own = [
        {"name": "PET_NPROC_PER_NODE", "value": "4"},
        {"name": "STORE", "value": "tcp://$(PET_RDZV_ENDPOINT)"},
    ]
    found = list(environment(created(job(framework="pytorch", pod=containers({"env": own})))))
    assert found.index("PET_RDZV_ENDPOINT") < found.index("STORE")


def test_variables_that_refer_to_an_override_through_another_follow_it() -> None:
    own = [{"name": COMPLETION_INDEX_ENV, "value": "7"}]
    manifest = job(framework="paddle", min="1", max="2", pod=containers({"env": own}))
    found = list(environment(created(manifest)))
    assert found.index("PADDLE_TRAINERS_NUM") < found.index(COMPLETION_INDEX_ENV)
    assert found.index(COMPLETION_INDEX_ENV) < found.index("PADDLE_TRAINER_ID")


def test_the_port_opens_on_the_first_container_only() -> None:
    found = pod_spec(created(role_manifest("worker", pod=containers({}, {}))))["containers"]
    assert [port["name"] for port in found[0]["ports"]] == ["tfjob-port"]
    assert "ports" not in found[1]


@pytest.mark.parametrize(
    "own",
    [
        {"containerPort": 2222, "name": "mine", "protocol": "TCP"},
        {"containerPort": 3333, "name": "tfjob-port", "protocol": "TCP"},
    ],
)
def test_an_own_port_of_that_name_or_number_stays_alone(own: Json) -> None:
    (found,) = pod_spec(created(role_manifest("worker", pod=containers({"ports": [own]}))))[
        "containers"
    ]
    assert found["ports"] == [own]


def test_another_port_stays_beside_ours() -> None:
    own = {"containerPort": 6006, "name": "board", "protocol": "TCP"}
    (found,) = pod_spec(created(role_manifest("worker", pod=containers({"ports": [own]}))))[
        "containers"
    ]
    assert [port["name"] for port in found["ports"]] == ["board", "tfjob-port"]


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_an_own_wish_about_neighbours_wins(kind: str) -> None:
    own: Json = {kind: {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    assert pod_spec(created(role_manifest("ps", pod={"affinity": own})))["affinity"] == own


def test_an_own_spread_over_nodes_has_no_preference_against_it() -> None:
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname"}
    own: Json = {"topologySpreadConstraints": [spread | {"whenUnsatisfiable": "ScheduleAnyway"}]}
    assert "affinity" not in pod_spec(created(role_manifest("ps", pod=own)))
    assert "affinity" in pod_spec(
        created(role_manifest("ps", pod={"topologySpreadConstraints": []}))
    )


@pytest.mark.parametrize(
    "own",
    [
        {"schedulerName": "mine"},
        {"serviceAccountName": "trainer"},
        {"nodeSelector": {"gpu": "yes"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"priorityClassName": "low"},
        {"restartPolicy": "OnFailure"},
        {"volumes": [{"name": "data", "emptyDir": {}}]},
    ],
    ids=lambda own: next(iter(own)),
)
def test_what_a_pod_says_itself_stays(own: Json) -> None:
    found = pod_spec(created(role_manifest("worker", pod=own)))
    assert {name: found[name] for name in own} == own


def test_sidecars_have_the_live_files_and_other_init_containers_do_not() -> None:
    inits = [
        {"name": "side", "restartPolicy": "Always"},
        {"name": "once"},
        {"name": "retried", "restartPolicy": "OnFailure"},
    ]
    made = pod_spec(created(horovod("launcher", pod={"initContainers": inits})))
    paths = {
        container["name"]: {mount["mountPath"] for mount in container.get("volumeMounts") or ()}
        for container in (*made["initContainers"], *made["containers"])
    }
    assert "/etc/mpi" in paths["side"]
    assert paths["side"] == list(paths.values())[-1] - {contract.KUBECTL_DIRECTORY}
    assert (paths["once"], paths["retried"]) == (set(), set())


def test_sidecars_have_neither_the_key_nor_kubectl() -> None:
    inits = [{"name": "side", "restartPolicy": "Always"}]
    notes = {"mode": "ssh"}
    worker = pod_spec(created(horovod("worker", annotations=notes, pod={"initContainers": inits})))
    assert contract.SSH_DIRECTORY in [
        m["mountPath"] for m in worker["containers"][0]["volumeMounts"]
    ]
    assert worker["initContainers"][-1].get("volumeMounts") is None
    launcher = pod_spec(created(horovod("launcher", pod={"initContainers": inits})))
    (side,) = (one for one in launcher["initContainers"] if one["name"] == "side")
    assert contract.KUBECTL_DIRECTORY not in [m["mountPath"] for m in side["volumeMounts"]]


def test_the_template_labels_pods_with_their_job_and_role() -> None:
    manifest = role_manifest("worker")
    manifest["spec"]["template"]["metadata"] = {"labels": {"team": "vision"}}
    assert labels(template(created(manifest))) == {
        "team": "vision",
        contract.FRAMEWORK: "tensorflow",
        contract.JOB: "mnist",
        contract.ROLE: "worker",
    }


@pytest.mark.parametrize("broken", [None, []])
def test_pods_without_containers_are_the_api_servers_to_refuse(broken: object) -> None:
    stored = created(role_manifest("worker", pod={"containers": broken}))
    assert pod_spec(stored)["containers"] == broken

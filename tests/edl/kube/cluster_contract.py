"""What every `Cluster` promises; run on the fake and on a real API server."""

import json
from collections.abc import Iterator
from threading import Timer

import pytest

from edl.errors import AlreadyExists, Conflict, NotFound
from edl.kube.cluster import (
    Cluster,
    ListOptions,
    LogRequest,
    PluginCluster,
    RawEvent,
    Watch,
)
from edl.model import ObjectRef
from edl.writes import Json


def lease(namespace: str, name: str, **labels: str) -> tuple[ObjectRef, Json]:
    manifest = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"holderIdentity": "ann", "leaseTransitions": 1},
    }
    return ObjectRef("Lease", namespace, name), manifest


def pod(namespace: str, name: str, **spec: object) -> tuple[ObjectRef, Json]:
    """Without a kubelet: bound to a node that does not exist, where `spec` binds it."""
    container = {"name": "main", "image": "none"}
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], "automountServiceAccountToken": False} | spec,
    }
    return ObjectRef("Pod", namespace, name), manifest


def names(items: tuple[bytes, ...]) -> list[str]:
    return [json.loads(item)["metadata"]["name"] for item in items]


def version_of(body: Json) -> str:
    return str(body["metadata"]["resourceVersion"])


def take(watch: Watch, count: int) -> list[tuple[str, str]]:
    """The next events' types and names, bookmarks left out; ten seconds at most."""
    timer = Timer(10, watch.close)
    timer.start()
    try:
        return [
            (event.type, json.loads(event.object)["metadata"]["name"])
            for _, event in zip(range(count), _changes(watch), strict=False)
        ]
    finally:
        timer.cancel()


def _changes(watch: Watch) -> Iterator[RawEvent]:
    return (event for event in watch if event.type != "BOOKMARK")


class ClusterContract:
    """Subclasses give the fixtures `cluster` and `namespace` (an empty one)."""

    def test_what_is_created_can_be_read(self, cluster: Cluster, namespace: str) -> None:
        target, manifest = lease(namespace, "one")
        created = cluster.create(target, manifest)
        found = cluster.get(target)
        assert found == created
        assert found["spec"] == manifest["spec"]
        assert {"uid", "resourceVersion", "creationTimestamp"} <= found["metadata"].keys()

    def test_what_is_not_there_is_not_found(self, cluster: Cluster, namespace: str) -> None:
        target, _ = lease(namespace, "nobody")
        with pytest.raises(NotFound, match='"nobody" not found'):
            cluster.get(target)
        with pytest.raises(NotFound):
            cluster.patch(target, {"spec": {}})
        with pytest.raises(NotFound):
            cluster.delete(target)

    def test_a_name_is_given_once(self, cluster: Cluster, namespace: str) -> None:
        target, manifest = lease(namespace, "one")
        cluster.create(target, manifest)
        with pytest.raises(AlreadyExists, match="already exists"):
            cluster.create(target, manifest)

    def test_a_name_is_generated(self, cluster: Cluster, namespace: str) -> None:
        target, manifest = lease(namespace, "")
        del manifest["metadata"]["name"]
        manifest["metadata"]["generateName"] = "made-"
        made = [cluster.create(target, manifest)["metadata"]["name"] for _ in range(2)]
        assert all(name.startswith("made-") for name in made)
        assert len(set(made)) == 2

    def test_a_merge_patch_merges_and_null_removes(self, cluster: Cluster, namespace: str) -> None:
        target, manifest = lease(namespace, "one", a="1", b="2")
        created = cluster.create(target, manifest)
        body = {"metadata": {"labels": {"a": None, "c": "3"}}, "spec": {"leaseTransitions": 2}}
        patched = cluster.patch(target, body)
        assert patched["metadata"]["labels"] == {"b": "2", "c": "3"}
        assert patched["spec"] == {"holderIdentity": "ann", "leaseTransitions": 2}
        assert int(version_of(patched)) > int(version_of(created))
        assert cluster.get(target) == patched

    def test_a_patch_that_changes_nothing_makes_no_version(
        self, cluster: Cluster, namespace: str
    ) -> None:
        target, manifest = lease(namespace, "one")
        created = cluster.create(target, manifest)
        patched = cluster.patch(target, {"spec": {"leaseTransitions": 1}})
        assert version_of(patched) == version_of(created)

    def test_a_patch_of_an_old_version_conflicts(self, cluster: Cluster, namespace: str) -> None:
        target, manifest = lease(namespace, "one")
        old = version_of(cluster.create(target, manifest))
        body = {"metadata": {"resourceVersion": old}, "spec": {"leaseTransitions": 2}}
        new = cluster.patch(target, body)
        with pytest.raises(Conflict, match="has been modified"):
            cluster.patch(target, {**body, "spec": {"leaseTransitions": 3}})
        assert cluster.get(target) == new

    def test_delete_of_an_old_version_conflicts(self, cluster: Cluster, namespace: str) -> None:
        target, manifest = lease(namespace, "one")
        old = version_of(cluster.create(target, manifest))
        new = version_of(cluster.patch(target, {"spec": {"leaseTransitions": 2}}))
        with pytest.raises(Conflict):
            cluster.delete(target, version=old)
        cluster.delete(target, version=new)

    def test_delete_spares_an_object_that_took_the_name_since(
        self, cluster: Cluster, namespace: str
    ) -> None:
        target, manifest = lease(namespace, "one")
        old = cluster.create(target, manifest)["metadata"]["uid"]
        cluster.delete(target, uid=old)
        new = cluster.create(target, manifest)["metadata"]["uid"]
        with pytest.raises(Conflict):
            cluster.delete(target, uid=old)
        cluster.delete(target, uid=new)
        with pytest.raises(NotFound):
            cluster.get(target)

    def test_a_condition_is_added_to_the_others_and_replaces_its_own(
        self, cluster: Cluster, namespace: str
    ) -> None:
        target, manifest = pod(namespace, "worker", nodeName="nowhere")
        first = version_of(answer := cluster.create(target, manifest))
        one = {"type": "One", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for condition in (one, one | {"type": "Two"}, one | {"status": "False", "reason": "Why"}):
            answer = cluster.add_condition(target, condition, version_of(answer))
        found = cluster.get(target)
        assert answer["metadata"]["resourceVersion"] == version_of(found)
        states = {each["type"]: each["status"] for each in found["status"]["conditions"]}
        assert {name: states[name] for name in ("One", "Two")} == {"One": "False", "Two": "True"}
        assert found["spec"]["containers"][0]["image"] == "none"
        with pytest.raises(NotFound):
            cluster.add_condition(ObjectRef("Pod", namespace, "gone"), one, first)
        with pytest.raises(Conflict):
            cluster.add_condition(target, one, first)

    def test_a_dry_run_answers_and_changes_nothing(self, cluster: Cluster, namespace: str) -> None:
        target, manifest = lease(namespace, "one")
        assert cluster.create(target, manifest, dry_run=True)["spec"] == manifest["spec"]
        with pytest.raises(NotFound):
            cluster.get(target)
        created = cluster.create(target, manifest)
        answer = cluster.patch(target, {"spec": {"leaseTransitions": 2}}, dry_run=True)
        assert answer["spec"]["leaseTransitions"] == 2
        assert cluster.get(target) == created

    @pytest.mark.parametrize(
        ("selector", "chosen"),
        [
            ("", ["a", "b", "c"]),
            ("tier=web", ["a"]),
            ("tier!=web", ["b", "c"]),
            ("tier", ["a", "b"]),
            ("!tier", ["c"]),
            ("tier in (web, job),app", ["b"]),
            ("tier notin (web)", ["b", "c"]),
        ],
    )
    def test_a_list_holds_what_the_selector_chooses(
        self, cluster: Cluster, namespace: str, selector: str, chosen: list[str]
    ) -> None:
        for target, manifest in (
            lease(namespace, "a", tier="web"),
            lease(namespace, "b", tier="job", app="x"),
            lease(namespace, "c"),
        ):
            cluster.create(target, manifest)
        listing = cluster.list(ListOptions("Lease", namespace, selector))
        assert names(listing.items) == chosen

    def test_a_list_of_all_namespaces_holds_this_one(
        self, cluster: Cluster, namespace: str
    ) -> None:
        cluster.create(*lease(namespace, "one", only=namespace))
        assert names(cluster.list(ListOptions("Lease", labels=f"only={namespace}")).items) == [
            "one"
        ]

    def test_events_are_listed_by_what_they_are_about(
        self, cluster: Cluster, namespace: str
    ) -> None:
        for name in ("one", "two"):
            about = {"kind": "Pod", "namespace": namespace, "name": name}
            body = {"metadata": {"name": f"of-{name}"}, "involvedObject": about, "reason": "Seen"}
            body["type"] = "Warning" if name == "two" else "Normal"
            cluster.create(ObjectRef("Event", namespace, f"of-{name}"), body)

        def found(fields: str) -> list[str]:
            return names(cluster.list(ListOptions("Event", namespace, fields=fields)).items)

        assert found("involvedObject.name=two") == ["of-two"]
        assert found("involvedObject.kind=Pod,type=Warning") == ["of-two"]
        assert found("involvedObject.kind=Job,type=Warning") == []

    def test_a_list_by_name_holds_that_object_of_each_namespace(
        self, cluster: Cluster, namespace: str
    ) -> None:
        for name in ("one", "two"):
            cluster.create(*lease(namespace, f"{namespace}-{name}"))
        selection = ListOptions("Lease", name=f"{namespace}-two")
        assert names(cluster.list(selection).items) == [f"{namespace}-two"]

    def test_a_watch_by_name_tells_of_that_object_alone(
        self, cluster: Cluster, namespace: str
    ) -> None:
        selection = ListOptions("Lease", namespace, name="two")
        watch = cluster.watch(selection, cluster.list(selection).version)
        for name in ("one", "two"):
            cluster.create(*lease(namespace, name))
        cluster.patch(lease(namespace, "two")[0], {"spec": {"leaseTransitions": 2}})
        assert take(watch, 2) == [("ADDED", "two"), ("MODIFIED", "two")]
        watch.close()

    def test_pages_are_the_list(self, cluster: Cluster, namespace: str) -> None:
        for name in ("a", "b"):
            cluster.create(*lease(namespace, name))
        pages = list(cluster.pages(ListOptions("Lease", namespace)))
        assert [name for page in pages for name in names(page.items)] == ["a", "b"]
        assert int(pages[0].version) > 0

    def test_a_watch_tells_what_happens_after_the_list(
        self, cluster: Cluster, namespace: str
    ) -> None:
        target, manifest = lease(namespace, "one")
        selection = ListOptions("Lease", namespace)
        listing = cluster.list(selection)
        cluster.create(target, manifest)
        watch = cluster.watch(selection, listing.version)
        cluster.patch(target, {"spec": {"leaseTransitions": 2}})
        cluster.delete(target)
        assert take(watch, 3) == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]
        watch.close()

    def test_a_watch_by_label_reports_objects_that_gain_and_lose_the_label(
        self, cluster: Cluster, namespace: str
    ) -> None:
        target, manifest = lease(namespace, "one")
        selection = ListOptions("Lease", namespace, "in=yes")
        watch = cluster.watch(selection, cluster.list(selection).version)
        cluster.create(target, manifest)
        cluster.create(*lease(namespace, "other", **{"in": "no"}))
        cluster.patch(target, {"metadata": {"labels": {"in": "yes"}}})
        cluster.patch(target, {"metadata": {"labels": {"in": "no"}}})
        assert take(watch, 2) == [("ADDED", "one"), ("DELETED", "one")]
        watch.close()

    def test_a_deletion_carries_a_version_of_its_own(
        self, cluster: Cluster, namespace: str
    ) -> None:
        target, manifest = lease(namespace, "one")
        created = cluster.create(target, manifest)
        watch = cluster.watch(ListOptions("Lease", namespace), version_of(created))
        cluster.delete(target)
        event = next(_changes(watch))
        watch.close()
        assert event.type == "DELETED"
        assert int(version_of(json.loads(event.object))) > int(version_of(created))

    def test_a_bound_pod_that_is_deleted_stays_for_its_grace_period(
        self, cluster: Cluster, namespace: str
    ) -> None:
        target, manifest = pod(namespace, "p", nodeName="none", terminationGracePeriodSeconds=50)
        created = cluster.create(target, manifest)
        watch = cluster.watch(ListOptions("Pod", namespace), version_of(created))
        cluster.delete(target, version=version_of(created))
        found = cluster.get(target)
        assert found["metadata"]["deletionGracePeriodSeconds"] == 50
        assert found["metadata"]["deletionTimestamp"] > created["metadata"]["creationTimestamp"]
        assert found["metadata"]["uid"] == created["metadata"]["uid"]
        assert take(watch, 1) == [("MODIFIED", "p")]
        watch.close()
        cluster.delete(target)
        assert cluster.get(target) == found
        with pytest.raises(AlreadyExists, match="already exists"):
            cluster.create(target, manifest)

    @pytest.mark.parametrize(
        "spec",
        [{"schedulerName": "none"}, {"nodeName": "none", "terminationGracePeriodSeconds": 0}],
        ids=["unbound", "0"],
    )
    def test_a_pod_without_a_grace_period_is_gone_at_once(
        self, cluster: Cluster, namespace: str, spec: Json
    ) -> None:
        target, manifest = pod(namespace, "p", **spec)
        cluster.create(target, manifest)
        cluster.delete(target)
        with pytest.raises(NotFound):
            cluster.get(target)

    def test_what_has_a_finalizer_stays_until_the_last_is_removed(
        self, cluster: Cluster, namespace: str
    ) -> None:
        target, manifest = lease(namespace, "one")
        finalizers = ["example.com/a", "example.com/b"]
        manifest["metadata"]["finalizers"] = finalizers
        created = cluster.create(target, manifest)
        watch = cluster.watch(ListOptions("Lease", namespace), version_of(created))
        cluster.delete(target)
        assert "deletionTimestamp" in cluster.get(target)["metadata"]
        cluster.patch(target, {"metadata": {"finalizers": finalizers[1:]}})
        assert cluster.get(target)["metadata"]["finalizers"] == finalizers[1:]
        cluster.patch(target, {"metadata": {"finalizers": []}})
        with pytest.raises(NotFound):
            cluster.get(target)
        assert take(watch, 3) == [("MODIFIED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]
        watch.close()

    def test_it_lists_the_kinds_that_it_serves(self, cluster: Cluster) -> None:
        assert cluster.serves("Lease")
        assert not cluster.serves("NodePool")

    def test_another_thread_ends_a_watch(self, cluster: Cluster, namespace: str) -> None:
        selection = ListOptions("Lease", namespace)
        watch = cluster.watch(selection, cluster.list(selection).version)
        Timer(0.2, watch.close).start()
        assert list(_changes(watch)) == []

    def test_what_is_applied_is_created_and_then_changed(
        self, cluster: PluginCluster, namespace: str
    ) -> None:
        target, manifest = lease(namespace, "one")
        assert cluster.apply(target, manifest, dry_run=True)["spec"] == manifest["spec"]
        with pytest.raises(NotFound):
            cluster.get(target)
        created = cluster.apply(target, manifest)
        assert version_of(cluster.apply(target, manifest)) == version_of(created)
        changed = manifest | {"spec": manifest["spec"] | {"leaseTransitions": 2}}
        assert cluster.apply(target, changed, force=True)["spec"] == changed["spec"]
        assert cluster.get(target)["metadata"]["uid"] == created["metadata"]["uid"]

    def test_a_deletion_that_is_only_tried_deletes_nothing(
        self, cluster: PluginCluster, namespace: str
    ) -> None:
        target, manifest = lease(namespace, "one")
        created = cluster.create(target, manifest)
        cluster.delete(target, dry_run=True)
        assert cluster.get(target) == created
        with pytest.raises(Conflict):
            cluster.delete(target, uid="another", dry_run=True)
        cluster.delete(target, uid=created["metadata"]["uid"])
        with pytest.raises(NotFound):
            cluster.get(target)

    def test_the_log_of_a_pod_that_is_not_there_is_not_found(
        self, cluster: PluginCluster, namespace: str
    ) -> None:
        with pytest.raises(NotFound, match='"nobody" not found'):
            cluster.log(LogRequest(ObjectRef("Pod", namespace, "nobody"), "main"))

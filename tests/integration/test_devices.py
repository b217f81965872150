"""Dynamic resource allocation: kube-scheduler allocates the devices that a plan has counted.

A driver's part is played by ResourceSlices that each test publishes for simulated nodes, under a
driver and a class of its own.
"""

from collections.abc import Iterator

import pytest

from edl.errors import Invalid, NotFound
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json
from tests import devices
from tests.devices import asking, claiming, gpus
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration


class Driver:
    """Devices of nodes, under the name of the test's namespace; gone after the test."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.name = f"{stage.namespace}.example.com"
        self._made: list[ObjectRef] = []
        nodes = stage.kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}")
        self.nodes = sorted(nodes.split())

    def create(self, body: Json, namespace: str = "") -> Json:
        body["metadata"] = {"name": body["metadata"]["name"]}
        target = ObjectRef(body["kind"], namespace, body["metadata"]["name"])
        if not namespace:
            self._made.append(target)
        return self.stage.api.create(target, body)

    def publish(self, node: str, count: int, large: int = 0) -> None:
        """`large`: how many of these devices have more memory than the others; the last ones."""
        small = count - large
        found = [*gpus(small), *gpus(count, "80Gi")[small:]]
        body = devices.resource_slice(node, found, driver=self.name)
        body["metadata"]["name"] = f"{node}-{self.name}"
        self.create(body)

    def publish_parts(self, node: str) -> None:
        """A GPU, or up to three slices of it."""
        found: list[Json] = []
        for name, kind, takes in [("a", "gpu", "3"), *((f"a-{n}", "slice", "1") for n in range(3))]:
            taken = {"counterSet": "a", "counters": {"slices": {"value": takes}}}
            of = devices.attributes(type=kind)
            found.append({"name": name, "attributes": of, "consumesCounters": [taken]})
        shared = [{"name": "a", "counters": {"slices": {"value": "3"}}}]
        pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
        for name, content in (
            ("counters", {"sharedCounters": shared}),
            ("parts", {"devices": found}),
        ):
            body = devices.resource_slice(node, [], driver=self.name, pool=pool)
            body["spec"].pop("devices")
            body["spec"] |= content
            body["metadata"]["name"] = f"{node}-{self.name}-{name}"
            self.create(body)

    def serve_kind(self, kind: str) -> str:
        """A DeviceClass of its devices of this type."""
        body = devices.device_class(
            f"{kind}.{self.name}",
            f'device.driver == "{self.name}" && device.attributes["{self.name}"].type == "{kind}"',
        )
        self.create(body)
        return str(body["metadata"]["name"])

    def serve(self, name: str = "", extended: str = "") -> str:
        """A DeviceClass of the driver; its name."""
        name = name or self.name
        expression = f'device.driver == "{self.name}"'
        self.create(devices.device_class(name, expression, extended=extended))
        return name

    def serve_large(self) -> str:
        """A DeviceClass of its devices with much memory."""
        memory = f'device.capacity["{self.name}"].memory.compareTo(quantity("80Gi")) >= 0'
        name = f"large.{self.name}"
        self.create(devices.device_class(name, f'device.driver == "{self.name}"', memory))
        return name

    def template(self, name: str, *requests: Json) -> None:
        namespace = self.stage.namespace
        self.create(devices.template(name, *requests, namespace=namespace), namespace)

    def withdraw(self) -> None:
        for target in reversed(self._made):
            self.stage.api.delete(target)

    def allocated(self) -> int:
        """Devices that claims of the test's namespace hold."""
        found = (one.get("status", {}) for one in self.stage.all("ResourceClaim"))
        return sum(
            len(one["allocation"]["devices"]["results"]) for one in found if "allocation" in one
        )


@pytest.fixture
def driver(installed: Stage) -> Iterator[Driver]:
    try:
        installed.api.list(ListOptions("ResourceSlice"))
    except NotFound:
        pytest.skip("this API server does not serve resource.k8s.io/v1")
    made = Driver(installed)
    yield made
    made.withdraw()


def test_a_kind_that_is_not_served_is_not_found(installed: Stage) -> None:
    """So it is known whether an API server has devices at all."""
    with pytest.raises(NotFound):
        installed.api.list(ListOptions("Issuer"))  # of cert-manager, which is not installed


def other(name: str, spec: Json) -> Json:
    """A pod of another owner."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
    whole = {"containers": [container], "terminationGracePeriodSeconds": 1} | spec
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": whole}


def train(name: str, low: int, high: int, spec: Json) -> Json:
    labels = {"min": str(low), "max": str(high)}
    return elastic(name, "100m", labels=labels, parallelism=low, pod=spec)


def test_a_gang_waits_until_its_devices_are_free(driver: Driver) -> None:
    """All are free but one: no pod of the gang starts, and its job says what lacks."""
    stage, name = driver.stage, driver.serve()
    driver.template("pair", asking(2, of=name))
    driver.template("one", asking(1, of=name))
    for node in driver.nodes[:2]:
        driver.publish(node, 4)
    stage.apply(other("holder", claiming("one")))
    stage.until(lambda: driver.allocated() == 1, "the pod of others has its device")
    stage.apply(train("gang", 4, 4, claiming("pair")))
    lacks = f"Insufficient devices of DeviceClass {name}"
    stage.until(lambda: lacks in stage.message("gang"), "it says what lacks")
    assert not stage.pods("gang")
    stage.kubectl("delete", "pod", "holder")
    stage.until_runs("gang", 4)
    assert driver.allocated() == 8


def test_a_job_grows_into_idle_devices_and_gives_them_back(driver: Driver) -> None:
    stage, name = driver.stage, driver.serve()
    driver.template("one", asking(1, of=name))
    driver.publish(driver.nodes[0], 3)
    driver.publish(driver.nodes[1], 2)
    stage.apply(train("grows", 1, 16, claiming("one")))
    stage.until_runs("grows", 5)
    assert driver.allocated() == 5
    stage.apply(other("late", claiming("one")))
    stage.until(lambda: stage.size("grows") == 4, "one replica yields its device")
    stage.until(lambda: _phase(stage, "late") == "Running", "the pod of others runs")
    assert stage.running("grows") == 4


def test_extras_yield_devices_that_another_class_chooses_too(driver: Driver) -> None:
    """All devices are held by a job of the wide class; a job and a pod need large ones.

    The second node has small ones, too, so that it matters which pod holds which device.
    """
    stage, wide, large = driver.stage, driver.serve(), driver.serve_large()
    driver.template("any", asking(1, of=wide))
    driver.template("large", asking(1, of=large))
    driver.publish(driver.nodes[0], 2, large=2)
    driver.publish(driver.nodes[1], 6, large=3)
    stage.apply(train("grows", 1, 16, claiming("any")))
    stage.until_runs("grows", 8)
    stage.apply(train("needs", 3, 3, claiming("large")))
    stage.until_runs("needs", 3)
    stage.until_runs("grows", 5)
    stage.apply(other("late", claiming("large")))
    stage.until(lambda: _phase(stage, "late") == "Running", "the pod of others runs")
    stage.until_runs("grows", 4)
    assert driver.allocated() == 8


def test_an_extended_resource_of_a_class_is_counted(driver: Driver) -> None:
    """The pods name no claim: kube-scheduler makes one for each."""
    stage, name = driver.stage, driver.serve()
    if not _has_extended_resources(driver):
        pytest.skip("this API server has no extended resources of DeviceClasses")
    driver.publish(driver.nodes[0], 4)
    manifest = train("grows", 1, 16, {})
    resources = manifest["spec"]["template"]["spec"]["containers"][0]["resources"]
    resources["limits"] = {f"deviceclass.resource.kubernetes.io/{name}": "1"}
    stage.apply(manifest)
    stage.until_runs("grows", 4)
    assert driver.allocated() == 4
    driver.publish(driver.nodes[1], 2)
    stage.until_runs("grows", 6)


def test_a_whole_device_waits_until_its_parts_are_free(driver: Driver) -> None:
    """And slices grow into what others leave of it."""
    stage = driver.stage
    if not _keeps(driver, "ResourceSlice", _counting(driver), "sharedCounters"):
        pytest.skip("this API server has no partitions of devices")
    whole, part = driver.serve_kind("gpu"), driver.serve_kind("slice")
    driver.template("whole", asking(1, of=whole))
    driver.template("part", asking(1, of=part))
    driver.publish_parts(driver.nodes[0])
    stage.apply(other("holder", claiming("part")))
    stage.until(lambda: driver.allocated() == 1, "the pod of others has its slice")
    stage.apply(train("whole", 1, 1, claiming("whole")))
    lacks = f"Insufficient devices of DeviceClass {whole}"
    stage.until(lambda: lacks in stage.message("whole"), "it says what lacks")
    assert not stage.pods("whole")
    stage.kubectl("delete", "pod", "holder")
    stage.until_runs("whole", 1)
    stage.kubectl("delete", "job", "whole")
    stage.apply(train("grows", 1, 16, claiming("part")))
    stage.until_runs("grows", 3)


def test_a_job_runs_where_its_claim_is_allocated(driver: Driver) -> None:
    """A claim that a pod of others shares with it ties it to that pod's node."""
    stage, name = driver.stage, driver.serve()
    driver.publish(driver.nodes[2], 1)
    own = devices.claim("own", asking(1, of=name), namespace=stage.namespace)
    driver.create(own, stage.namespace)
    stage.apply(other("first", claiming(claims=("own",))))
    stage.until(lambda: _phase(stage, "first") == "Running", "the pod of others runs")
    manifest = train("shares", 2, 2, claiming(claims=("own",)))
    manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    stage.apply(manifest)
    stage.until_runs("shares", 2)
    assert {pod["spec"]["nodeName"] for pod in stage.pods("shares")} == {driver.nodes[2]}


def test_a_job_without_its_template_waits_for_it(driver: Driver) -> None:
    stage, name = driver.stage, driver.serve()
    driver.publish(driver.nodes[0], 1)
    stage.apply(train("waits", 1, 1, claiming("later")))
    missing = 'ResourceClaimTemplate "later" does not exist'
    stage.until(lambda: missing in stage.message("waits"), "it says what is missing")
    driver.template("later", asking(1, of=name))
    stage.until_runs("waits", 1)


def test_gpus_of_a_class_need_no_claims_of_their_users(driver: Driver) -> None:
    """The reconciler makes the template before the job starts, and the job takes it along."""
    stage, name = driver.stage, driver.serve()
    for node in driver.nodes[:2]:
        driver.publish(node, 4)
    manifest = train("net", 1, 16, {})
    manifest["metadata"]["labels"]["edl.dev/gpu"] = "2"
    manifest["metadata"]["annotations"] = {"edl.dev/gpu-class": name}
    stage.apply(manifest)
    stage.until_runs("net", 4)
    assert driver.allocated() == 8
    assert stage.exists("ResourceClaimTemplate", f"net-gpus-2.{name}")
    stage.kubectl("delete", "job", "net")
    stage.until(
        lambda: not stage.all("ResourceClaimTemplate") and not driver.allocated(),
        "nothing is left of it",
    )


def _phase(stage: Stage, pod: str) -> str:
    found = stage.api.get(ObjectRef("Pod", stage.namespace, pod))
    return str(found["status"].get("phase"))


def _has_extended_resources(driver: Driver) -> bool:
    body = devices.device_class(f"{driver.name}-try", extended="example.com/try")
    return _keeps(driver, "DeviceClass", body, "extendedResourceName")


def _counting(driver: Driver) -> Json:
    shared = [{"name": "a", "counters": {"slices": {"value": "3"}}}]
    body = devices.resource_slice("try", [], driver=driver.name, sharedCounters=shared)
    body["spec"].pop("devices")
    return body


def _keeps(driver: Driver, kind: str, body: Json, field: str) -> bool:
    """Whether the API server has a field; one that is behind a gate is dropped, or missed then."""
    body["metadata"] = {"name": body["metadata"]["name"]}
    target = ObjectRef(kind, "", body["metadata"]["name"])
    try:
        made = driver.stage.api.create(target, body, dry_run=True)
    except Invalid:
        return False
    return field in made["spec"]

"""Our image and the examples' in a cluster, and kubectl-edl from the first of them."""

import os
import sys

from dev import images, in_cluster
from sandbox import Sandbox
from sandbox.builds.build import BuildEnvironment
from sandbox.cluster import Cluster
from sandbox.paths import places


def load_image(cluster: Cluster, name: str) -> None:
    """Have the node of a sandbox know an image; other clusters have been given theirs."""
    if isinstance(cluster, Sandbox) and images.find(name).reference not in cluster.images():
        build_env = BuildEnvironment(places(os.environ).cache, os.environ)
        cluster.import_image(images.built(name, build_env, sys.stderr.write))


def load_images(cluster: Cluster, manifest: str) -> None:
    """Have the node know every image of ours that a manifest names."""
    for name in images.NAMES:
        if images.find(name).reference.removeprefix("docker.io/") in manifest:
            load_image(cluster, name)


def install(cluster: Cluster) -> None:
    """As `kubectl apply -k` does it, with the image that the sandbox's node lacks at first."""
    load_image(cluster, "kubectl-edl")
    in_cluster.apply(cluster)

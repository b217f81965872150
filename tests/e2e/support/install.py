"""Our image and the examples' in a cluster, and kubectl-edl from the first of them."""

import os

from sandbox import Sandbox, images, inside
from sandbox.named import Cluster


def load_image(cluster: Cluster, name: str) -> None:
    """Have the node of a sandbox know an image; other clusters have been given theirs."""
    if isinstance(cluster, Sandbox) and images.reference(name) not in cluster.images():
        cluster.import_image(images.built(name, os.environ))


def install(cluster: Cluster) -> None:
    """As `kubectl apply -k` does it, with the image that the sandbox's node lacks at first."""
    load_image(cluster, "kubectl-edl")
    inside.apply(cluster)

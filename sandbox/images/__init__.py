"""Images for a real node, built from their Dockerfiles without a container engine.

One recipe for here and for anywhere: what `docker build` makes elsewhere, a builder from the
distribution's packages makes here, on a base image that needs no registry.
"""

from sandbox.images.archives import build, kept, prune
from sandbox.images.image import Image

__all__ = ["Image", "build", "kept", "prune"]

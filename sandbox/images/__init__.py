"""The images that our own pods and the examples run, built here from their Dockerfiles.

One recipe for here and for anywhere: what `docker build` makes elsewhere, a builder from the
distribution's packages makes here, on a base image that needs no registry.
"""

from sandbox.images.archives import build, built, kept, prune
from sandbox.images.image import IMAGES, NAMES, Image, find, reference

__all__ = ["IMAGES", "NAMES", "Image", "build", "built", "find", "kept", "prune", "reference"]

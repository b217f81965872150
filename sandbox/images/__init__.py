"""Images for a real node, built from their Dockerfiles without a container engine.

The same Dockerfile works here and with `docker build`; here, a builder from the distribution's
packages is used, with a base image that needs no registry.
"""

from sandbox.images.archives import build, kept, prune
from sandbox.images.image_build import Image

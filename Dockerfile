# One image for the webhook, the reconciler and the plugin, with the kubectl that launchers borrow.
#   docker build -t kubectl-edl:0.1.0 .

# Tags, which their publishers move. To build from images that you have seen, name them by digest:
#   --build-arg DEBIAN=debian:12-slim@sha256:… --build-arg GOLANG=golang:1.26@sha256:…
ARG GOLANG=golang:1.26
ARG DEBIAN=debian:12-slim

# kubectl, from the public modules and under the checksums that the sandbox uses. Static: a launcher
# runs it in the user's own image. (`python -m dev.images build` puts its own in this place.)
FROM ${GOLANG} AS kubectl
WORKDIR /build
COPY sandbox/controlplane/1.37/go.mod sandbox/controlplane/1.37/go.sum ./
RUN version="$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" \
 && CGO_ENABLED=0 go build -trimpath \
      -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=${version}" \
      -o /kubectl k8s.io/kubernetes/cmd/kubectl

FROM ${DEBIAN} AS python
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log

# What we need lies in layers of its own, under the versions that the tests have seen and with the
# checksums of each file: an edit of ours installs nothing again. kubernetes/aio: 70 MB that nothing
# here imports.
FROM python AS needs
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv
WORKDIR /build
COPY requirements.lock ./
RUN python3 -m venv /opt/pip \
 && python3 -m venv --without-pip /opt/edl \
 && /opt/pip/bin/pip --python /opt/edl/bin/python install --no-cache-dir --no-deps \
      --require-hashes --only-binary :all: -r requirements.lock \
 && find /opt/edl -type d '(' -name tests -o -path '*/kubernetes/aio' ')' -prune -exec rm -rf {} +

# The build backend, too, has its version and checksums: pip fetches none in a build without isolation.
# It stays in this stage.
FROM needs AS package
COPY requirements-build.lock ./
RUN /opt/pip/bin/pip --python /opt/edl/bin/python install --no-cache-dir --no-deps \
      --require-hashes --only-binary :all: -r requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY edl edl
COPY certs certs
COPY manifests manifests
COPY webhook webhook
COPY reconciler reconciler
COPY kubectl_edl kubectl_edl
RUN /opt/pip/bin/pip --python /opt/edl/bin/python install --no-cache-dir --no-deps \
      --no-build-isolation --no-index --prefix /package .

FROM python
COPY --from=kubectl /kubectl /usr/local/bin/kubectl
COPY --from=needs /opt/edl /opt/edl
COPY --from=package /package /opt/edl
ENV PATH=/opt/edl/bin:$PATH \
    PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /
ENTRYPOINT ["python", "-m"]
CMD ["webhook", "--help"]

# One image for the webhook, the reconciler and the plugin, with the kubectl that launchers borrow.
#   docker build -t kubectl-edl:0.1.0 .
ARG GO_IMAGE=golang:1.26
ARG PYTHON_IMAGE=python:3.12-slim

# kubectl, from the public modules and under the checksums that the sandbox uses. Static: a launcher
# runs it in the user's own image.
FROM ${GO_IMAGE} AS kubectl
WORKDIR /build
COPY sandbox/controlplane/go.mod sandbox/controlplane/go.sum ./
RUN version="$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" \
 && CGO_ENABLED=0 go build -trimpath \
      -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=${version}" \
      -o /kubectl k8s.io/kubernetes/cmd/kubectl

FROM ${PYTHON_IMAGE} AS package
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY edl edl
COPY certs certs
COPY webhook webhook
COPY reconciler reconciler
COPY kubectl_edl kubectl_edl
RUN python -m venv /opt/edl && /opt/edl/bin/pip install --no-cache-dir .

FROM ${PYTHON_IMAGE}
COPY --from=kubectl /kubectl /usr/local/bin/kubectl
COPY --from=package /opt/edl /opt/edl
ENV PATH=/opt/edl/bin:$PATH \
    PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /
ENTRYPOINT ["python", "-m"]
CMD ["webhook", "--help"]

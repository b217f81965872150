"""What is installed into a cluster: `base` for kustomize, `release.yaml` for `kubectl apply`."""

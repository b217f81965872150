"""What is installed into a cluster: `base` for kustomize, `chart` for Helm, and their values."""

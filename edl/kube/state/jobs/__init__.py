"""Training jobs as their Jobs, pods and settings in the cluster describe them."""

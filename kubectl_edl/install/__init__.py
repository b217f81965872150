"""kubectl-edl into a cluster, to another version, and out of it again."""

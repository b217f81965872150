"""Programs for developers of kubectl-edl: the demo, both processes beside a cluster, pictures."""

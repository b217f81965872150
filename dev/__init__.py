"""What developers of kubectl-edl run: the demo, both processes beside a cluster, pictures."""

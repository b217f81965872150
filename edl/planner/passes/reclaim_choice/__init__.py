"""Which replicas a claim takes: the nodes that it clears, and pods that leave by name."""

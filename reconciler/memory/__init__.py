"""What the loop remembers between rounds, apart from the state of the cluster."""

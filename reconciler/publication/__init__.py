"""What the leader tells users in their namespaces."""

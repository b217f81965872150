"""What commands read from the cluster, and how they write to it."""

"""What the reconciler reports about itself and the cluster."""

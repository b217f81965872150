"""What asks an autoscaler for nodes: made, kept and taken away as a plan says."""

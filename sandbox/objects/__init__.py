"""API objects of a new cluster: nodes and volumes; and its admission configuration."""

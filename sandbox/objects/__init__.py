"""What a new cluster gets through its API: nodes, volumes, admission."""

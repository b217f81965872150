"""Reviews per second, and their latency beside other connections."""

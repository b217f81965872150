"""Reviews per second, and what other connections cost them."""

"""ConfigMaps that the leader publishes."""

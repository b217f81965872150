"""The server: listeners, connections and their limits."""

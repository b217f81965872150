"""The demo: elastic jobs queue, grow, shrink for a service and finish, on a real API server."""

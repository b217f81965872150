"""The demo: elastic jobs queue, start, grow, make room and finish, on a real API server."""

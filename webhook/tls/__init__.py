"""Certificates: the one that is served, and those of clients."""

"""The serving certificate, and the certificates of clients."""

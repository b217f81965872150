"""One API server over HTTP."""

"""Access to one API server over HTTP."""

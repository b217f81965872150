"""One module a command; each names its click command `COMMAND`."""

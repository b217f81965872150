"""From a Go module or a Debian package to a program in the cache."""

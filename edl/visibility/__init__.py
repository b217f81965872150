"""The queue as users of one namespace may see it, as values and writes without I/O."""

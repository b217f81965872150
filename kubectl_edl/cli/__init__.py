"""The command line itself: groups, shared options, errors, completion."""

"""A real node for a sandbox, whose pods run in the sandbox's own namespaces and cgroup."""

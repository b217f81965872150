"""Training jobs as users see them, for all commands: reasons, blockers, sizes, history, queue."""

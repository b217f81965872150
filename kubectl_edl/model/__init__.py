"""Training jobs as users see them: values, without access to the cluster."""

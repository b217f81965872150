"""Training jobs as users read them: values, no cluster."""

"""What several source kinds have in common: templates, replicas, policies."""

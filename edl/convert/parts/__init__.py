"""Parts that several source kinds share: templates, replicas, policies."""

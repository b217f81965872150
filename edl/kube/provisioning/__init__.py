"""What autoscalers of nodes answer."""

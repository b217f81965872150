"""What a user should know about a manifest that is valid."""

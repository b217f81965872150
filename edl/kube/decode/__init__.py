"""What one object says, read once per version."""

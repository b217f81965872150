"""`kubectl edl teams`."""

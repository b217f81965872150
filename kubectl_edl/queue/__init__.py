"""`kubectl edl queue`."""

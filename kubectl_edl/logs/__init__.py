"""`kubectl edl logs`."""

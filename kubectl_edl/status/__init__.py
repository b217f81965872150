"""`kubectl edl status`."""

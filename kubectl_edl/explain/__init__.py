"""`kubectl edl explain`."""

"""`kubectl edl version`."""

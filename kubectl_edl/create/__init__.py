"""`kubectl edl create`."""

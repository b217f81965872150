"""`kubectl edl top`."""

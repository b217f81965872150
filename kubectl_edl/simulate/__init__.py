"""`kubectl edl simulate`."""

"""`kubectl edl inject`."""

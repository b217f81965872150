"""`kubectl edl history`."""

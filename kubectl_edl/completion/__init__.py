"""`kubectl edl completion`."""

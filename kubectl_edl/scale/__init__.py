"""`kubectl edl scale`."""

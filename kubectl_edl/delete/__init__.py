"""`kubectl edl delete`."""

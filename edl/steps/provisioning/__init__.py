"""Creates and deletes the objects that request nodes from an autoscaler, as planned."""

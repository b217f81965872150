"""Scale-down of nodes by an autoscaler: which nodes are needed, and how extras leave the others."""

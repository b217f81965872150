"""What the loop knows between rounds, besides what stands in the cluster."""

"""Jobs on nodes that a real Karpenter creates and removes: ours, and Kueue's with fixed sizes."""

"""Jobs on nodes that a real Karpenter makes and removes: ours, and Kueue with jobs of one size."""

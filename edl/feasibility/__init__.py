"""Where a pod may run: rules of kube-scheduler and KubeShare, for plans and simulations alike."""

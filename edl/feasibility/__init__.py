"""Where a pod may run, by the rules of kube-scheduler and KubeShare, for plans and simulations."""

"""The parts of a simulated cluster: nodes, kube-scheduler, controllers, autoscaler and jobs."""

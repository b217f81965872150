"""What a simulated cluster consists of: nodes, kube-scheduler, controllers, jobs."""

"""What decorators of a cluster that change only `list` have in common."""

from edl.kube.cluster import PluginCluster


class DelegatingCluster:
    """Passes all requests but `list` on; a subclass that has it is a `PluginCluster` to mypy.

    `without_warnings` returns the cluster itself: it is for writes.
    """

    def __init__(self, cluster: PluginCluster) -> None:
        self._cluster = cluster
        self.system_namespace = cluster.system_namespace
        self.get, self.pages, self.watch = cluster.get, cluster.pages, cluster.watch
        self.create, self.patch, self.delete = cluster.create, cluster.patch, cluster.delete
        self.add_condition = cluster.add_condition
        self.apply, self.log, self.version = cluster.apply, cluster.log, cluster.version
        self.serves = cluster.serves
        self.clock_ahead, self.without_warnings = cluster.clock_ahead, cluster.without_warnings

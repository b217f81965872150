"""Which team each namespace belongs to, and what its pods hold."""

from collections.abc import Iterable, Mapping

from edl.kube.decode.object_facts import NamespaceFacts
from edl.model.teams import Teams


class NamespaceTeams:
    """The team of each namespace, found anew where its labels or the teams differ."""

    def __init__(self) -> None:
        self._teams = Teams()
        self._known: dict[NamespaceFacts, str] = {}
        self._found: dict[str, str] = {}

    def of(self, teams: Teams, namespaces: Iterable[NamespaceFacts]) -> Mapping[str, str]:
        """By name; nothing where no teams are configured. Equal answers are the same object."""
        if not teams:
            return {}
        known = self._known if teams == self._teams else {}
        self._teams = teams
        self._known = {
            one: known.get(one) or teams.team_of(one.name, dict(one.labels)) for one in namespaces
        }
        found = {one.name: team for one, team in self._known.items()}
        if found != self._found:
            self._found = found
        return self._found

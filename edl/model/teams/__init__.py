"""Teams, and what they hold."""

from edl.model.teams.namespace_pattern import NamespacePattern
from edl.model.teams.team_tree import DEFAULT_TEAM, Reclaim, Team, Teams

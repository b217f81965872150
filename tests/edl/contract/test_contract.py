import re
from collections import Counter

import pytest

from dev.reference import labels
from edl import contract
from edl.contract import registry
from edl.contract.registry import EntryKind, Setter
from edl.frameworks import FRAMEWORKS

CONSTANTS = {
    value: name
    for name, value in vars(contract).items()
    if name.isupper()
    and isinstance(value, str)
    and value.startswith(contract.PREFIX)
    and value != contract.PREFIX
}
ENTRIES = {entry.name: entry for entry in registry.ENTRIES}


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_every_name_of_ours_stands_in_the_contract(name: str) -> None:
    assert name in ENTRIES


def test_no_entry_is_listed_twice() -> None:
    counted = Counter(entry.name for entry in registry.ENTRIES)
    assert [name for name, times in counted.items() if times > 1] == []


def test_no_two_constants_spell_the_same_name() -> None:
    spelled = [
        name
        for name, value in vars(contract).items()
        if name.isupper() and isinstance(value, str) and value.startswith(contract.PREFIX)
    ]
    assert len(CONSTANTS) == len(spelled) - 1, "all but PREFIX itself are different"


def test_our_annotations_are_exactly_those_that_no_user_sets() -> None:
    assert {
        contract.INJECTED_MAX,
        contract.COMPLETED_BY,
        contract.STARTED_AT,
        contract.RESIZED_AT,
        contract.ADDED_REQUESTS,
        contract.DELAYED_UNTIL,
        contract.RESUMED_AT,
        contract.REASON,
        contract.CLEARED,
        contract.BELOW_MIN_SINCE,
        contract.REMOVED_PODS,
        contract.MESSAGE,
        contract.LAST_CHANGE,
        contract.WRITE_REFUSED,
        contract.CONSUMED_REQUEST,
        contract.LEAVING,
        contract.CLUSTER,
        contract.HOSTFILE,
        contract.MPI_HOSTFILE,
        contract.DISCOVER_HOSTS,
        contract.KUBEXEC_SCRIPT,
        contract.PUBLISHED_AT,
        contract.CONFIRMED_AT,
        contract.HISTORY,
        contract.SCALING,
        contract.SETTINGS,
        contract.UNNEEDED_NODES,
        contract.QUEUE_AS_OF,
        contract.FAILURES_AT_START,
        contract.EARLIER_RESTARTS,
        contract.NEW_WORKER,
        contract.WORKER_HOSTS,
        contract.WORKERS,
        contract.ASSIGNED_NODES,
        contract.ASSIGNED_NODE,
        contract.PLACED_AT,
        contract.PROVISIONING_FAILED,
        contract.PAUSED_BY,
        contract.RAISED_LIMIT,
    } == registry.OWNED_ANNOTATIONS


@pytest.mark.parametrize("name", contract.IMMUTABLE)
def test_what_is_immutable_is_the_users_to_set_once(name: str) -> None:
    assert ENTRIES[name].setter is Setter.USER
    assert ENTRIES[name].kind in (EntryKind.LABEL, EntryKind.ANNOTATION)


def test_bounds_stay_editable() -> None:
    assert not {contract.MIN, contract.MAX, contract.REPLICAS, contract.PAUSED} & {
        *contract.IMMUTABLE
    }


def test_no_user_writes_an_environment_variable_or_a_file_of_the_contract() -> None:
    injected = [
        entry for entry in registry.ENTRIES if entry.kind in (EntryKind.ENV, EntryKind.PATH)
    ]
    assert injected
    assert all(entry.setter is not Setter.USER for entry in injected)


def test_the_frameworks_that_the_contract_names_are_those_that_work() -> None:
    assert ENTRIES[contract.FRAMEWORK].values == ", ".join(FRAMEWORKS)


def test_every_entry_says_what_it_means() -> None:
    assert [entry.name for entry in registry.ENTRIES if not entry.meaning] == []


def test_each_entry_has_one_row_in_the_section_of_its_audience() -> None:
    text = labels.tables()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [title for title, _ in labels.SECTIONS]
    rows = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert sorted(rows) == sorted(entry.name for entry in registry.ENTRIES)

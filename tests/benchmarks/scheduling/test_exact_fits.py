"""The clusters that gangs fill, whether pods fit, and what counts as missed."""

from msgspec.structs import replace

from benchmarks.scheduling.exact_fits import CLUSTERS, DrawnCluster, drawn, fits, jobs
from benchmarks.scheduling.fit_records import HEAD, SOON, ClusterRecord, table
from edl import contract

DRAWN = [drawn(seed) for seed in range(CLUSTERS)]


def asked(cluster: DrawnCluster, pool: str) -> list[int]:
    found = [units for gang in cluster.gangs for at, units in gang.pods if at == pool]
    return found + [pod.units for pod in cluster.tenants if pod.pool == pool]


def test_a_seed_makes_the_same_cluster() -> None:
    assert drawn(3) == DRAWN[3]
    assert DRAWN[3] != DRAWN[4]


def test_all_gangs_and_tenants_fit_and_many_pools_are_full_then() -> None:
    pools = [(cluster, pool) for cluster in DRAWN for pool in cluster.pools]
    assert all(fits(asked(cluster, pool.name), pool.nodes) for cluster, pool in pools)
    full = [sum(asked(cluster, pool.name)) == sum(pool.nodes) for cluster, pool in pools]
    assert len(full) / 3 < sum(full) < len(full)


def test_there_are_two_thousand_gangs_of_one_to_three_roles() -> None:
    gangs = [gang for cluster in DRAWN for gang in cluster.gangs]
    assert len(gangs) >= 2000
    assert {len(gang.roles) for gang in gangs} == {1, 2, 3}
    assert [bool(cluster.tenants) for cluster in DRAWN[:4]] == [False, True, False, True]


def test_large_pods_need_whole_places() -> None:
    assert fits([4, 2, 1, 1], [8])
    assert fits([2, 2, 1], [3, 2])
    assert not fits([2, 2], [3, 1])
    assert not fits([4, 1], [4, 0])
    assert fits([], [])


def test_jobs_are_written_as_their_users_write_them() -> None:
    gang = next(gang for gang in DRAWN[0].gangs if len(gang.roles) == 3)
    made = list(jobs(DRAWN[0], gang))
    assert [job["metadata"]["name"] for job in made] == [gang.job(role) for role in gang.roles]
    assert {job["metadata"]["labels"][contract.JOB] for job in made} == {gang.name}
    assert all(
        role.name in made[0]["metadata"]["annotations"][contract.ROLES] for role in gang.roles
    )


RECORD = ClusterRecord(
    seed=1, commit="abc", date="2026-01-01 10:00", loads=(1.0, 2.0), stalled=0.1, gangs=3, ran=2,
    waited=(), after=SOON, starts=(0.5, 1.0), halves=(SOON,), stolen=1, tenants=4, reconciler=0.5,
)  # fmt: skip


def test_the_criterion_names_what_is_missed() -> None:
    assert RECORD.missed == ""
    assert replace(RECORD, after=SOON + 1).missed == "late"
    assert (
        replace(RECORD, halves=(1.0, SOON + 1), waited=("gang-00: held",)).missed == "half, waited"
    )


def test_the_table_has_a_line_for_each_cluster_and_says_which_gangs_waited() -> None:
    found = list(table([RECORD, replace(RECORD, seed=2, waited=("gang-00: held",))]))
    assert found[0] == HEAD
    assert [text.split("  ")[0] for text in found[1:5]] == [
        "cluster 1", "cluster 2", "gangs alone", "with other tenants",
    ]  # fmt: skip
    assert found[-1] == "cluster 2, gang-00: held"

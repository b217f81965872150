from benchmarks.control_plane import release
from benchmarks.control_plane.release import Figures


def figures(rate: float) -> Figures:
    return Figures(rate, half=1.0, last=2.0, running=3.0, cpu={"etcd": 0.5}, others=0.1)


def test_each_way_begins_a_run_once() -> None:
    firsts = [release.order(run)[0] for run in range(len(release.CONTESTANTS))]
    assert sorted(firsts) == sorted(release.CONTESTANTS)
    assert all(sorted(release.order(run)) == sorted(release.CONTESTANTS) for run in range(5))


def test_ratios_compare_within_a_run() -> None:
    results = {
        release.BARE: [figures(100.0), figures(10.0), figures(50.0)],
        release.OURS: [figures(90.0), figures(8.0), figures(50.0)],
    }
    assert list(release.ratios(results)) == [
        "kubectl-edl ÷ bare pool: 0.90 (each run: 0.90, 0.80, 1.00)"
    ]


def test_a_job_is_held_by_its_way_alone() -> None:
    held = {name: release.job("a", contestant) for name, contestant in release.CONTESTANTS.items()}
    assert [job["spec"]["suspend"] for job in held.values()] == [True, False, True]
    templates = [job["spec"]["template"] for job in held.values()]
    assert templates[0] == templates[1] == templates[2]


def test_each_median_comes_with_its_spread() -> None:
    results = {release.OURS: [figures(90.0), figures(80.0), figures(100.0)]}
    _, row = release.table(results)
    assert "     3" in row
    assert "90 (80–100)" in row
    assert any("0.50 (0.50–0.50)" in line for line in release.processors(results))

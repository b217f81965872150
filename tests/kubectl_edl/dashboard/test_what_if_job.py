from dataclasses import replace
from itertools import count

import pytest
from msgspec import structs

from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.dashboard.what_if_job import WhatIfEngine, WhatIfRequest
from tests.kubectl_edl.dashboard.served_page import namespace, read_once, trained
from tests.kubectl_edl.stage import job


def test_other_jobs_are_listed_only_if_affected() -> None:
    stage = trained()
    namespace(stage, "team")
    stage.put(job("grown", framework="none", min="1", max="40"))
    stage.patch("grown", {"spec": {"parallelism": 1}})
    found = WhatIfEngine().answer(read_once(stage), WhatIfRequest("default", "mnist", 2))
    own, other = found["rows"]
    assert (own["name"], own["whatIf"]["size"]) == ("mnist", 2)
    assert other["name"] == "grown"
    assert other["whatIf"]["size"] > other["asIs"]["size"]
    assert (found["untouched"], found["more"]) == (0, 0)


def test_both_runs_use_the_settings_of_the_moment() -> None:
    engine, snapshot = WhatIfEngine(), read_once(trained())
    present_max = WhatIfRequest("default", "mnist", 12)
    (before,) = engine.answer(snapshot, present_max)["rows"]
    assert snapshot.deciding
    limits = structs.replace(snapshot.deciding.settings.limits, load_ceiling=0.3)
    settings = structs.replace(snapshot.deciding.settings, limits=limits)
    deciding = replace(snapshot.deciding, settings=settings)
    (row,) = engine.answer(structs.replace(snapshot, deciding=deciding), present_max)["rows"]
    assert row["asIs"] == row["whatIf"] != before["asIs"]


def test_a_what_if_times_out() -> None:
    clock = count(step=6)
    slow = WhatIfEngine(monotonic=lambda: float(next(clock)))
    with pytest.raises(Refused, match=r"longer than 10 s.*simulate --live -A --set job/default/mn"):
        slow.answer(read_once(trained()), WhatIfRequest("default", "mnist", 2))


def test_a_concurrent_what_if_waits_and_is_refused() -> None:
    asked: list[str] = []
    found, wish = read_once(trained()), WhatIfRequest("default", "mnist", 2)

    def clock() -> float:
        """While the first one simulates, a second one asks."""
        if len(asked) == 1:
            asked.append("second")
            with pytest.raises(Refused, match="another what-if is running"):
                busy.answer(found, wish)
        asked.append("")
        return 0.0

    busy = WhatIfEngine(monotonic=clock, patience=0.01)
    assert busy.answer(found, wish)["rows"]
    assert "second" in asked


def test_a_max_beyond_all_reason_is_answered_all_the_same() -> None:
    (own,) = WhatIfEngine().answer(
        read_once(trained()), WhatIfRequest("default", "mnist", 10**9 - 1)
    )["rows"]
    assert own["whatIf"]["size"] == 20
    with pytest.raises(Refused, match="is not a whole number"):
        WhatIfEngine().answer(read_once(trained()), WhatIfRequest("default", "mnist", 10**9))


def test_what_if_before_the_first_read_is_refused() -> None:
    with pytest.raises(Refused, match="has not been read yet"):
        WhatIfEngine().answer(None, WhatIfRequest("default", "mnist", 2))

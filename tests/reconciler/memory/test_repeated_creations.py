from edl.model import JobKey, ObjectRef
from edl.writes import Create, Delete, Step
from reconciler.memory.repeated_creations import AFTER_EXISTING, RepeatedCreations

JOB = JobKey("web", "train")
BUDGET = ObjectRef("PodDisruptionBudget", "web", "train-worker-first-2")
SERVICE = ObjectRef("Service", "web", "train")


def creating(*targets: ObjectRef, uid: str = "uid-1") -> Step:
    metadata = {"ownerReferences": [{"uid": uid}]}
    return Step(JOB, tuple(Create(target, {"metadata": metadata}) for target in targets))


def test_the_creation_of_an_existing_object_is_repeated_ever_more_rarely() -> None:
    creations, step = RepeatedCreations(), creating(BUDGET)
    tried = []
    for now in range(1200):
        if creations.due([step], now):
            tried.append(now)
            creations.back_off([step], now)
    assert tried == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111]
    assert creations.next(1200) == 1111 + AFTER_EXISTING.longest - 1200


def test_another_object_or_owner_or_write_is_not_held_back() -> None:
    creations, step = RepeatedCreations(), creating(BUDGET)
    creations.back_off([step], 0)
    others = (
        creating(BUDGET, SERVICE),
        creating(BUDGET, uid="uid-2"),
        Step(JOB, (*step.writes, Delete(SERVICE))),
    )
    assert creations.due([step, *others], 0) == others


def test_a_creation_that_is_no_longer_needed_is_forgotten() -> None:
    creations, step = RepeatedCreations(), creating(BUDGET)
    creations.back_off([step], 0)
    assert creations.due([], 0) == ()
    assert creations.next(0) is None
    assert creations.due([step], 0) == (step,)

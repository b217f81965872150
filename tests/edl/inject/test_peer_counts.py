"""Numbers of peers that users write on the command line of a launcher."""

import pytest

from edl.inject import peer_counts
from edl.writes import Json
from tests.edl.manifests import changed, create, created, job, refusals, role_manifest, update

TORCHRUN = "torchrun"
PADDLE = "python -m paddle.distributed.launch"


def launched(*command: str, framework: str = "pytorch", low: str = "2", high: str = "4") -> Json:
    container = {"name": "main", "image": "a", "command": [command[0]], "args": list(command[1:])}
    return job(framework=framework, min=low, max=high, pod={"containers": [container]})


def told(found: Json) -> list[str]:
    return warnings(found, "number of peers")


WARNING = (
    "metadata.labels[edl.dev/min]: 2 is below 4, the number of peers that --nnodes makes each pod "
    "wait for; set it to 4 or more, or remove --nnodes from the pod template"
)


@pytest.mark.parametrize(
    "manifest",
    [
        launched(TORCHRUN, "--nnodes=4", "train.py"),
        launched(TORCHRUN, "--nnodes", "4", "train.py"),
        launched(TORCHRUN, "--nnodes=4:8", "train.py"),
        launched("bash", "-c", f"cd /app; {TORCHRUN} --nnodes '4' train.py"),
        launched("bash", "-c", f"{PADDLE} train.py --nnodes=4", framework="paddle"),
    ],
)
def test_a_min_below_the_peers_of_the_command_line_is_told(manifest: Json) -> None:
    """It is not refused: the option may be in a comment, or the user's own."""
    assert told(manifest) == [WARNING]
    assert told(created(manifest)) == [], "it was warned about before"


@pytest.mark.parametrize(
    "manifest",
    [
        launched(TORCHRUN, "--nnodes=4", "train.py", low="4"),
        launched(TORCHRUN, "--nnodes=2:4", "train.py"),
        launched(TORCHRUN, "--nnodes=$(PET_NNODES)", "train.py"),
        launched(TORCHRUN, "--nnodes=4$EXTRA", "train.py"),
        launched(
            "bash", "-c", f"$MANY && {TORCHRUN} --nnodes=4 t.py || {TORCHRUN} --nnodes=2 t.py"
        ),
        launched("python", "train.py", "--nnodes=4"),
        launched("accelerate", "launch", "--num_machines=4", "train.py"),
        launched("mpirun", "torchrun", "--nnodes=4", framework="tensorflow"),
    ],
    ids=[
        "enough",
        "range",
        "reference",
        "joined",
        "one of two",
        "no launcher",
        "accelerate",
        "tensorflow",
    ],
)
def test_a_command_line_whose_peers_come_needs_no_warning(manifest: Json) -> None:
    assert told(manifest) == []


def test_only_the_variable_refuses_a_min_below_the_peers() -> None:
    env = [{"name": "PET_NNODES", "value": "4"}]
    container = {"name": "a", "image": "a", "command": [TORCHRUN, "--nnodes=8"], "env": env}
    found = job(framework="pytorch", min="2", max="4", pod={"containers": [container]})
    (finding,) = refusals(create, found)
    assert "2 is below 4, the number of peers that PET_NNODES makes each pod wait for" in finding
    assert peer_counts.sizes(found, "pytorch") == (4, None)


def test_an_absurd_number_is_none() -> None:
    assert told(launched(TORCHRUN, f"--nnodes={'9' * 5000}")) == []


def test_the_option_limits_no_update_of_min() -> None:
    old = created(launched(TORCHRUN, "--nnodes=4", high="6"))
    assert refusals(update, changed(old, "metadata labels edl.dev/min", "3"), old) == []


def warnings(manifest: Json, what: str) -> list[str]:
    return [text for text in create(manifest).warnings if what in text]


def test_pods_that_the_command_line_leaves_out_of_the_training_are_told() -> None:
    manifest = launched(TORCHRUN, "--nnodes=1", "train.py")
    (warning,) = warnings(manifest, "idle")
    assert warning == (
        "--nnodes: at most 1 of 4 × worker train together, and the others hold their resources "
        "idle: remove it from the pod template"
    )
    assert warnings(created(manifest), "idle") == [], "it was warned about before"
    assert warnings(launched(TORCHRUN, "--nnodes=2:4"), "idle") == []
    both = launched("bash", "-c", f"{TORCHRUN} --nnodes=1 prepare.py && {TORCHRUN} --nnodes=4 t.py")
    assert warnings(both, "idle") == []


@pytest.mark.parametrize(
    ("option", "words"),
    [("--standalone", ["--standalone"]), ("--rdzv_backend=static", ["--rdzv-backend", "static"])],
)
def test_pods_that_never_meet_are_told(option: str, words: list[str]) -> None:
    (warning,) = warnings(launched(TORCHRUN, *words, "train.py"), "never meets")
    assert warning == (
        f"{option}: each worker trains alone, or waits for peers that it never meets: remove it "
        "from the pod template"
    )


@pytest.mark.parametrize(
    "manifest",
    [
        launched(TORCHRUN, "--standalone", low="1", high="1"),
        launched(TORCHRUN, "--rdzv_backend=static", low="4"),
        launched("python", "train.py", "--standalone"),
        role_manifest("trainer", "master=1,trainer=1..2", framework="paddle"),
    ],
    ids=["alone", "fixed", "no launcher", "paddle"],
)
def test_pods_that_meet_need_no_warning(manifest: Json) -> None:
    assert warnings(manifest, "never meets") == []

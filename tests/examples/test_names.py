"""Examples may be applied one after the other, into one namespace."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import yaml

from edl import contract

FOLDER = Path(__file__).parents[2] / "examples"


def _names(path: Path) -> Iterator[tuple[str, str]]:
    """The objects of a file and the training jobs that they form, by kind and name."""
    for found in yaml.safe_load_all(path.read_text()):
        metadata = (found or {}).get("metadata", {})
        if "name" in metadata:
            yield found["kind"], metadata["name"]
            labels = metadata.get("labels") or {}
            if contract.FRAMEWORK in labels:
                yield "training job", labels.get(contract.JOB, metadata["name"])


def test_no_two_files_create_objects_or_training_jobs_of_one_name() -> None:
    files = defaultdict(set)
    for path in FOLDER.glob("*/*.yaml"):
        for name in _names(path):
            files[name].add(str(path.relative_to(FOLDER)))
    assert {name: sorted(found) for name, found in files.items() if len(found) > 1} == {}

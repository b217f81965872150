from __future__ import annotations

from pathlib import Path

from sandbox.objects import nodes, volumes


def test_there_is_one_default_class_and_every_volume_is_of_it(tmp_path: Path) -> None:
    storage, *made = volumes.make(tmp_path / "volumes")
    marks = storage["metadata"]["annotations"]
    assert marks == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert len(made) == volumes.COUNT
    assert {each["spec"]["storageClassName"] for each in made} == {storage["metadata"]["name"]}


def test_every_volume_is_a_folder_of_its_own_that_any_user_may_write(tmp_path: Path) -> None:
    _, *made = volumes.make(tmp_path / "volumes")
    folders = {Path(each["spec"]["hostPath"]["path"]) for each in made}
    assert folders == set((tmp_path / "volumes").iterdir())
    assert len(folders) == len(made)
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o777}


def test_simulated_volumes_need_no_folder_and_may_be_used_again() -> None:
    storage, *made = volumes.make(None)
    assert {each["spec"]["storageClassName"] for each in made} == {storage["metadata"]["name"]}
    assert {each["metadata"]["labels"][nodes.SIMULATED] for each in made} == {"true"}

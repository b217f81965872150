"""Every path of the API keeps its shape, whatever the names in it are."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3.util import parse_url

from edl.errors import Invalid
from edl.kube.api.api_paths import resource_path
from edl.kube.cluster import RESOURCES

HARMLESS = [".", "..", "?", "#", "&watch=true", ";", "\\", " ", "\n", "a"]
REFUSED = ["/", "%", "%2e", "%2F"]
NAMES = st.one_of(
    st.lists(st.sampled_from(HARMLESS), min_size=3).map("".join),
    st.lists(st.sampled_from(HARMLESS + REFUSED)).map("".join),
    st.text(max_size=10),
)


def segments(path: str) -> list[str]:
    """As the request's line carries them: urllib3 resolves dot segments before it sends a path."""
    url = parse_url(f"https://10.0.0.1{path}")
    assert (url.query, url.fragment) == (None, None)
    return [unquote(part) for part in (url.path or "").split("/")[1:]]


def names_no_object(name: str) -> bool:
    return name in ("", ".", "..") or "/" in name or "%" in name


@given(st.sampled_from(sorted(RESOURCES)), NAMES, st.lists(NAMES, min_size=1, max_size=2))
def test_a_name_never_changes_the_number_of_segments(
    kind: str, namespace: str, below: list[str]
) -> None:
    resource = RESOURCES[kind]
    scope = ["namespaces", namespace] if resource.namespaced else []
    if any(map(names_no_object, [*scope[1:], *below])):
        with pytest.raises(Invalid):
            resource_path(kind, namespace, *below)
        return
    path = resource_path(kind, namespace, *below)
    root = ["apis", resource.group] if resource.group else ["api"]
    assert segments(path) == [*root, resource.version, *scope, resource.plural, *below]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "%2e%2e", "../../../secrets"])
def test_a_name_that_would_change_its_path_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match=r"Pod: .* names no object"):
        resource_path("Pod", "lab", name)
    with pytest.raises(Invalid, match=r"Pod: .* names no object"):
        resource_path("Pod", name, "worker-0")


def test_a_collection_is_of_one_namespace_or_of_all() -> None:
    assert resource_path("Job", "lab") == "/apis/batch/v1/namespaces/lab/jobs"
    assert resource_path("Job") == "/apis/batch/v1/jobs"
    assert resource_path("Node", "ignored") == "/api/v1/nodes"


def test_what_is_below_an_object_follows_its_name() -> None:
    assert resource_path("Pod", "lab", "a b", "log") == "/api/v1/namespaces/lab/pods/a%20b/log"

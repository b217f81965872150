"""Kubernetes quantities and pod requests."""

import re
import sys
from decimal import ROUND_UP, Decimal
from fractions import Fraction
from functools import partial
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl.quantities import DEVICE_CLASS, Resources, pod_requests, quantity
from tests.edl.planner.bytecode_count import instructions

GI = 2**30

NUMBERS = st.from_regex(r"[+-]?([0-9]{1,12}(\.[0-9]{0,9})?|\.[0-9]{1,9})", fullmatch=True).filter(
    str.isascii
)
SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
REFERENCE = re.compile(
    r"[+-]?([0-9]+|[0-9]+\.[0-9]+|[0-9]+\.|\.[0-9]+)"
    r"([KMGTPE]i|[eE][+-]?[0-9]+|n|u|m||k|M|G|T|P|E)"
)


def as_kubernetes_keeps(exact: Fraction) -> Fraction:
    """Rounded away from zero to nano, capped at 2^63 - 1."""
    sign = -1 if exact < 0 else 1
    return sign * min(Fraction(ceil(abs(exact) * 10**9), 10**9), Fraction(2**63 - 1))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("100m", "0.1"),
        ("1.5Gi", 1.5 * GI),
        ("2e3", 2000),
        ("2E3", 2000),
        ("1e-3", "0.001"),
        ("1e+3", 1000),
        ("1E", 10**18),
        (".5", "0.5"),
        ("5.", 5),
        ("+1", 1),
        ("-1", -1),
        ("1n", "1e-9"),
        ("0.1n", "1e-9"),
        ("8Ei", 2**63 - 1),
        ("1e400000000", 2**63 - 1),
        ("1e-400000000", "1e-9"),
        ("0e400000000", 0),
    ],
)
def test_quantities_mean_what_kubernetes_means(text: str, value: float | str) -> None:
    assert quantity(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 Gi",
        " 1",
        "1 ",
        "1\n",
        "1gi",
        "1K",
        "1ki",
        "1e",
        "1Ee3",
        "1Ki3",
        "1e1.5",
        "0x1",
        "1.2.3",
        "abc",
        ".",
        "+",
        "-",
        "Gi",
        "--1",
        "1,5",
        "\u0661",
        "1e9999999999",
        "inf",
        "nan",
    ],
)
def test_a_malformed_quantity_is_refused_with_the_allowed_form(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity; ") as caught:
        quantity(text)
    assert f'"{text}"' in str(caught.value)


@pytest.mark.slow
@given(NUMBERS, st.sampled_from(list(SUFFIXES)))
def test_a_number_with_a_suffix_is_exact(number: str, suffix: str) -> None:
    exact = Fraction(Decimal(number)) * SUFFIXES[suffix]
    assert Fraction(quantity(number + suffix)) == as_kubernetes_keeps(exact)


@given(NUMBERS, st.integers(-30, 30), st.sampled_from("eE"))
def test_a_number_with_an_exponent_is_exact(number: str, exponent: int, letter: str) -> None:
    exact = Fraction(Decimal(number)) * Fraction(10) ** exponent
    assert Fraction(quantity(f"{number}{letter}{exponent}")) == as_kubernetes_keeps(exact)


@given(st.text("0123456789.+-eEinumkKMGTP ", max_size=8))
def test_exactly_the_grammar_is_accepted(text: str) -> None:
    try:
        quantity(text)
    except ValueError:
        assert not REFERENCE.fullmatch(text)
    else:
        assert REFERENCE.fullmatch(text)


@given(NUMBERS, st.sampled_from(list(SUFFIXES)))
def test_cpu_counts_millicores_and_the_rest_whole_units_rounded_up(
    number: str, suffix: str
) -> None:
    value = quantity(number + suffix)
    found = Resources.parse({"cpu": number + suffix, "memory": number + suffix})
    milli = int((value * 1000).to_integral_value(ROUND_UP))
    assert found.get("cpu") == max(min(milli, 2**63 - 1), 1 - 2**63)
    assert found.get("memory") == int(value.to_integral_value(ROUND_UP))


def test_yaml_numbers_are_quantities() -> None:
    assert Resources.parse({"cpu": 2, "memory": 1e9, "nvidia.com/gpu": 1}) == Resources.of(
        {"cpu": 2000, "memory": 10**9, "nvidia.com/gpu": 1}
    )
    assert Resources.parse({"cpu": 0.5}) == Resources.of({"cpu": 500})
    assert Resources.parse(None) == Resources.parse({}) == Resources()


@pytest.mark.parametrize("found", [True, None, [], {}, float("nan"), "1 Gi"])
def test_a_finding_names_the_resource(found: object) -> None:
    with pytest.raises(ValueError, match=r"^memory: "):
        Resources.parse({"memory": found})


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu"]), st.integers(-(10**12), 10**12)
).map(Resources.of)


@given(AMOUNTS, AMOUNTS, AMOUNTS, st.integers(-5, 5))
def test_amounts_add_like_vectors(one: Resources, two: Resources, three: Resources, n: int) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one - one == Resources()
    assert (one + two) * n == one * n + two * n == n * (one + two)
    assert one.most(two) == two.most(one)
    assert hash(one + two) == hash(two + one)
    assert all(one.most(two).get(name) == max(n, two.get(name)) for name, n in one if n > 0)


@given(AMOUNTS)
def test_amounts_come_sorted_and_without_zeros(found: Resources) -> None:
    assert list(found) == sorted(found)
    assert all(amount for _, amount in found)
    assert bool(found) == bool(list(found))


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": 2, "pods": 1},
            "4 CPU, 8Gi memory, 2 nvidia.com/gpu",
        ),
        ({"cpu": "500m"}, "500m CPU"),
        ({"cpu": "1500m"}, "1.5 CPU"),
        ({"memory": "1500M"}, "1500M memory"),
        ({"memory": "123456789"}, "117.7Mi memory"),
        ({"memory": "512"}, "512 memory"),
        ({"pods": 3}, "3 pods"),
        ({"pods": 1}, "1 pod"),
        ({}, "nothing"),
    ],
)
def test_amounts_read_like_a_sentence(found: dict[str, object], text: str) -> None:
    assert str(Resources.parse(found)) == text


def container(
    cpu: object = None, *, limit: object = None, always: bool = False
) -> dict[str, object]:
    requests = {} if cpu is None else {"cpu": cpu}
    limits = {} if limit is None else {"cpu": limit}
    resources = {"requests": requests, "limits": limits}
    return {"resources": resources, **({"restartPolicy": "Always"} if always else {})}


def cpu_of(**pod_spec: object) -> int:
    return pod_requests(pod_spec).get("cpu")


def test_containers_add_up_and_a_pod_takes_one_slot() -> None:
    spec = {"containers": [container("1"), container("500m"), {}]}
    assert pod_requests(spec) == Resources.of({"cpu": 1500, "pods": 1})


def test_a_limit_stands_in_for_a_missing_request() -> None:
    assert cpu_of(containers=[container(limit=2)]) == 2000
    assert cpu_of(containers=[container(1, limit=2)]) == 1000
    assert cpu_of(containers=[container(0, limit=2)]) == 0


def test_a_long_quantity_is_read_and_not_kept() -> None:
    """Clients that pose as the API server choose how long theirs are, and no two are the same."""
    text = "0" * 100_000 + "7"
    before = sys.getrefcount(text)
    assert quantity(text) == 7
    assert sys.getrefcount(text) == before


def test_init_containers_count_by_the_largest() -> None:
    assert cpu_of(containers=[container(1)], initContainers=[container(3), container(2)]) == 3000
    assert cpu_of(containers=[container(4)], initContainers=[container(3)]) == 4000


def test_sidecars_run_beside_containers_and_later_init_containers() -> None:
    sidecar = container("1", always=True)
    assert cpu_of(containers=[container(2)], initContainers=[sidecar]) == 3000
    assert cpu_of(containers=[container(2)], initContainers=[sidecar, container(3)]) == 4000
    assert cpu_of(containers=[container(2)], initContainers=[container(3), sidecar]) == 3000


def test_overhead_is_added() -> None:
    assert cpu_of(containers=[container(1)], overhead={"cpu": "250m"}) == 1250


def test_pod_level_requests_replace_the_sum() -> None:
    own = {"requests": {"cpu": 5, "nvidia.com/gpu": 9}}
    found = pod_requests({"containers": [container(1)], "resources": own, "overhead": {"cpu": 1}})
    assert found == Resources.of({"cpu": 6000, "pods": 1})


def test_pod_level_limits_count_where_no_container_asks() -> None:
    own = {"limits": {"cpu": 5, "memory": "1Gi"}}
    found = pod_requests({"containers": [container(1)], "resources": own})
    assert found == Resources.of({"cpu": 1000, "memory": GI, "pods": 1})


def test_a_pod_spec_may_leave_everything_out() -> None:
    spec = {"containers": [{"resources": None}], "initContainers": None, "overhead": None}
    assert pod_requests(spec) == Resources.of({"pods": 1})


def test_of_each_device_class_users_are_told_the_widest_kind_that_they_ask_for() -> None:
    """A device also counts in kinds that other users ask for; the text names none of them."""
    gpu = f"{DEVICE_CLASS}gpu.x"
    both = Resources.of({gpu: 2, f"{gpu}[0a]": 2, f"{gpu}[0b]": 2, "cpu": 1000})
    assert str(both) == "1 CPU, 2 devices of DeviceClass gpu.x"
    assert (
        str(Resources.of({f"{gpu}[0a]": 1})) == "1 device of DeviceClass gpu.x that claims select"
    )


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_the_work_grows_with_the_containers_also_if_each_names_another_resource(kind: str) -> None:
    def cost(count: int) -> int:
        limits = ({"limits": {f"e.com/{number}": "1"}} for number in range(count))
        spec = {kind: [{"resources": one, "restartPolicy": "Always"} for one in limits]}
        assert len(pod_requests(spec).items) == count + 1
        return instructions(partial(pod_requests, spec))

    assert cost(100) < 2.5 * cost(50)

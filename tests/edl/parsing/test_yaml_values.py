import pytest

from edl.parsing.yaml_values import scalar_type

AS_KUBECTL = {
    "int": "0 -0 7 +7 010 -017 0o17 0O17 0b11 0B11 0x1F 0X1f 1_000 1__0 -_1 0_17 0x1_F",
    "float": "08 09 -09 0819 0_9 1. 1.5 .5 +.5 -.5 .5_0 1e3 1E-3 1_0e3 1_e3 1_0.5 .inf -.Inf .NaN",
    "bool": "y Y n N yes No ON off True FALSE",
    "null": "~ null Null NULL",
    "merge": "<<",
    "str": "-~ + - . _1 e3 1e 0x 0b 0b2 0xg 0o8 1-2 1:30 1.2.3 2020-01-01 oN yEs inf -.nan 1d",
}


@pytest.mark.parametrize("kind", AS_KUBECTL)
def test_plain_scalars_have_the_type_that_kubectl_gives_them(kind: str) -> None:
    """Compared with `kubectl label --local -f - x=y -o json` of kubectl 1.32."""
    assert {text: scalar_type(text) for text in AS_KUBECTL[kind].split()} == dict.fromkeys(
        AS_KUBECTL[kind].split(), kind
    )
    assert scalar_type("") == "null"

import io

from kubectl_edl.cli.context import ServerWarnings


def test_each_warning_is_written_once_and_on_one_line() -> None:
    err = io.StringIO()
    warn = ServerWarnings(err)
    for text in (
        "would violate PodSecurity",
        "deprecated\x1b[2J\nnow",
        "would violate PodSecurity",
    ):
        warn(text)
    assert err.getvalue().splitlines() == [
        "Warning: would violate PodSecurity",
        "Warning: deprecated^[[2J now",
    ]

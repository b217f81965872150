"""What the Helm chart says of its values: values.yaml, its schema, and its README's table.

`python -m manifests.chart_files` writes them from `manifests.values`.
"""

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import yaml

from edl.writes import Json
from manifests.components import FOLDER
from manifests.documents import BASE, HERE, load, to_yaml
from manifests.values import DEFAULTS, Values, plain

CHART: Final = HERE / "chart"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_WIDTH: Final = 100
_HEADER: Final = (
    "# Written by `python -m manifests.chart_files`; edit manifests/values.py instead.\n"
)
_COPY: Final = "# Written by `python -m manifests.chart_files`; edit {folder} instead.\n"
_README: Final = """\
<!-- Written by `python -m manifests.chart_files`; edit manifests/chart_files.py instead. -->
# The Helm chart of kubectl-edl

```sh
helm install edl manifests/chart --set image=REGISTRY/kubectl-edl:0.1.0
```

It renders what `kubectl apply -k manifests/base` and `kubectl edl install` apply: all three have
one source, and a test compares them under many values. Everything lives in the namespace
`edl-system`, by whose name the API server, the webhook and the reconciler know each other; the
release itself may live anywhere. There are no CRDs.

Another value with `--set NAME=VALUE`, or in a file with `-f FILE`; a wrong one is refused with the
reason. The same names work in `kubectl edl install`.

| value | default | meaning |
| --- | --- | --- |
"""


def schema() -> Json:
    """values.schema.json, by which Helm refuses wrong values."""
    found = msgspec.json.schema(Values)
    # Helm hands `global` to every chart that is part of another one.
    found["$defs"]["Values"]["properties"]["global"] = {"type": "object"}
    return {"$schema": _DIALECT, **found}


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"


def values_text() -> str:
    """values.yaml: each value under its meaning; what has no default as a comment."""
    return _HEADER + "\n".join(_lines(_properties("Values"), plain(DEFAULTS), "")) + "\n"


def readme_text() -> str:
    return _README + "".join(
        f"| `{path}` | {default} | {meaning} |\n" for path, default, meaning in rows()
    )


def rows() -> Iterator[tuple[str, str, str]]:
    """Each value by its path, with its default and its meaning."""
    yield from _rows(_properties("Values"), plain(DEFAULTS), "")


def _rows(properties: Json, defaults: Json, path: str) -> Iterator[tuple[str, str, str]]:
    for name, about in properties.items():
        inner = _inner(about)
        if inner and name in defaults:
            yield from _rows(inner, defaults[name], f"{path}{name}.")
        else:
            default = f"`{json.dumps(defaults[name])}`" if name in defaults else "the reconciler's"
            yield f"{path}{name}", default, about.get("description", "")


def _lines(properties: Json, defaults: Json, indent: str) -> Iterator[str]:
    for name, about in properties.items():
        yield from textwrap.wrap(
            about["description"],
            _WIDTH,
            initial_indent=f"{indent}# ",
            subsequent_indent=f"{indent}# ",
        )
        inner = _inner(about)
        if inner and all(one in defaults.get(name, {}) for one in inner):
            yield f"{indent}{name}:"
            yield from _lines(inner, defaults[name], f"{indent}  ")
        elif inner:
            yield f"{indent}{name}: {{}}"
            yield from _commented(inner, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_flow(defaults[name])}"


def _commented(properties: Json, indent: str) -> Iterator[str]:
    """Values without a default, by their examples."""
    for name, about in properties.items():
        example = f"{indent}# {name}: {_flow(about['examples'][0])}"
        yield f"{example}  # {about['description']}"


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)
    return text.removesuffix("\n").removesuffix("\n...")


def _inner(about: Json) -> Json:
    """The properties of a value that has some."""
    reference = about.get("$ref", "")
    return _properties(reference.rpartition("/")[2]) if reference else {}


def _properties(name: str) -> Json:
    found: Json = msgspec.json.schema(Values)["$defs"][name]["properties"]
    return found


def _adding() -> list[Path]:
    """The components that have documents of their own."""
    folders = sorted(path.parent for path in FOLDER.glob("*/kustomization.yaml"))
    return [folder for folder in folders if load(folder)]


def documents_text(folder: Path) -> str:
    """A folder's documents, for the chart's templates: Helm sees no file outside of the chart."""
    return _COPY.format(folder=folder.relative_to(HERE.parent)) + to_yaml(load(folder))


FILES: Final[Mapping[Path, Callable[[], str]]] = {
    CHART / "values.yaml": values_text,
    CHART / "values.schema.json": schema_text,
    CHART / "README.md": readme_text,
    **{
        CHART / "files" / f"{folder.name}.yaml": partial(documents_text, folder)
        for folder in (BASE, *_adding())
    },
}
"""Each file, and what writes it."""


def write() -> None:
    for path, text in FILES.items():
        path.write_text(text())


if __name__ == "__main__":
    write()

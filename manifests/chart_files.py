"""The generated files of the Helm chart: templates, values.yaml, the values' schema, and README.

`python -m manifests.chart_files` writes them from `manifests.installation` and `manifests.values`.
"""

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final, get_args

import msgspec
import yaml

from edl.planner.decision_limits import IMAGE_NAME
from edl.writes import Json
from manifests import installation
from manifests.documents import HERE
from manifests.planning import DURATIONS
from manifests.templating.helm_text import HelmPrinter
from manifests.values import DEFAULTS, LEAST, AffinityField, TolerationField, Values, plain

CHART: Final = HERE / "chart"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_UNFENCED: Final[Json] = {
    "if": {"properties": {"fence": {"properties": {"enabled": {"const": False}}}}},
    "then": {
        "properties": {
            "reconciler": {
                "properties": {"planning": {"properties": {"autoscaler": {"const": "none"}}}}
            }
        }
    },
}
"""As in `manifests.values.read`; Helm adds the defaults before it checks."""
_PORTS: Final = ["port", "probePort"]
_ONE_PORT: Final[Json] = {
    "not": {
        "anyOf": [
            {"properties": {name: {"const": port} for name in _PORTS}, "required": _PORTS}
            for port in (DEFAULTS.webhook.port, DEFAULTS.webhook.probe_port)
        ]
    }
}
"""A schema cannot compare two values: it knows the defaults, and the process refuses the rest."""
_DEFAULTS: Final[Json] = plain(DEFAULTS) | {"image": ""}
"""The chart's values: an image has to be named, as none is public."""
_WIDTH: Final = 100
_HEADER: Final = (
    "# Written by `python -m manifests.chart_files`; edit manifests/values.py instead.\n"
)
_TEMPLATE: Final = """\
{{- /* Written by `python -m manifests.chart_files`; edit manifests/ instead. */}}
"""
_README: Final = """\
<!-- Written by `python -m manifests.chart_files`; edit manifests/chart_files.py instead. -->
# The Helm chart of kubectl-edl

```sh
helm install edl manifests/chart -n edl-system --create-namespace \\
  --set image=REGISTRY/kubectl-edl:0.1.0
```

The chart installs into the namespace of its release. A cluster has one installation, because its
webhook configurations are cluster-wide. If the namespace is not `edl-system`, users of the plugin
set `EDL_SYSTEM_NAMESPACE=NAMESPACE`. There are no CRDs.

The templates, `kubectl apply -k manifests/base` and `kubectl edl install` install the same objects,
except for the namespace: Helm creates it without labels. To have Kubernetes enforce Pod Security
there, run `kubectl label namespace edl-system pod-security.kubernetes.io/enforce=restricted`.

Set values with `--set NAME=VALUE`, or in a file with `-f FILE`; an invalid value is refused with
the reason. `kubectl edl install` takes the same values.

| value | default | meaning |
| --- | --- | --- |
"""


def schema() -> Json:
    """values.schema.json, with which Helm rejects wrong values."""
    document = msgspec.json.schema(Values)
    # Helm hands `global` to every chart that is part of another one.
    document["$defs"]["Values"]["properties"]["global"] = {"type": "object"}
    document["$defs"]["Values"] |= _UNFENCED
    document["$defs"]["Webhook"] |= _ONE_PORT
    for name in DURATIONS.values():
        short = {"not": {"exclusiveMinimum": 0, "exclusiveMaximum": LEAST}}
        document["$defs"]["Planning"]["properties"][name] |= short
    # msgspec leaves out the allowed keys of a map.
    pods = document["$defs"]["PodSettings"]["properties"]
    pods["tolerations"]["items"]["propertyNames"] = {"enum": get_args(TolerationField)}
    pods["affinity"]["propertyNames"] = {"enum": get_args(AffinityField)}
    # Without an image the templates fail, with a reason.
    image = {"pattern": rf"^({IMAGE_NAME})?\Z", "default": ""}
    document["$defs"]["Values"]["properties"]["image"] |= image
    return {"$schema": _DIALECT, **document}


def schema_text() -> str:
    r"""The schema as JSON; patterns end in `$`, where Python needs `\Z`."""
    return json.dumps(schema(), indent=2).replace(r'\\Z"', '$"') + "\n"


def values_text() -> str:
    """values.yaml: each value below its description; values without a default are comments."""
    return _HEADER + "\n".join(_lines(_properties("Values"), _DEFAULTS, "")) + "\n"


def readme_text() -> str:
    return _README + "".join(
        f"| `{path}` | {default} | {meaning} |\n" for path, default, meaning in rows()
    )


def rows() -> Iterator[tuple[str, str, str]]:
    """(path, default, description) of each value."""
    yield from _rows(_properties("Values"), _DEFAULTS, "")


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
        if inner and all(key in defaults.get(name, {}) for key in inner):
            yield f"{indent}{name}:"
            yield from _lines(inner, defaults[name], f"{indent}  ")
        elif inner:
            yield f"{indent}{name}: {{}}"
            yield from _commented(inner, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_flow(defaults[name])}"


def _commented(properties: Json, indent: str) -> Iterator[str]:
    """Comments with an example of each value that has no default."""
    for name, about in properties.items():
        example = f"{indent}# {name}: {_flow(about['examples'][0])}"
        yield f"{example}  # {about['description']}"


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)
    return text.removesuffix("\n").removesuffix("\n...")


def _inner(about: Json) -> Json:
    """The properties of a value that is an object; empty for others."""
    reference = about.get("$ref", "")
    return _properties(reference.rpartition("/")[2]) if reference else {}


def _properties(name: str) -> Json:
    properties: Json = msgspec.json.schema(Values)["$defs"][name]["properties"]
    return properties


@cache
def templates() -> dict[str, str]:
    """The chart's templates, by the name of the file or component that each is made from.

    The Namespace is left out, because Helm creates the release's.
    """
    printer = HelmPrinter(plain(DEFAULTS))
    docs = [doc for doc in installation.template() if doc.tree["kind"] != installation.NAMESPACE]
    names = dict.fromkeys(doc.source for doc in docs)
    return {
        name: _TEMPLATE + printer.text(doc for doc in docs if doc.source == name) for name in names
    }


def template_text(name: str) -> str:
    return templates()[name]


FILES: Final[Mapping[Path, Callable[[], str]]] = {
    CHART / "values.yaml": values_text,
    CHART / "values.schema.json": schema_text,
    CHART / "README.md": readme_text,
    **{CHART / "templates" / f"{name}.yaml": partial(template_text, name) for name in templates()},
}
"""The function that returns each file's text."""


def write() -> None:
    for path, text in FILES.items():
        path.write_text(text())


if __name__ == "__main__":
    write()

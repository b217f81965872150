"""What a changing command prints."""

from collections.abc import Sequence

from edl.writes import Json
from kubectl_edl.cli.context import CliContext
from kubectl_edl.output.serialize import json_stream, yaml_text


def say_changed(
    world: CliContext,
    output: str,
    sentence: str,
    manifests: Sequence[Json],
    hints: Sequence[str] = (),
) -> None:
    """The sentence, or the changed objects where `-o` asks for them; hints go to stderr."""
    for hint in hints:
        world.warn(hint)
    if not output:
        world.say(sentence)
    elif output == "name":
        for manifest in manifests:
            world.say(f"job.batch/{manifest['metadata']['name']}")
    else:
        world.out.write(_text(output, [_shown(manifest) for manifest in manifests]))


def _shown(manifest: Json) -> Json:
    """The object as kubectl shows it: without `metadata.managedFields`."""
    metadata = {
        name: value for name, value in manifest["metadata"].items() if name != "managedFields"
    }
    return manifest | {"metadata": metadata}


def _text(output: str, manifests: Sequence[Json]) -> str:
    if output == "yaml":
        return "---\n".join(map(yaml_text, manifests))
    return json_stream(manifests)

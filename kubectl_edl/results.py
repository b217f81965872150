"""What a changing command prints."""

from collections.abc import Sequence

from edl.writes import Json
from kubectl_edl.printers.documents import json_text, yaml_text
from kubectl_edl.world import World


def say_changed(world: World, output: str, sentence: str, manifests: Sequence[Json]) -> None:
    """The sentence, or the changed objects where `-o` asks for them."""
    if not output:
        world.say(sentence)
    elif output == "name":
        for manifest in manifests:
            world.say(f"job.batch/{manifest['metadata']['name']}")
    else:
        world.out.write(_text(output, manifests))


def _text(output: str, manifests: Sequence[Json]) -> str:
    if output == "yaml":
        return "---\n".join(yaml_text(manifest) for manifest in manifests)
    several = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    return json_text(manifests[0] if len(manifests) == 1 else several)

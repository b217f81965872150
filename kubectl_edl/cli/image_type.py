"""`--image`: where a cluster finds an image."""

from __future__ import annotations

from typing import Final

import click

EXAMPLE: Final = "registry.example/kubectl-edl:0.1.0"


def is_image(text: str) -> bool:
    """Whether it may be one; the registry knows the rest."""
    return bool(text) and not any(letter.isspace() for letter in text)


class Image(click.ParamType[str]):
    """The value of `--image` where there is one; an empty one would say nothing, unnoticed."""

    name = "IMAGE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_image(value):
            self.fail(
                f'"{value}" is no image; one that the cluster can pull: {EXAMPLE}', param, ctx
            )
        return value

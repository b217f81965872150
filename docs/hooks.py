"""What the documentation takes from the code and the examples when it is built.

A page holds a comment such as `<!-- example tensorflow -->`, and gets the example's README and
files: nothing that is elsewhere in the repository is written a second time.
"""

import re
from pathlib import Path
from typing import Final

EXAMPLES: Final = Path(__file__).parent.parent / "examples"
_COMMENT: Final = re.compile(r"<!-- example ([\w-]+) -->")
_LINK: Final = re.compile(r"\]\(((?!https?:|#)[^)]+)\)")
_LANGUAGES: Final = {".yaml": "yaml", ".py": "python", "": "dockerfile"}


def on_page_markdown(markdown: str, **_: object) -> str:
    """Every comment of ours becomes what it names."""
    return _COMMENT.sub(lambda found: _example(found[1]), markdown)


def _example(name: str) -> str:
    """An example's README without its title, then its files; links lead to them."""
    folder = EXAMPLES / name
    readme = folder / "README.md"
    said = readme.read_text().partition("\n")[2] if readme.exists() else ""
    files = sorted(path for path in folder.iterdir() if path != readme)
    shown = "\n".join(_file(path) for path in files)
    return f"{_LINK.sub(_local, said)}\n\n## Its files\n\n{shown}"


def _file(path: Path) -> str:
    language = _LANGUAGES.get(path.suffix, "text")
    text = path.read_text().rstrip()
    return f"### {path.name} {{ #{_anchor(path.name)} }}\n\n````{language}\n{text}\n````\n"


def _local(found: re.Match[str]) -> str:
    """Another example's page, or the place on this page where the file stands."""
    target = found[1]
    if target.startswith("../"):
        _, example, file = target.split("/")
        anchor = "" if file == "README.md" else f"#{_anchor(file)}"
        return f"]({example}.md{anchor})"
    return f"](#{_anchor(target)})"


def _anchor(file: str) -> str:
    return "file-" + file.lower().replace(".", "-")

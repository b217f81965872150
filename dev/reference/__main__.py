"""`python -m dev.reference`: writes the pages of docs/reference that are generated from code."""

from dev.reference.pages import pages

if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)

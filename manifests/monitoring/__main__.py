"""`python -m manifests.monitoring`: writes the dashboard's files."""

from manifests.monitoring import rendered

if __name__ == "__main__":
    for path, text in rendered().items():
        path.write_text(text)

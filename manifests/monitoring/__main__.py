"""`python -m manifests.monitoring`: write the dashboard and docs/reference/metrics.md."""

from manifests.documents import HERE
from manifests.monitoring import rendered
from manifests.monitoring.reference import reference

if __name__ == "__main__":
    for path, text in rendered().items():
        path.write_text(text)
    (HERE.parent / "docs" / "reference" / "metrics.md").write_text(reference())

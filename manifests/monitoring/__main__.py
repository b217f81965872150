"""`python -m manifests.monitoring`: writes the dashboard's ConfigMap."""

from manifests.monitoring import CONFIG_MAP, rendered

if __name__ == "__main__":
    CONFIG_MAP.write_text(rendered())

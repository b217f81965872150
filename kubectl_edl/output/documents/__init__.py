"""The fields of every document of `-o json` and `-o yaml`; docs/reference/outputs.md lists them."""

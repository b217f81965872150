"""The fields of all documents of `-o json` and `-o yaml`; docs/reference/outputs.md lists them."""

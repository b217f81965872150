"""The output formats of `-o`, which are kubectl's."""

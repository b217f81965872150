"""The README.md of the benchmarks: its sections, and the circumstances of each record."""

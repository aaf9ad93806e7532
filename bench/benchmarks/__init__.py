"""asv benchmarks of kernsift; see ../README.md for the commands."""

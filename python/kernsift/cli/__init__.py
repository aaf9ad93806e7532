"""The command line, ``python -m kernsift``."""

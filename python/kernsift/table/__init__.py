"""The recommended model of a table."""

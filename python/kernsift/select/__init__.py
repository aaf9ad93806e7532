"""Selecting the rows that become kernels."""

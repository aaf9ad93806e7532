"""Least squares on a chosen subset of kernels."""

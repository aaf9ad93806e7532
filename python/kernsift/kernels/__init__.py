"""Kernels on groups of columns, their sums and products."""

from __future__ import annotations

from ..base.groups import On, Product, Sum

__all__ = ["On", "Product", "Sum"]

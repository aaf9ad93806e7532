"""LS-SVMs with a kernel on every row, and their pruning."""

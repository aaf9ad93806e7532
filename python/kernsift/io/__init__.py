"""Model files and record batches."""

"""Learning and tuning kernel widths."""

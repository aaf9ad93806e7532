"""Policies: choosing actions by kernel values, and judging a policy from the transitions of another."""

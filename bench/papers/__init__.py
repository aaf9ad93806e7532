"""The papers' tables and figures, and those that go beyond them."""

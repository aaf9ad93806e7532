"""Models that learn a stream row by row."""

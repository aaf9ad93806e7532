"""The same work with every rival there is."""

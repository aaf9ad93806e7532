"""The modules whose ``__all__`` is public."""

PUBLIC = (
    "kernsift",
    "kernsift.blocks",
    "kernsift.dask",
    "kernsift.datasets",
    "kernsift.display",
    "kernsift.export",
    "kernsift.forecast",
    "kernsift.kernels",
    "kernsift.river",
)

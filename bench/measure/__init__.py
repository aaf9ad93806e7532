"""What every bench shares: data, clock, page and command line. Nothing here imports kernsift when it is imported."""

"""asv benchmarks of kernsift; see ../README.md for the commands."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # the clock and the rivals are those of every bench

from measure.fair import lift

lift()  # before any benchmark imports numpy

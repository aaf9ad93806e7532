"""Without an extra the package works, and what needs it says which to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import sys
for name in {missing!r}:
    sys.modules[name] = None  # as if it were not installed
import kernsift
try:
    {code}
except (ImportError, ValueError) as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("missing", "code", "extra"),
    [
        (["river"], "import kernsift.river", "kernsift[river]"),
        (["dask"], "import kernsift.dask", "kernsift[dask]"),
        (["pyarrow"], "kernsift.SubsetLSSVMRegressor().fit_batches('x.parquet', target='y')", "kernsift[arrow]"),
        (["pyarrow"], "from kernsift.cli import table; table.read('x.parquet')", "kernsift[arrow]"),
    ],
)
def test_what_is_missing_is_named(missing, code, extra):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT.format(missing=missing, code=code)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"pip install '{extra}'" in done.stdout


def test_importing_the_package_imports_no_extra():
    extras = ["dask", "matplotlib", "rich", "river"]
    code = f"import sys, kernsift, kernsift.cli.commands; print([n for n in {extras} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

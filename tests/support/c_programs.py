"""Headers compiled into programs that read rows and print answers."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

COMPILER = shutil.which("gcc") or shutil.which("clang")
compiled = pytest.mark.skipif(COMPILER is None, reason="no C compiler: gcc or clang")

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
REAL = {"float32": ("float", "%f"), "float64": ("double", "%lf")}


def build(folder, header, main, dtype):
    """Compile a program that reads rows of numbers; answers a function from rows to rows."""
    real, scan = REAL[dtype]
    (folder / "model.h").write_text(header)
    # the reading is the harness: the header is what has to stand the warnings
    source = f"""#include <stdio.h>
#include "model.h"
static int row({real} *x, int n) {{
  int i;
  for (i = 0; i < n; ++i)
    if (scanf("{scan}", &x[i]) != 1) return 0;
  return 1;
}}
static void show(const {real} *out, int n) {{
  int i;
  for (i = 0; i < n; ++i) printf("%.17g ", (double)out[i]);
}}
int main(void) {{
{main.replace("REAL", real)}
}}
"""
    (folder / "main.c").write_text(source)
    flags = [*STRICT, "-O2", "-ffp-contract=off"]
    subprocess.run([COMPILER, *flags, folder / "main.c", "-o", folder / "main"], check=True, capture_output=True)

    def call(rows):
        text = "\n".join(" ".join(f"{v:.17g}" for v in row) for row in rows)
        done = subprocess.run([folder / "main"], input=text, capture_output=True, text=True, check=True)
        return np.array([[float(v) for v in line.split()] for line in done.stdout.splitlines()])

    return call


PLAIN = """  REAL x[MODEL_FEATURES], out[MODEL_OUTPUTS];
  while (row(x, MODEL_FEATURES)) {
    model_scores(x, out);
    show(out, MODEL_OUTPUTS);
    ANSWER
    printf("\\n");
  }
  return 0;"""

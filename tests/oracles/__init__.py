"""The definitions, dense and literal, in numpy: what the core is tested against.

Nothing here is recursive in the inverse and nothing is shared with the core: every state is the direct
minimiser of

    J(beta, b) = sum_i v_i |y_i - b - k~_i' beta|^2 + alpha beta' K beta                            (1.1)

for the design K~ rebuilt from its definition.  Equation tags in brackets without a paper's name are those
of the specification; `JP` is Jung & Polani, `JPs` their slides, `Engel` is Engel, Mannor & Meir (2004).

Arithmetic: everything runs in one dtype, by default numpy's long double (64 bits of mantissa on x86, 113
on most 64-bit ARM Linux, plain double on Windows and macOS-ARM: see `EXTENDED`).  The problem is always
posed in an orthonormal basis of the dictionary's span and solved by a row-sorted, column-pivoted
Householder QR, so that the oracle loses to neither a nearly singular K nor a small alpha.

Shapes: n rows, t of them with positive weight, d features, c outputs, m kernels, b = 1 with a bias and 0
without.
"""

from .blocks import FadingFilter, RidgeRows, column_ridge, dense_inverse
from .kernels import (
    ADMITTED,
    BOUNCED,
    EXTENDED,
    IGNORED,
    NOTHING,
    REFUSED,
    REJECTED_NOVELTY,
    REJECTED_USEFULNESS,
    RESOLUTION,
    SWAPPED,
    TIE,
    Array,
    KernelFunction,
    kernel_function,
    kernel_matrix,
    rounded,
)
from .krls import KRLS, engel_krls
from .linear import Minimum, Solution, cholesky, householder_qr, minimise, rkhs_error, solve_lower, solve_upper
from .lstd import (
    BatchLSTD,
    DenseLSPE,
    ExplicitLSTD,
    Transitions,
    block_kernel,
    dense_action_values,
    dense_lstd,
    dense_transitions,
    feedback_of_values,
    gptd,
    projected_error,
)
from .selection import (
    PaperRecursion,
    RidgeFit,
    SelectionPath,
    exhaustive_selection,
    marginal_score,
    orthogonal_columns,
    paper_recursion,
    reestimated_ridge,
    refitted_score,
    ridge_fit,
    schwarz_score,
    side_information,
    splitmix64,
)
from .stream import BatchModel, Decision, PaperModel, trial
from .subset import SubsetFit, brute_force_fvs, literal_deletion, reconstruction, subset_fit, subset_loo

__all__ = [
    "ADMITTED",
    "BOUNCED",
    "EXTENDED",
    "IGNORED",
    "KRLS",
    "NOTHING",
    "REFUSED",
    "REJECTED_NOVELTY",
    "REJECTED_USEFULNESS",
    "RESOLUTION",
    "SWAPPED",
    "TIE",
    "Array",
    "BatchLSTD",
    "BatchModel",
    "Decision",
    "DenseLSPE",
    "ExplicitLSTD",
    "FadingFilter",
    "KernelFunction",
    "Minimum",
    "PaperModel",
    "PaperRecursion",
    "RidgeFit",
    "RidgeRows",
    "SelectionPath",
    "Solution",
    "SubsetFit",
    "Transitions",
    "block_kernel",
    "brute_force_fvs",
    "cholesky",
    "column_ridge",
    "dense_action_values",
    "dense_inverse",
    "dense_lstd",
    "dense_transitions",
    "engel_krls",
    "exhaustive_selection",
    "feedback_of_values",
    "gptd",
    "householder_qr",
    "kernel_function",
    "kernel_matrix",
    "literal_deletion",
    "marginal_score",
    "minimise",
    "orthogonal_columns",
    "paper_recursion",
    "projected_error",
    "reconstruction",
    "reestimated_ridge",
    "refitted_score",
    "ridge_fit",
    "rkhs_error",
    "rounded",
    "schwarz_score",
    "side_information",
    "solve_lower",
    "solve_upper",
    "splitmix64",
    "subset_fit",
    "subset_loo",
    "trial",
]

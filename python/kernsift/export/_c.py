"""C99 without library or allocation: a header that predicts, and that learns if asked."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.pipeline import fold
from ..base.validation import check_array
from ..io.atomic_write import write_whole
from ..stream.online_model import OnlineModel
from . import _c_text as text
from ._deviation import Deviation
from ._deviation_of import deviation
from ._emulate import Arithmetic
from ._learner import Learner
from ._model import Model, describe

# What is off by more than this, of the largest output, is warned of.
_WARN = 1e-3


def to_c(
    estimator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "model",
    dtype: str = "float32",
    learn: bool = False,
    X: ArrayLike | None = None,
    max_bytes: int | None = None,
    max_ram: int | None = None,
    std: bool = False,
) -> str:
    """Write a fitted estimator as a C99 header for a microcontroller: no library, no malloc, no global state.

    ``<name>_predict`` returns a regressor's value (several outputs: through a pointer), or the number of a class,
    whose label ``<name>_label`` returns; ``<name>_scores`` and, where the estimator has them,
    ``<name>_probabilities`` fill an array; a :class:`~kernsift.FeatureVectorSelector` has ``<name>_transform``.  All
    kernels are supported.  Where a feature is infinite, or NaN that no step of a pipeline and no front door fills in,
    values, scores and probabilities are NaN, the number of the class is -1, whose label is 0 (a null pointer for
    texts), and nothing is learned; not with a compiler's ``-ffast-math``, which takes NaN away.

    With ``learn=True`` the state is a struct that the caller owns: ``<name>_begin(&s)``, then
    ``<name>_learn(&s, x, y, weight)`` is the exact recursive least squares step on the frozen dictionary, in the
    U D U' form, and the other functions take ``&s`` first.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline with one
        Scalers of a pipeline become part of the kernels, and other steps that :func:`kernsift.fold` reads part of the
        header, where columns are numbers.
    path : str or path, optional
        Where to write the header; it appears whole or not at all.
    name : str, default="model"
        Prefix of everything in the header.
    dtype : {"float32", "float64"}, default="float32"
        Type of the numbers on the target.
    learn : bool, default=False
        Also the update step; for online estimators with engine="orthonormal", forgetting=1.0 and linear=False.
    X : array-like of shape (n_samples, n_features), optional
        Rows the header's error is measured on; by default the basis vectors and points between them.
    max_bytes, max_ram : int, optional
        Constants (flash) and memory (stack, and the state with ``learn``) the target has; what does not fit is refused.
    std : bool, default=False
        Of a regressor, also ``<name>_predict_std``, the standard deviation of ``predict(X, return_std=True)`` (several
        outputs: through a pointer).  It takes two triangles of the kernels as constants.  With ``learn`` it follows
        the state and no constants are added; it is then multiplied by a running scale, by which errors made before
        their rows were learned were larger or smaller than predicted, as the intervals of streams are.

    Returns
    -------
    str
        The header.

    Warns
    -----
    UserWarning
        Where predicting, or with ``learn=True`` learning, is off by more than a thousandth in ``dtype``.  What learning
        loses goes with the condition of the state, which the header states.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OnlineLSSVMRegressor
    >>> from kernsift.export import to_c
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> model = OnlineLSSVMRegressor(gamma=1.0, max_basis=20).fit(X, np.sin(X[:, 0]))
    >>> header = to_c(model, name="sine", max_bytes=1024)
    >>> "static inline float sine_predict(const float* x)" in header
    True
    """
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype={dtype!r} must be 'float32' or 'float64'")
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(f"name={name!r} must be a C identifier that begins with a letter")
    estimator = fold(estimator)
    model = describe(estimator, "C")
    rows = model.probes if X is None else _given(model, X)
    before = None if X is None else model.steps
    features = rows if before is None else before.encode(rows)
    spread = deviation(estimator, model, features) if std else None
    if spread is not None:
        model = _in_order_of(spread, model)
    learner = _learner(estimator, model, std) if learn else None
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is named by the check
        arithmetic = Arithmetic(model, dtype)
        given = rows.astype(dtype)
    _check_range(arithmetic, learner, given, dtype)
    exact = given.astype(np.float64)
    if before is not None:  # features as they are, and as the target computes them
        exact, given = features, arithmetic.encode(given)
    flash, ram = _sizes(model, learner, dtype)
    if spread is not None and learner is not None:
        flash, ram = flash + 3 * model.n_outputs * given.itemsize, ram + 2 * model.n_outputs * given.itemsize
    elif spread is not None:
        size = np.dtype(dtype).itemsize
        flash, ram = flash + size * spread.size, ram + size * (len(spread.L) + 4 * model.n_outputs)
    _check_room(model, "constants", flash, max_bytes, "max_bytes", dtype)
    _check_room(model, "memory while running", ram, max_ram, "max_ram", dtype)

    if learner is None:
        error = model.error_of(arithmetic.scores(given), exact)
    else:
        error = model.error_of(arithmetic.scores_from(learner, given), exact)
    notes = [
        f"{model.estimator}: {_many(model.n_basis, 'kernel')} ({model.kernel}), {_many(model.n_columns, 'feature')}, "
        f"{_many(model.n_outputs, 'output')}.",
        f"Largest error against float64: {error:.1e} of the largest output, on {len(rows)} rows "
        + ("(basis vectors and points between" if X is None else "(given")
        + (", after the steps)." if X is None and model.steps is not None else ")."),
        f"Constants {flash} bytes, {'stack and state' if learn else 'stack'} about {ram} bytes.",
        "Freestanding C99: no library function is called (a compiler may call memcpy or memset).",
    ]
    problems = [_problem(f"predicting on the target in {dtype}", error, "")]
    if spread is not None:
        truth = spread.at(exact, model.scores(exact))
        lost = float(np.abs(arithmetic.deviations(spread, given) - truth).max() / truth.max())
        notes.append(f"Standard deviations: largest error {lost:.1e} of the largest.")
        problems.append(_problem(f"the standard deviation in {dtype}", lost, ""))
    if learner is not None:
        steps, lost = arithmetic.learning_error(learner, given)
        condition = f" (condition of the state {learner.condition:.1e})"
        notes.append(f"Learning: error after {steps} updates {lost:.1e} of the largest output{condition}.")
        problems.append(_problem(f"learning on the target in {dtype}", lost, f" after {steps} updates{condition}"))
    for problem in filter(None, problems):
        advice = f"{problem}: fit with a larger alpha or novelty_tol (fewer kernels)"
        advice += ", or use dtype='float64'" * (dtype == "float32")
        notes.append(f"WARNING: {advice}")
        warnings.warn(advice, UserWarning, stacklevel=2)
    header = text.header(model, arithmetic, learner, name, dtype, notes, spread)
    if path is not None:
        write_whole(path, header.encode("utf-8"))
    return header


def _given(model: Model, X: ArrayLike) -> Array:
    """Rows to measure the error on, as the header is given them."""
    rows: Array = check_array(X, dtype=np.float64, ensure_all_finite=model.steps is None or "allow-nan")
    if rows.shape[1] != model.n_columns:
        raise ValueError(f"X has {rows.shape[1]} features but the model was fitted with {model.n_columns}")
    return rows


def _in_order_of(spread: Deviation, model: Model) -> Model:
    """The model with its vectors in the order of the triangles."""
    kernels = [term for term in model.terms if not term.slopes]
    if len(kernels) != 1 or kernels[0].kernel.name == "linear":
        raise ValueError("std=True needs kernels that are not linear: write without it")
    (term,) = kernels
    place = {row.tobytes(): i for i, row in enumerate(term.vectors)}
    order = [place[row.tobytes()] for row in spread.term.vectors]
    term = replace(term, vectors=spread.term.vectors, coef=term.coef[order])
    return replace(model, terms=(term, *(other for other in model.terms if other.slopes)))


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _learner(estimator: Any, model: Model, std: bool) -> Learner:
    """What the update step needs, or why there is none."""
    if not isinstance(estimator, OnlineModel):
        raise ValueError(
            f"learn=True writes the update step of an online estimator and {model.estimator} has none; fit an "
            "OnlineLSSVMRegressor, OnlineLSSVMClassifier or KRLSRegressor, or write it with learn=False"
        )
    if estimator.engine != "orthonormal":
        raise ValueError(
            f"learn=True needs engine='orthonormal', got engine={estimator.engine!r}; fit with it, or write with "
            "learn=False"
        )
    if estimator._fitted().memories[0] != [1.0] or estimator._fitted().slopes.size:
        raise ValueError(
            "learn=True writes the step of a single memory that does not forget, without a linear part, and "
            f"forgetting={estimator.forgetting!r}, linear={estimator.linear!r}; begin the stream with forgetting=1.0 "
            "and linear=False, or write with learn=False"
        )
    if estimator.noise == "input" or (std and any(estimator._fitted().uneven_noise)):
        raise ValueError(
            f"learn=True writes a step of constant noise, and with noise={estimator.noise!r} that of this stream "
            "depends on x: begin the stream with noise='constant', or write with learn=False"
        )
    if not model.terms:
        raise ValueError("learn=True needs a model with at least one kernel: fit on more rows, or lower usefulness_tol")
    return Learner.of(estimator)


def _check_range(arithmetic: Arithmetic, learner: Learner | None, rows: NDArray[Any], dtype: str) -> None:
    """Refuse numbers that the target's type does not hold."""
    most = float(np.finfo(dtype).max)
    numbers = [rows[~np.isnan(rows)], *arithmetic.constants, *([] if learner is None else learner.constants)]
    if not all((np.abs(c) <= most).all() for c in numbers):
        raise ValueError(
            f"dtype={dtype!r} holds numbers up to {most:.3g} and the model has larger ones; use dtype='float64', or "
            "scale X and y before fitting"
        )
    for column, levels in arithmetic.levels:
        if len(set(levels)) < len(levels):
            raise ValueError(
                f"dtype={dtype!r} does not tell the categories of column {column!r} apart; use dtype='float64', or "
                "number them"
            )


def _sizes(model: Model, learner: Learner | None, dtype: str) -> tuple[int, int]:
    """Bytes of constants, and of stack and state."""
    flash, ram = model.intercept.size + model.constants_of_steps.size, model.n_features + 2 * model.n_outputs
    flash += 0 if model.bounds is None else model.bounds.size
    ram += 0 if model.steps is None else model.n_columns
    for term in model.terms:
        linear = term.kernel.name == "linear"
        flash += term.weights.size if linear else term.vectors.size + term.coef.size
        flash += 0 if linear or term.kernel.name == "polynomial" else 2 * model.n_features
        flash += 0 if term.kernel.warp is None else 3 * term.kernel.warp[1].size
    if learner is not None:
        q = learner.dimension
        state = learner.theta.size + q + q * (q - 1) // 2
        m = len(learner.L)
        # the coefficients live in the state; its first value and the factor L are constants
        flash += state + m * (m + 1) // 2 - model.intercept.size - sum(t.coef.size for t in model.terms)
        ram += state + 4 * q
    size = np.dtype(dtype).itemsize
    return flash * size, ram * size + 64


def _check_room(model: Model, what: str, size: int, most: int | None, parameter: str, dtype: str) -> None:
    if most is not None and size > most:
        smaller = ", or use dtype='float32'" if dtype == "float64" else ""
        raise model.too_large(f"the model needs {size} bytes of {what} and the target has {parameter}={most}", smaller)


def _problem(what: str, error: float, where: str) -> str:
    """Say what is off by too much, or nothing."""
    return "" if error <= _WARN else f"{what} is off by {error:.1e} of the largest output{where}"

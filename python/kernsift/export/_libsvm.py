"""LIBSVM's text format."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..base.arrays import Array
from ..io.atomic_write import write_whole
from ._model import Model, describe


def to_libsvm(
    estimator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    output: int | None = None,
    max_bytes: int | None = None,
) -> str:
    """Write a fitted estimator as a model file of LIBSVM.

    A regressor becomes an ``epsilon_svr``, a classifier a ``c_svc`` with the same decisions.  LIBSVM compares classes
    in pairs: for more than two, every pair (i, j) is given the difference of the scores of i and j, so that the class
    of the largest score wins all its pairs; the file then holds each vector once a class.  Probabilities
    (``svm-predict -b 1``) are those of ``predict_proba`` as near as LIBSVM's iteration goes, two or three digits.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline with one
        Kernel "rbf", "polynomial" or "linear", one width for all features, integer labels.  Scalers of a pipeline
        become part of the kernel, where they leave one width for all.
    path : str or path, optional
        Where to write the file; it appears whole or not at all.
    output : int, optional
        Which output of a regressor with several: the format holds one.
    max_bytes : int, optional
        Room on the target; a larger model is refused.

    Returns
    -------
    str
        The text of the file.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import SubsetLSSVMClassifier
    >>> from kernsift.export import to_libsvm
    >>> X, y = make_moons(200, noise=0.2, random_state=7)
    >>> model = SubsetLSSVMClassifier(max_basis=20, gamma=2.0, random_state=0).fit(X, y)
    >>> to_libsvm(model).splitlines()[:3]
    ['svm_type c_svc', 'kernel_type rbf', 'gamma 2']
    """
    model = describe(estimator, "LIBSVM")
    vectors, coef = _one_kernel(model)
    lines = [f"svm_type {'c_svc' if model.kind == 'classifier' else 'epsilon_svr'}", *_kernel_lines(model)]
    if model.kind == "classifier":
        lines += _classifier(model, vectors, coef)
    else:
        column = _which_output(model, output)
        lines += ["nr_class 2", f"total_sv {len(vectors)}", f"rho {-model.intercept[column]:.17g}", "SV"]
        lines += _support(vectors, coef[:, [column]])
    text = "\n".join(lines) + "\n"
    if max_bytes is not None and len(text) > max_bytes:
        raise model.too_large(f"the LIBSVM model takes {len(text)} bytes and the target has {max_bytes}")
    if path is not None:
        write_whole(path, text.encode("ascii"))
    return text


def _one_kernel(model: Model) -> tuple[Array, Array]:
    """Vectors and coefficients where LIBSVM has such a model; an error that says why where not."""
    if model.kind == "transformer":
        raise ValueError(
            f"{model.estimator} is a transformer and LIBSVM has none; fit a SubsetLSSVMRegressor or "
            "SubsetLSSVMClassifier with it as basis, or use to_onnx or to_c"
        )
    if any(term.slopes for term in model.terms):
        raise ValueError(
            "the model has a linear part beside its kernels and LIBSVM has none; begin the stream with linear=False, "
            "or use to_onnx or to_c"
        )
    if len(model.terms) > 1:
        raise ValueError(
            f"the model uses {len(model.terms)} widths (gammas) in one dictionary and LIBSVM has one; fit with one "
            "gamma, or use to_onnx or to_c"
        )
    if not model.terms:
        return np.zeros((1, model.n_features)), np.zeros((1, model.n_outputs))
    term = model.terms[0]
    if term.kernel.warp is not None:
        raise ValueError(
            "gamma is a Warp and LIBSVM has no such kernel; fit on Warp.transform(X) with gamma=1.0, or use to_onnx or "
            "to_c"
        )
    gamma = term.kernel.gamma
    if model.kernel != "linear" and not (gamma == gamma[0]).all():
        raise ValueError(
            "gamma differs between the features and LIBSVM has one for all; multiply the columns of X by sqrt(gamma) "
            "and fit with gamma=1.0, or use to_onnx or to_c"
        )
    return term.vectors, term.coef


def _kernel_lines(model: Model) -> list[str]:
    lines = [f"kernel_type {model.kernel}"]
    if not model.terms or model.kernel == "linear":
        return lines
    kernel = model.terms[0].kernel
    if model.kernel == "polynomial":
        lines.append(f"degree {kernel.degree}")
    lines.append(f"gamma {kernel.gamma[0]:.17g}")
    if model.kernel == "polynomial":
        lines.append(f"coef0 {kernel.coef0:.17g}")
    return lines


def _which_output(model: Model, output: int | None) -> int:
    if output is None:
        if model.n_outputs > 1:
            raise ValueError(
                f"LIBSVM models have one output and this one has {model.n_outputs}: write one file an output, with "
                f"output=0 to output={model.n_outputs - 1}"
            )
        return 0
    if not 0 <= output < model.n_outputs:
        raise ValueError(f"output={output!r} must be between 0 and {model.n_outputs - 1}")
    return int(output)


def _labels(model: Model) -> list[int]:
    classes = np.asarray(model.classes)
    whole = classes.dtype.kind in "biu" or (classes.dtype.kind == "f" and bool((classes == np.trunc(classes)).all()))
    if not whole or np.abs(classes.astype(np.float64)).max() >= 2**31:
        raise ValueError(
            f"labels of LIBSVM are integers of 32 bits and the classes are {classes.tolist()}; fit on the codes of "
            "sklearn.preprocessing.LabelEncoder"
        )
    return [int(c) for c in classes]


def _classifier(model: Model, vectors: Array, coef: Array) -> list[str]:
    labels, k = _labels(model), len(np.asarray(model.classes))
    if k == 2:
        # a positive score is a vote for the label named first; whose vector is whose does not matter
        labels, groups = labels[::-1], [np.ones(len(vectors), bool), np.zeros(len(vectors), bool)]
        columns = [coef, coef]
        rho, slope = [-model.intercept[0]], -2.0  # softmax of (-s, s)
    else:
        b = model.intercept
        rho = [b[j] - b[i] for i in range(k) for j in range(i + 1, k)]
        groups = [coef[:, c] != 0 for c in range(k)]
        # row r of a vector of class c faces class r, or r + 1 from c on; the second of a pair enters with a minus
        columns = [np.outer(coef[:, c], np.where(np.arange(k - 1) < c, -1.0, 1.0)) for c in range(k)]
        slope = -1.0
    lines = [
        f"nr_class {k}",
        f"total_sv {sum(int(g.sum()) for g in groups)}",
        "rho " + " ".join(f"{r:.17g}" for r in rho),
        "label " + " ".join(map(str, labels)),
    ]
    if model.temperature is not None:
        lines.append("probA " + " ".join([f"{slope * model.temperature:.17g}"] * len(rho)))
        lines.append("probB " + " ".join(["0"] * len(rho)))
    lines += ["nr_sv " + " ".join(str(int(g.sum())) for g in groups), "SV"]
    for group, column in zip(groups, columns, strict=True):
        lines += _support(vectors[group], column[group])
    return lines


def _support(vectors: Array, coef: Array) -> list[str]:
    return [
        " ".join([*(f"{c:.17g}" for c in row), *(f"{j + 1}:{x:.17g}" for j, x in enumerate(vector) if x != 0)])
        for vector, row in zip(vectors, coef, strict=True)
    ]

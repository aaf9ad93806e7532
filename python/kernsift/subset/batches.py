"""Fitting from batches: a basis from a sample of them, sums over all, a solution at the end."""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from ..base.canonical import draw_seed
from ..base.pipeline import in_two, joined, named
from ..base.progress import progress
from ..base.validation import E, check_some_weight, forget, is_empty_block, take_over, transaction
from ..io.record_batches import BatchColumns, Reservoir, Source
from .base import SubsetBase
from .choice import check_again
from .state import SubsetState


def fit_batches(
    estimator: E,
    batches: Any,
    *,
    target: str | list[str] | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    classes: ArrayLike | None = None,
    sample: int = 20_000,
    verbose: bool = False,
) -> E:
    """Fit a subset estimator, or a pipeline that ends in one, from batches; see `SubsetLSSVMRegressor.fit_batches`.

    Parameters
    ----------
    estimator : SubsetLSSVMRegressor or SubsetLSSVMClassifier, or Pipeline that ends in one
        Fitted in place, and returned.  The steps of a pipeline are fitted to the sample on which the basis is chosen.
    batches : iterable, table or path(s)
    target, weight, features, sample, verbose
        As there.
    classes : array-like, optional
        Labels of a classifier; found in the batches if not given.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernsift import SubsetLSSVMRegressor, fit_batches
    >>> X = np.random.default_rng(7).uniform(0, 900, (600, 1))
    >>> batches = [(X[i:i + 200], np.sin(X[i:i + 200, 0] / 100)) for i in (0, 200, 400)]
    >>> pipeline = make_pipeline(StandardScaler(), SubsetLSSVMRegressor(max_basis=30, random_state=0))
    >>> bool(fit_batches(pipeline, batches).score(X, np.sin(X[:, 0] / 100)) > 0.99)
    True
    """
    front, model = in_two(estimator)
    if not isinstance(model, SubsetBase):
        raise TypeError(
            f"fit_batches takes a SubsetLSSVMRegressor or SubsetLSSVMClassifier, whose sums add exactly, and got a "
            f"{type(model).__name__}"
        )
    if classes is not None and not is_classifier(model):
        raise ValueError("classes= names labels, and a regressor has none: leave it out")
    how = {"target": target, "weight": weight, "features": features, "sample": sample, "verbose": verbose}
    learn_batches(model, batches, how, classes, front)
    take_over(estimator, joined(front, estimator, model))
    return estimator


def learn_batches(model: SubsetBase, batches: Any, how: dict[str, Any], classes: Any = None, front: Any = None) -> None:
    """Learn batches one after another, on a basis chosen from a sample of them; solve once, at the end."""
    model._validate_params()
    model._no_loo("fit_batches")
    model._in_parts("fit_batches")
    model._sums_for("fit_batches")
    sample = how["sample"]
    if not isinstance(sample, Integral) or isinstance(sample, bool) or sample < 1:
        raise ValueError(f"sample={sample!r} must be the number of rows that the basis is chosen on, 1 or more")
    source, columns = Source(batches), BatchColumns(how["target"], how["weight"], how["features"])
    labelled, interrupted = is_classifier(model), False

    def parts() -> Iterator[tuple[Any, ...]]:
        for batch in source:
            part = columns.split(batch)
            if not is_empty_block(part[0]):
                yield part

    with transaction(model) as new, progress(source.n_rows, sys.stderr, hidden=not how["verbose"]) as advance:
        forget(new, "_basis", "_state")
        drawn = Reservoir(int(sample), draw_seed(copy.deepcopy(model.random_state)))
        waiting: list[tuple[Any, ...]] = []
        rest = parts()
        try:
            for part in rest if not source.again else parts():
                drawn.add(*part, labels=labelled and classes is None)
                if not source.again:  # what is read once waits for the basis
                    waiting.append(part)
                    if drawn.n_rows >= sample:
                        break
        except KeyboardInterrupt:
            if source.again or not waiting:
                raise
            interrupted, rest = True, iter(())
        rows = drawn.rows()
        if not drawn.n_rows:
            raise ValueError("fit_batches got no rows: the iterable of batches is empty (or used up)")
        if not rows:
            check_some_weight(np.zeros(1))
        X, y, *weight = rows
        if front is not None:
            front.fit(named(X, columns.names), y)
            X = front.transform(named(X, columns.names))
        known = () if not labelled else (drawn.labels if classes is None else classes,)
        new._select_basis(X, y, weight[0] if weight else None, *known)
        total: SubsetState | None = None
        try:
            for X, y, *weight in itertools.chain(waiting, rest):
                if front is not None:
                    X = front.transform(named(X, columns.names))
                sums = new._sums_of(new._checked(X, y, weight[0] if weight else None, begin=False))
                if total is not None:
                    check_again(new, len(total.z), total.z.shape[1], 1, "adding a batch to sums on")
                total = sums if total is None else total.merge(sums)
                advance("learning", sums.n_rows)
        except KeyboardInterrupt:
            if total is None:
                raise
            interrupted = True
        seen = 0 if total is None else total.n_rows
        if seen != drawn.n_rows and source.again and not interrupted:
            raise ValueError(
                f"the batches are read twice, for the basis and for the sums, and gave {drawn.n_rows} rows and then "
                f"{seen}: give what can be read twice, or iter(batches) for a basis from the first rows"
            )
        assert total is not None
        new._solve(total, None)
        if columns.names is not None and front is None:
            new.feature_names_in_ = np.array(columns.names, dtype=object)
    if interrupted:
        raise KeyboardInterrupt

"""A pipeline of scikit-learn's as one estimator: reading its steps, folding, saving."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .arrays import Array
from .estimator import Estimator
from .steps import Coordinate, Steps, plain
from .validation import at_this_moment, forget


def is_pipeline(estimator: Any) -> bool:
    """Whether something is a pipeline of scikit-learn's, which is imported if there is one."""
    module = sys.modules.get("sklearn.pipeline")
    return module is not None and isinstance(estimator, module.Pipeline)


def fold(estimator: Any) -> Any:
    """Return the model of a fitted pipeline as one estimator, which takes the pipeline's own rows.

    It predicts to the same bits in double precision.  :func:`save`, ``to_c``, ``to_libsvm`` and ``to_onnx`` fold by
    themselves; a stream goes on learning rows as they come, with the scale it began with.

    Parameters
    ----------
    estimator : fitted Pipeline, or estimator of this package
        Steps before the model: StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, SimpleImputer, OneHotEncoder,
        OrdinalEncoder, selections of columns, pipelines of them, and a ColumnTransformer with any of them.  An
        estimator is returned as it is.

    Returns
    -------
    estimator
        A copy of the pipeline's last step with ``columns_``, which holds what the steps do.

    Raises
    ------
    ValueError
        If a step is another.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernsift import SubsetLSSVMRegressor, fold
    >>> X = np.random.default_rng(7).uniform(0, 1000, (300, 2))
    >>> pipeline = make_pipeline(StandardScaler(), SubsetLSSVMRegressor(max_basis=30, random_state=0))
    >>> model = fold(pipeline.fit(X, np.sin(X[:, 0] / 200)))
    >>> type(model).__name__, bool((model.predict(X) == pipeline.predict(X)).all())
    ('SubsetLSSVMRegressor', True)
    """
    if not is_pipeline(estimator):
        if not isinstance(estimator, Estimator):
            raise TypeError(
                f"an estimator of kernsift is needed, or a pipeline that ends in one, got {type(estimator).__name__}"
            )
        return estimator
    steps, last = stages(estimator)
    check_is_fitted(last)
    model = getattr(last, "model_", last)
    if getattr(model, "columns_", None) is not None:
        raise ValueError(
            f"the model encodes what the steps before it return ({model.columns_.described()}), and one of the two "
            "can be kept: leave the steps out, this model needs none"
        )
    coordinates: Sequence[Coordinate]
    names = list(getattr(estimator, "feature_names_in_", range(estimator.n_features_in_)))
    coordinates = [Coordinate(j, str(name)) for j, name in enumerate(names)]
    for name, step in steps:
        coordinates = _after(name, step, coordinates)
    folded = at_this_moment(model)
    folded.columns_ = Steps(tuple(n if isinstance(n, int) else str(n) for n in names), tuple(coordinates))
    folded._encodes = True
    folded.n_features_in_ = len(names)
    forget(folded, "feature_names_in_")
    if hasattr(estimator, "feature_names_in_"):
        folded.feature_names_in_ = estimator.feature_names_in_
    if model is last:
        return folded
    front = at_this_moment(last)
    front.model_ = folded
    return front


def save(estimator: Any, path: str | os.PathLike[str], what: str = "all") -> None:
    """Write a model, or a pipeline that ends in one, to a file that :func:`load` reads.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline that :func:`fold` takes
        Of a pipeline the file holds the folded model: :func:`load` returns one estimator that takes the same rows.
    path : str or path-like
    what : {"all", "predict"}, default="all"
        As of the estimators' own ``save``.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import kernsift
    >>> X = np.random.default_rng(7).uniform(0, 1000, (200, 2))
    >>> pipeline = make_pipeline(StandardScaler(), kernsift.LSSVMRegressor()).fit(X, np.sin(X[:, 0] / 200))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kernsift.save(pipeline, os.path.join(folder, "model.npz"))
    ...     model = kernsift.load(os.path.join(folder, "model.npz"))
    >>> bool((model.predict(X) == pipeline.predict(X)).all())
    True
    """
    fold(estimator).save(path, what)


def stages(estimator: Any) -> tuple[list[tuple[str, Any]], Any]:
    """The steps before the model of a pipeline, and the model; of an estimator no steps."""
    if not is_pipeline(estimator):
        return [], estimator
    *steps, (name, last) = estimator.steps
    inner, model = stages(last)
    if not isinstance(model, Estimator):
        raise TypeError(
            f"step {name!r} ({type(model).__name__}) ends this pipeline, which an estimator of kernsift must do"
        )
    return [*((n, s) for n, s in steps if s not in (None, "passthrough")), *inner], model


def in_two(estimator: Any) -> tuple[Any, Any]:
    """The steps before the last of a pipeline, unfitted and None where there are none, and an unfitted model."""
    if not is_pipeline(estimator):
        return None, clone(estimator)
    stages(estimator)
    front = clone(estimator[:-1]) if len(estimator.steps) > 1 else None
    return front, clone(estimator.steps[-1][1])


def joined(front: Any, pipeline: Any, model: Any) -> Any:
    """A pipeline like the one given, of fitted steps and a fitted model; the model itself where there was none."""
    if not is_pipeline(pipeline):
        return model
    steps = [] if front is None else list(front.steps)
    return clone(pipeline).set_params(steps=[*steps, (pipeline.steps[-1][0], model)])


def named(X: Array, names: Sequence[str] | None) -> Any:
    """Rows as a data frame where their columns have names, by which steps may choose them."""
    if names is None:
        return X
    import pandas

    return pandas.DataFrame(X, columns=list(names))


def _after(name: str, step: Any, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    """The coordinates after a step of a pipeline."""
    if isinstance(step, str) and step == "passthrough":
        return list(coordinates)
    if is_pipeline(step):
        for inner, part in step.steps:
            if part is not None:
                coordinates = _after(f"{name}: {inner}", part, coordinates)
        return list(coordinates)
    kind = type(step)
    read = _selected if hasattr(step, "get_support") else _READERS.get(kind.__name__)
    if read is not None and kind.__module__.startswith("sklearn."):
        check_is_fitted(step)
        return read(name, step, coordinates)
    raise _no(name, step, "is none of those that can be part of a model")


def _no(name: str, step: Any, why: str) -> ValueError:
    return ValueError(
        f"step {name!r} ({type(step).__name__}) {why} ({', '.join(_READERS)}, selections of columns): give rows that "
        "have passed it to the model behind it, pipeline[-1], or keep the whole pipeline with skops or joblib"
    )


# --- one step ---


def _scaled(*operations: tuple[str, str]) -> Callable[..., list[Coordinate]]:
    """A reader of a step that does arithmetic with fitted attributes, None or one number a column."""

    def read(name: str, step: Any, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
        found = list(coordinates)
        for operation, attribute in operations:
            values = getattr(step, attribute, None)
            if values is not None and (attribute != "mean_" or step.with_mean):
                found = [c.then((operation, float(v))) for c, v in zip(found, values, strict=True)]
        if getattr(step, "clip", False):
            bounds = getattr(step, "feature_range", (-1.0, 1.0))
            found = [c.then(("clip", *map(float, bounds))) for c in found]
        return found

    return read


def _imputed(name: str, step: Any, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    mark = plain(step.missing_values)
    kept = [
        c.then(("fill", mark, value))
        for c, value in zip(coordinates, map(plain, step.statistics_), strict=True)
        if value is not None or step.keep_empty_features
    ]
    if not step.add_indicator:
        return kept
    flags = [coordinates[j] for j in step.indicator_.features_]
    return kept + [Coordinate(c.column, f"{c.name} is missing", (*c.operations, ("missing", mark))) for c in flags]


def _one_hot(name: str, step: Any, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    found = []
    rare = getattr(step, "infrequent_categories_", None) or [None] * len(coordinates)
    drops = step.drop_idx_ if step.drop_idx_ is not None else [None] * len(coordinates)
    for c, given, few, drop in zip(coordinates, step.categories_, rare, drops, strict=True):
        if few is not None and drop is not None:
            raise _no(name, step, "drops categories and adds up infrequent ones, and one of the two is read")
        levels = tuple(map(plain, given))
        together = () if few is None else tuple(map(plain, few))
        own = [level for level in levels if level not in together and level != _at(levels, drop)]
        codes = tuple(own.index(v) if v in own else len(own) if v in together else -1 for v in levels)
        unknown = -1
        if step.handle_unknown in ("infrequent_if_exist", "warn") and together:
            unknown = len(own)
        coded = c.then(("code", levels, codes, None if step.handle_unknown == "error" else unknown, name))
        names = [f"{c.name}={level}" for level in own] + [f"{c.name}: others"] * bool(together)
        found += [Coordinate(c.column, one, (*coded.operations, ("at", k))) for k, one in enumerate(names)]
    return found


def _ordinal(name: str, step: Any, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    if any(few is not None for few in getattr(step, "infrequent_categories_", None) or ()):
        raise _no(name, step, "adds up infrequent categories, which is not read")
    found = []
    for c, given in zip(coordinates, step.categories_, strict=True):
        levels = tuple(map(plain, given))
        codes = tuple(float(step.encoded_missing_value if v is None else k) for k, v in enumerate(levels))
        unknown = None if step.handle_unknown == "error" else float(step.unknown_value)
        found.append(c.then(("code", levels, codes, unknown, name)))
    return found


def _selected(name: str, step: Any, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    return [coordinates[j] for j in step.get_support(indices=True)]


def _by_columns(name: str, step: Any, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    names = list(getattr(step, "feature_names_in_", ()))
    found: list[Coordinate] = []
    for part, transformer, chosen in step.transformers_:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        if isinstance(chosen, (slice, int, str)):
            chosen = np.arange(len(coordinates))[chosen] if isinstance(chosen, slice) else [chosen]
        elif len(chosen) and np.asarray(chosen).dtype == bool:
            chosen = np.flatnonzero(chosen)
        places = [names.index(one) if isinstance(one, str) else int(one) for one in chosen]
        if places:
            found += _after(f"{name}: {part}", transformer, [coordinates[j] for j in places])
    return found


def _same(name: str, step: Any, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    if step.func is not None:
        raise _no(name, step, "calls a function of yours, which is no plain data, and")
    return list(coordinates)


#: Steps that are read, by the name of their class in scikit-learn, which is slow to import for them all.
_READERS: dict[str, Callable[..., list[Coordinate]]] = {
    "StandardScaler": _scaled(("less", "mean_"), ("over", "scale_")),
    "MinMaxScaler": _scaled(("times", "scale_"), ("plus", "min_")),
    "MaxAbsScaler": _scaled(("over", "scale_")),
    "RobustScaler": _scaled(("less", "center_"), ("over", "scale_")),
    "SimpleImputer": _imputed,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "ColumnTransformer": _by_columns,
    "FunctionTransformer": _same,
}


def _at(levels: tuple[Any, ...], place: Any) -> Any:
    """The level at a place, or what no level is."""
    return _at if place is None else levels[place]
